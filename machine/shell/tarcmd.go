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

// maxArchive is the largest size of an archive, in bytes.
const maxArchive = 64 << 20

// tarCommand implements "tar": it packs files and directories into an archive (c), unpacks one (x)
// or lists one (t), as "kubectl cp" needs it.
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
		data, err := p.readArchive(name)
		if err != nil {
			return fmt.Errorf("tar: %s: Cannot open: %w", name, reason(err))
		}
		return p.unpack(dir, data, has(flags, "t"), args)
	}
	return errors.New("tar: You must specify one of the '-ctx' options")
}

// readArchive reads an archive from a file or from the standard input.
func (p *Process) readArchive(name string) ([]byte, error) {
	if name == "-" {
		return p.Stdin.allOf(maxArchive)
	}
	return p.program.read(p.Path(name))
}

// pack writes an archive. Names in it have no leading slash.
func (p *Process) pack(dir, to string, names []string) error {
	if len(names) == 0 {
		return errors.New("tar: Cowardly refusing to create an empty archive")
	}
	var out archive
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

// archive collects the bytes of an archive.
type archive struct{ bytes.Buffer }

func (a *archive) Write(data []byte) (int, error) {
	if a.Len()+len(data) > maxArchive {
		return 0, fmt.Errorf("an archive of more than %d bytes", maxArchive)
	}
	return a.Buffer.Write(data)
}

// packTree adds a file, or a directory with all that is in it.
func (p *Process) packTree(w *tar.Writer, full, name string) error {
	defer p.program.enter()()
	p.program.step(1)
	info, err := p.program.files.lstat(full)
	if err != nil {
		return fmt.Errorf("Cannot stat: %w", reason(err))
	}
	target := ""
	if info.Mode()&fs.ModeSymlink != 0 {
		target, _ = p.linkText(full) // what cannot be read is empty
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
		if data, err = p.program.read(full); err != nil {
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
	children, err := p.program.files.list(full)
	for _, child := range children {
		err = errors.Join(err, p.packTree(w, path.Join(full, child), path.Join(name, child)))
	}
	return err
}

// plainInfo describes a file without its owner and times on this machine, so that an archive
// does not depend on who runs the simulation.
type plainInfo struct{ fs.FileInfo }

func (plainInfo) Sys() any { return nil }

// unpack makes the files of an archive below dir, or lists them. If there are names, it does
// so only for these files and what is below them.
func (p *Process) unpack(dir string, data []byte, list bool, names []string) error {
	var errs []error
	r := tar.NewReader(bytes.NewReader(data))
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
		case header.Size > int64(len(data)): // a sparse member, which could be of any size
			err = fmt.Errorf("a member of %d bytes in an archive of %d: sparse files are not supported", header.Size, len(data))
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
	return fmt.Errorf("a member of type %q is not supported, only files, directories and symbolic links", header.Typeflag)
}
