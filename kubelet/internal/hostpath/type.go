package hostpath

import (
	"errors"
	"fmt"
	"io/fs"

	v1 "k8s.io/api/core/v1"

	"github.com/storagesim/storagesim/machine/disk"
)

// checkType makes the path if its type is one of the OrCreate ones and it does
// not exist, and checks that it has the type. The empty type checks
// nothing.
//
// Upstream: host_path.go checkTypeInternal, v1.37.
func checkType(node *disk.Disk, name string, pathType v1.HostPathType) error {
	switch pathType {
	case v1.HostPathUnset:
		return nil
	case v1.HostPathDirectoryOrCreate:
		if _, err := node.Stat(name); err != nil {
			return makeDir(node, name)
		}
		return want(node, name, "directory", fs.FileMode.IsDir)
	case v1.HostPathDirectory:
		return want(node, name, "directory", fs.FileMode.IsDir)
	case v1.HostPathFileOrCreate:
		if _, err := node.Stat(name); err != nil {
			return makeFile(node, name)
		}
		return want(node, name, "file", fs.FileMode.IsRegular)
	case v1.HostPathFile:
		return want(node, name, "file", fs.FileMode.IsRegular)
	case v1.HostPathSocket:
		return want(node, name, "socket file", func(m fs.FileMode) bool { return m&fs.ModeSocket != 0 })
	case v1.HostPathCharDev:
		return want(node, name, "character device", func(m fs.FileMode) bool { return m&fs.ModeCharDevice != 0 })
	case v1.HostPathBlockDev:
		return want(node, name, "block device", func(m fs.FileMode) bool {
			return m&(fs.ModeDevice|fs.ModeCharDevice) == fs.ModeDevice
		})
	}
	return fmt.Errorf("%s is an invalid volume type", pathType)
}

// want refuses what is something else, or cannot be looked at: because there is nothing,
// or a file or a loop of links on the way. Only what leads out of the node's directory
// says so, since upstream knows no such thing.
//
// Upstream: host_path.go typeMatchedOrError, v1.37.
func want(node *disk.Disk, name, what string, is func(fs.FileMode) bool) error {
	info, err := node.Stat(name)
	switch {
	case errors.Is(err, disk.ErrOutside):
		return fmt.Errorf("hostPath type check failed: %w", err)
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("hostPath type check failed, %s is not a %s, unable to determine its type: path %q does not exist", name, what, name)
	case err != nil:
		return fmt.Errorf("hostPath type check failed, %s is not a %s, unable to determine its type: %w", name, what, err)
	case !is(info.Mode()):
		return fmt.Errorf("hostPath type check failed: %s is not a %s, it's a %s", name, what, typeOf(info.Mode()))
	}
	return nil
}

// typeOf returns the type of a file as a HostPathType.
//
// Upstream: pkg/volume/util/hostutil getFileType, v1.37.
func typeOf(mode fs.FileMode) v1.HostPathType {
	switch {
	case mode&fs.ModeSocket != 0:
		return v1.HostPathSocket
	case mode.IsRegular():
		return v1.HostPathFile
	case mode.IsDir():
		return v1.HostPathDirectory
	case mode&fs.ModeCharDevice != 0:
		return v1.HostPathCharDev
	}
	return v1.HostPathBlockDev
}

// makeDir makes a directory. It is content with anything that is in its place, such as a
// link that leads nowhere: the container runtime will not be.
//
// Upstream: host_path.go makeDir, v1.37.
func makeDir(node *disk.Disk, name string) error {
	if err := node.MkdirAll(name, 0o755); !errors.Is(err, fs.ErrExist) {
		return err
	}
	return nil
}

// makeFile makes an empty file. What is wrong is told as upstream does, which opens it.
//
// Upstream: pkg/volume/util/hostutil MakeFile, v1.37.
func makeFile(node *disk.Disk, name string) error {
	err := node.WriteFile(name, nil, 0o644)
	var pathErr *fs.PathError
	if errors.As(err, &pathErr) {
		return &fs.PathError{Op: "open", Path: name, Err: pathErr.Err}
	}
	return err
}
