package call

import (
	"context"

	"github.com/container-storage-interface/spec/lib/go/csi"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	registerapi "k8s.io/kubelet/pkg/apis/pluginregistration/v1"

	"github.com/storagesim/storagesim/control"
	"github.com/storagesim/storagesim/csi/socket"
)

// transport connects kubelets to sockets over gRPC.
type transport struct{ sockets *Sockets }

func (t transport) Node(env control.Env, at socket.Place) socket.Node {
	return node{csi.NewNodeClient(newConn(t.sockets, env, at))}
}

func (t transport) Registrar(env control.Env, at socket.Place) socket.Registrar {
	return registrar{registerapi.NewRegistrationClient(newConn(t.sockets, env, at))}
}

// answered is an error of a call, with its code.
type answered struct{ error }

func (f answered) Unwrap() error    { return f.error }
func (f answered) Code() codes.Code { return status.Code(f.error) }

func failed(err error) error {
	if err == nil {
		return nil
	}
	return answered{err}
}

// node calls a node server.
type node struct{ csi.NodeClient }

func (n node) Info(ctx context.Context) (socket.Info, error) {
	info, err := n.NodeGetInfo(ctx, &csi.NodeGetInfoRequest{})
	return socket.Info{NodeID: info.GetNodeId(), MaxVolumes: info.GetMaxVolumesPerNode(), Topology: info.GetAccessibleTopology().GetSegments()}, failed(err)
}

func (n node) Capabilities(ctx context.Context) (names []string, err error) {
	answer, err := n.NodeGetCapabilities(ctx, &csi.NodeGetCapabilitiesRequest{})
	for _, has := range answer.GetCapabilities() {
		if has.GetRpc() != nil {
			names = append(names, has.GetRpc().GetType().String())
		}
	}
	return names, failed(err)
}

func (n node) Stage(ctx context.Context, r socket.StageRequest) error {
	_, err := n.NodeStageVolume(ctx, &csi.NodeStageVolumeRequest{
		VolumeId: r.VolumeId, StagingTargetPath: r.StagingTargetPath, VolumeCapability: capability(r.VolumeCapability),
		PublishContext: r.PublishContext, VolumeContext: r.VolumeContext, Secrets: r.Secrets,
	})
	return failed(err)
}

func (n node) Unstage(ctx context.Context, volume, where string) error {
	_, err := n.NodeUnstageVolume(ctx, &csi.NodeUnstageVolumeRequest{VolumeId: volume, StagingTargetPath: where})
	return failed(err)
}

func (n node) Publish(ctx context.Context, r socket.PublishRequest) error {
	_, err := n.NodePublishVolume(ctx, &csi.NodePublishVolumeRequest{
		VolumeId: r.VolumeId, StagingTargetPath: r.StagingTargetPath, TargetPath: r.TargetPath, Readonly: r.Readonly,
		VolumeCapability: capability(r.VolumeCapability),
		PublishContext:   r.PublishContext, VolumeContext: r.VolumeContext, Secrets: r.Secrets,
	})
	return failed(err)
}

func (n node) Unpublish(ctx context.Context, volume, where string) error {
	_, err := n.NodeUnpublishVolume(ctx, &csi.NodeUnpublishVolumeRequest{VolumeId: volume, TargetPath: where})
	return failed(err)
}

func (n node) Expand(ctx context.Context, r socket.ExpandRequest) error {
	_, err := n.NodeExpandVolume(ctx, &csi.NodeExpandVolumeRequest{
		VolumeId: r.VolumeId, VolumePath: r.VolumePath, StagingTargetPath: r.StagingTargetPath,
		CapacityRange: &csi.CapacityRange{RequiredBytes: r.RequiredBytes}, Secrets: r.Secrets, VolumeCapability: capability(r.VolumeCapability),
	})
	return failed(err)
}

func (n node) Stats(ctx context.Context, volume, where string) (usage []socket.Usage, err error) {
	answer, err := n.NodeGetVolumeStats(ctx, &csi.NodeGetVolumeStatsRequest{VolumeId: volume, VolumePath: where})
	for _, u := range answer.GetUsage() {
		usage = append(usage, socket.Usage{Unit: u.GetUnit().String(), Available: u.GetAvailable(), Total: u.GetTotal(), Used: u.GetUsed()})
	}
	return usage, failed(err)
}

// capability returns the CSI message.
func capability(want socket.Capability) *csi.VolumeCapability {
	mode := csi.VolumeCapability_AccessMode_Mode(csi.VolumeCapability_AccessMode_Mode_value[want.AccessMode])
	message := &csi.VolumeCapability{AccessMode: &csi.VolumeCapability_AccessMode{Mode: mode}}
	if want.Block {
		message.AccessType = &csi.VolumeCapability_Block{Block: &csi.VolumeCapability_BlockVolume{}}
	} else {
		message.AccessType = &csi.VolumeCapability_Mount{Mount: &csi.VolumeCapability_MountVolume{
			FsType: want.FSType, MountFlags: want.MountFlags, VolumeMountGroup: want.VolumeMountGroup,
		}}
	}
	return message
}

// registrar calls the registration server of a plugin.
type registrar struct{ registerapi.RegistrationClient }

func (r registrar) GetInfo(ctx context.Context) (socket.Plugin, error) {
	info, err := r.RegistrationClient.GetInfo(ctx, &registerapi.InfoRequest{})
	return socket.Plugin{Type: info.GetType(), Name: info.GetName(), Endpoint: info.GetEndpoint(), SupportedVersions: info.GetSupportedVersions()}, failed(err)
}

func (r registrar) NotifyRegistrationStatus(ctx context.Context, problem string) error {
	_, err := r.RegistrationClient.NotifyRegistrationStatus(ctx, &registerapi.RegistrationStatus{PluginRegistered: problem == "", Error: problem})
	return failed(err)
}
