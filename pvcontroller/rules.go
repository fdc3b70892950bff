package pvcontroller

import (
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/storagesim/storagesim/binding"
)

// Rules can be replaced by wrong ones that were once in use, to show what they did. The
// zero value has the right rules.
type Rules struct {
	// Reserve makes what is written of a volume that gets its claimRef; default: all of it,
	// with its resourceVersion, so that the write is refused if the volume has changed.
	// Upstream's first versions had no such lock (openshift/origin 4829).
	Reserve func(volume *v1.PersistentVolume) *v1.PersistentVolume
	// LiveGetBeforeRelease finds the claim of a volume. cached is nil if the controller's
	// caches do not have it, live asks the API server; default: live, unless there is cached.
	// Upstream once believed the caches (kubernetes/kubernetes 28002).
	LiveGetBeforeRelease func(cached *v1.PersistentVolumeClaim, live func() (*v1.PersistentVolumeClaim, error)) (*v1.PersistentVolumeClaim, error)
	// Remember says whether the outcome of an own write of a volume is remembered. known is
	// the volume as the informer has it, nil if it has none; default: if they are one object.
	// Upstream's versions remember all (kubernetes/kubernetes 124224).
	Remember func(known, written *v1.PersistentVolume) bool
	// SameClaim says whether a claim is the one with that UID that a volume belongs to;
	// default: if it has that UID. Upstream once compared only the names
	// (kubernetes/kubernetes 43592).
	SameClaim func(claim *v1.PersistentVolumeClaim, uid types.UID) bool
	// AssignClass says whether a claim for which there is no volume gets the default class;
	// default: if it has not said which class it wants. Before KEP-3333 upstream left
	// that to admission, when the claim is made (kubernetes/kubernetes 99629).
	AssignClass func(claim *v1.PersistentVolumeClaim) bool
	// TellMismatch says whether there are events for a claim and the volume that was made for
	// it if their volumeModes differ; default: always. Upstream once had
	// none (kubernetes/kubernetes 59942).
	TellMismatch func(claim *v1.PersistentVolumeClaim) bool
}

// withDefaults has the right rule where there is no other.
func (r Rules) withDefaults() Rules {
	if r.Reserve == nil {
		r.Reserve = func(volume *v1.PersistentVolume) *v1.PersistentVolume { return volume }
	}
	if r.LiveGetBeforeRelease == nil {
		r.LiveGetBeforeRelease = liveUnlessCached
	}
	if r.Remember == nil {
		r.Remember = func(known, written *v1.PersistentVolume) bool { return known != nil && known.UID == written.UID }
	}
	if r.SameClaim == nil {
		r.SameClaim = func(claim *v1.PersistentVolumeClaim, uid types.UID) bool { return claim.UID == uid }
	}
	if r.AssignClass == nil {
		r.AssignClass = func(claim *v1.PersistentVolumeClaim) bool { return !binding.PersistentVolumeClaimHasClass(claim) }
	}
	if r.TellMismatch == nil {
		r.TellMismatch = func(*v1.PersistentVolumeClaim) bool { return true }
	}
	return r
}

func liveUnlessCached(cached *v1.PersistentVolumeClaim, live func() (*v1.PersistentVolumeClaim, error)) (*v1.PersistentVolumeClaim, error) {
	if cached != nil {
		return cached, nil
	}
	return live()
}
