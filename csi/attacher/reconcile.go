package attacher

import (
	"context"
	"fmt"
	"slices"
	"strings"

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
			a.env.Trace(trace.Decision{About: trace.RefOf("VolumeAttachment", va),
				Text: fmt.Sprintf("its status says attached: %t, but the driver says %t", va.Status.Attached, found)})
			a.forceSync[va.Name] = true
			a.vaQueue.Add(va.Name)
		}
	}
}

// The most that is read of a driver's volumes: a driver may answer with another page for ever. Upstream
// reads on until its memory ends.
const (
	maxPages  = 10_000
	maxListed = 64 << 20 // bytes of handles and node IDs
	entryCost = 100      // bytes of a volume beside its texts
)

// listVolumes returns the nodes, by their IDs, that each volume is published to, by handle. A token that comes again with nothing new is that of a driver
// which ignores starting_token: it would answer the same for ever.
//
// Upstream: pkg/attacher/lister.go ListVolumes, v4.13.
func (a *csiAttacher) listVolumes(ctx context.Context) (map[string][]string, error) {
	published, held, tokens := map[string][]string{}, 0, map[string]bool{}
	for token, page := "", 1; ; page++ {
		before := len(published)
		answer, err := a.driver.ListVolumes(ctx,
			&csi.ListVolumesRequest{StartingToken: token, MaxEntries: int32(a.cfg.MaxEntries)}) // upstream's flag has 32 bits, too
		if err != nil {
			return nil, err
		}
		for _, entry := range answer.GetEntries() {
			handle, nodes := entry.GetVolume().GetVolumeId(), entry.GetStatus().GetPublishedNodeIds()
			published[handle] = nodes
			held += len(handle) + len(strings.Join(nodes, " ")) + entryCost
		}
		if held > maxListed || page == maxPages {
			return nil, fmt.Errorf("%d pages with %d bytes of volumes are not all of them; more than %d pages or %d bytes are not read", page, held, maxPages, maxListed)
		}
		if token = answer.GetNextToken(); token == "" {
			return published, nil
		}
		if tokens[token] && len(published) == before {
			return nil, fmt.Errorf("next_token %q comes again, and page %d has no other volumes than those before: csi-attacher reads on until its memory ends",
				token, page)
		}
		tokens[token] = true
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
