package disk

import (
	"errors"
	"io"
	"io/fs"
	"os"
)

// The parts of a store that a directory of this machine does in the same way on
// every operating system, with what root_*.go has.

func (r *root) readDir(rel string) ([]fs.DirEntry, error) {
	f, err := r.OpenFile(rel, os.O_RDONLY|directory, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return f.ReadDir(-1)
}

func (r *root) readFile(rel string) ([]byte, error) {
	if data, ok := r.read(rel); ok {
		return data, nil
	}
	f, err := r.openRegular(rel, os.O_RDONLY, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if info, err := f.Stat(); err == nil && info.Size() > maxFile {
		return nil, ErrTooLarge
	}
	data, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	if len(data) > maxFile {
		return nil, ErrTooLarge
	}
	return data, err
}

func (r *root) writeFile(rel string, data []byte, perm fs.FileMode) error {
	if made, err := r.create(rel, data, perm); made {
		return err
	}
	// Not O_TRUNC: the file is looked at before anything is lost.
	f, err := r.openRegular(rel, os.O_WRONLY|os.O_CREATE, perm)
	if err != nil {
		return err
	}
	err = f.Truncate(0)
	if err == nil {
		_, err = f.Write(data)
	}
	return firstError(err, f.Close())
}

func (r *root) appendFile(rel string, data []byte) error {
	f, err := r.openRegular(rel, os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		return err
	}
	info, err := f.Stat()
	if err == nil && info.Size()+int64(len(data)) > maxFile {
		err = ErrTooLarge
	}
	if err == nil {
		_, err = f.Write(data)
	}
	return firstError(err, f.Close())
}

// openRegular opens a file and makes sure that it is a regular one with no other name.
func (r *root) openRegular(rel string, flag int, perm fs.FileMode) (*os.File, error) {
	if err := r.mayOpen(rel); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	f, err := r.OpenFile(rel, flag|nonblock, perm)
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = ErrNotRegular
	}
	if err == nil {
		err = checkLinks(info)
	}
	if err != nil {
		return nil, firstError(err, f.Close())
	}
	return f, nil
}

func (r *root) handle(rel string) (*os.File, error) {
	if err := r.mayOpen(rel); err != nil {
		return nil, err
	}
	f, err := r.OpenFile(rel, os.O_RDONLY|nonblock, 0)
	if err != nil {
		return nil, err
	}
	info, err := f.Stat() // it may be another one by now
	if err == nil && !info.IsDir() && !info.Mode().IsRegular() {
		err = ErrNotRegular
	}
	if err != nil {
		return nil, firstError(err, f.Close())
	}
	return f, nil
}

// mayOpen refuses what is neither a directory nor a regular file: opening a named pipe
// or a device can wait for its other end, or do something.
func (r *root) mayOpen(rel string) error {
	info, err := r.Stat(rel)
	if err == nil && !info.IsDir() && !info.Mode().IsRegular() {
		err = ErrNotRegular
	}
	return err
}

func (r *root) sub(rel string) (store, error) {
	below, err := r.OpenRoot(rel)
	if err != nil {
		return nil, err
	}
	return below, nil
}
