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

// Remnant is something that a node has because of a pod.
type Remnant struct {
	// Pod is the UID of its pod; "" if it belongs to no pod any more.
	Pod types.UID
	// Kind is "directory", "mount", "pod sandbox" or "mount record", and Path
	// its path on the node; for a sandbox the pod's UID.
	Kind, Path string
}

// String returns the kind and the path.
func (r Remnant) String() string { return r.Kind + " " + r.Path }

// Remnants returns all that a node has of pods: their directories, their mounts,
// the sandboxes of its container runtime, and records of mounts that do not exist.
// For a pod that is gone there must be nothing. It changes nothing.
func Remnants(node *disk.Disk, containers runtime.Service) ([]Remnant, error) {
	directories, err1 := layout.Names(node, layout.PodsDir)
	sandboxes, err2 := containers.ListPodSandboxes()
	mounts, stale, err3 := mount.Read(node)
	if err := errors.Join(err1, err2, err3); err != nil {
		return nil, err
	}
	var list []Remnant
	for _, name := range directories {
		list = append(list, Remnant{types.UID(name), "directory", path.Join(layout.PodsDir, name)})
	}
	for _, m := range mounts {
		if below, ok := strings.CutPrefix(m.Path, layout.PodsDir+"/"); ok {
			uid, _, _ := strings.Cut(below, "/")
			list = append(list, Remnant{types.UID(uid), "mount", m.Path})
		}
	}
	for _, uid := range sandboxes {
		list = append(list, Remnant{uid, "pod sandbox", string(uid)})
	}
	for _, file := range stale {
		list = append(list, Remnant{"", "mount record", file})
	}
	return list, nil
}
