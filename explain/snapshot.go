package explain

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	snapshotv1 "github.com/kubernetes-csi/external-snapshotter/client/v8/apis/volumesnapshot/v1"
	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/storagesim/storagesim/control/snapshots"
	"github.com/storagesim/storagesim/controllers/snapshotcontroller"
	"github.com/storagesim/storagesim/internal/prose"
	"github.com/storagesim/storagesim/trace"
)

// snapshot explains a VolumeSnapshot: what it is taken of, its class, its content and its events.
func (x *explainer) snapshot(ns, name string) error {
	var s snapshotv1.VolumeSnapshot
	if !x.custom("VolumeSnapshot", ns, name, &s) {
		return apierrors.NewNotFound(snapshots.Snapshots().GroupResource(), name)
	}
	ref := "volumesnapshot/" + ns + "/" + name
	return x.within(ref, func() error { return x.snapshotOf(ref, &s) })
}

func (x *explainer) snapshotOf(ref string, s *snapshotv1.VolumeSnapshot) error {
	ns, name := s.Namespace, s.Name
	x.found.Objects = append(x.found.Objects, ref)
	ready := s.Status != nil && s.Status.ReadyToUse != nil && *s.Status.ReadyToUse
	x.deleting(s)
	x.setState(ready, "%s", readiness(ready))
	x.say("volumesnapshot %s/%s is %s", ns, name, readiness(ready))
	member := x.member(s)
	if !ready {
		x.snapshotController()
		if source := s.Spec.Source.PersistentVolumeClaimName; source != nil {
			if err := x.sourceClaim(ns, *source); err != nil {
				return err
			}
			if !member { // which has no class
				x.snapshotClass(s.Spec.VolumeSnapshotClassName, ns+"/"+*source)
			}
		}
		if s.Status != nil {
			x.snapshotError(s.Status.Error)
		}
	}
	if s.Status != nil && s.Status.BoundVolumeSnapshotContentName != nil {
		x.content(*s.Status.BoundVolumeSnapshotContentName)
	} else if content := s.Spec.Source.VolumeSnapshotContentName; content != nil {
		x.say("  it is to be bound to volumesnapshotcontent %s", *content)
		x.content(*content)
	}
	if s.DeletionTimestamp != nil {
		if ready {
			x.snapshotController()
		}
		x.foreignFinalizers(s)
		x.copies(s)
	}
	x.waitsForFinalizers(s)
	x.events(ref, "VolumeSnapshot", s.UID, "")
	return nil
}

// snapshotContent explains a VolumeSnapshotContent by itself.
func (x *explainer) snapshotContent(name string) error {
	var c snapshotv1.VolumeSnapshotContent
	if !x.custom("VolumeSnapshotContent", "", name, &c) {
		return apierrors.NewNotFound(snapshots.Contents().GroupResource(), name)
	}
	return x.within("volumesnapshotcontent/"+name, func() error {
		x.found.Objects = append(x.found.Objects, x.subject)
		ready := c.Status != nil && c.Status.ReadyToUse != nil && *c.Status.ReadyToUse
		x.deleting(&c)
		x.setState(ready, "%s", readiness(ready))
		x.content(name)
		ref := c.Spec.VolumeSnapshotRef
		x.say("  it belongs to volumesnapshot %s/%s; its deletion policy is %s", ref.Namespace, ref.Name, c.Spec.DeletionPolicy)
		x.waitsForFinalizers(&c)
		x.foreignFinalizers(&c)
		return nil
	})
}

// copies names the claims whose volumes are being made of a snapshot: it stays as long.
// Upstream: external-snapshotter pkg/common-controller/snapshot_controller.go isVolumeBeingCreatedFromSnapshot, v8.7.
func (x *explainer) copies(s *snapshotv1.VolumeSnapshot) {
	for _, obj := range x.Objects() {
		claim, ok := obj.(*v1.PersistentVolumeClaim)
		if !ok || claim.Namespace != s.Namespace || claim.Status.Phase != v1.ClaimPending || claim.Spec.DataSource == nil {
			continue
		}
		if source := claim.Spec.DataSource; source.Kind == snapshots.SnapshotKind && source.Name == s.Name {
			ref := claimRef(claim.Namespace, claim.Name)
			if neverRestored(s) {
				x.ill(InUse, ref, "delete that claim",
					"it waits for %[1]s, whose volume is to be made of it, and no volume is made of a snapshot that is being deleted: %[1]s waits, too", shown(ref))
				continue
			}
			x.waits(InUse, ref, "wait until that claim is bound, or delete it", "the volume of %s is being made of it", shown(ref))
		}
	}
}

// neverRestored reports whether no volume is made of a snapshot any more: it is being deleted, and no volume was begun before.
//
// Upstream: external-provisioner pkg/controller/controller.go getSnapshotSource, v6.4.
func neverRestored(s *snapshotv1.VolumeSnapshot) bool {
	return s.DeletionTimestamp != nil && !slices.Contains(s.Finalizers, snapshots.RestoredFinalizer)
}

// custom reads an object of a custom kind, and says whether it is there.
func (x *explainer) custom(kind, ns, name string, into any) bool {
	for _, obj := range x.Objects() {
		u, ok := obj.(*unstructured.Unstructured)
		if ok && u.GetKind() == kind && slices.Contains([]string{snapshots.Group, snapshots.GroupsGroup}, u.GroupVersionKind().Group) &&
			u.GetNamespace() == ns && u.GetName() == name {
			return runtime.DefaultUnstructuredConverter.FromUnstructured(u.Object, into) == nil
		}
	}
	return false
}

// sourceClaim says what is wrong with the claim that a snapshot is taken of.
func (x *explainer) sourceClaim(ns, name string) error {
	claim, err := x.Client.CoreV1().PersistentVolumeClaims(ns).Get(x.ctx, name, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err):
		x.ill(SourceMissing, claimRef(ns, name), "create the claim, or take the snapshot of another",
			"it is to be taken of pvc %s/%s, which does not exist", ns, name)
	case err != nil:
		return err
	case claim.DeletionTimestamp != nil:
		x.ill(SourceMissing, claimRef(ns, name), "take the snapshot of another claim", "it is to be taken of pvc %s/%s, which is being deleted", ns, name)
	case claim.Status.Phase != v1.ClaimBound:
		v, ok := x.aside(func(y *explainer) error { return y.claim(ns, name) })
		v.Code, v.Object, v.Subject = SourceNotBound, claimRef(ns, name), ""
		if cause := v.Cause; ok {
			v.Cause = fmt.Sprintf("it is to be taken of pvc %s/%s, which is %s and must be Bound: %s", ns, name, claim.Status.Phase, cause)
		} else {
			v.Class, v.Cause = UnderWay, fmt.Sprintf("it is to be taken of pvc %s/%s, which is %s and must be Bound", ns, name, claim.Status.Phase)
		}
		x.blame(v)
	default:
		x.say("  it is to be taken of pvc %s/%s, which is Bound to pv %s", ns, name, claim.Spec.VolumeName)
	}
	return nil
}

// defaultSnapshotClass says which class a snapshot of a claim gets that names none.
// Upstream: external-snapshotter pkg/common-controller/snapshot_controller.go SetDefaultSnapshotClass, v8.7.
func (x *explainer) defaultSnapshotClass(claim string) {
	x.say("  it names no class, and gets the default class of the volume's driver")
	driver := x.driverOfClaim(claim)
	if driver == "" {
		return
	}
	var defaults, others []string
	for _, obj := range x.Objects() {
		class, ok := obj.(*unstructured.Unstructured)
		if !ok || class.GetKind() != "VolumeSnapshotClass" || class.GetNamespace() != "" {
			continue
		}
		if of, _, _ := unstructured.NestedString(class.Object, "driver"); of != driver {
			continue
		}
		if class.GetAnnotations()["snapshot.storage.kubernetes.io/is-default-class"] == "true" {
			defaults = append(defaults, class.GetName())
		} else {
			others = append(others, class.GetName())
		}
	}
	v := Verdict{Class: Ill, Code: ClassMissing, Field: "spec.volumeSnapshotClassName"}
	switch {
	case len(defaults) == 1:
		return
	case len(defaults) > 1:
		v.Value, v.Do = strings.Join(defaults, ", "), "leave one of them the default, or make the snapshot anew with a class"
		v.Cause = fmt.Sprintf("it names no class, and driver %s has %d default classes: %s", driver, len(defaults), v.Value)
	case len(others) > 0:
		v.Do = fmt.Sprintf("make the snapshot anew with class %s, or mark that as the default (annotation snapshot.storage.kubernetes.io/is-default-class: \"true\")",
			others[0])
		v.Cause = fmt.Sprintf("it names no class, and no class of driver %s is the default", driver)
	default:
		v.Do = "create a VolumeSnapshotClass of driver " + driver
		v.Cause = fmt.Sprintf("it names no class, and driver %s has none", driver)
	}
	x.blame(v)
}

// driverOfClaim returns the CSI driver of the volume of a claim ("namespace/name"), "" if it has none.
func (x *explainer) driverOfClaim(claim string) string {
	ns, name, _ := strings.Cut(claim, "/")
	of, err := x.Client.CoreV1().PersistentVolumeClaims(ns).Get(x.ctx, name, metav1.GetOptions{})
	if err != nil || of.Spec.VolumeName == "" {
		return ""
	}
	pv, err := x.Client.CoreV1().PersistentVolumes().Get(x.ctx, of.Spec.VolumeName, metav1.GetOptions{})
	if err != nil || pv.Spec.CSI == nil {
		return ""
	}
	return pv.Spec.CSI.Driver
}

// snapshotClass says what is wrong with the class that a snapshot of a claim names, nil if it names none.
func (x *explainer) snapshotClass(name *string, claim string) {
	if name == nil {
		x.defaultSnapshotClass(claim)
		return
	}
	var class snapshotv1.VolumeSnapshotClass
	if !x.custom("VolumeSnapshotClass", "", *name, &class) {
		x.blame(Verdict{
			Class: Ill, Code: ClassMissing, Field: "spec.volumeSnapshotClassName", Value: *name, Do: "create VolumeSnapshotClass " + *name,
			Cause: fmt.Sprintf("its class %s does not exist", *name),
		})
		return
	}
	x.say("  its class %s is of driver %s", *name, class.Driver)
}

func (x *explainer) snapshotError(failure *snapshotv1.VolumeSnapshotError) {
	if failure != nil && failure.Message != nil {
		x.ill(SnapshotFailed, "", mend(*failure.Message), "its error is: %s", oneLine(*failure.Message))
	}
}

// content says how far a content is, and who works on it.
func (x *explainer) content(name string) {
	var c snapshotv1.VolumeSnapshotContent
	if !x.custom("VolumeSnapshotContent", "", name, &c) {
		x.ill(SourceMissing, "volumesnapshotcontent/"+name, "create it", "volumesnapshotcontent %s does not exist", name)
		return
	}
	ready := c.Status != nil && c.Status.ReadyToUse != nil && *c.Status.ReadyToUse
	handle := ""
	if c.Status != nil {
		handle = *cmp.Or(c.Status.SnapshotHandle, &handle)
	}
	if handle != "" {
		handle = ", snapshot " + handle + " of the driver"
	}
	x.say("  volumesnapshotcontent %s is %s%s", name, readiness(ready), handle)
	if ready && c.DeletionTimestamp == nil {
		return
	}
	x.snapshotter(c.Spec.Driver)
	if why := x.notDeleted(&c); why != "" {
		x.ill(SnapshotFailed, "volumesnapshotcontent/"+name, "mend what the driver says", "driver %s does not delete it: %s", c.Spec.Driver, why)
	}
	if c.Status != nil {
		x.snapshotError(c.Status.Error)
	}
	x.events("volumesnapshotcontent/"+name, "VolumeSnapshotContent", c.UID, "")
}

// notDeleted returns the error of the last DeleteSnapshot of a content that is being deleted, "" if there is none.
func (x *explainer) notDeleted(c *snapshotv1.VolumeSnapshotContent) string {
	if c.DeletionTimestamp == nil || c.Status == nil || c.Status.SnapshotHandle == nil {
		return ""
	}
	for _, entry := range slices.Backward(x.Log.Entries()) {
		if rpc, ok := entry.Record.(trace.RPC); ok && rpc.Method == "DeleteSnapshot" && rpc.Request["snapshot_id"] == *c.Status.SnapshotHandle {
			if rpc.Code == "OK" {
				return ""
			}
			return rpc.Code + ": " + oneLine(rpc.Err)
		}
	}
	return ""
}

// snapshotter blames the csi-snapshotter of a driver that does not run.
func (x *explainer) snapshotter(driver string) {
	actor := "csi-snapshotter/" + driver
	switch {
	case !slices.Contains(x.Snapshotters, driver):
		x.ill(ActorMissing, "actor/"+actor, "install the driver with snapshots"+prose.DidYouMean(driver, x.Snapshotters),
			"the csi-snapshotter of driver %s should work on it, and does not run in this cluster", driver)
	case slices.Contains(x.Actors, actor):
		x.needs(actor, "makes the driver's snapshots")
	}
}

// snapshotController blames the snapshot controller that does not run.
func (x *explainer) snapshotController() {
	if !x.SnapshotController {
		x.ill(ActorMissing, "actor/"+snapshotcontroller.ActorName, "install snapshots", "no snapshot controller runs here")
		return
	}
	x.needs(snapshotcontroller.ActorName, "binds snapshots and contents")
}

// deleting notes that the object at hand is being deleted, if it is.
func (x *explainer) deleting(obj metav1.Object) {
	if obj.GetDeletionTimestamp() != nil {
		x.setState(false, "being deleted")
	}
}

func (x *explainer) waitsForFinalizers(obj metav1.Object) {
	if obj.GetDeletionTimestamp() != nil {
		x.say("  it is being deleted and waits for its finalizers: %s", strings.Join(obj.GetFinalizers(), ", "))
	}
}

func readiness(ready bool) string {
	if ready {
		return "ready to use"
	}
	return "not ready to use"
}
