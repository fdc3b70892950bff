package kubelet

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"

	"github.com/storagesim/storagesim/kubelet/nodefs"
)

// ErrReadOnly is returned for writes into a volume that is mounted read-only.
var ErrReadOnly = errors.New("read-only file system")

// ReadFile reads a file as a container of the pod sees it.
func ReadFile(node *nodefs.Dir, pod *v1.Pod, containerPath string) (data []byte, err error) {
	err = inPod(node, pod, containerPath, false, func(dir *nodefs.Dir, name string) error {
		data, err = dir.ReadFile(name)
		return err
	})
	return data, err
}

// WriteFile writes a file as a container of the pod would, replacing what is
// there. Volumes mounted read-only refuse it with ErrReadOnly.
func WriteFile(node *nodefs.Dir, pod *v1.Pod, containerPath string, data []byte) error {
	return inPod(node, pod, containerPath, true, func(dir *nodefs.Dir, name string) error {
		return dir.WriteFile(name, data, 0o644)
	})
}

// MakeDir makes a directory as a container of the pod would with mkdir -p. What
// it means for mode see nodefs.Dir.MakeDir. Volumes mounted read-only refuse it
// with ErrReadOnly.
func MakeDir(node *nodefs.Dir, pod *v1.Pod, containerPath string, mode fs.FileMode) error {
	return inPod(node, pod, containerPath, true, func(dir *nodefs.Dir, name string) error {
		return dir.MakeDir(name, mode)
	})
}

// List is the names in a directory as a container of the pod sees it, sorted;
// those of directories end in a slash.
func List(node *nodefs.Dir, pod *v1.Pod, containerPath string) (names []string, err error) {
	err = inPod(node, pod, containerPath, false, func(dir *nodefs.Dir, name string) error {
		names, err = dir.List(name)
		return err
	})
	return names, err
}

func inPod(node *nodefs.Dir, pod *v1.Pod, containerPath string, write bool, f func(*nodefs.Dir, string) error) error {
	m, err := locate(node, pod, containerPath)
	if err != nil {
		return err
	}
	return inVolume(node, []containerMount{m}, containerPath, write, f)
}

// locate finds the mount that a container path is in, in the first container
// that has one.
func locate(node *nodefs.Dir, pod *v1.Pod, containerPath string) (containerMount, error) {
	r, err := loadRecord(node, pod.UID)
	if err != nil {
		return containerMount{}, err
	}
	if r == nil {
		return containerMount{}, fmt.Errorf("pod %s/%s is not running on this node", pod.Namespace, pod.Name)
	}
	for _, c := range slices.Concat(r.Containers, r.Init) {
		if m, _, ok := findMount(c.Mounts, containerPath); ok {
			return m, nil
		}
	}
	return containerMount{}, fmt.Errorf("path %q of pod %s/%s is not in any of its volumes", containerPath, pod.Namespace, pod.Name)
}

// findMount is the mount with the longest path that is above name.
func findMount(mounts []containerMount, name string) (best containerMount, rest string, ok bool) {
	name = path.Clean(name)
	for _, m := range mounts {
		below, isBelow := strings.CutPrefix(name+"/", strings.TrimSuffix(m.ContainerPath, "/")+"/")
		if isBelow && (!ok || len(m.ContainerPath) > len(best.ContainerPath)) {
			best, rest, ok = m, path.Clean("/"+below), true
		}
	}
	return best, rest, ok
}

// inVolume calls f with the volume that a container path is in, as a file system
// of its own: a link in a volume cannot lead out of it.
func inVolume(node *nodefs.Dir, mounts []containerMount, name string, write bool, f func(*nodefs.Dir, string) error) error {
	m, rest, ok := findMount(mounts, name)
	switch {
	case !ok:
		return errors.New("the path is in none of the container's volumes, and it has no other files")
	case m.ReadOnly && write:
		return ErrReadOnly
	}
	dir, rest, err := openMount(node, m, rest)
	if err != nil {
		return err
	}
	defer dir.Close()
	return f(dir, rest)
}

// openMount opens a mount's directory; for a mount that is a file, the directory
// that it is in.
func openMount(node *nodefs.Dir, m containerMount, rest string) (*nodefs.Dir, string, error) {
	if m.SubPath == "" {
		return openOrParent(node, m.VolumePath, rest)
	}
	whole, err := node.Sub(m.VolumePath)
	if err != nil {
		return nil, "", err
	}
	defer whole.Close()
	return openOrParent(whole, "/"+m.SubPath, rest)
}

func openOrParent(in *nodefs.Dir, name, rest string) (*nodefs.Dir, string, error) {
	info, err := in.Stat(name)
	if err != nil {
		return nil, "", err
	}
	if info.IsDir() {
		dir, err := in.Sub(name)
		return dir, rest, err
	}
	if rest != "/" {
		return nil, "", errors.New("not a directory")
	}
	dir, err := in.Sub(path.Dir(name))
	return dir, "/" + path.Base(name), err
}
