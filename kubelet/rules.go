package kubelet

import (
	"k8s.io/apimachinery/pkg/types"

	"github.com/storagesim/storagesim/machine/disk"
	"github.com/storagesim/storagesim/volume"
)

// Rules can be replaced by wrong ones that were once in use, to show what they did. The
// zero value has the right rules.
type Rules struct {
	// Uncertain says whether a volume may be mounted although its plugin has failed with
	// that error, so that it is taken away with its pod; default: volume.IsUncertain.
	// Upstream's versions before 1.17 took every failure for final
	// (kubernetes/kubernetes 82492).
	Uncertain func(failure error) bool
	// Remember says whether a kubelet that starts takes what is in the directory of a pod's
	// volumes for mounted, perhaps; default: of each pod. Upstream knew mounts from memory
	// only, once (kubernetes/kubernetes 27653, KEP-3756).
	Remember func(pod types.UID) bool
	// RemoveDir removes the directory of a pod that has ended; default: only empty
	// directories, by rmdir, and no mount points. Upstream removed all that was below, once
	// (kubernetes/kubernetes 7317).
	RemoveDir func(node *disk.Disk, dir string) error
}

func (r Rules) uncertain(failure error) bool {
	if r.Uncertain != nil {
		return r.Uncertain(failure)
	}
	return volume.IsUncertain(failure)
}

func (r Rules) remembers(pod types.UID) bool { return r.Remember == nil || r.Remember(pod) }

func (k *kubelet) removeDir(dir string) error {
	if remove := k.cfg.Rules.RemoveDir; remove != nil {
		return remove(k.fs, dir)
	}
	return k.removeEmptyDirs(dir)
}
