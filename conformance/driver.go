package conformance

import (
	"context"
	"errors"
	"path"
	"slices"
	"strings"
	"time"

	csipb "github.com/container-storage-interface/spec/lib/go/csi"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/storagesim/storagesim/machine"
	"github.com/storagesim/storagesim/volume"
)

// testDriver is the CSI driver of the recordings: volumes that it keeps in mind, with a
// directory on each node that has them, and bind mounts. It gives the recorded answers.
// What is to fail the harness injects on the way.
type testDriver struct {
	csipb.UnimplementedIdentityServer
	csipb.UnimplementedControllerServer

	name string
	// topology says that nodes are in zones: z1 and z2.
	topology bool
	volumes  map[string]*csipb.Volume // by name
	// notReady is the number of further answers of CreateSnapshot that the snapshot is not ready yet.
	notReady int
	// published holds the IDs of the nodes on which each volume is published, sorted, by the volume's ID.
	published map[string][]string
	// without names the controller's capabilities that it lacks.
	without []string
	// limit is the number of volumes that can be attached to a node. 0: no limit.
	limit int
	// modify says that volumes can be modified, as a VolumeAttributesClass asks for.
	modify bool
	// words returns the recorded driver's words for an error's code, "" if none are known.
	words func(codes.Code) string
}

// volumesDir has the files of volumes on each node.
const volumesDir = "/srv/csi"

func newTestDriver(name string) *testDriver {
	return &testDriver{name: name, topology: strings.HasPrefix(name, "topo."), volumes: map[string]*csipb.Volume{}, published: map[string][]string{}}
}

func (d *testDriver) GetPluginInfo(context.Context, *csipb.GetPluginInfoRequest) (*csipb.GetPluginInfoResponse, error) {
	return &csipb.GetPluginInfoResponse{Name: d.name, VendorVersion: "1"}, nil
}

func (d *testDriver) Probe(context.Context, *csipb.ProbeRequest) (*csipb.ProbeResponse, error) {
	return &csipb.ProbeResponse{}, nil
}

func (d *testDriver) GetPluginCapabilities(context.Context, *csipb.GetPluginCapabilitiesRequest) (*csipb.GetPluginCapabilitiesResponse, error) {
	services := []csipb.PluginCapability_Service_Type{csipb.PluginCapability_Service_CONTROLLER_SERVICE}
	if d.topology {
		services = append(services, csipb.PluginCapability_Service_VOLUME_ACCESSIBILITY_CONSTRAINTS)
	}
	answer := &csipb.GetPluginCapabilitiesResponse{}
	for _, service := range services {
		answer.Capabilities = append(answer.Capabilities,
			&csipb.PluginCapability{Type: &csipb.PluginCapability_Service_{Service: &csipb.PluginCapability_Service{Type: service}}})
	}
	return answer, nil
}

func (d *testDriver) ControllerGetCapabilities(context.Context, *csipb.ControllerGetCapabilitiesRequest) (*csipb.ControllerGetCapabilitiesResponse, error) {
	answer := &csipb.ControllerGetCapabilitiesResponse{}
	capabilities := []csipb.ControllerServiceCapability_RPC_Type{
		csipb.ControllerServiceCapability_RPC_CREATE_DELETE_VOLUME, csipb.ControllerServiceCapability_RPC_PUBLISH_UNPUBLISH_VOLUME,
		csipb.ControllerServiceCapability_RPC_EXPAND_VOLUME, csipb.ControllerServiceCapability_RPC_CREATE_DELETE_SNAPSHOT,
		csipb.ControllerServiceCapability_RPC_CLONE_VOLUME,
	}
	if d.modify {
		capabilities = append(capabilities, csipb.ControllerServiceCapability_RPC_MODIFY_VOLUME)
	}
	for _, rpc := range capabilities {
		if slices.Contains(d.without, rpc.String()) {
			continue
		}
		answer.Capabilities = append(answer.Capabilities, &csipb.ControllerServiceCapability{
			Type: &csipb.ControllerServiceCapability_Rpc{Rpc: &csipb.ControllerServiceCapability_RPC{Type: rpc}},
		})
	}
	return answer, nil
}

func (d *testDriver) CreateVolume(_ context.Context, req *csipb.CreateVolumeRequest) (*csipb.CreateVolumeResponse, error) {
	v := d.volumes[req.GetName()]
	if v == nil {
		v = &csipb.Volume{
			VolumeId: "h-" + req.GetName(), CapacityBytes: req.GetCapacityRange().GetRequiredBytes(),
			VolumeContext: map[string]string{"made": "yes"}, ContentSource: req.GetVolumeContentSource(),
		}
		if preferred := req.GetAccessibilityRequirements().GetPreferred(); d.topology && len(preferred) > 0 {
			v.AccessibleTopology = preferred[:1]
		}
		d.volumes[req.GetName()] = v
	}
	return &csipb.CreateVolumeResponse{Volume: v}, nil
}

func (d *testDriver) DeleteVolume(_ context.Context, req *csipb.DeleteVolumeRequest) (*csipb.DeleteVolumeResponse, error) {
	if on := d.published[req.GetVolumeId()]; len(on) > 0 {
		return nil, d.refuse(codes.FailedPrecondition, "volume %s is published on %s", req.GetVolumeId(), strings.Join(on, ", "))
	}
	delete(d.volumes, strings.TrimPrefix(req.GetVolumeId(), "h-"))
	return &csipb.DeleteVolumeResponse{}, nil
}

func (d *testDriver) CreateSnapshot(_ context.Context, req *csipb.CreateSnapshotRequest) (*csipb.CreateSnapshotResponse, error) {
	s := &csipb.Snapshot{SnapshotId: "s-" + req.GetName(), SourceVolumeId: req.GetSourceVolumeId(), SizeBytes: 1 << 30,
		CreationTime: timestamppb.New(time.Unix(1, 0)), ReadyToUse: d.notReady == 0}
	d.notReady = max(d.notReady-1, 0)
	return &csipb.CreateSnapshotResponse{Snapshot: s}, nil
}

func (d *testDriver) DeleteSnapshot(context.Context, *csipb.DeleteSnapshotRequest) (*csipb.DeleteSnapshotResponse, error) {
	return &csipb.DeleteSnapshotResponse{}, nil
}

// publishedOn returns the IDs of the nodes on which a volume is published.
func (d *testDriver) publishedOn(id string) []string { return d.published[id] }

func (d *testDriver) ControllerPublishVolume(_ context.Context, req *csipb.ControllerPublishVolumeRequest) (*csipb.ControllerPublishVolumeResponse, error) {
	id, node := req.GetVolumeId(), req.GetNodeId()
	on := d.published[id]
	several := strings.HasPrefix(req.GetVolumeCapability().GetAccessMode().GetMode().String(), "MULTI_NODE")
	if len(on) > 0 && !slices.Contains(on, node) && !several {
		return nil, d.refuse(codes.FailedPrecondition, "volume %s is published on %s", id, strings.Join(on, ", "))
	}
	if !slices.Contains(on, node) {
		if d.limit > 0 && d.attached(node) >= d.limit {
			return nil, d.refuse(codes.ResourceExhausted, "node %s has %d volumes", node, d.limit)
		}
		on = append(slices.Clone(on), node)
		slices.Sort(on)
		d.published[id] = on
	}
	return &csipb.ControllerPublishVolumeResponse{PublishContext: map[string]string{"device": "/dev/x"}}, nil
}

// attached returns the number of volumes that are published on a node.
func (d *testDriver) attached(node string) (n int) {
	for _, on := range d.published {
		if slices.Contains(on, node) {
			n++
		}
	}
	return n
}

func (d *testDriver) ControllerUnpublishVolume(_ context.Context,
	req *csipb.ControllerUnpublishVolumeRequest) (*csipb.ControllerUnpublishVolumeResponse, error) {
	id := req.GetVolumeId()
	d.published[id] = slices.DeleteFunc(slices.Clone(d.published[id]), func(node string) bool { return node == req.GetNodeId() || req.GetNodeId() == "" })
	return &csipb.ControllerUnpublishVolumeResponse{}, nil
}

func (d *testDriver) ControllerExpandVolume(_ context.Context, req *csipb.ControllerExpandVolumeRequest) (*csipb.ControllerExpandVolumeResponse, error) {
	return &csipb.ControllerExpandVolumeResponse{CapacityBytes: req.GetCapacityRange().GetRequiredBytes(), NodeExpansionRequired: true}, nil
}

func (d *testDriver) ControllerModifyVolume(context.Context, *csipb.ControllerModifyVolumeRequest) (*csipb.ControllerModifyVolumeResponse, error) {
	return &csipb.ControllerModifyVolumeResponse{}, nil
}

// testNode is the driver on one node.
type testNode struct {
	csipb.UnimplementedNodeServer

	driver *testDriver
	on     *machine.Machine
}

func (n *testNode) NodeGetInfo(context.Context, *csipb.NodeGetInfoRequest) (*csipb.NodeGetInfoResponse, error) {
	answer := &csipb.NodeGetInfoResponse{NodeId: "id-" + n.on.Name(), MaxVolumesPerNode: int64(n.driver.limit)}
	if n.driver.topology {
		zone := "z" + strings.TrimPrefix(n.on.Name(), "node-")
		answer.AccessibleTopology = &csipb.Topology{Segments: map[string]string{n.driver.name + "/zone": zone}}
	}
	return answer, nil
}

func (n *testNode) NodeGetCapabilities(context.Context, *csipb.NodeGetCapabilitiesRequest) (*csipb.NodeGetCapabilitiesResponse, error) {
	answer := &csipb.NodeGetCapabilitiesResponse{}
	for _, rpc := range []csipb.NodeServiceCapability_RPC_Type{csipb.NodeServiceCapability_RPC_STAGE_UNSTAGE_VOLUME,
		csipb.NodeServiceCapability_RPC_EXPAND_VOLUME} {
		answer.Capabilities = append(answer.Capabilities,
			&csipb.NodeServiceCapability{Type: &csipb.NodeServiceCapability_Rpc{Rpc: &csipb.NodeServiceCapability_RPC{Type: rpc}}})
	}
	return answer, nil
}

func (n *testNode) NodeStageVolume(_ context.Context, req *csipb.NodeStageVolumeRequest) (*csipb.NodeStageVolumeResponse, error) {
	if req.GetVolumeCapability().GetBlock() != nil {
		return &csipb.NodeStageVolumeResponse{}, nil // a raw device needs no mount
	}
	source := path.Join(volumesDir, path.Base(req.GetVolumeId()))
	return &csipb.NodeStageVolumeResponse{}, n.answer(n.bind(source, req.GetStagingTargetPath()))
}

func (n *testNode) NodePublishVolume(_ context.Context, req *csipb.NodePublishVolumeRequest) (*csipb.NodePublishVolumeResponse, error) {
	if req.GetVolumeCapability().GetBlock() != nil {
		return &csipb.NodePublishVolumeResponse{}, n.answer(n.device(req.GetVolumeId(), req.GetTargetPath()))
	}
	source := req.GetStagingTargetPath()
	if source == "" { // a volume of the pod's own is not staged
		source = path.Join(volumesDir, path.Base(req.GetVolumeId()))
	}
	return &csipb.NodePublishVolumeResponse{}, n.answer(n.bind(source, req.GetTargetPath()))
}

// device mounts the file that is a volume's device on another; both are made.
func (n *testNode) device(id, target string) error {
	disk, mounter := n.on.Disk(), n.on.Mounter()
	source := path.Join("/dev", n.driver.name, path.Base(id))
	err := disk.MkdirAll(path.Dir(source), 0o755)
	for _, file := range []string{source, target} {
		if _, missing := disk.Lstat(file); err == nil && missing != nil {
			err = disk.WriteFile(file, nil, 0o660)
		}
	}
	if err != nil {
		return err
	}
	if mounted, err := mounter.IsMountPoint(target); err != nil || mounted {
		return err
	}
	return mounter.Mount(source, target, "", []string{"bind"})
}

// bind mounts a directory on another; both are made. What is mounted already stays.
func (n *testNode) bind(source, target string) error {
	disk, mounter := n.on.Disk(), n.on.Mounter()
	if err := errors.Join(disk.MkdirAll(source, 0o755), disk.MkdirAll(target, 0o755)); err != nil {
		return err
	}
	if mounted, err := mounter.IsMountPoint(target); err != nil || mounted {
		return err
	}
	return mounter.Mount(source, target, "", []string{"bind"})
}

func (n *testNode) NodeUnpublishVolume(_ context.Context, req *csipb.NodeUnpublishVolumeRequest) (*csipb.NodeUnpublishVolumeResponse, error) {
	err := volume.CleanupMountPoint(req.GetTargetPath(), n.on.Mounter(), n.on.Disk())
	return &csipb.NodeUnpublishVolumeResponse{}, n.answer(err)
}

func (n *testNode) NodeUnstageVolume(_ context.Context, req *csipb.NodeUnstageVolumeRequest) (*csipb.NodeUnstageVolumeResponse, error) {
	mounted, err := n.on.Mounter().IsMountPoint(req.GetStagingTargetPath())
	if err == nil && mounted {
		err = n.on.Mounter().Unmount(req.GetStagingTargetPath())
	}
	return &csipb.NodeUnstageVolumeResponse{}, n.answer(err)
}

func (n *testNode) NodeExpandVolume(_ context.Context, req *csipb.NodeExpandVolumeRequest) (*csipb.NodeExpandVolumeResponse, error) {
	return &csipb.NodeExpandVolumeResponse{CapacityBytes: req.GetCapacityRange().GetRequiredBytes()}, nil
}

func (n *testNode) answer(err error) error {
	if err == nil {
		return nil
	}
	return status.Error(codes.Internal, err.Error())
}
