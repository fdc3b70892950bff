package socket

import (
	"fmt"
	"slices"
	"strings"

	"github.com/storagesim/storagesim/internal/prose"
)

// Methods returns the methods that faults can strike, "csi.v1.Node/NodeStageVolume": those of the CSI
// specification's services, and of the registration of plugins.
// specification's services, and of the registration of plugins.
func Methods() []string {
	var all []string
	for _, s := range []struct{ service, methods string }{
		{"csi.v1.Identity", "GetPluginInfo GetPluginCapabilities Probe"},
		{"csi.v1.Controller", "CreateVolume DeleteVolume ControllerPublishVolume ControllerUnpublishVolume ValidateVolumeCapabilities ListVolumes GetCapacity " +
			"ControllerGetCapabilities CreateSnapshot DeleteSnapshot ListSnapshots GetSnapshot ControllerExpandVolume ControllerGetVolume ControllerModifyVolume " +
			"ControllerListVolumeHealth ControllerGetVolumeHealth"},
		{"csi.v1.GroupController", "GroupControllerGetCapabilities CreateVolumeGroupSnapshot DeleteVolumeGroupSnapshot GetVolumeGroupSnapshot"},
		{"csi.v1.SnapshotMetadata", "GetMetadataAllocated GetMetadataDelta"},
		{"csi.v1.Node", "NodeStageVolume NodeUnstageVolume NodePublishVolume NodeUnpublishVolume NodeGetVolumeStats NodeExpandVolume NodeGetCapabilities " +
			"NodeGetInfo NodeGetVolumeHealth NodeGetStorageHealth"},
		{"pluginregistration.Registration", "GetInfo NotifyRegistrationStatus"},
	} {
		for _, method := range strings.Fields(s.methods) {
			all = append(all, s.service+"/"+method)
		}
	}
	return all
}

// checkMethod returns an error if Fault.Method is invalid.
func checkMethod(method string) error {
	all := Methods()
	method = strings.TrimPrefix(method, "/")
	if method == "" || slices.Contains(all, method) {
		return nil
	}
	short := make([]string, len(all))
	for i, full := range all {
		_, short[i], _ = strings.Cut(full, "/")
	}
	if slices.Contains(short, method) {
		return nil
	}
	return fmt.Errorf("call.Fault.Method: there is no method %q%s", method, prose.OneOf(method, short))
}
