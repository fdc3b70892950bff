package kubelet

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"

	"github.com/storagesim/storagesim/kubelet/runtime"
	"github.com/storagesim/storagesim/machine/disk"
	"github.com/storagesim/storagesim/machine/shell"
)

// ErrReadOnly is returned for writes into a volume that is mounted read-only.
var ErrReadOnly = shell.ErrReadOnly

// ReadFile reads a file as a container of the pod sees it.
func ReadFile(node *disk.Disk, containers runtime.Service, pod *v1.Pod, containerPath string) (data []byte, err error) {
	err = inPod(node, containers, pod, containerPath, false, func(dir *disk.Disk, name string) error {
		data, err = dir.ReadFile(name)
		return err
	})
	return data, err
}

// WriteFile writes a file as a container of the pod would, replacing what is
// there. Volumes mounted read-only refuse it with ErrReadOnly.
func WriteFile(node *disk.Disk, containers runtime.Service, pod *v1.Pod, containerPath string, data []byte) error {
	return inPod(node, containers, pod, containerPath, true, func(dir *disk.Disk, name string) error {
		return dir.WriteFile(name, data, 0o644)
	})
}

// MakeDir makes a directory as a container of the pod would with mkdir -p. What
// it means for mode see disk.Disk.MakeDir. Volumes mounted read-only refuse it
// with ErrReadOnly.
func MakeDir(node *disk.Disk, containers runtime.Service, pod *v1.Pod, containerPath string, mode fs.FileMode) error {
	return inPod(node, containers, pod, containerPath, true, func(dir *disk.Disk, name string) error {
		return dir.MakeDir(name, mode)
	})
}

// List returns the names in a directory as a container of the pod sees it, sorted;
// those of directories end in a slash.
func List(node *disk.Disk, containers runtime.Service, pod *v1.Pod, containerPath string) (names []string, err error) {
	err = inPod(node, containers, pod, containerPath, false, func(dir *disk.Disk, name string) error {
		names, err = dir.List(name)
		return err
	})
	return names, err
}

func inPod(node *disk.Disk, containers runtime.Service, pod *v1.Pod, containerPath string, write bool, f func(*disk.Disk, string) error) error {
	m, user, err := locate(containers, pod, containerPath)
	if err != nil {
		return err
	}
	err = shell.InVolume(node, user, []shell.Mount{m}, containerPath, write, f)
	if failed, ok := errors.AsType[*fs.PathError](err); ok { // which names the path in the volume
		return &fs.PathError{Op: failed.Op, Path: containerPath, Err: failed.Err}
	}
	return err
}

// locate finds the mount that a container path is in, in the first container
// that has one, and that container's user.
func locate(containers runtime.Service, pod *v1.Pod, containerPath string) (shell.Mount, *disk.User, error) {
	sandbox, err := containers.PodSandboxStatus(pod.UID)
	if err != nil {
		return shell.Mount{}, nil, err
	}
	if sandbox == nil {
		return shell.Mount{}, nil, fmt.Errorf("pod %s/%s is not running on this node", pod.Namespace, pod.Name)
	}
	var volumes []string
	for _, c := range slices.Concat(pod.Spec.Containers, pod.Spec.InitContainers) {
		last, _ := sandbox.Latest(c.Name)
		if last == nil {
			continue
		}
		if m, _, ok := shell.FindMount(last.Mounts, containerPath); ok {
			return m, &last.User, nil
		}
		for _, m := range last.Mounts {
			volumes = append(volumes, m.ContainerPath)
		}
	}
	where := "it mounts none"
	if len(volumes) > 0 {
		slices.Sort(volumes)
		where = "they are mounted at " + strings.Join(slices.Compact(volumes), ", ")
	}
	return shell.Mount{}, nil, fmt.Errorf("path %q of pod %s/%s is not in any of its volumes: %s", containerPath, pod.Namespace, pod.Name, where)
}
