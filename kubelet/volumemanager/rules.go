package volumemanager

import (
	"k8s.io/apimachinery/pkg/types"

	"github.com/storagesim/storagesim/machine/disk"
	"github.com/storagesim/storagesim/volume"
)

// Rules can be replaced by wrong ones that were once in use, to show what they did. The
// zero value has the right rules.
type Rules struct {
	// Uncertain reports whether a volume may be mounted although its plugin has failed with
	// that error, so that it must be unmounted when its pod ends; default: volume.IsUncertain.
	// Upstream's versions before 1.17 took every failure for final
	// (kubernetes/kubernetes 82492).
	Uncertain func(failure error) bool
	// Remember reports whether a kubelet that starts takes the volumes that it finds in a
	// pod's directory for mounted, perhaps; default: always. Upstream once knew mounts from
	// memory only (kubernetes/kubernetes 27653, KEP-3756).
	Remember func(pod types.UID) bool
	// RemoveDir removes the directory of a pod that has ended; default: only empty
	// directories, by rmdir, and no mount points. Upstream once removed everything below
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
