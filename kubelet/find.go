package kubelet

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"

	"github.com/storagesim/storagesim/kubelet/nodefs"
)

// find knows one form: "find PATH -mindepth 1 -delete", which empties a directory and
// leaves it where it is.
func find(p *Process) error {
	if len(p.Argv) < 3 || !slices.Equal(p.Argv[2:], []string{"-mindepth", "1", "-delete"}) {
		return fmt.Errorf("find: this simulation knows only 'find PATH -mindepth 1 -delete'")
	}
	err := p.Do(p.Argv[1], true, empty)
	if err != nil {
		return fmt.Errorf("find: '%s': %w", p.Argv[1], reason(err))
	}
	return nil
}

// empty removes all that is in a directory, and goes on after errors.
func empty(dir *nodefs.Dir, name string) error {
	info, err := dir.Lstat(name)
	if err != nil || !info.IsDir() { // of a file nothing is deeper than itself
		return err
	}
	entries, err := dir.ReadDir(name)
	errs := []error{err}
	for _, entry := range entries {
		err := dir.RemoveAll(path.Join(name, entry.Name()))
		if !errors.Is(err, fs.ErrNotExist) {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}
