package snapshotter

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"time"

	"github.com/container-storage-interface/spec/lib/go/csi"
	snapshotv1 "github.com/kubernetes-csi/external-snapshotter/client/v8/apis/volumesnapshot/v1"
	"google.golang.org/grpc"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/storagesim/storagesim/control"
	"github.com/storagesim/storagesim/control/snapshots"
	"github.com/storagesim/storagesim/csi/sidecar"
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

	api      snapshots.Client[content, *content]
	contents *snapshots.Store[content, *content]
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
			conn: conn, driver: csi.NewControllerClient(conn), api: snapshots.ContentClient(env),
		}
		c.queue = env.Queue(control.QueueConfig{
			Name: "csi-snapshotter-content", About: control.KeysOf("VolumeSnapshotContent"), Workers: cfg.Workers, Reconcile: c.syncContentByKey,
			Limiter: control.RateLimiter{Base: cfg.RetryIntervalStart, Max: cfg.RetryIntervalMax, QPS: -1},
		})
		env.Go("start", c.start)
		return nil
	}
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
	c.contents, c.classes = snapshots.ContentStore(c.env), snapshots.ClassStore(c.env)
	synced := func(context.Context) (bool, error) { return c.contents.Synced() && c.classes.Synced(), nil }
	if done, _ := synced(ctx); !done {
		if err := c.env.Poll(ctx, syncedPollPeriod, 0, synced); err != nil {
			return
		}
	}
	c.contents.Handle(func(key string, old, is *content) {
		if old == nil || is == nil || shouldEnqueue(old, is) {
			c.queue.Add(key)
		}
	})
	c.enqueueAll()
	c.env.Every("resync", c.cfg.Resync, func(context.Context) { c.enqueueAll() })
}

func (c *controller) enqueueAll() {
	for _, key := range c.contents.Keys() {
		c.queue.Add(key)
	}
}

// shouldEnqueue leaves out changes of what only the sidecar writes.
//
// Upstream: pkg/utils/util.go ShouldEnqueueContentChange, v8.7.
func shouldEnqueue(old, is *content) bool {
	if !ready(old) && ready(is) {
		return true // it may have been deleted while the snapshot was being taken
	}
	others := func(c *content) *content {
		c = c.DeepCopy()
		c.ResourceVersion, c.Status, c.ManagedFields, c.Finalizers = "", nil, nil, nil
		delete(c.Annotations, snapshots.AnnBeingCreated)
		return c
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
	case found.Spec.Source.VolumeHandle != nil && found.Status == nil:
		return c.tell(ctx, found, "SnapshotCreationFailed", "Failed to create snapshot", c.createSnapshot)
	case ready(found):
		_, err := c.removeAnnBeingCreated(ctx, found)
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
//
// Upstream: snapshot_controller.go updateContentErrorStatusWithEvent, v8.7.
func (c *controller) updateErrorStatus(ctx context.Context, found *content, reason, message string) {
	if is := found.Status; is != nil && is.Error != nil && is.Error.Message != nil && *is.Error.Message == message {
		return
	}
	notReady := false
	failure := &snapshotv1.VolumeSnapshotError{Time: &metav1.Time{Time: c.env.Now()}, Message: &message}
	ops := []snapshots.Op{{Op: "replace", Path: "/status", Value: &snapshotv1.VolumeSnapshotContentStatus{ReadyToUse: &notReady, Error: failure}}}
	if found.Status != nil {
		ops = []snapshots.Op{{Op: "replace", Path: "/status/error", Value: failure}, {Op: "replace", Path: "/status/readyToUse", Value: &notReady}}
	}
	updated, err := c.api.PatchStatus(ctx, found, ops...)
	// The event is there also if the write failed.
	c.recorder.Event(found, "Warning", reason, message)
	if err == nil {
		c.contents.Take(updated)
	}
}

// setAnnBeingCreated notes that CreateSnapshot is about to be called.
//
// Upstream: snapshot_controller.go setAnnVolumeSnapshotBeingCreated, v8.7.
func (c *controller) setAnnBeingCreated(ctx context.Context, found *content) (*content, error) {
	if metav1.HasAnnotation(found.ObjectMeta, snapshots.AnnBeingCreated) {
		return found, nil
	}
	annotations := map[string]string{}
	maps.Copy(annotations, found.Annotations)
	annotations[snapshots.AnnBeingCreated] = "yes"
	return c.patch(ctx, found, snapshots.Op{Op: "replace", Path: "/metadata/annotations", Value: annotations})
}

// removeAnnBeingCreated notes that CreateSnapshot has a final answer.
//
// Upstream: snapshot_controller.go removeAnnVolumeSnapshotBeingCreated, v8.7.
func (c *controller) removeAnnBeingCreated(ctx context.Context, found *content) (*content, error) {
	if !metav1.HasAnnotation(found.ObjectMeta, snapshots.AnnBeingCreated) {
		return found, nil
	}
	return c.patch(ctx, found, snapshots.Op{Op: "remove", Path: "/metadata/annotations/snapshot.storage.kubernetes.io~1volumesnapshot-being-created"})
}

// patch changes a content, and returns it as it was if that fails.
func (c *controller) patch(ctx context.Context, found *content, op snapshots.Op) (*content, error) {
	updated, err := c.api.Patch(ctx, found, op)
	if err != nil {
		return found, updateError(found.Name, err)
	}
	c.contents.Take(updated)
	return updated, nil
}

// updateError is what a refused write is called.
//
// Upstream: snapshot_controller.go newControllerUpdateError, v8.7.
func updateError(name string, err error) error {
	return fmt.Errorf("snapshot controller failed to update %s on API server: %w", name, err)
}
