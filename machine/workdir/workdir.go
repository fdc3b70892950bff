// Package workdir makes the directories that a process needs while it runs, and finds those that
// processes have left which ended without removing theirs.
package workdir

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/storagesim/storagesim/machine/mount"
)

// Dir is a directory below the one for temporary files.
type Dir struct {
	path string
	hold io.Closer // tells other processes that this one is alive; nil where there is no such thing
}

// prefix begins the names of directories: storagesim-PROCESS-NUMBER.
const prefix = "storagesim-"

// Make makes a new directory.
func Make() (*Dir, error) {
	path, err := os.MkdirTemp("", fmt.Sprintf("%s%d-", prefix, os.Getpid()))
	if err != nil {
		return nil, err
	}
	held, err := hold(path)
	if err != nil {
		return nil, errors.Join(err, os.Remove(path))
	}
	return &Dir{path, held}, nil
}

// Path returns the directory.
func (d *Dir) Path() string { return d.path }

// Remove removes the directory as mount.RemoveAll does. After an error it can be called again.
func (d *Dir) Remove() error {
	if err := mount.RemoveAll(d.path); err != nil {
		return err
	}
	if d.hold == nil {
		return nil
	}
	held := d.hold
	d.hold = nil
	return held.Close()
}

// Left returns the directories of processes that have ended.
func Left() []string { return list(isLeft) }

// Mine returns the directories that this process has made and not removed.
func Mine() []string {
	return list(func(path string, process int) bool { return process == os.Getpid() && !isLeft(path, process) })
}

// list returns the directories that choose chooses by path and process, sorted.
func list(choose func(path string, process int) bool) (found []string) {
	entries, _ := os.ReadDir(os.TempDir()) // without it there are none
	for _, e := range entries {
		rest, ours := strings.CutPrefix(e.Name(), prefix)
		first, second, two := strings.Cut(rest, "-")
		process, err := strconv.Atoi(first)
		_, notNumber := strconv.ParseUint(second, 10, 64)
		if path := filepath.Join(os.TempDir(), e.Name()); ours && two && err == nil && notNumber == nil && e.IsDir() && choose(path, process) {
			found = append(found, path)
		}
	}
	return found
}
