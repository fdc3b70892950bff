package csitest

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/container-storage-interface/spec/lib/go/csi"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/wrapperspb"
)

// GetPluginInfo implements csi.IdentityServer.
func (d *Driver) GetPluginInfo(context.Context, *csi.GetPluginInfoRequest) (*csi.GetPluginInfoResponse, error) {
	return &csi.GetPluginInfoResponse{Name: d.Name}, nil
}

// GetPluginCapabilities implements csi.IdentityServer.
func (d *Driver) GetPluginCapabilities(context.Context, *csi.GetPluginCapabilitiesRequest) (*csi.GetPluginCapabilitiesResponse, error) {
	answer := &csi.GetPluginCapabilitiesResponse{}
	for _, service := range d.Services {
		answer.Capabilities = append(answer.Capabilities,
			&csi.PluginCapability{Type: &csi.PluginCapability_Service_{Service: &csi.PluginCapability_Service{Type: service}}})
	}
	return answer, nil
}

// Probe implements csi.IdentityServer.
func (d *Driver) Probe(context.Context, *csi.ProbeRequest) (*csi.ProbeResponse, error) {
	return &csi.ProbeResponse{Ready: wrapperspb.Bool(!d.NotReady)}, nil
}

// ControllerGetCapabilities implements csi.ControllerServer.
func (d *Driver) ControllerGetCapabilities(context.Context, *csi.ControllerGetCapabilitiesRequest) (*csi.ControllerGetCapabilitiesResponse, error) {
	answer := &csi.ControllerGetCapabilitiesResponse{}
	for _, rpc := range d.Controller {
		answer.Capabilities = append(answer.Capabilities,
			&csi.ControllerServiceCapability{Type: &csi.ControllerServiceCapability_Rpc{Rpc: &csi.ControllerServiceCapability_RPC{Type: rpc}}})
	}
	return answer, nil
}

// ControllerExpandVolume implements csi.ControllerServer.
func (d *Driver) ControllerExpandVolume(_ context.Context, req *csi.ControllerExpandVolumeRequest) (*csi.ControllerExpandVolumeResponse, error) {
	if _, ok := d.Volumes[req.GetVolumeId()]; !ok {
		return nil, gone("volume", req.GetVolumeId())
	}
	return &csi.ControllerExpandVolumeResponse{CapacityBytes: req.GetCapacityRange().GetRequiredBytes(), NodeExpansionRequired: !d.NothingOnNodes}, nil
}

// ControllerModifyVolume implements csi.ControllerServer.
func (d *Driver) ControllerModifyVolume(_ context.Context, req *csi.ControllerModifyVolumeRequest) (*csi.ControllerModifyVolumeResponse, error) {
	if _, ok := d.Volumes[req.GetVolumeId()]; !ok {
		return nil, gone("volume", req.GetVolumeId())
	}
	return &csi.ControllerModifyVolumeResponse{}, nil
}

// NodeGetInfo implements csi.NodeServer.
func (d *Driver) NodeGetInfo(context.Context, *csi.NodeGetInfoRequest) (*csi.NodeGetInfoResponse, error) {
	if d.Node == nil {
		return nil, status.Error(codes.Unimplemented, "no node")
	}
	return d.Node, nil
}

// GetCapacity implements csi.ControllerServer.
func (d *Driver) GetCapacity(_ context.Context, req *csi.GetCapacityRequest) (*csi.GetCapacityResponse, error) {
	if d.Capacity == nil {
		return nil, status.Error(codes.Unimplemented, "no capacity")
	}
	return d.Capacity(req), nil
}

// CreateVolume implements csi.ControllerServer.
func (d *Driver) CreateVolume(_ context.Context, req *csi.CreateVolumeRequest) (*csi.CreateVolumeResponse, error) {
	id := "h-" + req.GetName()
	d.Volumes[id] = req.GetName()
	size := d.Size
	if size == 0 {
		size = req.GetCapacityRange().GetRequiredBytes()
	}
	topology := d.Topology
	if preferred := req.GetAccessibilityRequirements().GetPreferred(); topology == nil && len(preferred) > 0 {
		topology = preferred[:1]
	}
	answer := &csi.CreateVolumeResponse{Volume: &csi.Volume{
		VolumeId: id, CapacityBytes: max(size, 0), VolumeContext: map[string]string{"made": "yes"}, AccessibleTopology: topology,
	}}
	if d.Answer != nil {
		d.Answer(answer)
	}
	return answer, nil
}

// DeleteVolume implements csi.ControllerServer.
func (d *Driver) DeleteVolume(_ context.Context, req *csi.DeleteVolumeRequest) (*csi.DeleteVolumeResponse, error) {
	delete(d.Volumes, req.GetVolumeId())
	return &csi.DeleteVolumeResponse{}, nil
}

// ControllerPublishVolume implements csi.ControllerServer.
func (d *Driver) ControllerPublishVolume(_ context.Context, req *csi.ControllerPublishVolumeRequest) (*csi.ControllerPublishVolumeResponse, error) {
	if _, ok := d.Volumes[req.GetVolumeId()]; !ok {
		return nil, gone("volume", req.GetVolumeId())
	}
	if nodes := d.Published[req.GetVolumeId()]; !slices.Contains(nodes, req.GetNodeId()) {
		d.Published[req.GetVolumeId()] = append(nodes, req.GetNodeId())
	}
	return &csi.ControllerPublishVolumeResponse{PublishContext: map[string]string{"device": "/dev/x"}}, nil
}

// ControllerUnpublishVolume implements csi.ControllerServer.
func (d *Driver) ControllerUnpublishVolume(_ context.Context, req *csi.ControllerUnpublishVolumeRequest) (*csi.ControllerUnpublishVolumeResponse, error) {
	d.Published[req.GetVolumeId()] = slices.DeleteFunc(d.Published[req.GetVolumeId()], func(node string) bool { return node == req.GetNodeId() })
	if len(d.Published[req.GetVolumeId()]) == 0 {
		delete(d.Published, req.GetVolumeId())
	}
	return &csi.ControllerUnpublishVolumeResponse{}, nil
}

// ListVolumes implements csi.ControllerServer, one volume at a time.
func (d *Driver) ListVolumes(_ context.Context, req *csi.ListVolumesRequest) (*csi.ListVolumesResponse, error) {
	answer := &csi.ListVolumesResponse{}
	if d.EndlessPage != "" {
		id := fmt.Sprintf("%s%d", d.EndlessPage, len(d.Methods()))
		return &csi.ListVolumesResponse{NextToken: "next", Entries: []*csi.ListVolumesResponse_Entry{{Volume: &csi.Volume{VolumeId: id}}}}, nil
	}
	for _, id := range slices.Sorted(maps.Keys(d.Volumes)) {
		if d.SamePage == "" && id <= req.GetStartingToken() {
			continue
		}
		if len(answer.GetEntries()) > 0 {
			answer.NextToken = answer.GetEntries()[0].GetVolume().GetVolumeId()
			break
		}
		answer.Entries = append(answer.Entries, &csi.ListVolumesResponse_Entry{
			Volume: &csi.Volume{VolumeId: id}, Status: &csi.ListVolumesResponse_VolumeStatus{PublishedNodeIds: d.Published[id]},
		})
	}
	if d.SamePage != "" {
		answer.NextToken = d.SamePage
	}
	return answer, nil
}
