package snapshotcontroller

import (
	"context"

	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/storagesim/storagesim/control"
	"github.com/storagesim/storagesim/control/snapshots"
)

// binder binds the snapshots of one kind to their contents. The controller has one for snapshots and one for group
// snapshots. Where the two differ, it calls steps.
type binder[S, C snapshots.Object] struct {
	*controller
	snapshots.Kind[S, C]
	steps steps[S, C]

	snapshots snapshots.Objects[S]
	contents  snapshots.Objects[C]
	classes   snapshots.ClassStore

	snapshotQueue, contentQueue control.Queue
	// initialized says that the newest versions include all that the first lists had.
	initialized bool
}

// steps does what differs between snapshots and group snapshots.
type steps[S, C snapshots.Object] interface {
	// syncSnapshot brings a snapshot one step further.
	syncSnapshot(ctx context.Context, snapshot S) error
	// syncContent protects a content, and has its snapshot looked at if its status has changed.
	syncContent(ctx context.Context, found C) error
	// setClass writes the name of the default class to a snapshot.
	setClass(ctx context.Context, snapshot S, name string) (S, error)
	// volumesOf returns the volumes of the claims that a snapshot is to be taken of, at least one.
	volumesOf(ctx context.Context, snapshot S) ([]*v1.PersistentVolume, error)
	// newContent returns the content to create for a snapshot, except for the annotations of its secret.
	newContent(snapshot S, class *class, volumes []*v1.PersistentVolume) (C, error)
}

func newBinder[S, C snapshots.Object](c *controller, kind snapshots.Kind[S, C]) binder[S, C] {
	return binder[S, C]{
		controller: c, Kind: kind, snapshots: kind.SnapshotObjects(c.env), contents: kind.ContentObjects(c.env), classes: kind.ClassStore(c.env),
	}
}

// makeQueues makes the two queues, whose names begin with prefix.
func (b *binder[S, C]) makeQueues(steps steps[S, C], prefix string) {
	queue := func(name, kind string, sync func(context.Context, string) error) control.Queue {
		return b.env.Queue(control.QueueConfig{
			Name: prefix + name, About: control.KeysOf(kind), Workers: workers, Reconcile: sync,
			Limiter: control.RateLimiter{Base: retryIntervalStart, Max: retryIntervalMax, QPS: -1},
		})
	}
	b.steps = steps
	b.snapshotQueue = queue("snapshot", b.Name, b.syncSnapshotByKey)
	b.contentQueue = queue("content", b.Name+"Content", b.syncContentByKey)
}

// begin queues all objects: now, when they change, and at each resync.
func (b *binder[S, C]) begin(resync string) {
	b.snapshots.Handle(func(key string, _, _ S) { b.snapshotQueue.Add(key) })
	b.contents.Handle(func(key string, _, _ C) { b.contentQueue.Add(key) })
	all := func(context.Context) {
		for _, key := range b.snapshots.Keys() {
			b.snapshotQueue.Add(key)
		}
		for _, key := range b.contents.Keys() {
			b.contentQueue.Add(key)
		}
	}
	all(context.Background())
	b.env.Every(resync, resyncPeriod, all)
}

// initializeCaches takes all objects of the first lists for the newest, before any of them is worked on: otherwise a
// snapshot that is being deleted would go without its content, and leave it.
//
// Upstream: snapshot_controller_base.go initializeCaches, v8.7.
func (b *binder[S, C]) initializeCaches() {
	if b.initialized {
		return
	}
	b.initialized = true
	for _, snapshot := range b.snapshots.All() {
		b.snapshots.Take(snapshot)
	}
	for _, found := range b.contents.All() {
		b.contents.Take(found)
	}
}

// syncSnapshotByKey syncs a snapshot. For one that is gone, it queues the content.
//
// Upstream: snapshot_controller_base.go syncSnapshotByKey, updateSnapshot, deleteSnapshot and syncGroupSnapshotByKey, and
// groupsnapshot_controller_helper.go updateGroupSnapshot and deleteGroupSnapshot, v8.7.
func (b *binder[S, C]) syncSnapshotByKey(ctx context.Context, key string) error {
	b.initializeCaches()
	cached, ok := b.snapshots.Cached(key)
	if !ok {
		gone, known := b.snapshots.Newest(key)
		b.snapshots.Forget(key)
		if known && b.bound(gone) != "" {
			b.contentQueue.Add(b.bound(gone))
		}
		return nil
	}
	snapshot, err := b.checkAndUpdateClass(ctx, cached)
	if err != nil && (snapshot.GetDeletionTimestamp() == nil || !apierrors.IsNotFound(err)) {
		return err // A snapshot that is being deleted needs no class.
	}
	if !b.snapshots.Take(snapshot) {
		return nil
	}
	return b.steps.syncSnapshot(ctx, snapshot)
}

// syncContentByKey syncs a content. For one that is gone, it queues the snapshot.
//
// Upstream: snapshot_controller_base.go syncContentByKey, updateContent, deleteContent, syncGroupSnapshotContentByKey,
// updateGroupSnapshotContent and deleteGroupSnapshotContent, v8.7.
func (b *binder[S, C]) syncContentByKey(ctx context.Context, key string) error {
	b.initializeCaches()
	found, ok := b.contents.Cached(key)
	if ok {
		if !b.contents.Take(found) {
			return nil
		}
		return b.steps.syncContent(ctx, found)
	}
	if gone, known := b.contents.Newest(key); known {
		b.contents.Forget(key)
		b.snapshotQueue.Add(b.Content(gone).SnapshotKey())
	}
	return nil
}

// protectContent adds the finalizer to a content that is bound, and queues its snapshot if the content has a new
// status. It returns the snapshot if it is known and nothing is left to do for the content.
//
// Upstream: snapshot_controller.go syncContent and groupsnapshot_controller_helper.go syncGroupSnapshotContent, v8.7.
func (b *binder[S, C]) protectContent(ctx context.Context, found C) (S, error) {
	var none S
	state := b.Content(found)
	if state.Ref.UID == "" {
		return none, nil // the snapshot will bind it
	}
	if added, err := b.contents.AddContentFinalizer(ctx, found, b.ContentFinalizer); added || err != nil {
		return none, err
	}
	snapshot, ok := b.snapshots.Newest(state.SnapshotKey())
	if !ok || snapshot.GetUID() != state.Ref.UID {
		return none, nil // A missing snapshot deletes nothing: its data would be lost.
	}
	if needsUpdateStatus(b.Snapshot(snapshot).Status, state) {
		b.snapshotQueue.Add(state.SnapshotKey())
	}
	return snapshot, nil
}

// notFound returns the error of upstream's listers.
func notFound(resource, name string) error {
	return apierrors.NewNotFound(schema.ParseGroupResource(resource), name)
}
