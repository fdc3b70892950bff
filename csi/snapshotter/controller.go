package snapshotter

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/container-storage-interface/spec/lib/go/csi"
	snapshotv1 "github.com/kubernetes-csi/external-snapshotter/client/v8/apis/volumesnapshot/v1"
	"google.golang.org/grpc"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/storagesim/storagesim/control"
	"github.com/storagesim/storagesim/control/snapshots"
	"github.com/storagesim/storagesim/csi/internal/sidecar"
)

type (
	content = snapshotv1.VolumeSnapshotContent
	class   = snapshotv1.VolumeSnapshotClass
)

// controller has the snapshots of one driver be taken and deleted.
//
// Upstream: external-snapshotter pkg/sidecar-controller/snapshot_controller_base.go
// csiSnapshotSideCarController, v8.7.
type controller struct {
	cfg      Config
	env      control.Env
	client   kubernetes.Interface
	recorder control.Recorder
	conn     grpc.ClientConnInterface
	driver   csi.ControllerClient
	// says is what the driver said of itself when the sidecar started.
	says sidecar.Driver

	contents snapshots.Objects[content, *content]
	classes  *snapshots.Store[class, *class]
	queue    control.Queue
}

// New makes the factory of a snapshotter. What is wrong with cfg is the factory's error. The
// definitions of the kinds of snapshots must be there.
func New(cfg Config) control.Factory {
	return func(env control.Env) error {
		cfg, err := cfg.checked()
		if err != nil {
			return err
		}
		conn := cfg.Dial(env)
		c := &controller{
			cfg: cfg, env: env, client: env.Client(), recorder: env.Recorder("csi-snapshotter " + cfg.Driver),
			conn: conn, driver: csi.NewControllerClient(conn),
		}
		c.queue = c.newQueue("csi-snapshotter-content", "VolumeSnapshotContent", c.syncContentByKey)
		env.Go("start", c.start)
		return nil
	}
}

func (c *controller) newQueue(name, kind string, sync func(context.Context, string) error) control.Queue {
	return c.env.Queue(control.QueueConfig{
		Name: name, About: control.KeysOf(kind), Workers: c.cfg.Workers, Reconcile: sync,
		Limiter: control.RateLimiter{Base: c.cfg.RetryIntervalStart, Max: c.cfg.RetryIntervalMax, QPS: -1},
	})
}

// syncedPollPeriod is how often the caches are asked whether they have had their first lists.
//
// Upstream: client-go tools/cache/shared_informer.go syncedPollPeriod, v0.36.
const syncedPollPeriod = 100 * time.Millisecond

// start meets the driver. Only if that can take snapshots, objects are followed.
func (c *controller) start(ctx context.Context) {
	c.says = sidecar.Meet(ctx, c.env, c.conn, c.cfg.Driver, c.cfg.Timeout)
	if !c.says.Controller[csi.ControllerServiceCapability_RPC_CREATE_DELETE_SNAPSHOT] {
		return
	}
	c.contents, c.classes = snapshots.ContentObjects(c.env), snapshots.ClassStore(c.env)
	begin(ctx, c, "resync", c.contents.Store, c.queue, c.classes.Synced, func(old, is *content) bool {
		return !ready(old) && ready(is) || changed(old, is, snapshots.AnnBeingCreated, func(c *content) { c.Status = nil })
	})
	snapshots.WithGroups(c.env, c.followGroups)
}

// begin begins to work on the contents in a store, when that and what else is needed has had its first list.
func begin[T any, P snapshots.Pointer[T]](ctx context.Context, c *controller, resync string, contents *snapshots.Store[T, P], queue control.Queue, others func() bool, shouldEnqueue func(old, is P) bool) {
	synced := func(context.Context) (bool, error) { return contents.Synced() && others(), nil }
	if done, _ := synced(ctx); !done && c.env.Poll(ctx, syncedPollPeriod, 0, synced) != nil {
		return
	}
	contents.Handle(func(key string, old, is P) {
		if old == nil || is == nil || shouldEnqueue(old, is) {
			queue.Add(key)
		}
	})
	all := func(context.Context) {
		for _, key := range contents.Keys() {
			queue.Add(key)
		}
	}
	all(ctx)
	c.env.Every(resync, c.cfg.Resync, all)
}

// changed says whether an object has changed in what not only the sidecar writes.
//
// Upstream: pkg/utils/util.go ShouldEnqueueContentChange and ShouldEnqueueGroupContentChange, v8.7, which also let through that a
// snapshot is ready now: it may have been deleted while it was being taken.
func changed[T any, P snapshots.Pointer[T]](old, is P, annotation string, clear func(P)) bool {
	others := func(obj P) P {
		obj = obj.DeepCopyObject().(P)
		obj.SetResourceVersion("")
		obj.SetManagedFields(nil)
		obj.SetFinalizers(nil)
		delete(obj.GetAnnotations(), annotation)
		clear(obj)
		return obj
	}
	return !equality.Semantic.DeepEqual(others(old), others(is))
}

func ready(c *content) bool {
	return c.Status != nil && c.Status.ReadyToUse != nil && *c.Status.ReadyToUse
}

// errNotReady has a content be looked at again.
var errNotReady = errors.New("the snapshot is not ready yet")

// syncContentByKey looks at a content of this driver.
//
// Upstream: snapshot_controller_base.go syncContentByKey, v8.7.
func (c *controller) syncContentByKey(ctx context.Context, key string) error {
	found, ok := c.contents.Cached(key)
	if !ok {
		c.contents.Forget(key)
		return nil
	}
	if !c.isDriverMatch(found) || !c.contents.Take(found) {
		return nil
	}
	return c.syncContent(ctx, found)
}

// Upstream: snapshot_controller_base.go isDriverMatch, v8.7.
func (c *controller) isDriverMatch(found *content) bool {
	source := found.Spec.Source
	if source.VolumeHandle == nil && source.SnapshotHandle == nil || found.Spec.Driver != c.cfg.Driver {
		return false
	}
	if name := found.Spec.VolumeSnapshotClassName; name != nil {
		if class, ok := c.classes.Cached(*name); ok && class.Driver != c.cfg.Driver {
			return false
		}
	}
	return true
}

// syncContent takes or deletes a snapshot, or looks whether it is ready.
//
// Upstream: snapshot_controller.go syncContent, v8.7.
func (c *controller) syncContent(ctx context.Context, found *content) error {
	switch {
	case shouldDelete(found):
		return c.delete(ctx, found)
	case found.Spec.Source.VolumeHandle != nil && found.Status == nil && !isMember(found):
		return c.tell(ctx, found, "SnapshotCreationFailed", "Failed to create snapshot", c.createSnapshot)
	case ready(found):
		_, err := c.contents.RemoveAnnotation(ctx, found, snapshots.AnnBeingCreated)
		return err
	}
	return c.tell(ctx, found, "SnapshotContentCheckandUpdateFailed", "Failed to check and update snapshot content", c.checkStatus)
}

// tell does something, and tells of its error in the status and by an event. A snapshot that is not ready
// is looked at again.
//
// Upstream: snapshot_controller.go createSnapshot and checkandUpdateContentStatus, v8.7.
func (c *controller) tell(ctx context.Context, found *content, reason, what string, do func(context.Context, *content) (*content, error)) error {
	is, err := do(ctx, found)
	if err != nil {
		c.updateErrorStatus(ctx, is, reason, fmt.Sprintf("%s: %v", what, err))
		return err
	}
	c.contents.Take(is)
	if !ready(is) {
		return errNotReady
	}
	return nil
}

// updateErrorStatus writes an error to a content and tells of it, unless the content has the same error
// already.
func (c *controller) updateErrorStatus(ctx context.Context, found *content, reason, message string) {
	var is *snapshotv1.VolumeSnapshotError
	if found.Status != nil {
		is = found.Status.Error
	}
	writeError(ctx, c, c.contents, found, found.Status != nil, is, reason, message)
}

// writeError writes an error to the status of a content, which has one already or not, and tells of it, unless is is
// the same error.
//
// Upstream: snapshot_controller.go updateContentErrorStatusWithEvent and groupsnapshot_helper.go
// updateGroupSnapshotContentErrorStatusWithEvent, v8.7.
func writeError[T any, P snapshots.Pointer[T]](ctx context.Context, c *controller, objects snapshots.Objects[T, P], found P, status bool, is *snapshotv1.VolumeSnapshotError, reason, message string) {
	if is != nil && is.Message != nil && *is.Message == message {
		return
	}
	failure := &snapshotv1.VolumeSnapshotError{Time: &metav1.Time{Time: c.env.Now()}, Message: &message}
	ops := []snapshots.Op{{Op: "replace", Path: "/status", Value: map[string]any{"readyToUse": false, "error": failure}}}
	if status {
		ops = []snapshots.Op{{Op: "replace", Path: "/status/error", Value: failure}, {Op: "replace", Path: "/status/readyToUse", Value: false}}
	}
	updated, err := objects.API.PatchStatus(ctx, found, ops...)
	// The event is there also if the write failed.
	c.recorder.Event(found, "Warning", reason, message)
	if err == nil {
		objects.Take(updated)
	}
}
