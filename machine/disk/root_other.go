//go:build !linux

package disk

import (
	"io/fs"
	"os"
	"syscall"
)

// root is an os.Root.
type root struct{ *os.Root }

func openRoot(path string) (*root, error) {
	r, err := os.OpenRoot(path)
	if err != nil {
		return nil, err
	}
	return &root{r}, nil
}

// OpenRoot opens a directory below, and nothing else: opening a named pipe would wait.
func (r *root) OpenRoot(rel string) (*root, error) {
	if info, err := r.Stat(rel); err != nil {
		return nil, err
	} else if !info.IsDir() {
		return nil, &fs.PathError{Op: "open", Path: rel, Err: syscall.ENOTDIR}
	}
	sub, err := r.Root.OpenRoot(rel)
	if err != nil {
		return nil, err
	}
	return &root{sub}, nil
}

// lookPlain returns false: on this system it cannot be certain that a path has no symbolic link.
func (r *root) lookPlain(string) (fs.FileInfo, bool) { return nil, false }

// enter opens a directory for several operations: there is no such thing here.
func (r *root) enter(string) names { return nil }

// read and create do in one go what otherwise takes several: nor that.

func (r *root) read(string) ([]byte, bool) { return nil, false }

func (r *root) create(string, []byte, fs.FileMode) (bool, error) { return false, nil }

func (r *root) socket(rel string) error { return r.plainSocket(rel) }
