package snapshotcontroller

import (
	"context"
	"errors"
	"fmt"
	"time"

	groupv1 "github.com/kubernetes-csi/external-snapshotter/client/v8/apis/volumegroupsnapshot/v1"
	snapshotv1 "github.com/kubernetes-csi/external-snapshotter/client/v8/apis/volumesnapshot/v1"
	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/storagesim/storagesim/control"
	"github.com/storagesim/storagesim/control/snapshots"
)

type (
	groupSnapshot = groupv1.VolumeGroupSnapshot
	groupContent  = groupv1.VolumeGroupSnapshotContent
	groupClass    = groupv1.VolumeGroupSnapshotClass
)

// groupController is the part of the controller for group snapshots.
//
// Upstream: external-snapshotter pkg/common-controller/groupsnapshot_controller_helper.go, v8.7.
type groupController struct {
	*controller
	groupSnapshots snapshots.Objects[groupSnapshot, *groupSnapshot]
	groupContents  snapshots.Objects[groupContent, *groupContent]
	groupClasses   *snapshots.Store[groupClass, *groupClass]
	volumes        *control.Cache[*v1.PersistentVolume]

	groupQueue, groupContentQueue control.Queue
}

// byHandle is an index of volumes by driver and handle.
const byHandle = "CSI handle"

// Upstream: pkg/utils/pvs.go PersistentVolumeKeyFuncByCSIDriverHandle, v8.7.
func handleKey(driver, handle string) string { return driver + "^" + handle }

// syncedPollPeriod is how often the caches are asked whether they have had their first lists.
//
// Upstream: client-go tools/cache/shared_informer.go syncedPollPeriod, v0.36.
const syncedPollPeriod = 100 * time.Millisecond

// followGroups begins to work on group snapshots.
//
// Upstream: snapshot_controller_base.go NewCSISnapshotCommonController, v8.7.
func (c *controller) followGroups(ctx context.Context) {
	g := &groupController{
		controller: c, groupSnapshots: snapshots.GroupSnapshotObjects(c.env), groupContents: snapshots.GroupContentObjects(c.env), groupClasses: snapshots.GroupClassStore(c.env),
		volumes: control.NewCache[*v1.PersistentVolume](c.env, control.PersistentVolumes()),
	}
	g.volumes.AddIndex(byHandle, func(pv *v1.PersistentVolume) []string {
		if pv.Spec.CSI == nil {
			return nil
		}
		return []string{handleKey(pv.Spec.CSI.Driver, pv.Spec.CSI.VolumeHandle)}
	})
	g.groupQueue = c.env.Queue(queue("snapshot-controller-group-snapshot", snapshots.GroupKind, g.syncGroupSnapshotByKey))
	g.groupContentQueue = c.env.Queue(queue("snapshot-controller-group-content", "VolumeGroupSnapshotContent", g.syncGroupSnapshotContentByKey))
	synced := func(context.Context) (bool, error) {
		return g.groupSnapshots.Synced() && g.groupContents.Synced() && g.groupClasses.Synced() && g.volumes.Synced(), nil
	}
	if done, _ := synced(ctx); !done && c.env.Poll(ctx, syncedPollPeriod, 0, synced) != nil {
		return
	}
	g.groupSnapshots.Handle(func(key string, _, _ *groupSnapshot) { g.groupQueue.Add(key) })
	g.groupContents.Handle(func(key string, _, _ *groupContent) { g.groupContentQueue.Add(key) })
	c.groups = g
	g.enqueueGroups()
	c.env.Every("resync of groups", resyncPeriod, func(context.Context) { g.enqueueGroups() })
}

func (g *groupController) enqueueGroups() {
	addAll(g.groupQueue, g.groupSnapshots.Keys())
	addAll(g.groupContentQueue, g.groupContents.Keys())
}

// groupKey is the key of the group snapshot that a content names.
func groupKey(found *groupContent) string {
	return found.Spec.VolumeGroupSnapshotRef.Namespace + "/" + found.Spec.VolumeGroupSnapshotRef.Name
}

// fail writes an error to a group snapshot and tells of it. What has failed is tried again, and with it a write that
// is refused.
//
// Upstream: groupsnapshot_controller_helper.go updateGroupSnapshotErrorStatusWithEvent, v8.7.
func (g *groupController) fail(ctx context.Context, group *groupSnapshot, notReady bool, reason, message string) error {
	at := func(s *groupSnapshot) (**snapshotv1.VolumeSnapshotError, **bool) {
		if s.Status == nil {
			s.Status = &groupv1.VolumeGroupSnapshotStatus{}
		}
		return &s.Status.Error, &s.Status.ReadyToUse
	}
	return writeError(ctx, g.controller, g.groupSnapshots, group, at, notReady, reason, message)
}

// checkAndUpdateGroupSnapshotClass checks the class of a group snapshot, and gives it the default class if it names
// none. With an error it returns the group snapshot as it was.
//
// Upstream: snapshot_controller_base.go checkAndUpdateGroupSnapshotClass, v8.7.
func (g *groupController) checkAndUpdateGroupSnapshotClass(ctx context.Context, group *groupSnapshot) (*groupSnapshot, error) {
	if name := group.Spec.VolumeGroupSnapshotClassName; name != nil {
		_, err := g.groupClassOf(*name)
		if err != nil {
			_ = g.fail(ctx, group, false, "GetGroupSnapshotClassFailed", fmt.Sprintf("failed to get group snapshot class with error %v", err))
		}
		return group, err
	}
	updated, err := g.setDefaultGroupSnapshotClass(ctx, group)
	if err != nil {
		_ = g.fail(ctx, group, false, "SetDefaultGroupSnapshotClassFailed", fmt.Sprintf("Failed to set default group snapshot class with error %v", err))
		return group, err
	}
	return updated, nil
}

// setDefaultGroupSnapshotClass gives a group snapshot of claims the only default class of the first volume's driver.
//
// Upstream: groupsnapshot_controller_helper.go SetDefaultGroupSnapshotClass and pvDriverFromGroupSnapshot, v8.7.
func (g *groupController) setDefaultGroupSnapshotClass(ctx context.Context, group *groupSnapshot) (*groupSnapshot, error) {
	if group.Spec.Source.VolumeGroupSnapshotContentName != nil {
		return group, nil
	}
	volumes, err := g.volumesOfGroup(ctx, group)
	if err != nil {
		return group, err
	}
	if volumes[0].Spec.CSI == nil {
		return group, fmt.Errorf("snapshotting non-CSI volumes is not supported, group snapshot:%s", control.Key(group))
	}
	var names []string
	for _, class := range g.groupClasses.All() {
		if class.Annotations[snapshots.AnnDefaultGroupClass] == "true" && class.Driver == volumes[0].Spec.CSI.Driver {
			names = append(names, class.Name)
		}
	}
	switch {
	case len(names) == 0:
		return group, errors.New("cannot find default group snapshot class")
	case len(names) > 1:
		return group, fmt.Errorf("%d default snapshot classes were found", len(names))
	}
	changed := group.DeepCopy()
	changed.Spec.VolumeGroupSnapshotClassName = &names[0]
	// Upstream goes on with what a refused update returns, which has no name.
	return g.groupSnapshots.Update(ctx, changed)
}

// groupClassOf is a class in the cache.
func (g *groupController) groupClassOf(name string) (*groupClass, error) {
	found, ok := g.groupClasses.Cached(name)
	if !ok {
		return nil, notFound("volumegroupsnapshotclass."+snapshots.GroupsGroup, name)
	}
	return found, nil
}

// syncGroupSnapshotByKey looks at a group snapshot, or has the content of one that is gone be looked at.
//
// Upstream: snapshot_controller_base.go syncGroupSnapshotByKey, and groupsnapshot_controller_helper.go
// updateGroupSnapshot and deleteGroupSnapshot, v8.7.
func (g *groupController) syncGroupSnapshotByKey(ctx context.Context, key string) error {
	cached, ok := g.groupSnapshots.Cached(key)
	if !ok {
		gone, known := g.groupSnapshots.Newest(key)
		g.groupSnapshots.Forget(key)
		if known && snapshots.BoundGroupContent(gone) != "" {
			g.groupContentQueue.Add(snapshots.BoundGroupContent(gone))
		}
		return nil
	}
	group, err := g.checkAndUpdateGroupSnapshotClass(ctx, cached)
	if err != nil && (group.DeletionTimestamp == nil || !apierrors.IsNotFound(err)) {
		return err // A group snapshot that is being deleted needs no class.
	}
	if !g.groupSnapshots.Take(group) {
		return nil
	}
	return g.syncGroupSnapshot(ctx, group)
}

// syncGroupSnapshotContentByKey looks at a content, or has the group snapshot of one that is gone be looked at.
//
// Upstream: snapshot_controller_base.go syncGroupSnapshotContentByKey, updateGroupSnapshotContent and
// deleteGroupSnapshotContent, v8.7.
func (g *groupController) syncGroupSnapshotContentByKey(ctx context.Context, key string) error {
	found, ok := g.groupContents.Cached(key)
	if ok {
		if !g.groupContents.Take(found) {
			return nil
		}
		return g.syncGroupSnapshotContent(ctx, found)
	}
	if gone, known := g.groupContents.Newest(key); known {
		g.groupContents.Forget(key)
		g.groupQueue.Add(groupKey(gone))
	}
	return nil
}
