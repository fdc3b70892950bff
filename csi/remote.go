package csi

import (
	"fmt"

	"github.com/storagesim/storagesim/control"
	"github.com/storagesim/storagesim/csi/call"
)

// ControlPlane returns the sidecars of a driver whose controller listens at Endpoint, for another driver of actors
// than a Cluster: package remote runs them against another API server. They are the provisioner, the attacher if its
// volumes are attached, the resizer, and withSnapshots the snapshotter, which does nothing for a driver that cannot
// take snapshots. withSnapshots requires that the server has the CustomResourceDefinitions of snapshots. The
// sidecars use the driver's CSIDriver object, CSINodes and VolumeAttachments of that server.
//
// stop breaks the connection; call it after the actors have ended. A driver without Endpoint is refused.
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
