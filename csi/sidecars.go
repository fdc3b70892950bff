package csi

import (
	"google.golang.org/grpc"

	"github.com/storagesim/storagesim/control"
	"github.com/storagesim/storagesim/csi/attacher"
	"github.com/storagesim/storagesim/csi/internal/sidecar"
	"github.com/storagesim/storagesim/csi/provisioner"
	"github.com/storagesim/storagesim/csi/resizer"
	"github.com/storagesim/storagesim/csi/snapshotter"
)

// Sidecars changes the configurations of sidecars, as the arguments in the author's Deployment do. The driver's name
// and its socket are set already.
type Sidecars struct {
	// Provisioner changes the configuration of the provisioner, for example its
	// StrictTopology.
	Provisioner func(*provisioner.Config)
	// Attacher changes the configuration of the attacher.
	Attacher func(*attacher.Config)
	// Resizer changes the configuration of the resizer.
	Resizer func(*resizer.Config)
	// Snapshotter changes the configuration of the snapshotter.
	Snapshotter func(*snapshotter.Config)
}

// ProvisionerActor returns the name of a driver's provisioner.
func ProvisionerActor(driver string) string { return "csi-provisioner/" + driver }

// AttacherActor returns the name of a driver's attacher.
func AttacherActor(driver string) string { return "csi-attacher/" + driver }

// ResizerActor returns the name of a driver's resizer.
func ResizerActor(driver string) string { return "csi-resizer/" + driver }

// SnapshotterActor returns the name of a driver's snapshotter.
func SnapshotterActor(driver string) string { return "csi-snapshotter/" + driver }

// sidecars returns the actors that call the controller, without the snapshotter.
func (d Driver) sidecars(dial func(env control.Env) grpc.ClientConnInterface) []Actor {
	actors := []Actor{{Name: ProvisionerActor(d.Name), Factory: provisioner.New(d.ProvisionerConfig(dial))}}
	if d.Attaches() {
		actors = append(actors, Actor{Name: AttacherActor(d.Name), Factory: attacher.New(d.AttacherConfig(dial))})
	}
	return append(actors, Actor{Name: ResizerActor(d.Name), Factory: resizer.New(d.ResizerConfig(dial))})
}

// snapshotter returns the actor for a cluster with snapshots.
func (d Driver) snapshotter(dial func(env control.Env) grpc.ClientConnInterface) Actor {
	return Actor{Name: SnapshotterActor(d.Name), Factory: snapshotter.New(d.SnapshotterConfig(dial))}
}

// ProvisionerConfig returns the configuration of the driver's provisioner.
func (d Driver) ProvisionerConfig(dial func(env control.Env) grpc.ClientConnInterface) provisioner.Config {
	return changed(provisioner.Config{Driver: d.Name, Dial: dial, Actor: ProvisionerActor(d.Name)}, d.Sidecars.Provisioner)
}

// AttacherConfig returns the configuration of the driver's attacher.
func (d Driver) AttacherConfig(dial func(env control.Env) grpc.ClientConnInterface) attacher.Config {
	return changed(attacher.Config{Common: sidecar.Common{Driver: d.Name, Dial: dial}}, d.Sidecars.Attacher)
}

// ResizerConfig returns the configuration of the driver's resizer.
func (d Driver) ResizerConfig(dial func(env control.Env) grpc.ClientConnInterface) resizer.Config {
	return changed(resizer.Config{Common: sidecar.Common{Driver: d.Name, Dial: dial}}, d.Sidecars.Resizer)
}

// SnapshotterConfig returns the configuration of the driver's snapshotter.
func (d Driver) SnapshotterConfig(dial func(env control.Env) grpc.ClientConnInterface) snapshotter.Config {
	return changed(snapshotter.Config{Common: sidecar.Common{Driver: d.Name, Dial: dial}}, d.Sidecars.Snapshotter)
}

// changed returns a configuration after the author's change, which may be nil.
func changed[T any](cfg T, change func(*T)) T {
	if change != nil {
		change(&cfg)
	}
	return cfg
}
