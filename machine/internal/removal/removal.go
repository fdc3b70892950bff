// Package removal removes directories of the computer that runs the simulation, with all that is in them, and never what
// lies behind a mount or a symbolic link. A CSI driver in another process mounts its volumes in the nodes'
// directories: rm -r would go through these mounts and delete the volumes' files.
package removal

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/storagesim/storagesim/machine/internal/mountinfo"
)

// MountedError is returned by Remove for a directory in which something is mounted. Nothing was removed, unless it was
// mounted while Remove was at work.
type MountedError struct {
	// Dir is the directory, and Mounts lists where something is mounted, in the order in which it can be unmounted.
	Dir    string
	Mounts []string
}

func (e *MountedError) Error() string {
	commands := make([]string, len(e.Mounts))
	for i, at := range e.Mounts {
		commands[i] = "umount " + Quote(at)
	}
	return fmt.Sprintf("%s stays: removing it would delete the files of what is mounted there, which ends with: %s", e.Dir, strings.Join(commands, " && "))
}

// Unwrap returns EBUSY, a kernel's answer about a mount point.
func (e *MountedError) Unwrap() error { return syscall.EBUSY }

// Quote returns a path as a shell reads it.
func Quote(text string) string {
	plain := func(r rune) bool {
		return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("/._-~:@%+=,", r)
	}
	if strings.ContainsFunc(text, func(r rune) bool { return !plain(r) }) {
		return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'"
	}
	return text
}

// Remove removes a file, a link or a directory with all that is in it. What does not exist is removed already. If
// anything is mounted in it, Remove removes nothing and returns a *MountedError. On systems that do not tell what is
// mounted it relies on the caller: see mountinfo.Read.
func Remove(name string) error {
	name, err := filepath.Abs(name)
	if err != nil {
		return err
	}
	return remove(name)
}

// check returns a *MountedError if something is mounted on a path without links, or below it.
func check(name string) error {
	// Where the table cannot be read, the removal itself looks at each directory.
	if table, err := mountinfo.Read("self"); err == nil && len(table.In(name)) > 0 {
		return &MountedError{Dir: name, Mounts: table.In(name).Paths()}
	}
	return nil
}

// failed returns the error of a removal.
func failed(name string, err error) error {
	if err == nil {
		return nil
	}
	return &os.PathError{Op: "remove", Path: name, Err: err}
}
