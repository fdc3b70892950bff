package apivolume

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/storagesim/storagesim/machine/disk"
)

// Names of the links in a volume's directory. Everything that begins with ".." is
// the writer's own.
const (
	dataDirName    = "..data"
	newDataDirName = "..data_tmp"
	timestamp      = "..2006_01_02_15_04_05."
)

// maxFileName is the longest name of a file, in bytes.
const maxFileName = 255

// FileProjection is one file of a volume.
type FileProjection struct {
	Data []byte
	Mode int32
	// FsUser, if set, is the user who gets the file.
	FsUser *int64
}

// AtomicWriter replaces all files of a directory at once.
//
// Upstream: pkg/volume/util/atomic_writer.go AtomicWriter, v1.37.
type AtomicWriter struct {
	// Node is the node's file system, Dir the volume's directory there.
	Node *disk.Disk
	Dir  string
	// Now names the directory of a change.
	Now time.Time
}

// Write makes the directory have these files, by path, and says whether anything
// changed. setPerms, if not nil, is called with the directory of the new files
// before a reader can see them. What an interrupted Write left is finished or
// removed.
//
// Upstream: atomic_writer.go Write, v1.37. The steps are its own.
func (w *AtomicWriter) Write(payload map[string]FileProjection, setPerms func(dir string) error) (changed bool, err error) {
	payload, err = validatePayload(payload)
	if err != nil {
		return false, err
	}
	old, err := w.currentDir()
	if err != nil {
		return false, err
	}
	if old != "" && w.upToDate(payload, path.Join(w.Dir, old)) {
		return false, w.tidy(payload, old)
	}
	next, err := w.newTimestampDir()
	if err != nil {
		return false, err
	}
	err = w.writePayload(payload, path.Join(w.Dir, next))
	if err == nil && setPerms != nil {
		err = setPerms(path.Join(w.Dir, next))
	}
	if err == nil {
		err = w.switchTo(next)
	}
	if err != nil {
		return false, errors.Join(err, w.Node.RemoveAll(path.Join(w.Dir, next)))
	}
	return true, errors.Join(w.createUserVisibleFiles(payload), w.tidy(payload, next))
}

// currentDir returns the target of the link ..data, "" if the link is missing or does not lead
// to a directory of this writer.
func (w *AtomicWriter) currentDir() (string, error) {
	text, err := w.Node.Readlink(path.Join(w.Dir, dataDirName))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "", nil
	case err != nil:
		return "", err
	case !isOurs(text):
		return "", nil
	}
	return text, nil
}

// isOurs reports whether a name is one of a timestamped directory.
func isOurs(name string) bool {
	return strings.HasPrefix(name, "..2") && !strings.Contains(name, "/")
}

// upToDate reports whether the files in dir are the payload.
func (w *AtomicWriter) upToDate(payload map[string]FileProjection, dir string) bool {
	files := 0
	err := w.Node.WalkUp(dir, func(name string, info fs.FileInfo) error {
		if info.IsDir() {
			return nil
		}
		files++
		file, wanted := payload[strings.TrimPrefix(name, dir+"/")]
		data, err := w.Node.ReadFile(name)
		if err != nil || !wanted || !bytes.Equal(data, file.Data) {
			return fs.SkipAll
		}
		return nil
	})
	return err == nil && files == len(payload)
}

// newTimestampDir makes the directory of a change, with a name that is free.
func (w *AtomicWriter) newTimestampDir() (string, error) {
	for n := 1; ; n++ {
		name := w.Now.UTC().Format(timestamp) + strconv.Itoa(n)
		err := w.Node.Mkdir(path.Join(w.Dir, name), 0o755)
		if err == nil {
			return name, w.Node.Chmod(path.Join(w.Dir, name), 0o755) // whatever the umask
		}
		if !errors.Is(err, fs.ErrExist) {
			return "", err
		}
	}
}

func (w *AtomicWriter) writePayload(payload map[string]FileProjection, dir string) error {
	for _, name := range slices.Sorted(maps.Keys(payload)) {
		at := path.Join(dir, name)
		if err := w.Node.MkdirAll(path.Dir(at), 0o777); err != nil {
			return err
		}
		if err := w.Node.WriteFile(at, payload[name].Data, 0o600); err != nil {
			return err
		}
		if err := w.Node.Chmod(at, fs.FileMode(payload[name].Mode).Perm()); err != nil {
			return err
		}
		if user := payload[name].FsUser; user != nil {
			if err := w.Node.Lchown(at, int(*user), -1); err != nil && !errors.Is(err, fs.ErrPermission) { // without privilege it stays this process's
				return err
			}
		}
	}
	return nil
}

// switchTo makes ..data lead to a directory. This is the moment of the change.
func (w *AtomicWriter) switchTo(next string) error {
	link := path.Join(w.Dir, newDataDirName)
	if err := w.Node.Remove(link); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err // an interrupted write left one
	}
	if _, err := w.Node.Symlink(path.Join(w.Dir, next), link); err != nil {
		return err
	}
	data := path.Join(w.Dir, dataDirName)
	if runtime.GOOS == "windows" { // where a link to a directory cannot be renamed over another
		if err := w.Node.Remove(data); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return w.Node.Rename(link, data)
}

// createUserVisibleFiles makes the links by which containers reach the files, one
// for each first element of a path.
func (w *AtomicWriter) createUserVisibleFiles(payload map[string]FileProjection) error {
	for _, name := range firstElements(payload) {
		link := path.Join(w.Dir, name)
		if _, err := w.Node.Lstat(link); err == nil {
			continue
		} else if !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		if _, err := w.Node.Symlink(path.Join(w.Dir, dataDirName, name), link); err != nil {
			return err
		}
	}
	return nil
}

// tidy removes links to files that are no more, the next link of an interrupted
// write, and all directories of changes but the one in use; and makes links that an
// interrupted write did not.
func (w *AtomicWriter) tidy(payload map[string]FileProjection, current string) error {
	entries, err := w.Node.ReadDir(w.Dir)
	errs := []error{err}
	wanted := firstElements(payload)
	for _, e := range entries {
		name, at := e.Name(), path.Join(w.Dir, e.Name())
		switch text, _ := w.Node.Readlink(at); {
		case isOurs(name) && name != current:
			errs = append(errs, w.Node.RemoveAll(at))
		case name == newDataDirName, text == dataDirName+"/"+name && !slices.Contains(wanted, name):
			errs = append(errs, w.Node.Remove(at))
		}
	}
	return errors.Join(append(errs, w.createUserVisibleFiles(payload))...)
}

// firstElements returns the first elements of the payload's paths, sorted.
func firstElements(payload map[string]FileProjection) []string {
	var names []string
	for name := range payload {
		first, _, _ := strings.Cut(name, "/")
		names = append(names, first)
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// validatePayload cleans the paths and refuses those that could lead out of the
// directory or hide the writer's own names, and two for one file.
//
// Upstream: atomic_writer.go validatePayload and validatePath, v1.37.
func validatePayload(payload map[string]FileProjection) (map[string]FileProjection, error) {
	clean := make(map[string]FileProjection, len(payload))
	for _, name := range slices.Sorted(maps.Keys(payload)) {
		if err := validatePath(name); err != nil {
			return nil, err
		}
		clean[path.Clean(name)] = payload[name]
	}
	for name := range clean {
		for dir := path.Dir(name); dir != "."; dir = path.Dir(dir) {
			if _, file := clean[dir]; file {
				return nil, fmt.Errorf("invalid path: %s is a file, and has %s in it", dir, name)
			}
		}
	}
	return clean, nil
}

func validatePath(name string) error {
	switch {
	case name == "":
		return fmt.Errorf("invalid path: must not be empty: %q", name)
	case path.IsAbs(name):
		return fmt.Errorf("invalid path: must be relative path: %s", name)
	case len(name) > 4096:
		return errors.New("invalid path: must be less than or equal to 4096 characters")
	}
	for element := range strings.SplitSeq(name, "/") {
		if element == ".." {
			return fmt.Errorf("invalid path: must not contain '..': %s", name)
		}
		if len(element) > maxFileName {
			return fmt.Errorf("invalid path: filenames must be less than or equal to %d characters", maxFileName)
		}
	}
	switch clean := path.Clean(name); {
	case clean == ".":
		return fmt.Errorf("invalid path: must name a file: %q", name)
	case strings.HasPrefix(clean, ".."):
		return fmt.Errorf("invalid path: must not start with '..': %s", name)
	}
	return nil
}
