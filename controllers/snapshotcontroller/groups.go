package snapshotcontroller

import (
	"context"
	"errors"
	"fmt"
	"time"

	groupv1 "github.com/kubernetes-csi/external-snapshotter/client/v8/apis/volumegroupsnapshot/v1"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/storagesim/storagesim/control"
	"github.com/storagesim/storagesim/control/snapshots"
)

// groups is the part of the controller for group snapshots.
//
// Upstream: external-snapshotter pkg/common-controller/groupsnapshot_controller_helper.go, v8.7.
type groups struct {
	binder[*groupSnapshot, *groupContent]
	volumes *control.Cache[*v1.PersistentVolume]
}

// byHandle is an index of volumes by driver and handle.
const byHandle = "CSI handle"

// Upstream: pkg/utils/pvs.go PersistentVolumeKeyFuncByCSIDriverHandle, v8.7.
func handleKey(driver, handle string) string { return driver + "^" + handle }

// syncedPollPeriod is the interval at which followGroups asks whether the caches have had their first lists.
//
// Upstream: client-go tools/cache/shared_informer.go syncedPollPeriod, v1.37.
const syncedPollPeriod = 100 * time.Millisecond

// followGroups begins to work on group snapshots.
//
// Upstream: snapshot_controller_base.go NewCSISnapshotCommonController, v8.7.
func (c *controller) followGroups(ctx context.Context) {
	g := &groups{newBinder(c, snapshots.Groups()), control.NewCache[*v1.PersistentVolume](c.env, control.PersistentVolumes())}
	g.volumes.AddIndex(byHandle, func(pv *v1.PersistentVolume) []string {
		if pv.Spec.CSI == nil {
			return nil
		}
		return []string{handleKey(pv.Spec.CSI.Driver, pv.Spec.CSI.VolumeHandle)}
	})
	g.makeQueues(g, "snapshot-controller-group-")
	synced := func(context.Context) (bool, error) {
		return g.snapshots.Synced() && g.contents.Synced() && g.classes.Synced() && g.volumes.Synced(), nil
	}
	if done, _ := synced(ctx); !done && c.env.Poll(ctx, syncedPollPeriod, 0, synced) != nil {
		return
	}
	c.groups = g
	g.begin("resync of groups")
}

// syncSnapshot brings a group snapshot one step further.
//
// Upstream: groupsnapshot_controller_helper.go syncGroupSnapshot, v8.7.
func (g *groups) syncSnapshot(ctx context.Context, group *groupSnapshot) error {
	if group.DeletionTimestamp != nil {
		return g.processGroupSnapshotWithDeletionTimestamp(ctx, group)
	}
	if source := group.Spec.Source; (source.Selector == nil) == (source.VolumeGroupSnapshotContentName == nil) {
		err := errors.New("Exactly one of Selector and VolumeGroupSnapshotContentName should be specified")
		g.fail(ctx, group, true, "GroupSnapshotValidationError", err.Error())
		return err
	}
	if err := g.checkAndAddGroupSnapshotFinalizers(ctx, group); err != nil {
		g.recorder.Event(group, v1.EventTypeWarning, "GroupSnapshotFinalizerError", "Failed to check and update group snapshot: "+err.Error())
		return err
	}
	if !g.isBoundAndReady(group) {
		return g.syncUnreadyGroupSnapshot(ctx, group)
	}
	_, err := g.checkBound(ctx, group)
	return err
}

// checkAndAddGroupSnapshotFinalizers protects a group snapshot as long as it has a content.
//
// Upstream: groupsnapshot_controller_helper.go checkandAddGroupSnapshotFinalizers and util.go
// NeedToAddGroupSnapshotBoundFinalizer, v8.7.
func (g *groups) checkAndAddGroupSnapshotFinalizers(ctx context.Context, group *groupSnapshot) error {
	found, err := g.contentOf(ctx, group)
	if err != nil || found == nil || g.bound(group) == "" || hasFinalizer(group, snapshots.GroupBoundFinalizer) {
		return err
	}
	return g.snapshots.AddFinalizers(ctx, group, snapshots.GroupBoundFinalizer)
}

// syncUnreadyGroupSnapshot binds a group snapshot and its content. It creates the content if there is none, and the
// members when the driver has taken them.
//
// Upstream: groupsnapshot_controller_helper.go syncUnreadyGroupSnapshot, v8.7.
func (g *groups) syncUnreadyGroupSnapshot(ctx context.Context, group *groupSnapshot) error {
	if group.Spec.Source.VolumeGroupSnapshotContentName != nil {
		return g.syncPreprovisioned(ctx, group)
	}
	found, err := g.dynamicContent(ctx, group)
	if err != nil {
		return err
	}
	if found == nil {
		if found, err = g.createContent(ctx, group); err != nil {
			return g.failedToCreate(ctx, group, err)
		}
		_, err = g.copyStatus(ctx, group, found, false)
		return err
	}
	if err := g.createSnapshotsForGroupSnapshotContent(ctx, found, group); err != nil {
		return err
	}
	return g.bindAndUpdate(ctx, group, found)
}

// syncContent protects a content that is bound, and has its group snapshot follow its status.
//
// Upstream: groupsnapshot_controller_helper.go syncGroupSnapshotContent, v8.7.
func (g *groups) syncContent(ctx context.Context, found *groupContent) error {
	source := found.Spec.Source
	if (source.GroupSnapshotHandles == nil) == (len(source.VolumeHandles) == 0) {
		err := errors.New("Exactly one of GroupSnapshotHandles and VolumeHandles should be specified")
		g.recorder.Event(found, v1.EventTypeWarning, "GroupContentValidationError", err.Error())
		return err
	}
	_, err := g.protectContent(ctx, found)
	return err
}

func (g *groups) setClass(ctx context.Context, group *groupSnapshot, name string) (*groupSnapshot, error) {
	changed := group.DeepCopy()
	changed.Spec.VolumeGroupSnapshotClassName = &name
	// Upstream goes on with what a refused update returns, which has no name.
	return g.snapshots.Update(ctx, changed)
}

// volumesOf returns the volumes of the claims that a group snapshot is to be taken of.
//
// Upstream: groupsnapshot_controller_helper.go getVolumesFromVolumeGroupSnapshot, v8.7.
func (g *groups) volumesOf(ctx context.Context, group *groupSnapshot) ([]*v1.PersistentVolume, error) {
	claims, err := g.claimsOf(ctx, group)
	if err != nil {
		return nil, err
	}
	var volumes []*v1.PersistentVolume
	for i := range claims {
		volume, err := g.volumeOfClaim(ctx, &claims[i], g.Noun)
		if err != nil {
			return nil, err
		}
		volumes = append(volumes, volume)
	}
	return volumes, nil
}

// claimsOf returns the claims that the selector chooses, at least one.
//
// Upstream: groupsnapshot_controller_helper.go getClaimsFromVolumeGroupSnapshot, v8.7, which looks at the selector's
// matchLabels only.
func (g *groups) claimsOf(ctx context.Context, group *groupSnapshot) ([]v1.PersistentVolumeClaim, error) {
	selector := group.Spec.Source.Selector
	if selector == nil {
		return nil, errors.New("the group snapshot source selector is not specified") // Upstream's program crashes.
	}
	list, err := g.client.CoreV1().PersistentVolumeClaims(group.Namespace).List(ctx, metav1.ListOptions{LabelSelector: labels.Set(selector.MatchLabels).String()})
	if err != nil {
		return nil, fmt.Errorf("failed to list PVCs with label selector %s: %q", metav1.FormatLabelSelector(selector), err.Error())
	}
	if len(list.Items) == 0 {
		return nil, fmt.Errorf("label selector %s for group snapshot not applied to any PVC", metav1.FormatLabelSelector(selector))
	}
	return list.Items, nil
}

// newContent requires that the volumes are of the class's driver.
//
// Upstream: groupsnapshot_controller_helper.go createGroupSnapshotContent, v8.7.
func (g *groups) newContent(group *groupSnapshot, class *class, volumes []*v1.PersistentVolume) (*groupContent, error) {
	refused := func(message string) {
		g.recorder.Event(group, v1.EventTypeWarning, "CreateGroupSnapshotContentFailed", message)
	}
	var handles []string
	for _, volume := range volumes {
		source := volume.Spec.CSI
		if source == nil {
			refused("Cannot snapshot a non-CSI volume: " + volume.Name)
			return nil, fmt.Errorf("cannot snapshot a non-CSI volume for group snapshot %s: %s", control.Key(group), volume.Name)
		}
		if source.Driver != class.Driver {
			message := fmt.Sprintf("Volume CSI driver (%s) mismatch with VolumeGroupSnapshotClass (%s) %s: %s", source.Driver, class.Driver,
				control.Key(group), volume.Name)
			refused(message)
			return nil, snapshots.UpdateError(control.Key(group), errors.New(message))
		}
		handles = append(handles, source.VolumeHandle)
	}
	return &groupContent{
		TypeMeta:   metav1.TypeMeta{APIVersion: groupv1.SchemeGroupVersion.String(), Kind: "VolumeGroupSnapshotContent"},
		ObjectMeta: metav1.ObjectMeta{Name: g.contentName(group)},
		Spec: groupv1.VolumeGroupSnapshotContentSpec{
			VolumeGroupSnapshotRef:       g.reference(group),
			Source:                       groupv1.VolumeGroupSnapshotContentSource{VolumeHandles: handles},
			VolumeGroupSnapshotClassName: &class.Name, DeletionPolicy: class.DeletionPolicy, Driver: class.Driver,
		},
	}, nil
}
