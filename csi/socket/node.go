package socket

import (
	"context"

	"google.golang.org/grpc/codes"

	"github.com/storagesim/storagesim/control"
)

// Transport reaches the servers on a node's sockets for its kubelet. Calls on a connection are made by the actor
// whose Env it was opened with. If no server listens, each call returns an error.
type Transport interface {
	Node(env control.Env, at Place) Node
	Registrar(env control.Env, at Place) Registrar
}

// Node is a driver's node service, with the names of the CSI specification. Its errors are a Failure.
type Node interface {
	// Info returns the answer of NodeGetInfo, Capabilities the names in the answer of NodeGetCapabilities.
	Info(ctx context.Context) (Info, error)
	Capabilities(ctx context.Context) ([]string, error)
	Stage(ctx context.Context, request StageRequest) error
	Unstage(ctx context.Context, volume, stagingTargetPath string) error
	Publish(ctx context.Context, request PublishRequest) error
	Unpublish(ctx context.Context, volume, targetPath string) error
	// Expand calls NodeExpandVolume.
	Expand(ctx context.Context, request ExpandRequest) error
	// Stats returns the answer of NodeGetVolumeStats; nil if it has nothing about usage.
	Stats(ctx context.Context, volume, volumePath string) ([]Usage, error)
}

// Names of capabilities of node services.
const (
	StageUnstageVolume     = "STAGE_UNSTAGE_VOLUME"
	VolumeMountGroup       = "VOLUME_MOUNT_GROUP"
	GetVolumeStats         = "GET_VOLUME_STATS"
	ExpandVolume           = "EXPAND_VOLUME"
	SingleNodeMultiWriter  = "SINGLE_NODE_MULTI_WRITER"
	UsageBytes, UsageFiles = "BYTES", "INODES"
)

// Info is a driver's answer about a node. Topology is nil if the answer has none.
type Info struct {
	NodeID     string
	MaxVolumes int64
	Topology   map[string]string
}

// StageRequest holds the fields of NodeStageVolumeRequest.
type StageRequest struct {
	VolumeId, StagingTargetPath            string
	PublishContext, VolumeContext, Secrets map[string]string
	VolumeCapability                       Capability
}

// PublishRequest holds the fields of NodePublishVolumeRequest.
type PublishRequest struct {
	VolumeId, StagingTargetPath, TargetPath string
	Readonly                                bool
	PublishContext, VolumeContext, Secrets  map[string]string
	VolumeCapability                        Capability
}

// ExpandRequest holds the fields of NodeExpandVolumeRequest.
type ExpandRequest struct {
	VolumeId, VolumePath, StagingTargetPath string
	RequiredBytes                           int64
	Secrets                                 map[string]string
	VolumeCapability                        Capability
}

// Capability describes how a pod uses a volume. AccessMode is the specification's name,
// "SINGLE_NODE_WRITER". If Block is set the volume is a raw device, and the other fields
// have no meaning.
type Capability struct {
	AccessMode       string
	Block            bool
	FSType           string
	MountFlags       []string
	VolumeMountGroup string
}

// Usage is the usage of a volume in one unit: UsageBytes, UsageFiles or an unknown one.
type Usage struct {
	Unit                   string
	Available, Total, Used int64
}

// Failure is an error of a call, with its gRPC code. The text is that of gRPC's error.
type Failure interface {
	error
	Code() codes.Code
}

// Registrar is the registration service that a plugin offers to a kubelet. Its errors are a
// Failure.
type Registrar interface {
	GetInfo(ctx context.Context) (Plugin, error)
	// NotifyRegistrationStatus tells the plugin its problem; "" means that it is registered.
	NotifyRegistrationStatus(ctx context.Context, problem string) error
}

// Plugin is a plugin's answer about itself.
type Plugin struct {
	// Type is PluginType for CSI drivers.
	Type, Name, Endpoint string
	SupportedVersions    []string
}

// PluginType is the type of CSI drivers.
const PluginType = "CSIPlugin"
