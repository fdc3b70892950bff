package shell

import (
	"io/fs"
	"path"
	"strings"

	"github.com/storagesim/storagesim/machine/disk"
)

// maxLinks is the largest number of links in a path, as on Linux.
const maxLinks = 40

// follow returns the path to which name leads through links of the root file system into volumes, which its disk alone cannot follow. With last, name
// itself may be such a link. Links of a volume are left to its disk: they lead nowhere else. It costs nothing while there is no link into a volume.
func (f *files) follow(name string, last bool) string {
	if f.root == nil || !f.root.crossed {
		return name
	}
	done, todo := "/", strings.Split(name, "/")
	for links := 0; len(todo) > 0 && links <= maxLinks; {
		element := todo[0]
		todo = todo[1:]
		here := path.Join(done, element)
		if text := f.linkOf(here); text != "" && (last || len(todo) > 0) {
			links++
			done, todo = "/", append(strings.Split(path.Join(done, text), "/"), todo...)
			continue
		}
		done = here
	}
	return path.Join(done, path.Join(todo...))
}

// linkOf returns the text of a link of the root file system, "" for anything else.
func (f *files) linkOf(name string) (text string) {
	if m, rest, ok := FindMount(f.mounts, name); !ok || m.root == nil || m.ContainerPath != "/" || rest == "/" {
		return ""
	}
	_ = InVolume(f.node, nil, f.mounts, name, false, func(dir *disk.Disk, name string) error { // what cannot be read is no link
		if info, err := dir.Lstat(name); err != nil || info.Mode()&fs.ModeSymlink == 0 {
			return err
		}
		var err error
		text, err = dir.Readlink(name)
		return err
	})
	return text
}
