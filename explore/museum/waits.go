package museum

import (
	"fmt"
	"maps"
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/storagesim/storagesim"
	"github.com/storagesim/storagesim/explore"
	"github.com/storagesim/storagesim/trace"
)

// The rules that nothing waits longer than patience, each for one kind of wait.
const (
	// GoesWhenDeleted: what is deleted goes.
	GoesWhenDeleted = "what is deleted goes"
	// Grows: a claim that requests more than it has is taken up by the resizer.
	Grows = "what asks to grow grows"
	// ClassSettles: a claim whose class is the one that it requests has no change recorded.
	ClassSettles = "the class settles"
	// BindsWhatIsNamed: a claim that names its volume is bound.
	BindsWhatIsNamed = "what is named is bound"
	// AttachesSoon: a VolumeAttachment is attached.
	AttachesSoon = "what is to be attached is attached"
)

// patience is longer than any fault of a run, and shorter than the resync of a sidecar, which would end each wait.
const patience = 7 * time.Minute

// waits returns the rules, each with the function that says why an object waits, "" if it does not.
func waits() []explore.Rule {
	return []explore.Rule{
		waitRule(GoesWhenDeleted, func(obj metav1.Object) string {
			if obj.GetDeletionTimestamp() == nil {
				return ""
			}
			return fmt.Sprintf("is deleted, and stays with its finalizers %v", obj.GetFinalizers())
		}),
		waitRule(Grows, ofClaim(func(claim *v1.PersistentVolumeClaim) string {
			asked, has := claim.Spec.Resources.Requests.Storage(), claim.Status.Capacity.Storage()
			if claim.Status.Phase != v1.ClaimBound || asked.Cmp(*has) <= 0 || claim.Status.AllocatedResourceStatuses != nil {
				return ""
			}
			return fmt.Sprintf("requests %s and has %s, and nothing is done about it", asked, has)
		})),
		waitRule(ClassSettles, ofClaim(func(claim *v1.PersistentVolumeClaim) string {
			asked, is, last := claim.Spec.VolumeAttributesClassName, claim.Status.CurrentVolumeAttributesClassName, claim.Status.ModifyVolumeStatus
			if last == nil || asked == nil || is == nil || *asked != *is {
				return ""
			}
			return fmt.Sprintf("has the class %s, which it requests, and its status says that a change to %q is %s", *is,
				last.TargetVolumeAttributesClassName, last.Status)
		})),
		waitRule(BindsWhatIsNamed, ofClaim(func(claim *v1.PersistentVolumeClaim) string {
			// One that is Lost has been looked at: a controller that starts again with an old list of volumes calls it so, as upstream's does.
			if claim.Spec.VolumeName == "" || claim.Status.Phase == v1.ClaimBound || claim.Status.Phase == v1.ClaimLost {
				return ""
			}
			return fmt.Sprintf("is not bound to %s, which it names", claim.Spec.VolumeName)
		})),
		waitRule(AttachesSoon, func(obj metav1.Object) string {
			if va, ok := obj.(*storagev1.VolumeAttachment); ok && !va.Status.Attached && va.DeletionTimestamp == nil {
				return "is not attached to node " + va.Spec.NodeName
			}
			return ""
		}),
	}
}

func ofClaim(why func(*v1.PersistentVolumeClaim) string) func(metav1.Object) string {
	return func(obj metav1.Object) string {
		if claim, ok := obj.(*v1.PersistentVolumeClaim); ok {
			return why(claim)
		}
		return ""
	}
}

func waitRule(name string, why func(metav1.Object) string) explore.Rule {
	return explore.Rule{Name: name, Begin: func(c *storagesim.Cluster) explore.Check {
		w := &waiting{why: why, now: c.Now, since: map[types.UID]waitOf{}}
		return explore.Check{Write: w.write, Rest: w.rest}
	}}
}

// waiting holds what waits for one thing.
type waiting struct {
	why   func(metav1.Object) string
	now   func() time.Time
	since map[types.UID]waitOf
}

// waitOf is a wait: the object that waits, why, and the time of the first write with which it did.
type waitOf struct {
	object, why string
	began       time.Time
}

func (w *waiting) write(written trace.Write) error {
	if old, err := meta.Accessor(written.Old); err == nil && written.New == nil {
		return w.end(old.GetUID())
	}
	obj, err := meta.Accessor(written.New)
	if err != nil {
		return nil //nolint:nilerr // What is no object does not wait.
	}
	why := w.why(obj)
	if why == "" {
		return w.end(obj.GetUID())
	}
	is := waitOf{written.Kind + " " + obj.GetName(), why, w.now()}
	if before, ok := w.since[obj.GetUID()]; ok {
		is.began = before.began
	}
	w.since[obj.GetUID()] = is
	return nil
}

// end ends the wait of an object, if it does wait.
func (w *waiting) end(uid types.UID) error {
	is, ok := w.since[uid]
	delete(w.since, uid)
	if !ok {
		return nil
	}
	return w.check(is)
}

func (w *waiting) rest() error {
	for _, uid := range slices.Sorted(maps.Keys(w.since)) {
		if err := w.check(w.since[uid]); err != nil {
			return err
		}
	}
	return nil
}

func (w *waiting) check(is waitOf) error {
	if lasted := w.now().Sub(is.began); lasted > patience {
		return fmt.Errorf("from %s on, for more than %s, %s %s", is.began.Format("15:04:05.000"), patience, is.object, is.why)
	}
	return nil
}
