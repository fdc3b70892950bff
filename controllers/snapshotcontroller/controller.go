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

// Config configures the controller. The zero value works.
type Config struct {
	// DropBusy leaves a snapshot that is being deleted, and that a claim is restored from, until something happens to
	// it; default false: its deletion is tried again. v8.5 did not (external-snapshotter 1394).
	DropBusy bool
	// Keeps reports whether a snapshot that is not ready keeps the claim of which it is to be taken; default: each does.
	// A broken one does so for ever (external-snapshotter 1305).
	Keeps func(*snapshotv1.VolumeSnapshot) bool
}

// controller holds what its two parts share.
//
// Upstream: external-snapshotter pkg/common-controller/snapshot_controller_base.go
// csiSnapshotCommonController, v8.7.
type controller struct {
	cfg      Config
	env      control.Env
	client   kubernetes.Interface
	recorder control.Recorder
	claims   *control.Cache[*v1.PersistentVolumeClaim]

	single *singles
	groups *groups // nil as long as the API server does not have group snapshots
}

// New returns the factory of the controller. The definitions of the three kinds must exist. Those of group snapshots
// may come later.
func New(cfg Config) control.Factory {
	if cfg.Keeps == nil {
		cfg.Keeps = func(*snapshotv1.VolumeSnapshot) bool { return true }
	}
	return func(env control.Env) error {
		c := &controller{cfg: cfg, env: env, client: env.Client(), recorder: env.Recorder(ActorName)}
		c.single = &singles{newBinder(c, snapshots.Single())}
		c.claims = control.NewCache[*v1.PersistentVolumeClaim](env, control.PersistentVolumeClaims())
		c.single.makeQueues(c.single, "snapshot-controller-")
		c.single.begin("resync")
		snapshots.WithGroups(env, c.followGroups)
		return nil
	}
}
