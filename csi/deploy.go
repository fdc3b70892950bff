package csi

import (
	"google.golang.org/grpc"

	"github.com/storagesim/storagesim/control"
	"github.com/storagesim/storagesim/csi/attacher"
	"github.com/storagesim/storagesim/csi/deploy"
	"github.com/storagesim/storagesim/csi/provisioner"
	"github.com/storagesim/storagesim/trace"
)

// Types of package deploy, which a cluster uses without linking gRPC.
type (
	// World holds the parts of a cluster that a driver's actors need.
	World = deploy.World
	// Host is the machine on which a driver's process runs.
	Host = deploy.Host
	// Actor is an actor of a driver.
	Actor = deploy.Actor
	// Inventory lists what a driver holds.
	Inventory = deploy.Inventory
	// Holdings lists volumes, snapshots, attachments and mounts.
	Holdings = deploy.Holdings
	// Place is a volume at a node or path.
	Place = deploy.Place
)

var _ deploy.Driver = Driver{}

// Deploy implements deploy.Driver, for Cluster.InstallCSIDriver.
func (d Driver) Deploy(w World) (deploy.Plan, error) {
	if err := d.Check(); err != nil {
		return deploy.Plan{}, err
	}
	plan := deploy.Plan{
		Name: d.Name, Spec: d.Spec, FSTypes: d.FSTypes, Inventory: d.Inventory,
		Node: func(h Host) []Actor { return d.NodeActors(w, h) }, CheckNode: d.checkNode, RealPaths: d.RealPaths || d.NodeEndpoint != nil,
	}
	if !d.HasController() {
		return plan, nil
	}
	plan.Controller = func(h Host) []Actor { return d.ControllerActors(w, h) }
	if d.SidecarSocket != "" {
		plan.Snapshots = func(Host) []Actor { return nil }
		return plan, nil
	}
	plan.Snapshots = func(h Host) []Actor { return d.SnapshotActors(w, h) }
	if d.Attaches() {
		plan.AttacherWaits = func(log *trace.Log) string { return attacher.Explain(AttacherActor(d.Name), log) }
	}
	cfg := d.ProvisionerConfig(func(control.Env) grpc.ClientConnInterface { return nil }) // never called: the configuration is only read
	if library, err := cfg.Library(); err == nil {
		plan.Provisioner = &library
		plan.Waits = func(log *trace.Log) string { return provisioner.Explain(cfg, log) }
	}
	return plan, nil
}
