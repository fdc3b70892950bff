package snapshotcontroller

import (
	"context"
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

	snapshots snapshots.Objects[volumeSnapshot, *volumeSnapshot]
	contents  snapshots.Objects[content, *content]
	classes   *snapshots.Store[class, *class]
	claims    *control.Cache[*v1.PersistentVolumeClaim]

	snapshotQueue, contentQueue control.Queue

	// groups is the part for group snapshots; nil as long as the API server does not have them.
	groups *groupController
}

// New is the factory of the controller. The definitions of the three kinds must be there. Those of group snapshots
// may be there or come later.
func New() control.Factory {
	return func(env control.Env) error {
		c := &controller{
			env: env, client: env.Client(), recorder: env.Recorder("snapshot-controller"),
			snapshots: snapshots.SnapshotObjects(env), contents: snapshots.ContentObjects(env), classes: snapshots.ClassStore(env),
			claims: control.NewCache[*v1.PersistentVolumeClaim](env, control.PersistentVolumeClaims()),
		}
		c.snapshotQueue = env.Queue(queue("snapshot-controller-snapshot", "VolumeSnapshot", c.syncSnapshotByKey))
		c.contentQueue = env.Queue(queue("snapshot-controller-content", "VolumeSnapshotContent", c.syncContentByKey))
		c.snapshots.Handle(func(key string, _, _ *volumeSnapshot) { c.snapshotQueue.Add(key) })
		c.contents.Handle(func(key string, _, _ *content) { c.contentQueue.Add(key) })
		env.Every("resync", resyncPeriod, func(context.Context) {
			addAll(c.snapshotQueue, c.snapshots.Keys())
			addAll(c.contentQueue, c.contents.Keys())
		})
		snapshots.WithGroups(env, c.followGroups)
		return nil
	}
}

func addAll(queue control.Queue, keys []string) {
	for _, key := range keys {
		queue.Add(key)
	}
}

func queue(name, kind string, sync func(context.Context, string) error) control.QueueConfig {
	return control.QueueConfig{
		Name: name, About: control.KeysOf(kind), Workers: workers, Reconcile: sync,
		Limiter: control.RateLimiter{Base: retryIntervalStart, Max: retryIntervalMax, QPS: -1},
	}
}

// snapshotKey is the key of the snapshot that a content names.
func snapshotKey(c *content) string {
	return c.Spec.VolumeSnapshotRef.Namespace + "/" + c.Spec.VolumeSnapshotRef.Name
}
