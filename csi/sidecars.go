package csi

import (
	"google.golang.org/grpc"

	"github.com/storagesim/storagesim/control"
	"github.com/storagesim/storagesim/csi/attacher"
	"github.com/storagesim/storagesim/csi/provisioner"
	"github.com/storagesim/storagesim/csi/resizer"
	"github.com/storagesim/storagesim/csi/snapshotter"
)

// Sidecars changes what sidecars are configured with, as the arguments in the author's
// Deployment do. The driver's name and its socket are set already.
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

// ProvisionerActor is the name of a driver's provisioner.
func ProvisionerActor(driver string) string { return "csi-provisioner/" + driver }

// AttacherActor is the name of a driver's attacher.
func AttacherActor(driver string) string { return "csi-attacher/" + driver }

// ResizerActor is the name of a driver's resizer.
func ResizerActor(driver string) string { return "csi-resizer/" + driver }

// SnapshotterActor is the name of a driver's snapshotter.
func SnapshotterActor(driver string) string { return "csi-snapshotter/" + driver }

// sidecars are the actors that call the controller.
func (d Driver) sidecars(dial func(env control.Env) grpc.ClientConnInterface) []Actor {
	actors := []Actor{{Name: ProvisionerActor(d.Name), Factory: provisioner.New(d.ProvisionerConfig(dial))}}
	if d.Attaches() {
		actors = append(actors, Actor{Name: AttacherActor(d.Name), Factory: attacher.New(d.AttacherConfig(dial))})
	}
	return append(actors, Actor{Name: ResizerActor(d.Name), Factory: resizer.New(d.ResizerConfig(dial))})
}

// ProvisionerConfig is what the driver's provisioner is configured with.
func (d Driver) ProvisionerConfig(dial func(env control.Env) grpc.ClientConnInterface) provisioner.Config {
	cfg := provisioner.Config{Driver: d.Name, Dial: dial, Actor: ProvisionerActor(d.Name)}
	if d.Sidecars.Provisioner != nil {
		d.Sidecars.Provisioner(&cfg)
	}
	return cfg
}

// AttacherConfig is what the driver's attacher is configured with.
func (d Driver) AttacherConfig(dial func(env control.Env) grpc.ClientConnInterface) attacher.Config {
	cfg := attacher.Config{Driver: d.Name, Dial: dial}
	if d.Sidecars.Attacher != nil {
		d.Sidecars.Attacher(&cfg)
	}
	return cfg
}

// ResizerConfig is what the driver's resizer is configured with.
func (d Driver) ResizerConfig(dial func(env control.Env) grpc.ClientConnInterface) resizer.Config {
	cfg := resizer.Config{Driver: d.Name, Dial: dial}
	if d.Sidecars.Resizer != nil {
		d.Sidecars.Resizer(&cfg)
	}
	return cfg
}

// SnapshotterConfig is what the driver's snapshotter is configured with.
func (d Driver) SnapshotterConfig(dial func(env control.Env) grpc.ClientConnInterface) snapshotter.Config {
	cfg := snapshotter.Config{Driver: d.Name, Dial: dial}
	if d.Sidecars.Snapshotter != nil {
		d.Sidecars.Snapshotter(&cfg)
	}
	return cfg
}
