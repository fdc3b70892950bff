package volumemanager

import (
	"k8s.io/apimachinery/pkg/types"

	"github.com/storagesim/storagesim/machine/disk"
	"github.com/storagesim/storagesim/volume"
)

// Decisions are the functions by which a volume manager decides. Package museum replaces them by
// those of older versions, to show what these did. A nil field is today's.
type Decisions struct {
	// Uncertain reports whether a volume may be mounted although its plugin has failed with
	// that error, so that it must be unmounted when its pod ends; default: volume.IsUncertain.
	// Upstream's versions before 1.17 took every failure for final
	// (kubernetes/kubernetes 82492).
	Uncertain func(failure error) bool
	// Reconstruct reports whether a kubelet that starts takes the volumes that it finds in a
	// pod's directory for uncertain mounts; default: always. Upstream once knew mounts from
	// memory only (kubernetes/kubernetes 27653, KEP-3756).
	Reconstruct func(pod types.UID) bool
	// RemoveDir removes the directory of a pod that has ended; default: only empty
	// directories, by rmdir, and no mount points. Upstream once removed everything below
	// (kubernetes/kubernetes 7317).
	RemoveDir func(node *disk.Disk, dir string) error
}

// decideBy sets the decisions, with the defaults for nil fields.
func (s *shared) decideBy(d Decisions) {
	if d.Uncertain == nil {
		d.Uncertain = volume.IsUncertain
	}
	if d.Reconstruct == nil {
		d.Reconstruct = func(types.UID) bool { return true }
	}
	if d.RemoveDir == nil {
		d.RemoveDir = func(_ *disk.Disk, dir string) error { return s.removeEmptyDirs(dir) }
	}
	s.decisions, s.actual.uncertain = d, d.Uncertain
}
