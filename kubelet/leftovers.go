package kubelet

import (
	"errors"
	"path"
	"strings"

	"k8s.io/apimachinery/pkg/types"

	"github.com/storagesim/storagesim/kubelet/internal/layout"
	"github.com/storagesim/storagesim/kubelet/runtime"
	"github.com/storagesim/storagesim/machine/disk"
	"github.com/storagesim/storagesim/machine/mount"
)

// Leftover is something that a node has because of a pod.
type Leftover struct {
	// Pod is the UID of its pod; "" if it belongs to no pod any more.
	Pod types.UID
	// Kind is "directory", "mount", "pod sandbox" or "mount record", and Path
	// its path on the node; for a sandbox the pod's UID.
	Kind, Path string
}

// String returns the kind and the path.
func (r Leftover) String() string { return r.Kind + " " + r.Path }

// Leftovers returns all that a node has of pods: their directories, their mounts,
// the sandboxes of its container runtime, and records of mounts that do not exist.
// For a pod that is gone there must be nothing. It changes nothing.
func Leftovers(node *disk.Disk, containers runtime.Service) ([]Leftover, error) {
	directories, err1 := layout.Names(node, layout.PodsDir)
	sandboxes, err2 := containers.ListPodSandboxes()
	mounts, stale, err3 := mount.Read(node)
	if err := errors.Join(err1, err2, err3); err != nil {
		return nil, err
	}
	var list []Leftover
	for _, name := range directories {
		list = append(list, Leftover{types.UID(name), "directory", path.Join(layout.PodsDir, name)})
	}
	for _, m := range mounts {
		if below, ok := strings.CutPrefix(m.Path, layout.PodsDir+"/"); ok {
			uid, _, _ := strings.Cut(below, "/")
			list = append(list, Leftover{types.UID(uid), "mount", m.Path})
		}
	}
	for _, uid := range sandboxes {
		list = append(list, Leftover{uid, "pod sandbox", string(uid)})
	}
	for _, file := range stale {
		list = append(list, Leftover{"", "mount record", file})
	}
	return list, nil
}
