package outside

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	spec "github.com/container-storage-interface/spec/lib/go/csi"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/timestamppb"
)

// driver knows nothing of the simulation: it works on the files of the computer it runs on. It
// may not mount, so what a pod gets is a copy: a file "volume" with the volume's ID.
type driver struct {
	spec.UnimplementedIdentityServer
	spec.UnimplementedControllerServer
	spec.UnimplementedNodeServer
	cfg Config
}

func (d *driver) GetPluginInfo(context.Context, *spec.GetPluginInfoRequest) (*spec.GetPluginInfoResponse, error) {
	return &spec.GetPluginInfoResponse{Name: d.cfg.Name, VendorVersion: "1"}, nil
}

func (d *driver) GetPluginCapabilities(context.Context, *spec.GetPluginCapabilitiesRequest) (*spec.GetPluginCapabilitiesResponse, error) {
	return &spec.GetPluginCapabilitiesResponse{Capabilities: []*spec.PluginCapability{{Type: &spec.PluginCapability_Service_{
		Service: &spec.PluginCapability_Service{Type: spec.PluginCapability_Service_CONTROLLER_SERVICE},
	}}}}, nil
}

func (d *driver) Probe(context.Context, *spec.ProbeRequest) (*spec.ProbeResponse, error) {
	return &spec.ProbeResponse{}, nil
}

func (d *driver) ControllerGetCapabilities(context.Context, *spec.ControllerGetCapabilitiesRequest) (*spec.ControllerGetCapabilitiesResponse, error) {
	answer := &spec.ControllerGetCapabilitiesResponse{}
	for _, can := range []spec.ControllerServiceCapability_RPC_Type{
		spec.ControllerServiceCapability_RPC_CREATE_DELETE_VOLUME, spec.ControllerServiceCapability_RPC_PUBLISH_UNPUBLISH_VOLUME,
		spec.ControllerServiceCapability_RPC_CREATE_DELETE_SNAPSHOT,
	} {
		answer.Capabilities = append(answer.Capabilities, &spec.ControllerServiceCapability{
			Type: &spec.ControllerServiceCapability_Rpc{Rpc: &spec.ControllerServiceCapability_RPC{Type: can}},
		})
	}
	return answer, nil
}

// CreateVolume makes a directory. With the class's parameter "waits" it waits for Process.GoOn first.
func (d *driver) CreateVolume(ctx context.Context, req *spec.CreateVolumeRequest) (*spec.CreateVolumeResponse, error) {
	if _, waits := req.GetParameters()["waits"]; waits {
		if err := os.WriteFile(d.cfg.Dir+".waits", nil, 0o600); err != nil {
			return nil, status.Error(codes.Internal, err.Error())
		}
		for !exists(d.cfg.Dir + ".goes-on") {
			time.Sleep(time.Millisecond)
		}
	}
	if err := os.MkdirAll(filepath.Join(d.cfg.Dir, req.GetName()), 0o755); err != nil {
		return nil, status.Error(codes.Internal, err.Error())
	}
	answer := &spec.Volume{VolumeId: req.GetName(), CapacityBytes: req.GetCapacityRange().GetRequiredBytes(), ContentSource: req.GetVolumeContentSource()}
	if snapshot := req.GetVolumeContentSource().GetSnapshot(); snapshot != nil {
		if err := os.CopyFS(filepath.Join(d.cfg.Dir, req.GetName()), os.DirFS(filepath.Join(d.cfg.snapshots(), snapshot.GetSnapshotId()))); err != nil {
			return nil, status.Error(codes.Internal, err.Error())
		}
	}
	if claim := req.GetParameters()["csi.storage.k8s.io/pvc/name"]; claim != "" {
		answer.VolumeContext = map[string]string{"claim": claim}
	}
	if _, ok := req.GetParameters()["tellsTime"]; ok { // how long its caller waits
		left := "for ever"
		if deadline, ends := ctx.Deadline(); ends {
			left = time.Until(deadline).Round(time.Second).String()
		}
		answer.VolumeContext = map[string]string{"waits": left}
	}
	return &spec.CreateVolumeResponse{Volume: answer}, nil
}

func (d *driver) DeleteVolume(_ context.Context, req *spec.DeleteVolumeRequest) (*spec.DeleteVolumeResponse, error) {
	return &spec.DeleteVolumeResponse{}, os.RemoveAll(filepath.Join(d.cfg.Dir, req.GetVolumeId()))
}

// CreateSnapshot copies a volume's directory. Of a snapshot that there is already it says so.
func (d *driver) CreateSnapshot(_ context.Context, req *spec.CreateSnapshotRequest) (*spec.CreateSnapshotResponse, error) {
	err := os.CopyFS(filepath.Join(d.cfg.snapshots(), req.GetName()), os.DirFS(filepath.Join(d.cfg.Dir, req.GetSourceVolumeId())))
	if err != nil && !errors.Is(err, fs.ErrExist) {
		return nil, status.Error(codes.Internal, err.Error())
	}
	return &spec.CreateSnapshotResponse{Snapshot: &spec.Snapshot{
		SnapshotId: req.GetName(), SourceVolumeId: req.GetSourceVolumeId(), CreationTime: timestamppb.Now(), ReadyToUse: true,
	}}, nil
}

func (d *driver) DeleteSnapshot(_ context.Context, req *spec.DeleteSnapshotRequest) (*spec.DeleteSnapshotResponse, error) {
	return &spec.DeleteSnapshotResponse{}, os.RemoveAll(filepath.Join(d.cfg.snapshots(), req.GetSnapshotId()))
}

func (d *driver) ControllerPublishVolume(_ context.Context, req *spec.ControllerPublishVolumeRequest) (*spec.ControllerPublishVolumeResponse, error) {
	if req.GetNodeId() != d.cfg.Node {
		return nil, status.Errorf(codes.NotFound, "there is no node %s", req.GetNodeId())
	}
	return &spec.ControllerPublishVolumeResponse{}, os.WriteFile(filepath.Join(d.cfg.Dir, req.GetVolumeId(), "attached"), nil, 0o600)
}

func (d *driver) ControllerUnpublishVolume(_ context.Context, req *spec.ControllerUnpublishVolumeRequest) (*spec.ControllerUnpublishVolumeResponse, error) {
	return &spec.ControllerUnpublishVolumeResponse{}, os.RemoveAll(filepath.Join(d.cfg.Dir, req.GetVolumeId(), "attached"))
}

func (d *driver) NodeGetInfo(context.Context, *spec.NodeGetInfoRequest) (*spec.NodeGetInfoResponse, error) {
	return &spec.NodeGetInfoResponse{NodeId: d.cfg.Node}, nil
}

func (d *driver) NodeGetCapabilities(context.Context, *spec.NodeGetCapabilitiesRequest) (*spec.NodeGetCapabilitiesResponse, error) {
	return &spec.NodeGetCapabilitiesResponse{Capabilities: []*spec.NodeServiceCapability{{Type: &spec.NodeServiceCapability_Rpc{
		Rpc: &spec.NodeServiceCapability_RPC{Type: spec.NodeServiceCapability_RPC_STAGE_UNSTAGE_VOLUME},
	}}}}, nil
}

func (d *driver) NodeStageVolume(_ context.Context, req *spec.NodeStageVolumeRequest) (*spec.NodeStageVolumeResponse, error) {
	if _, err := os.Stat(filepath.Join(d.cfg.Dir, req.GetVolumeId(), "attached")); err != nil {
		return nil, status.Error(codes.FailedPrecondition, err.Error())
	}
	return &spec.NodeStageVolumeResponse{}, put(req.GetStagingTargetPath(), req.GetVolumeId())
}

func (d *driver) NodeUnstageVolume(_ context.Context, req *spec.NodeUnstageVolumeRequest) (*spec.NodeUnstageVolumeResponse, error) {
	return &spec.NodeUnstageVolumeResponse{}, os.RemoveAll(filepath.Join(req.GetStagingTargetPath(), "volume"))
}

func (d *driver) NodePublishVolume(_ context.Context, req *spec.NodePublishVolumeRequest) (*spec.NodePublishVolumeResponse, error) {
	if d.cfg.Mount != "" {
		err := d.mount(req.GetTargetPath())
		switch {
		case err == nil && d.cfg.After == "hang":
			select {}
		case err == nil && d.cfg.After == "die":
			os.Exit(3)
		}
		return &spec.NodePublishVolumeResponse{}, err
	}
	id, err := os.ReadFile(filepath.Join(req.GetStagingTargetPath(), "volume"))
	if err != nil {
		return nil, status.Error(codes.FailedPrecondition, err.Error())
	}
	return &spec.NodePublishVolumeResponse{}, put(req.GetTargetPath(), string(id))
}

func (d *driver) NodeUnpublishVolume(_ context.Context, req *spec.NodeUnpublishVolumeRequest) (*spec.NodeUnpublishVolumeResponse, error) {
	if d.cfg.Mount != "" {
		return &spec.NodeUnpublishVolumeResponse{}, d.unmount(req.GetTargetPath())
	}
	return &spec.NodeUnpublishVolumeResponse{}, os.RemoveAll(req.GetTargetPath())
}

// put makes a directory with the file "volume".
func put(dir, id string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, "volume"), []byte(id), 0o644)
}
