package shell

import (
	"archive/tar"
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/storagesim/storagesim/machine/disk"
)

// maxArchive is how many bytes an archive may have.
const maxArchive = 64 << 20

// tarCommand packs files and directories into an archive (c), or unpacks (x) or lists (t)
// one: what kubectl cp needs.
func tarCommand(p *Process) error {
	argv := slices.DeleteFunc(slices.Clone(p.Argv), func(word string) bool {
		return slices.Contains([]string{"--no-same-owner", "--no-same-permissions", "--no-overwrite-dir"}, word)
	})
	if len(argv) > 1 && !strings.HasPrefix(argv[1], "-") {
		argv[1] = "-" + argv[1] // the old form: tar cf - x
	}
	flags, args, err := options(argv, "cxtmpvo", "fC")
	if err != nil {
		return err
	}
	dir := p.Path(flags["C"])
	name, given := flags["f"]
	if !given {
		name = "-"
	}
	switch {
	case has(flags, "c") && !has(flags, "x", "t"):
		return p.pack(dir, name, args)
	case has(flags, "x", "t") && !has(flags, "c"):
		data, err := p.archive(name)
		if err != nil {
			return fmt.Errorf("tar: %s: Cannot open: %w", name, reason(err))
		}
		return p.unpack(dir, tar.NewReader(bytes.NewReader(data)), has(flags, "t"), args)
	}
	return errors.New("tar: You must specify one of the '-ctx' options")
}

// archive reads an archive from a file, or from the standard input.
func (p *Process) archive(name string) ([]byte, error) {
	if name == "-" {
		return p.Stdin.allOf(maxArchive)
	}
	return p.program.file.read(p.Path(name))
}

// pack writes an archive. Names in it have no leading slash.
func (p *Process) pack(dir, to string, names []string) error {
	if len(names) == 0 {
		return errors.New("tar: Cowardly refusing to create an empty archive")
	}
	var out bytes.Buffer
	w := tar.NewWriter(&out)
	var errs []error
	for _, name := range names {
		full := name
		if !path.IsAbs(name) {
			full = path.Join(dir, name)
		}
		if err := p.packTree(w, path.Clean(full), strings.TrimLeft(path.Clean(name), "/")); err != nil {
			errs = append(errs, &ExitError{2, fmt.Sprintf("tar: %s: %v", name, reason(err))})
		}
	}
	if err := w.Close(); err != nil {
		return errors.Join(append(errs, err)...)
	}
	if to == "-" {
		_, err := p.Stdout.Write(out.Bytes())
		return errors.Join(append(errs, err)...)
	}
	err := p.Do(to, true, func(d *disk.Disk, inside string) error { return d.WriteFile(inside, out.Bytes(), 0o644) })
	return errors.Join(append(errs, err)...)
}

// packTree adds a file, or a directory with all that is in it.
func (p *Process) packTree(w *tar.Writer, full, name string) error {
	defer p.program.enter()()
	p.program.step(1)
	info, err := p.program.file.lstat(full)
	if err != nil {
		return fmt.Errorf("Cannot stat: %w", reason(err))
	}
	target := ""
	if info.Mode()&fs.ModeSymlink != 0 {
		target = p.linkText(full)
	}
	header, err := tar.FileInfoHeader(plainInfo{info}, target)
	if err != nil {
		return err
	}
	if header.Name = name; info.IsDir() {
		header.Name = strings.TrimSuffix(name, "/") + "/"
	}
	var data []byte
	if info.Mode().IsRegular() {
		if data, err = p.program.file.read(full); err != nil {
			return err
		}
		header.Size = int64(len(data))
	}
	if err := w.WriteHeader(header); err != nil {
		return err
	}
	if _, err := w.Write(data); err != nil || !info.IsDir() {
		return err
	}
	children, err := p.program.file.list(full)
	for _, child := range children {
		err = errors.Join(err, p.packTree(w, path.Join(full, child), path.Join(name, child)))
	}
	return err
}

// plainInfo leaves out what a system knows of a file: archives do not depend on who runs the
// simulation, and when.
type plainInfo struct{ fs.FileInfo }

func (plainInfo) Sys() any { return nil }

// unpack makes the files of an archive below dir, or lists them. With names only those, and
// what is below them.
func (p *Process) unpack(dir string, r *tar.Reader, list bool, names []string) error {
	var errs []error
	for {
		header, err := r.Next()
		if errors.Is(err, io.EOF) {
			return errors.Join(errs...)
		}
		if err != nil {
			return errors.Join(append(errs, &ExitError{2, "tar: This does not look like a tar archive"})...)
		}
		p.program.step(1)
		name := strings.TrimLeft(header.Name, "/")
		wanted := len(names) == 0 || slices.ContainsFunc(names, func(n string) bool { return within(path.Clean("/"+name), path.Clean("/"+n)) })
		switch {
		case !wanted:
			continue
		case list:
			err = p.printf("%s\n", header.Name)
		case slices.Contains(strings.Split(name, "/"), ".."):
			err = errors.New("Member name contains '..'")
		default:
			err = p.unpackOne(path.Join(dir, name), header, r)
		}
		if err != nil {
			errs = append(errs, &ExitError{2, fmt.Sprintf("tar: %s: %v", header.Name, reason(err))})
		}
	}
}

func (p *Process) unpackOne(name string, header *tar.Header, r io.Reader) error {
	mode := header.FileInfo().Mode().Perm()
	if parent := path.Dir(name); !p.isDir(parent) {
		if err := p.Do(parent, true, func(d *disk.Disk, inside string) error { return d.MkdirAll(inside, 0o755) }); err != nil {
			return err
		}
	}
	switch header.Typeflag {
	case tar.TypeDir:
		if p.isDir(name) {
			return nil
		}
		return p.Do(name, true, func(d *disk.Disk, inside string) error {
			err := d.Mkdir(inside, mode)
			if err == nil {
				p.made(name)
			}
			return err
		})
	case tar.TypeSymlink:
		return p.link(header.Linkname, name, true)
	case tar.TypeReg:
		data, err := io.ReadAll(r)
		if err != nil {
			return err
		}
		p.program.step(1 + len(data)/10_000)
		return p.Do(name, true, func(d *disk.Disk, inside string) error {
			if err := d.WriteFile(inside, data, mode); err != nil {
				return err
			}
			return d.Chmod(inside, mode)
		})
	}
	return fmt.Errorf("a member of type %q is not one of those this simulation knows: files, directories and symbolic links", header.Typeflag)
}
