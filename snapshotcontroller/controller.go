package snapshotcontroller

import (
	"context"
	"fmt"
	"time"

	snapshotv1 "github.com/kubernetes-csi/external-snapshotter/client/v8/apis/volumesnapshot/v1"
	v1 "k8s.io/api/core/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/storagesim/storagesim/control"
	"github.com/storagesim/storagesim/control/snapshots"
)

// Arguments of upstream's program with their defaults.
//
// Upstream: external-snapshotter cmd/snapshot-controller/main.go, v8.7.
const (
	workers            = 10
	retryIntervalStart = time.Second
	retryIntervalMax   = 5 * time.Minute
	resyncPeriod       = 15 * time.Minute
)

type (
	volumeSnapshot = snapshotv1.VolumeSnapshot
	content        = snapshotv1.VolumeSnapshotContent
	class          = snapshotv1.VolumeSnapshotClass
)

// controller binds snapshots and contents.
//
// Upstream: external-snapshotter pkg/common-controller/snapshot_controller_base.go
// csiSnapshotCommonController, v8.7.
type controller struct {
	env      control.Env
	client   kubernetes.Interface
	recorder control.Recorder

	snapshotAPI snapshots.Client[volumeSnapshot, *volumeSnapshot]
	contentAPI  snapshots.Client[content, *content]

	snapshots *snapshots.Store[volumeSnapshot, *volumeSnapshot]
	contents  *snapshots.Store[content, *content]
	classes   *snapshots.Store[class, *class]
	claims    *control.Cache[*v1.PersistentVolumeClaim]

	snapshotQueue, contentQueue control.Queue
}

// New is the factory of the controller. The definitions of the three kinds must be there.
func New() control.Factory {
	return func(env control.Env) error {
		c := &controller{
			env: env, client: env.Client(), recorder: env.Recorder("snapshot-controller"),
			snapshotAPI: snapshots.SnapshotClient(env), contentAPI: snapshots.ContentClient(env),
			snapshots: snapshots.SnapshotStore(env), contents: snapshots.ContentStore(env), classes: snapshots.ClassStore(env),
			claims: control.NewCache[*v1.PersistentVolumeClaim](env, control.PersistentVolumeClaims()),
		}
		c.snapshotQueue = env.Queue(queue("snapshot-controller-snapshot", "VolumeSnapshot", c.syncSnapshotByKey))
		c.contentQueue = env.Queue(queue("snapshot-controller-content", "VolumeSnapshotContent", c.syncContentByKey))
		c.snapshots.Handle(func(key string, _, _ *volumeSnapshot) { c.snapshotQueue.Add(key) })
		c.contents.Handle(func(key string, _, _ *content) { c.contentQueue.Add(key) })
		env.Every("resync", resyncPeriod, func(context.Context) {
			for _, key := range c.snapshots.Keys() {
				c.snapshotQueue.Add(key)
			}
			for _, key := range c.contents.Keys() {
				c.contentQueue.Add(key)
			}
		})
		return nil
	}
}

func queue(name, kind string, sync func(context.Context, string) error) control.QueueConfig {
	return control.QueueConfig{
		Name: name, About: control.KeysOf(kind), Workers: workers, Reconcile: sync,
		Limiter: control.RateLimiter{Base: retryIntervalStart, Max: retryIntervalMax, QPS: -1},
	}
}

// updateError is what a refused write is called.
//
// Upstream: snapshot_controller.go newControllerUpdateError, v8.7.
func updateError(name string, err error) error {
	return fmt.Errorf("snapshot controller failed to update %s on API server: %w", name, err)
}

// snapshotKey is the key of the snapshot that a content names.
func snapshotKey(c *content) string {
	return c.Spec.VolumeSnapshotRef.Namespace + "/" + c.Spec.VolumeSnapshotRef.Name
}
