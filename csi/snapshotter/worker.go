package snapshotter

import (
	"context"
	"errors"
	"fmt"
	"time"

	groupv1 "github.com/kubernetes-csi/external-snapshotter/client/v8/apis/volumegroupsnapshot/v1"
	snapshotv1 "github.com/kubernetes-csi/external-snapshotter/client/v8/apis/volumesnapshot/v1"
	"google.golang.org/protobuf/types/known/timestamppb"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/storagesim/storagesim/control"
	"github.com/storagesim/storagesim/control/snapshots"
	"github.com/storagesim/storagesim/internal/semantic"
)

// worker works on the contents of one kind. The sidecar has one for snapshots and one for group snapshots. Where the
// two differ, it calls steps.
type worker[S, C snapshots.Object] struct {
	*controller
	snapshots.Kind[S, C]
	steps steps[C]

	contents snapshots.Objects[C]
	classes  snapshots.ClassStore
	queue    control.Queue
}

// steps does what differs between snapshots and group snapshots, first of all the calls of the driver.
type steps[C any] interface {
	// create calls the driver to take a snapshot.
	create(ctx context.Context, found C, parameters, secrets map[string]string) (answer, error)
	// sources names the volumes in an error.
	sources(found C) string
	// checkStatus writes to a content whether its snapshot is ready.
	checkStatus(ctx context.Context, found C) (C, error)
	// writeStatus writes the status of changed, which is a copy of latest.
	writeStatus(ctx context.Context, latest, changed C) (C, error)
	// delete deletes the snapshot of a content that is being deleted, and lets the content go.
	delete(ctx context.Context, found C) error
	// deleteFromStorage calls the driver to delete a snapshot.
	deleteFromStorage(ctx context.Context, found C, secrets map[string]string) error
	// clear removes from a status what does not hold for a deleted snapshot.
	clear(state *snapshots.Content)
}

// answer holds the fields of the driver's answer about a snapshot or a group snapshot.
type answer struct {
	handle  string
	ready   bool
	created *timestamppb.Timestamp
	size    int64                        // 0 for a group snapshot
	group   string                       // handle of the group snapshot that the snapshot is a member of
	members []groupv1.VolumeSnapshotInfo // of a group snapshot
}

func newWorker[S, C snapshots.Object](c *controller, kind snapshots.Kind[S, C], steps steps[C], queue string) *worker[S, C] {
	w := &worker[S, C]{controller: c, Kind: kind, steps: steps}
	w.queue = c.env.Queue(control.QueueConfig{
		Name: queue, About: control.KeysOf(kind.Name + "Content"), Workers: c.cfg.Workers, Reconcile: w.syncContentByKey,
		Limiter: control.RateLimiter{Base: c.cfg.RetryIntervalStart, Max: c.cfg.RetryIntervalMax, QPS: -1},
	})
	return w
}

// syncedPollPeriod is the interval at which begin asks whether the caches have had their first lists.
//
// Upstream: client-go tools/cache/shared_informer.go syncedPollPeriod, v1.37.
const syncedPollPeriod = 100 * time.Millisecond

// begin follows contents and classes, and queues all contents: now, when they change, and at each resync.
func (w *worker[S, C]) begin(ctx context.Context, resync string) {
	w.contents, w.classes = w.ContentObjects(w.env), w.ClassStore(w.env)
	synced := func(context.Context) (bool, error) { return w.contents.Synced() && w.classes.Synced(), nil }
	if done, _ := synced(ctx); !done && w.env.Poll(ctx, syncedPollPeriod, 0, synced) != nil {
		return
	}
	w.contents.Handle(func(key string, old, obj C) {
		var none C
		if old == none || obj == none || w.shouldEnqueue(old, obj) {
			w.queue.Add(key)
		}
	})
	all := func(context.Context) {
		for _, key := range w.contents.Keys() {
			w.queue.Add(key)
		}
	}
	all(ctx)
	w.env.Every(resync, w.cfg.Resync, all)
}

// shouldEnqueue reports whether a change of a content is one to look at. A content that is ready now may have been
// deleted while its snapshot was being taken.
//
// Upstream: pkg/utils/util.go ShouldEnqueueContentChange and ShouldEnqueueGroupContentChange, v8.7.
func (w *worker[S, C]) shouldEnqueue(old, obj C) bool {
	others := func(obj C) C {
		obj = obj.DeepCopyObject().(C)
		obj.SetResourceVersion("")
		obj.SetManagedFields(nil)
		obj.SetFinalizers(nil)
		delete(obj.GetAnnotations(), w.AnnBeingCreated)
		w.SetContentStatus(obj, snapshots.Content{})
		return obj
	}
	return w.cfg.Wakes(Change{
		Other: !semantic.Equal(others(old), others(obj)),
		Ready: !w.ready(old) && w.ready(obj),
		Made:  obj.GetDeletionTimestamp() != nil && has(old, w.AnnBeingCreated) && !has(obj, w.AnnBeingCreated),
	})
}

func (w *worker[S, C]) ready(found C) bool { return w.Content(found).IsReady() }

// syncContentByKey syncs a content of this driver.
//
// Upstream: snapshot_controller_base.go syncContentByKey, and groupsnapshot_helper.go syncGroupSnapshotContentByKey and
// updateGroupSnapshotContentInInformerCache, v8.7.
func (w *worker[S, C]) syncContentByKey(ctx context.Context, key string) error {
	found, ok := w.contents.Cached(key)
	if !ok {
		w.contents.Forget(key)
		return nil
	}
	if !w.isDriverMatch(w.Content(found)) || !w.contents.Take(found) {
		return nil
	}
	return w.syncContent(ctx, found)
}

// Upstream: snapshot_controller_base.go isDriverMatch, v8.7.
func (w *worker[S, C]) isDriverMatch(state snapshots.Content) bool {
	if !state.Dynamic && !state.Existing || state.Driver != w.cfg.Driver {
		return false
	}
	if state.Class != nil {
		if class, ok := w.classes.Cached(*state.Class); ok && class.Driver != w.cfg.Driver {
			return false
		}
	}
	return true
}

// syncContent takes or deletes a snapshot, or asks the driver whether it is ready.
//
// Upstream: snapshot_controller.go syncContent and groupsnapshot_helper.go syncGroupSnapshotContent, v8.7.
func (w *worker[S, C]) syncContent(ctx context.Context, found C) error {
	state := w.Content(found)
	switch {
	case w.shouldDelete(found):
		return w.steps.delete(ctx, found)
	case state.Dynamic && !state.HasStatus && !isMember(found):
		return w.report(ctx, found, w.Reason+"CreationFailed", "Failed to create "+w.Noun, w.createSnapshot)
	case state.IsReady():
		_, err := w.contents.RemoveAnnotation(ctx, found, w.AnnBeingCreated)
		return err
	}
	return w.report(ctx, found, w.Reason+"ContentCheckandUpdateFailed", "Failed to check and update "+w.Noun+" content", w.steps.checkStatus)
}

// isMember reports whether a content was created for a group snapshot, which the driver has taken already.
//
// Upstream: snapshot_controller.go syncContent, v8.7.
func isMember(found metav1.Object) bool { return has(found, snapshots.AnnGroupHandle) }

func has(found metav1.Object, annotation string) bool {
	_, has := found.GetAnnotations()[annotation]
	return has
}

// errNotReady makes the queue retry the content.
var errNotReady = errors.New("the snapshot is not ready yet")

// report calls f. It writes an error of f to the content's status and emits an event. A snapshot that is not ready is
// asked for again.
//
// Upstream: snapshot_controller.go createSnapshot and checkandUpdateContentStatus, and groupsnapshot_helper.go
// createGroupSnapshot and checkandUpdateGroupSnapshotContentStatus, v8.7.
func (w *worker[S, C]) report(ctx context.Context, found C, reason, failed string, f func(context.Context, C) (C, error)) error {
	updated, err := f(ctx, found)
	if err != nil {
		w.updateErrorStatus(ctx, updated, reason, fmt.Sprintf("%s: %v", failed, err))
		return err
	}
	w.contents.Take(updated)
	if !w.ready(updated) {
		return errNotReady
	}
	return nil
}

// updateErrorStatus writes an error to the status of a content and emits an event, unless the content has the same
// error already.
//
// Upstream: snapshot_controller.go updateContentErrorStatusWithEvent and groupsnapshot_helper.go
// updateGroupSnapshotContentErrorStatusWithEvent, v8.7.
func (w *worker[S, C]) updateErrorStatus(ctx context.Context, found C, reason, message string) {
	state := w.Content(found)
	if state.Error != nil && state.Error.Message != nil && *state.Error.Message == message {
		return
	}
	failure := &snapshotv1.VolumeSnapshotError{Time: &metav1.Time{Time: w.env.Now()}, Message: &message}
	ops := []snapshots.Op{{Op: "replace", Path: "/status", Value: map[string]any{"readyToUse": false, "error": failure}}}
	if state.HasStatus {
		ops = []snapshots.Op{{Op: "replace", Path: "/status/error", Value: failure}, {Op: "replace", Path: "/status/readyToUse", Value: false}}
	}
	updated, err := w.contents.API.PatchStatus(ctx, found, ops...)
	w.recorder.Event(found, v1.EventTypeWarning, reason, message) // also if the write failed
	if err == nil {
		w.contents.Take(updated)
	}
}

// updateStatus writes the driver's answer into the status of a content, if that changes something.
//
// Upstream: snapshot_controller.go updateSnapshotContentStatus and groupsnapshot_helper.go
// updateGroupSnapshotContentStatus, v8.7.
func (w *worker[S, C]) updateStatus(ctx context.Context, found C, reply answer) (C, error) {
	var none C
	latest, err := w.contents.API.Get(ctx, "", found.GetName())
	if err != nil {
		return none, fmt.Errorf("error get %s content %s from api server: %w", w.Noun, found.GetName(), err)
	}
	state, changed := follow(w.Content(latest), reply, w.env.Now())
	if !changed {
		return latest, nil
	}
	written := latest.DeepCopyObject().(C)
	w.SetContentStatus(written, state)
	updated, err := w.steps.writeStatus(ctx, latest, written)
	if err != nil {
		return latest, snapshots.UpdateError(found.GetName(), err)
	}
	return updated, nil
}

// follow returns the fields of a content after the driver's answer, and whether one of them changed. Handle, time, size
// and members stay as they were first.
func follow(state snapshots.Content, reply answer, now time.Time) (_ snapshots.Content, changed bool) {
	if state.Handle == nil {
		state.Handle, changed = &reply.handle, true
	}
	if state.ReadyToUse == nil || *state.ReadyToUse != reply.ready {
		state.ReadyToUse, changed = &reply.ready, true
		if reply.ready {
			state.Error = nil
		}
	}
	if state.CreationTime == nil {
		// Upstream takes no time for 1970, and replaces only the year 1.
		created := reply.created.AsTime()
		if created.IsZero() {
			created = now
		}
		state.CreationTime, changed = &metav1.Time{Time: created}, true
	}
	if state.RestoreSize == nil && reply.size > 0 {
		state.RestoreSize, changed = &reply.size, true
	}
	if state.GroupHandle == nil && reply.group != "" {
		state.GroupHandle, changed = &reply.group, true
	}
	if len(state.Members) == 0 && len(reply.members) != 0 {
		state.Members, changed = reply.members, true
	}
	return state, changed
}
