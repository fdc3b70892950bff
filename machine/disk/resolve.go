package disk

import (
	"cmp"
	"errors"
	"io/fs"
	"path"
	"path/filepath"
	"strings"
)

// maxLinks is the largest number of links in a path, as on Linux.
const maxLinks = 40

// Resolve works as EvalSymlinks, and describes the file.
func (d *Disk) Resolve(name string) (real string, info fs.FileInfo, err error) {
	rel, err := local("evalsymlinks", name)
	if err != nil {
		return "", nil, err
	}
	if d.user != nil {
		if _, err := d.seek(name, true); err != nil {
			return "", nil, explain("evalsymlinks", name, err)
		}
	}
	if err := d.checkPlain("evalsymlinks", rel); err != nil {
		return "", nil, explain("evalsymlinks", name, err)
	}
	if a, below := d.attached.of(rel); a != nil {
		real, info, err = a.dir.Resolve("/" + filepath.ToSlash(below))
		real = path.Join(a.name(), real)
	} else if to := d.linkIntoAttached(rel); to != "" {
		real, info, err = d.Resolve(to)
	} else {
		real, info, err = resolve(d.store, rel)
	}
	if err != nil {
		return "", nil, explain("evalsymlinks", name, err)
	}
	return real, info, nil
}

// linkIntoAttached returns where the link at rel leads if that is in an attached directory, as that of a file that is bind mounted does; "" otherwise.
func (d *Disk) linkIntoAttached(rel string) string {
	if !d.attached.any() {
		return ""
	}
	text, err := d.store.Readlink(rel)
	if err != nil || filepath.IsAbs(text) {
		return ""
	}
	to := path.Join(path.Dir(absolute(rel)), filepath.ToSlash(text))
	if below, err := local("evalsymlinks", to); err != nil {
		return ""
	} else if a, _ := d.attached.of(below); a == nil {
		return ""
	}
	return to
}

// resolve works as Resolve, for a path of os.Root.
func resolve(r store, rel string) (real string, info fs.FileInfo, err error) {
	if info, ok := r.lookPlain(rel); ok {
		return absolute(rel), info, nil
	}
	if real, err = walk(r, rel); err == nil {
		info, err = r.Lstat(filepath.FromSlash(cmp.Or(real[1:], ".")))
	}
	return real, info, err
}

// walk goes rel element by element, and into the links on the way.
func walk(r store, rel string) (string, error) {
	todo := strings.Split(filepath.ToSlash(rel), "/")
	done, links := "", 0 // done is the real path so far, "" for "/"
	for len(todo) > 0 {
		element := todo[0]
		todo = todo[1:]
		switch element {
		case "", ".":
			continue
		case "..":
			if done == "" {
				return "", ErrOutside
			}
			done = done[:strings.LastIndexByte(done, '/')]
			continue
		}
		here := filepath.FromSlash(strings.TrimPrefix(done+"/"+element, "/"))
		info, err := r.Lstat(here)
		if err != nil {
			return "", err
		}
		if info.Mode()&fs.ModeSymlink == 0 {
			done += "/" + element
			continue
		}
		text, err := r.Readlink(here)
		if links++; err != nil || links > maxLinks {
			return "", firstError(err, errors.New("too many levels of symbolic links"))
		}
		if text = filepath.ToSlash(text); strings.HasPrefix(text, "/") || filepath.IsAbs(text) {
			return "", ErrOutside
		}
		todo = append(strings.Split(text, "/"), todo...)
	}
	return cmp.Or(done, "/"), nil
}

// absolute returns the node's path for a path of os.Root.
func absolute(rel string) string {
	if rel == "." {
		return "/"
	}
	return "/" + filepath.ToSlash(rel)
}
