package snapshotcontroller

import (
	"time"

	groupv1 "github.com/kubernetes-csi/external-snapshotter/client/v8/apis/volumegroupsnapshot/v1"
	snapshotv1 "github.com/kubernetes-csi/external-snapshotter/client/v8/apis/volumesnapshot/v1"
	v1 "k8s.io/api/core/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/storagesim/storagesim/control"
	"github.com/storagesim/storagesim/control/snapshots"
)

// Arguments of upstream's program with their defaults.
//
// Upstream: external-snapshotter cmd/snapshot-controller/main.go, v8.7.
// ActorName is the name of the controller's actor, and the source of its events.
const ActorName = "snapshot-controller"

const (
	workers            = 10
	retryIntervalStart = time.Second
	retryIntervalMax   = 5 * time.Minute
	resyncPeriod       = 15 * time.Minute
)

type (
	volumeSnapshot = snapshotv1.VolumeSnapshot
	content        = snapshotv1.VolumeSnapshotContent
	groupSnapshot  = groupv1.VolumeGroupSnapshot
	groupContent   = groupv1.VolumeGroupSnapshotContent
	class          = snapshots.Class
)

// controller holds what its two parts share.
//
// Upstream: external-snapshotter pkg/common-controller/snapshot_controller_base.go
// csiSnapshotCommonController, v8.7.
type controller struct {
	env      control.Env
	client   kubernetes.Interface
	recorder control.Recorder
	claims   *control.Cache[*v1.PersistentVolumeClaim]

	single *singles
	groups *groups // nil as long as the API server does not have group snapshots
}

// New returns the factory of the controller. The definitions of the three kinds must exist. Those of group snapshots
// may come later.
func New() control.Factory {
	return func(env control.Env) error {
		c := &controller{env: env, client: env.Client(), recorder: env.Recorder(ActorName)}
		c.single = &singles{newBinder(c, snapshots.Single())}
		c.claims = control.NewCache[*v1.PersistentVolumeClaim](env, control.PersistentVolumeClaims())
		c.single.makeQueues(c.single, "snapshot-controller-")
		c.single.begin("resync")
		snapshots.WithGroups(env, c.followGroups)
		return nil
	}
}
