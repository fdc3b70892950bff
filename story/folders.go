package story

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// folders gives access to the files that a script may read: those of its own folder and of the
// folders that the caller of Run allows. No path and no link leads out of them.
type folders struct {
	own     string
	allowed []string
}

// Stat implements manifest.Files.
func (f folders) Stat(path string) (fs.FileInfo, error) {
	root, inside, err := f.open(path)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	info, err := root.Stat(inside)
	return info, f.explain(path, err)
}

// Open implements manifest.Files.
func (f folders) Open(path string) (*os.File, error) {
	root, inside, err := f.open(path)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	file, err := root.Open(inside)
	return file, f.explain(path, err)
}

// open opens the folder that a path is in, and returns the path within it. A path counts from
// the script's own folder.
func (f folders) open(path string) (*os.Root, string, error) {
	own, err := filepath.Abs(f.own)
	if err != nil {
		return nil, "", err
	}
	whole := filepath.FromSlash(path)
	if !filepath.IsAbs(whole) {
		whole = filepath.Join(own, whole)
	}
	for _, folder := range append([]string{own}, f.allowed...) {
		folder, err := filepath.Abs(folder)
		if err != nil {
			return nil, "", err
		}
		if inside, err := filepath.Rel(folder, whole); err == nil && filepath.IsLocal(inside) {
			root, err := os.OpenRoot(folder)
			return root, inside, err
		}
	}
	return nil, "", f.outside(path)
}

func (f folders) outside(path string) error {
	return fmt.Errorf("%q is outside of the script's folder; storagesim story --allow-files DIR lets scripts read another one", path)
}

// explain says of a link that leads out of a folder that it does, and of any other
// failure what it is, without where the folder is.
func (f folders) explain(path string, err error) error {
	e, ok := errors.AsType[*fs.PathError](err)
	if !ok {
		return err
	}
	if e.Err.Error() == "path escapes from parent" {
		return f.outside(path)
	}
	return fmt.Errorf("%s: %w", path, e.Err)
}
