package explain

import (
	"fmt"

	snapshotv1 "github.com/kubernetes-csi/external-snapshotter/client/v8/apis/volumesnapshot/v1"
	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/storagesim/storagesim/control/snapshots"
)

// source blames the snapshot or the claim that a claim's volume is to be a copy of: it is missing, not ready, or larger than the claim
// asks for.
func (x *explainer) source(claim *v1.PersistentVolumeClaim) error {
	source := claim.Spec.DataSource
	switch {
	case source == nil:
	case source.Kind == snapshots.SnapshotKind:
		x.sourceSnapshot(claim, source.Name)
	case source.Kind == "PersistentVolumeClaim":
		return x.clonedClaim(claim, source.Name)
	default:
		x.populator(source)
	}
	return nil
}

// populator blames a volume populator that does not run: the provisioner leaves claims with sources of other kinds to it.
// Upstream: external-provisioner pkg/controller/controller.go ShouldProvision, v6.4.
func (x *explainer) populator(source *v1.TypedLocalObjectReference) {
	v := Verdict{
		Class: Ill, Code: NoPopulator, Field: "spec.dataSourceRef", Value: source.Kind + "/" + source.Name,
		Do:    "run a populator for that kind, or make the claim anew with another source or without",
		Cause: fmt.Sprintf("its volume is to be filled from %s %s, which its provisioner leaves to a volume populator, and none runs here", source.Kind, source.Name),
	}
	if x.Programs {
		v.Class, v.Do = UnderWay, ""
		v.Cause = fmt.Sprintf("its volume is to be filled from %s %s by a volume populator", source.Kind, source.Name)
	}
	x.blame(v)
}

func (x *explainer) sourceSnapshot(claim *v1.PersistentVolumeClaim, name string) {
	ref := "volumesnapshot/" + claim.Namespace + "/" + name
	var s snapshotv1.VolumeSnapshot
	switch {
	case !x.custom(snapshots.SnapshotKind, claim.Namespace, name, &s):
		x.noSource(ref, name)
	case neverRestored(&s):
		x.ill(SourceMissing, ref, "delete the claim, so that the snapshot can go, and make it anew from another snapshot or without",
			"its volume is to be a copy of %s, which is being deleted: no volume is made of it any more, and it waits for this claim", shown(ref))
	case s.Status == nil || s.Status.ReadyToUse == nil || !*s.Status.ReadyToUse:
		v, ok := x.aside(func(y *explainer) error { return y.snapshot(claim.Namespace, name) })
		x.sourceNotReady(ref, "is not ready to use", v, ok)
	default:
		x.sourceSize(claim, ref, s.Status.RestoreSize)
	}
}

func (x *explainer) clonedClaim(claim *v1.PersistentVolumeClaim, name string) error {
	ref := claimRef(claim.Namespace, name)
	of, err := x.Client.CoreV1().PersistentVolumeClaims(claim.Namespace).Get(x.ctx, name, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err):
		x.noSource(ref, name)
	case err != nil:
		return err
	case of.UID == claim.UID: // it asks to be a copy of itself
	case of.Status.Phase != v1.ClaimBound:
		v, ok := x.aside(func(y *explainer) error { return y.claim(claim.Namespace, name) })
		x.sourceNotReady(ref, fmt.Sprintf("is %s and must be Bound", of.Status.Phase), v, ok)
	default:
		size := of.Status.Capacity[v1.ResourceStorage]
		x.sourceSize(claim, ref, &size)
	}
	return nil
}

// noSource blames a source that does not exist. What the field names may be created later.
func (x *explainer) noSource(ref, name string) {
	x.blame(Verdict{
		Class: Ill, Code: SourceMissing, Object: ref, Field: "spec.dataSource", Value: name, Do: "create " + shown(ref) +
			", or make the claim anew with another source or without",
		Cause: fmt.Sprintf("its volume is to be a copy of %s, which does not exist", shown(ref)),
	})
}

// sourceNotReady blames a source that cannot be copied yet. why says what keeps it, if that is known.
func (x *explainer) sourceNotReady(ref, state string, why Verdict, known bool) {
	cause := fmt.Sprintf("its volume is to be a copy of %s, which %s", shown(ref), state)
	if known {
		cause += ": " + why.Cause
	} else {
		why = Verdict{Class: UnderWay}
	}
	x.blame(Verdict{Class: why.Class, Code: SourceNotBound, Object: ref, Field: "spec.dataSource", Do: why.Do, Cause: cause})
}

// sourceSize blames a request that is smaller than the source.
func (x *explainer) sourceSize(claim *v1.PersistentVolumeClaim, ref string, size *resource.Quantity) {
	asked := claim.Spec.Resources.Requests[v1.ResourceStorage]
	if size == nil || asked.Cmp(*size) >= 0 {
		return
	}
	x.blame(Verdict{
		Class: Ill, Code: SourceLarger, Object: ref, Field: "spec.resources.requests.storage", Value: asked.String(), Want: size.String(),
		Do:    "make the claim anew with at least " + size.String(),
		Cause: fmt.Sprintf("it asks for %s, and its volume is to be a copy of %s, which has %s", asked.String(), shown(ref), size.String()),
	})
}
