package attacher

import (
	"context"
	"fmt"
	"slices"

	"github.com/container-storage-interface/spec/lib/go/csi"

	"github.com/storagesim/storagesim/control"
	"github.com/storagesim/storagesim/trace"
)

// reconcileVA asks the driver which volumes are published where. Where the answer differs from a VolumeAttachment's
// status, the volume is attached or detached again, whatever the status says.
//
// Upstream: csi_handler.go ReconcileVA, v4.13.
func (a *csiAttacher) reconcileVA(ctx context.Context) {
	published, err := a.listVolumes(control.WithTimeout(ctx, a.env, a.cfg.Timeout))
	if err != nil {
		a.env.Trace(trace.Decision{About: trace.Ref{Kind: "CSIDriver", Name: a.cfg.Driver}, Text: "failed to ListVolumes: " + err.Error()})
		return
	}
	for va := range a.attachments.All() {
		if va.Spec.Attacher != a.cfg.Driver {
			continue
		}
		nodeID, err := a.nodeID(va.Spec.NodeName, va)
		if err != nil {
			continue
		}
		_, spec, err := a.specOf(va)
		if err != nil || spec.CSI == nil {
			continue
		}
		found := slices.Contains(published[spec.CSI.VolumeHandle], nodeID)
		if va.Status.Attached != found {
			a.env.Trace(trace.Decision{About: trace.RefOf("VolumeAttachment", va), Text: fmt.Sprintf("its status says attached: %t, but the driver says %t", va.Status.Attached, found)})
			a.forceSync[va.Name] = true
			a.vaQueue.Add(va.Name)
		}
	}
}

// listVolumes returns the nodes, by their IDs, that each volume is published to, by handle.
//
// Upstream: pkg/attacher/lister.go ListVolumes, v4.13.
func (a *csiAttacher) listVolumes(ctx context.Context) (map[string][]string, error) {
	published := map[string][]string{}
	for token := ""; ; {
		answer, err := a.driver.ListVolumes(ctx, &csi.ListVolumesRequest{StartingToken: token, MaxEntries: int32(a.cfg.MaxEntries)}) // upstream's flag has 32 bits, too
		if err != nil {
			return nil, err
		}
		for _, entry := range answer.GetEntries() {
			published[entry.GetVolume().GetVolumeId()] = entry.GetStatus().GetPublishedNodeIds()
		}
		if token = answer.GetNextToken(); token == "" {
			return published, nil
		}
	}
}

// consumeForceSync reports whether the status of a VolumeAttachment is known to be wrong, and forgets that.
//
// Upstream: csi_handler.go consumeForceSync, v4.13.
func (a *csiAttacher) consumeForceSync(name string) bool {
	force := a.forceSync[name]
	delete(a.forceSync, name)
	return force
}
