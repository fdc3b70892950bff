package explain

import (
	"cmp"
	"slices"

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
	x.found.Objects = append(x.found.Objects, "volumegroupsnapshot/"+ns+"/"+name)
	ready := snapshots.IsGroupReady(&g)
	x.say("volumegroupsnapshot %s/%s is %s", ns, name, readiness(ready))
	if !ready {
		if !x.SnapshotController {
			x.say("  no snapshot controller runs here")
		}
		if g.Spec.Source.Selector != nil {
			if err := x.chosenClaims(ns, g.Spec.Source.Selector); err != nil {
				return err
			}
		}
		if g.Status != nil {
			x.snapshotError(g.Status.Error)
		}
	}
	if content := cmp.Or(snapshots.BoundGroupContent(&g), *cmp.Or(g.Spec.Source.VolumeGroupSnapshotContentName, new(string))); content != "" {
		x.groupContent(content)
	}
	x.waitsForFinalizers(&g)
	x.events(snapshots.GroupKind, g.UID, "")
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
		x.say("  no claim in %s has the labels %s", ns, labels)
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
		x.say("  volumegroupsnapshotcontent %s does not exist", name)
		return
	}
	ready := c.Status != nil && c.Status.ReadyToUse != nil && *c.Status.ReadyToUse
	x.say("  volumegroupsnapshotcontent %s is %s", name, readiness(ready))
	if ready {
		return
	}
	if !slices.Contains(x.Snapshotters, c.Spec.Driver) {
		x.say("  the csi-snapshotter of driver %s should work on it, and does not run in this cluster", c.Spec.Driver)
	}
	x.events("VolumeGroupSnapshotContent", c.UID, "")
}

// member says of a snapshot which group snapshot it is part of, and whether it is.
func (x *explainer) member(s *snapshotv1.VolumeSnapshot) bool {
	group := snapshots.GroupOf(s)
	if group != "" {
		x.say("  it is part of volumegroupsnapshot %s/%s, and is deleted with that", s.Namespace, group)
	}
	return group != ""
}
