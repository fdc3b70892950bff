package snapshotter

import (
	"context"

	"github.com/container-storage-interface/spec/lib/go/csi"
	groupv1 "github.com/kubernetes-csi/external-snapshotter/client/v8/apis/volumegroupsnapshot/v1"
	snapshotv1 "github.com/kubernetes-csi/external-snapshotter/client/v8/apis/volumesnapshot/v1"
	"google.golang.org/grpc"
	"k8s.io/client-go/kubernetes"

	"github.com/storagesim/storagesim/control"
	"github.com/storagesim/storagesim/control/snapshots"
	"github.com/storagesim/storagesim/csi/internal/sidecar"
	"github.com/storagesim/storagesim/trace"
)

type (
	content      = snapshotv1.VolumeSnapshotContent
	groupContent = groupv1.VolumeGroupSnapshotContent
)

// controller holds what the two workers of the sidecar share.
//
// Upstream: external-snapshotter pkg/sidecar-controller/snapshot_controller_base.go
// csiSnapshotSideCarController, v8.7.
type controller struct {
	cfg      Config
	env      control.Env
	client   kubernetes.Interface
	recorder control.Recorder
	conn     grpc.ClientConnInterface
	// reported holds the driver's capabilities at the start of the sidecar.
	reported sidecar.Driver
}

// New returns the factory of a snapshotter, which refuses an invalid cfg. The definitions of the kinds of snapshots must
// exist.
func New(cfg Config) control.Factory {
	return func(env control.Env) error {
		cfg, err := cfg.checked()
		if err != nil {
			return err
		}
		c := &controller{cfg: cfg, env: env, client: env.Client(), recorder: env.Recorder("csi-snapshotter " + cfg.Driver), conn: cfg.Dial(env)}
		s := &singles{driver: csi.NewControllerClient(c.conn)}
		s.worker = newWorker(c, snapshots.Single(), s, "csi-snapshotter-content")
		env.Go("start", s.start)
		return nil
	}
}

// start meets the driver. If the driver cannot take snapshots, the process ends.
//
// Upstream: cmd/csi-snapshotter/main.go main, v8.7.
func (s *singles) start(ctx context.Context) {
	s.reported = sidecar.Meet(ctx, s.env, s.conn, s.cfg.Driver, s.cfg.Timeout)
	if !s.reported.Controller[csi.ControllerServiceCapability_RPC_CREATE_DELETE_SNAPSHOT] {
		control.End(s.env, control.Ending{Why: "CSI driver " + s.cfg.Driver + " does not support ControllerCreateSnapshot", Background: true})
		return
	}
	s.begin(ctx, "resync")
	snapshots.WithGroups(s.env, s.followGroups)
}

// followGroups begins to work on contents of group snapshots, also if the driver cannot take them: each content then
// gets the driver's error.
//
// Upstream: cmd/csi-snapshotter/main.go main and supportsGroupControllerCreateVolumeGroupSnapshot, v8.7.
func (c *controller) followGroups(ctx context.Context) {
	g := &groups{driver: csi.NewGroupControllerClient(c.conn)}
	if !sidecar.TakesGroups(control.WithTimeout(ctx, c.env, c.cfg.Timeout), g.driver) {
		c.env.Trace(trace.Decision{About: trace.Ref{Kind: "CSIDriver", Name: c.cfg.Driver},
			Text: "cannot take group snapshots: it has no capability CREATE_DELETE_GET_VOLUME_GROUP_SNAPSHOT"})
	}
	g.worker = newWorker(c, snapshots.Groups(), g, "csi-snapshotter-groupsnapshotcontent")
	g.begin(ctx, "resync of groups")
}
