package disk

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/storagesim/storagesim/internal/errno"
)

// maxPath is Linux's PATH_MAX. maxDepth is the number of elements that a path may have: a
// kernel has no such limit, but every element costs an openat, and walking a tree
// costs that for each file.
const (
	maxPath  = 4096
	maxDepth = 255
)

var (
	// ErrOutside is returned for what would lead out of the node's directory.
	ErrOutside = errors.New("leads out of the node's directory")
	// ErrLinked is returned for a file that has other hard links.
	ErrLinked = errors.New("has other hard links, which may lie outside of the node's directory")
	// ErrNotRegular is returned where only a regular file will do.
	ErrNotRegular = errors.New("is not a regular file")
)

// Check returns an error if a node path is not valid. It looks at the name only, not at
// files.
func Check(name string) error {
	_, err := local("check", name)
	return err
}

// local turns a node path into one that is local to the node's directory: what
// os.Root takes. The node's "/" is ".".
func local(op, name string) (string, error) {
	rel, err := rel(name)
	if err != nil {
		return "", &fs.PathError{Op: op, Path: shorten(name), Err: err}
	}
	return rel, nil
}

func rel(name string) (string, error) {
	switch {
	case name == "":
		return "", errors.New("the path is empty")
	case !strings.HasPrefix(name, "/"):
		return "", errors.New("the path is not absolute: it does not begin with a slash")
	case len(name) > maxPath:
		return "", fmt.Errorf("the path has %d bytes; at most %d are allowed", len(name), maxPath)
	case strings.IndexByte(name, 0) >= 0:
		return "", errors.New("the path contains a NUL byte")
	}
	elements, clean := 0, true
	for element := range strings.SplitSeq(strings.TrimSuffix(name[1:], "/"), "/") {
		switch element {
		case "..":
			return "", fmt.Errorf("the path contains %q: %w", "..", ErrOutside)
		case "", ".":
			clean = false
		default:
			elements++
		}
	}
	if elements > maxDepth {
		return "", fmt.Errorf("the path has %d elements; at most %d are allowed", elements, maxDepth)
	}
	if elements == 0 {
		return ".", nil
	}
	if name = strings.TrimSuffix(name[1:], "/"); !clean {
		name = path.Clean("/" + name)[1:]
	}
	native := filepath.FromSlash(name)
	if !filepath.IsLocal(native) { // on Windows also drives and device names
		return "", fmt.Errorf("the name is not allowed on this operating system: %w", ErrOutside)
	}
	return native, nil
}

// shorten keeps hostile names out of error messages.
func shorten(name string) string {
	if len(name) > 200 {
		return name[:200] + "..."
	}
	return name
}

// explain gives an error of os.Root the node's path instead of the machine's,
// and ErrOutside where that is the reason.
func explain(op, name string, err error) error {
	if err == nil {
		return nil
	}
	var pathErr *fs.PathError
	var linkErr *os.LinkError
	if errors.As(err, &linkErr) {
		err = linkErr.Err
	}
	for errors.As(err, &pathErr) { // MkdirAll has one in another
		err = pathErr.Err
	}
	if err.Error() == "path escapes from parent" { // os has no variable for it
		err = ErrOutside
	}
	return &fs.PathError{Op: op, Path: shorten(name), Err: errno.Linux(err)}
}
