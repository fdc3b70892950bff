package disk

import (
	"io/fs"
	"os"
)

// store holds the files of a Disk: a directory of the machine that runs the
// simulation (root), or memory. Paths come from local: relative to the
// store's own directory, clean, "." for that directory itself. No path and no link
// leads out of it; what would is refused with ErrOutside, or as os.Root refuses it.
type store interface {
	Mkdir(rel string, perm fs.FileMode) error
	MkdirAll(rel string, perm fs.FileMode) error
	Remove(rel string) error
	RemoveAll(rel string) error
	Rename(rel, newrel string) error
	Stat(rel string) (fs.FileInfo, error)
	Lstat(rel string) (fs.FileInfo, error)
	Symlink(text, rel string) error
	Readlink(rel string) (string, error)
	Chmod(rel string, mode fs.FileMode) error
	Lchown(rel string, uid, gid int) error
	// readDir lists a directory, in any order.
	readDir(rel string) ([]fs.DirEntry, error)
	// The next three work as the methods of Disk.
	readFile(rel string) ([]byte, error)
	writeFile(rel string, data []byte, perm fs.FileMode) error
	appendFile(rel string, data []byte) error
	// socket makes the file of a socket; nothing may be there.
	socket(rel string) error
	// handle is Disk.Handle.
	handle(rel string) (*os.File, error)
	// sub is the directory rel as a store of its own.
	sub(rel string) (store, error)
	// lookPlain is Lstat of rel if there is certainly no symbolic link in it.
	lookPlain(rel string) (fs.FileInfo, bool)
	// enter opens the directory rel for several operations; nil if there is a
	// symbolic link in rel, or this cannot be done here.
	enter(rel string) names
	// limit implements Disk.LimitProject, for the whole disk with project 0. The others implement
	// the methods of Disk.
	limit(project uint32, limits Limits) error
	setProject(rel string, project uint32) error
	space(rel string) (Space, error)
	Close() error
}
