package socket

import (
	"context"

	"google.golang.org/grpc/codes"

	"github.com/storagesim/storagesim/control"
)

// Transport reaches the servers on a node's sockets for its kubelet. A connection is that of
// the actor whose Env it is. There need be no server: then each call says so.
type Transport interface {
	Node(env control.Env, at Place) Node
	Registrar(env control.Env, at Place) Registrar
}

// Node is a driver's node service, in the words of the CSI specification. Its errors are a
// Failure.
type Node interface {
	// Info is what NodeGetInfo answers, Capabilities the names of what
	// NodeGetCapabilities does.
	Info(ctx context.Context) (Info, error)
	Capabilities(ctx context.Context) ([]string, error)
	Stage(ctx context.Context, request StageRequest) error
	Unstage(ctx context.Context, volume, stagingTargetPath string) error
	Publish(ctx context.Context, request PublishRequest) error
	Unpublish(ctx context.Context, volume, targetPath string) error
	// Expand is NodeExpandVolume.
	Expand(ctx context.Context, request ExpandRequest) error
	// Stats is what NodeGetVolumeStats answers; nil if it says nothing about usage.
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

// Info is what a driver says of a node. Topology is nil if it says nothing.
type Info struct {
	NodeID     string
	MaxVolumes int64
	Topology   map[string]string
}

// StageRequest is NodeStageVolumeRequest.
type StageRequest struct {
	VolumeId, StagingTargetPath            string
	PublishContext, VolumeContext, Secrets map[string]string
	VolumeCapability                       Capability
}

// PublishRequest is NodePublishVolumeRequest.
type PublishRequest struct {
	VolumeId, StagingTargetPath, TargetPath string
	Readonly                                bool
	PublishContext, VolumeContext, Secrets  map[string]string
	VolumeCapability                        Capability
}

// ExpandRequest is NodeExpandVolumeRequest.
type ExpandRequest struct {
	VolumeId, VolumePath, StagingTargetPath string
	RequiredBytes                           int64
	Secrets                                 map[string]string
	VolumeCapability                        Capability
}

// Capability is what a volume is to be for a pod. AccessMode is the specification's name,
// "SINGLE_NODE_WRITER". Where Block is set the volume is a raw device, and the other fields
// have no meaning.
type Capability struct {
	AccessMode       string
	Block            bool
	FSType           string
	MountFlags       []string
	VolumeMountGroup string
}

// Usage is how full a volume is, in a unit: UsageBytes, UsageFiles or one that is not known.
type Usage struct {
	Unit                   string
	Available, Total, Used int64
}

// Failure is an error of a call: its code in gRPC. The text is that of gRPC's error.
type Failure interface {
	error
	Code() codes.Code
}

// Registrar is the registration service that a plugin offers to a kubelet. Its errors are a
// Failure.
type Registrar interface {
	GetInfo(ctx context.Context) (Plugin, error)
	// NotifyRegistrationStatus tells the plugin what is wrong; "" that it is registered.
	NotifyRegistrationStatus(ctx context.Context, problem string) error
}

// Plugin is what a plugin says of itself.
type Plugin struct {
	// Type is PluginType for CSI drivers.
	Type, Name, Endpoint string
	SupportedVersions    []string
}

// PluginType is the type of CSI drivers.
const PluginType = "CSIPlugin"
