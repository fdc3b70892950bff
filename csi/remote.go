package csi

import (
	"fmt"

	"github.com/storagesim/storagesim/control"
	"github.com/storagesim/storagesim/csi/call"
)

// ControlPlane returns the sidecars of a driver whose controller listens at Endpoint, for a driver
// of actors that is not a Cluster's: package remote runs them against another API server. These
// are the provisioner, the attacher if its volumes are attached, and the resizer; and withSnapshots,
// which is for a server that has the CustomResourceDefinitions of snapshots, the snapshotter, which does
// nothing for a driver that cannot take any. They work on the driver's CSIDriver object, CSINodes
// and VolumeAttachments as they find them there.
//
// stop breaks the connection, after the actors have ended. A driver without Endpoint is an error.
func (d Driver) ControlPlane(withSnapshots bool) (actors []control.Actor, stop func(), err error) {
	if err := d.Check(); err != nil {
		return nil, nil, err
	}
	if d.Endpoint == "" {
		return nil, nil, fmt.Errorf("csi.Driver %s: it has no controller at an Endpoint, so there is nothing for sidecars to call", d.Name)
	}
	sockets := &call.Sockets{}
	machine := "host/" + d.Name
	if _, err := call.Listen(sockets, call.Socket{Machine: machine, Path: ControllerSocket, Driver: d.Name, Address: d.Endpoint}); err != nil {
		return nil, nil, err
	}
	dial := dialer(sockets, machine, ControllerSocket)
	sidecars := d.sidecars(dial)
	if withSnapshots {
		sidecars = append(sidecars, d.snapshotter(dial))
	}
	for _, a := range sidecars {
		actors = append(actors, control.Actor(a))
	}
	return actors, sockets.Close, nil
}
