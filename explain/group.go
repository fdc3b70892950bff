package explain

import (
	"cmp"
	"fmt"

	groupv1 "github.com/kubernetes-csi/external-snapshotter/client/v8/apis/volumegroupsnapshot/v1"
	snapshotv1 "github.com/kubernetes-csi/external-snapshotter/client/v8/apis/volumesnapshot/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/storagesim/storagesim/control/snapshots"
)

// groupSnapshot explains a VolumeGroupSnapshot: which claims it is taken of, its content and its events.
func (x *explainer) groupSnapshot(ns, name string) error {
	var g groupv1.VolumeGroupSnapshot
	if !x.custom(snapshots.GroupKind, ns, name, &g) {
		return apierrors.NewNotFound(snapshots.GroupSnapshots().GroupResource(), name)
	}
	ref := "volumegroupsnapshot/" + ns + "/" + name
	return x.within(ref, func() error { return x.groupSnapshotOf(ref, &g) })
}

func (x *explainer) groupSnapshotOf(ref string, g *groupv1.VolumeGroupSnapshot) error {
	ns, name := g.Namespace, g.Name
	x.found.Objects = append(x.found.Objects, ref)
	ready := snapshots.IsGroupReady(g)
	x.deleting(g)
	x.setState(ready, "%s", readiness(ready))
	x.say("volumegroupsnapshot %s/%s is %s", ns, name, readiness(ready))
	if !ready {
		x.snapshotController()
		if g.Spec.Source.Selector != nil {
			if err := x.chosenClaims(ns, g.Spec.Source.Selector); err != nil {
				return err
			}
		}
		if g.Status != nil {
			x.snapshotError(g.Status.Error)
		}
	}
	if content := cmp.Or(snapshots.BoundGroupContent(g), *cmp.Or(g.Spec.Source.VolumeGroupSnapshotContentName, new(string))); content != "" {
		x.groupContent(content)
	}
	x.waitsForFinalizers(g)
	x.events(ref, snapshots.GroupKind, g.UID, "")
	return nil
}

// chosenClaims says which claims a selector chooses, as the controller reads it: by matchLabels.
func (x *explainer) chosenClaims(ns string, selector *metav1.LabelSelector) error {
	labels := metav1.FormatLabelSelector(&metav1.LabelSelector{MatchLabels: selector.MatchLabels})
	list, err := x.Client.CoreV1().PersistentVolumeClaims(ns).List(x.ctx, metav1.ListOptions{LabelSelector: labels})
	if err != nil {
		return err
	}
	if len(list.Items) == 0 {
		x.blame(Verdict{
			Class: Ill, Code: SourceMissing, Field: "spec.source.selector", Value: labels, Do: "label the claims, or mend the selector",
			Cause: fmt.Sprintf("no claim in %s has the labels %s", ns, labels),
		})
	}
	for _, claim := range list.Items {
		if err := x.sourceClaim(ns, claim.Name); err != nil {
			return err
		}
	}
	return nil
}

// groupContent says how far the content of a group snapshot is, and who works on it.
func (x *explainer) groupContent(name string) {
	var c groupv1.VolumeGroupSnapshotContent
	if !x.custom("VolumeGroupSnapshotContent", "", name, &c) {
		x.ill(SourceMissing, "volumegroupsnapshotcontent/"+name, "create it", "volumegroupsnapshotcontent %s does not exist", name)
		return
	}
	ready := c.Status != nil && c.Status.ReadyToUse != nil && *c.Status.ReadyToUse
	x.say("  volumegroupsnapshotcontent %s is %s", name, readiness(ready))
	if ready {
		return
	}
	x.snapshotter(c.Spec.Driver)
	x.events("volumegroupsnapshotcontent/"+name, "VolumeGroupSnapshotContent", c.UID, "")
}

// member says of a snapshot which group snapshot it is part of, and whether it is.
func (x *explainer) member(s *snapshotv1.VolumeSnapshot) bool {
	group := snapshots.GroupOf(s)
	if group != "" {
		x.say("  it is part of volumegroupsnapshot %s/%s, and is deleted with that", s.Namespace, group)
	}
	return group != ""
}
