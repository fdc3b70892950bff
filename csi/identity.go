package csi

import (
	"context"

	spec "github.com/container-storage-interface/spec/lib/go/csi"
	"google.golang.org/protobuf/types/known/wrapperspb"
)

// identity returns Driver.Identity or its default.
func (d Driver) identity() spec.IdentityServer {
	if d.Identity != nil {
		return d.Identity
	}
	return identity{driver: d}
}

// identity is the identity server of a driver whose author has none.
type identity struct {
	spec.UnimplementedIdentityServer
	driver Driver
}

func (i identity) GetPluginInfo(context.Context, *spec.GetPluginInfoRequest) (*spec.GetPluginInfoResponse, error) {
	return &spec.GetPluginInfoResponse{Name: i.driver.Name, VendorVersion: "1.0.0"}, nil
}

func (i identity) GetPluginCapabilities(context.Context, *spec.GetPluginCapabilitiesRequest) (*spec.GetPluginCapabilitiesResponse, error) {
	answer := &spec.GetPluginCapabilitiesResponse{}
	if i.driver.NodeController != nil {
		answer.Capabilities = append(answer.Capabilities, service(spec.PluginCapability_Service_VOLUME_ACCESSIBILITY_CONSTRAINTS))
	}
	if i.driver.HasController() || i.driver.NodeController != nil {
		answer.Capabilities = append(answer.Capabilities, service(spec.PluginCapability_Service_CONTROLLER_SERVICE))
	}
	if _, ok := i.driver.Controller.(spec.GroupControllerServer); ok {
		answer.Capabilities = append(answer.Capabilities, service(spec.PluginCapability_Service_GROUP_CONTROLLER_SERVICE))
	}
	return answer, nil
}

func (i identity) Probe(context.Context, *spec.ProbeRequest) (*spec.ProbeResponse, error) {
	return &spec.ProbeResponse{Ready: wrapperspb.Bool(true)}, nil
}

func service(s spec.PluginCapability_Service_Type) *spec.PluginCapability {
	return &spec.PluginCapability{Type: &spec.PluginCapability_Service_{Service: &spec.PluginCapability_Service{Type: s}}}
}
