package attachdetach

import storagev1 "k8s.io/api/storage/v1"

// Rules can be replaced by wrong ones that were once in use, to show what they did. The
// zero value has the right rules.
type Rules struct {
	// ForceDetach says whether a volume that a node still uses may be detached from it six
	// minutes after its last pod has gone, given whether the node is ready; default: only
	// if it is not. Upstream's versions before 1.26 detached from ready nodes, too
	// (kubernetes/kubernetes 106710).
	ForceDetach func(ready bool) bool
	// Remember says whether a controller that starts takes a VolumeAttachment that no
	// node's status lists for an uncertain attachment; default: each. Upstream's versions
	// before 1.21 took none (kubernetes/kubernetes 96617).
	Remember func(*storagev1.VolumeAttachment) bool
}

func (r Rules) forceDetach(ready bool) bool {
	if r.ForceDetach != nil {
		return r.ForceDetach(ready)
	}
	return !ready
}

func (r Rules) remembers(va *storagev1.VolumeAttachment) bool {
	return r.Remember == nil || r.Remember(va)
}
