package driver

import (
	"context"

	spec "github.com/container-storage-interface/spec/lib/go/csi"
	"google.golang.org/protobuf/types/known/wrapperspb"
)

// identity is the identity server, of the controller and of each node.
type identity struct {
	spec.UnimplementedIdentityServer
	name             string
	topology, groups bool
}

func (i identity) GetPluginInfo(context.Context, *spec.GetPluginInfoRequest) (*spec.GetPluginInfoResponse, error) {
	return &spec.GetPluginInfoResponse{Name: i.name, VendorVersion: "1.0.0"}, nil
}

func (i identity) GetPluginCapabilities(context.Context, *spec.GetPluginCapabilitiesRequest) (*spec.GetPluginCapabilitiesResponse, error) {
	services := []spec.PluginCapability_Service_Type{spec.PluginCapability_Service_CONTROLLER_SERVICE}
	if i.topology {
		services = append(services, spec.PluginCapability_Service_VOLUME_ACCESSIBILITY_CONSTRAINTS)
	}
	if i.groups {
		services = append(services, spec.PluginCapability_Service_GROUP_CONTROLLER_SERVICE)
	}
	answer := &spec.GetPluginCapabilitiesResponse{}
	for _, s := range services {
		answer.Capabilities = append(answer.Capabilities, &spec.PluginCapability{
			Type: &spec.PluginCapability_Service_{Service: &spec.PluginCapability_Service{Type: s}},
		})
	}
	answer.Capabilities = append(answer.Capabilities, &spec.PluginCapability{
		Type: &spec.PluginCapability_VolumeExpansion_{VolumeExpansion: &spec.PluginCapability_VolumeExpansion{Type: spec.PluginCapability_VolumeExpansion_ONLINE}},
	})
	return answer, nil
}

func (i identity) Probe(context.Context, *spec.ProbeRequest) (*spec.ProbeResponse, error) {
	return &spec.ProbeResponse{Ready: wrapperspb.Bool(true)}, nil
}
