package storagesim_test

import (
	"context"
	"fmt"
	"path"
	"testing"
	"time"

	spec "github.com/container-storage-interface/spec/lib/go/csi"
	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"

	"github.com/storagesim/storagesim"
	"github.com/storagesim/storagesim/csi"
	"github.com/storagesim/storagesim/csi/provisioner"
	"github.com/storagesim/storagesim/storagesimtest"
)

const nodeKey = "topology.local.example.com/node"

// localDriver keeps volumes in directories of the node that it runs on: controller and node server
// are one.
type localDriver struct {
	spec.UnimplementedControllerServer
	spec.UnimplementedNodeServer
	host csi.Host
}

func (d *localDriver) topology() *spec.Topology {
	return &spec.Topology{Segments: map[string]string{nodeKey: d.host.Node}}
}

func (d *localDriver) ControllerGetCapabilities(context.Context, *spec.ControllerGetCapabilitiesRequest) (*spec.ControllerGetCapabilitiesResponse, error) {
	answer := &spec.ControllerGetCapabilitiesResponse{}
	for _, t := range []spec.ControllerServiceCapability_RPC_Type{spec.ControllerServiceCapability_RPC_CREATE_DELETE_VOLUME, spec.ControllerServiceCapability_RPC_GET_CAPACITY} {
		answer.Capabilities = append(answer.Capabilities, &spec.ControllerServiceCapability{
			Type: &spec.ControllerServiceCapability_Rpc{Rpc: &spec.ControllerServiceCapability_RPC{Type: t}},
		})
	}
	return answer, nil
}

func (d *localDriver) CreateVolume(_ context.Context, req *spec.CreateVolumeRequest) (*spec.CreateVolumeResponse, error) {
	return &spec.CreateVolumeResponse{Volume: &spec.Volume{
		VolumeId: req.Name, CapacityBytes: req.GetCapacityRange().GetRequiredBytes(), AccessibleTopology: []*spec.Topology{d.topology()},
	}}, d.host.Machine.Disk().MkdirAll(path.Join("/pool", req.Name), 0o755)
}

func (d *localDriver) DeleteVolume(_ context.Context, req *spec.DeleteVolumeRequest) (*spec.DeleteVolumeResponse, error) {
	return &spec.DeleteVolumeResponse{}, d.host.Machine.Disk().RemoveAll(path.Join("/pool", req.VolumeId))
}

func (d *localDriver) GetCapacity(context.Context, *spec.GetCapacityRequest) (*spec.GetCapacityResponse, error) {
	return &spec.GetCapacityResponse{AvailableCapacity: 5 << 30}, nil
}

func (d *localDriver) NodeGetInfo(context.Context, *spec.NodeGetInfoRequest) (*spec.NodeGetInfoResponse, error) {
	return &spec.NodeGetInfoResponse{NodeId: d.host.Node, AccessibleTopology: d.topology()}, nil
}

func (d *localDriver) NodeGetCapabilities(context.Context, *spec.NodeGetCapabilitiesRequest) (*spec.NodeGetCapabilitiesResponse, error) {
	return &spec.NodeGetCapabilitiesResponse{}, nil
}

func (d *localDriver) NodePublishVolume(_ context.Context, req *spec.NodePublishVolumeRequest) (*spec.NodePublishVolumeResponse, error) {
	mounter := d.host.Machine.Mounter()
	if mounted, err := mounter.IsMountPoint(req.TargetPath); err == nil && mounted {
		return &spec.NodePublishVolumeResponse{}, nil
	}
	if err := d.host.Machine.Disk().MkdirAll(req.TargetPath, 0o755); err != nil {
		return nil, err
	}
	return &spec.NodePublishVolumeResponse{}, mounter.Mount(path.Join("/pool", req.VolumeId), req.TargetPath, "", []string{"bind"})
}

func (d *localDriver) NodeUnpublishVolume(_ context.Context, req *spec.NodeUnpublishVolumeRequest) (*spec.NodeUnpublishVolumeResponse, error) {
	if mounted, err := d.host.Machine.Mounter().IsMountPoint(req.TargetPath); err == nil && mounted {
		if err := d.host.Machine.Mounter().Unmount(req.TargetPath); err != nil {
			return nil, err
		}
	}
	return &spec.NodeUnpublishVolumeResponse{}, d.host.Machine.Disk().RemoveAll(req.TargetPath)
}

func localOnEachNode() csi.Driver {
	no, yes := false, true
	return csi.Driver{
		Name:           "local.example.com",
		Spec:           storagev1.CSIDriverSpec{AttachRequired: &no, StorageCapacity: &yes},
		Node:           func(h csi.Host) (spec.NodeServer, error) { return &localDriver{host: h}, nil },
		NodeController: func(h csi.Host) (spec.ControllerServer, error) { return &localDriver{host: h}, nil },
		Sidecars: csi.Sidecars{Provisioner: func(c *provisioner.Config) {
			c.EnableCapacity, c.StrictTopology = true, true
		}},
	}
}

const localClaims = `
{apiVersion: storage.k8s.io/v1, kind: StorageClass, metadata: {name: late}, provisioner: local.example.com, volumeBindingMode: WaitForFirstConsumer}
---
{apiVersion: storage.k8s.io/v1, kind: StorageClass, metadata: {name: now}, provisioner: local.example.com}
`

func localPod(name, class string) string {
	return fmt.Sprintf(`
{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: data-%[1]s}, spec: {accessModes: [ReadWriteOnce], storageClassName: %[2]s, resources: {requests: {storage: 1Gi}}}}
---
{apiVersion: v1, kind: Pod, metadata: {name: %[1]s}, spec: {containers: [{name: c, image: busybox, command: [sh, -c, "echo %[1]s > /data/name; sleep 100000"], volumeMounts: [{name: v, mountPath: /data}]}],
  volumes: [{name: v, persistentVolumeClaim: {claimName: data-%[1]s}}]}}
`, name, class)
}

func TestAProvisionerOnEachNodeMakesTheVolumesOfThatNode(t *testing.T) {
	for seed := range uint64(3) {
		c := storagesimtest.New(t, storagesim.Config{Disks: storagesim.MemoryDisks, Nodes: storagesim.Nodes("node-1", "node-2"), Seed: seed})
		require.NoError(t, c.InstallCSIDriver(localOnEachNode()))
		require.Contains(t, c.Actors(), "csi-provisioner/local.example.com/node-2")
		require.NotContains(t, c.Actors(), "csi-provisioner/local.example.com")
		c.Apply(localClaims)
		c.RunFor(10 * time.Second)
		c.Apply(localPod("late", "late"))
		c.Apply(localPod("now", "now"))
		c.RunFor(3 * time.Minute)
		for _, name := range []string{"late", "now"} {
			pod := c.Pod(name)
			require.Equal(t, v1.PodRunning, pod.Status.Phase, c.Story())
			pv := c.Claim("data-" + name).Spec.VolumeName
			data, err := c.Cluster.ReadFile("node/"+pod.Spec.NodeName, path.Join("/pool", pv, "name"))
			require.NoError(t, err)
			require.Equal(t, name+"\n", string(data))
		}
		c.Delete("pod/late", "pod/now", "pvc/data-late", "pvc/data-now")
		c.RunFor(3 * time.Minute)
		for _, node := range []string{"node/node-1", "node/node-2"} {
			left, err := c.Cluster.ListDir(node, "/pool")
			if err == nil {
				require.Empty(t, left, node)
			}
		}
		require.Equal(t, "No resources found\n", c.Get("pv"))
		c.RequireNoLeaks()
	}
}

func TestADriverWithAControllerOnEachNodeThatCannotBeIsRefusedInWords(t *testing.T) {
	for want, change := range map[string]func(*csi.Driver){
		"NodeController is for drivers whose volumes are not attached: Spec.AttachRequired must be false": func(d *csi.Driver) { d.Spec.AttachRequired = nil },
		"NodeController is for drivers with Node and without Controller, NewController and Endpoint":      func(d *csi.Driver) { d.Controller = &localDriver{} },
		"csi.Driver local.example.com: NodeController is for drivers with Node":                           func(d *csi.Driver) { d.Node, d.NodeEndpoint = nil, func(string) string { return "unix:///x" } },
	} {
		d := localOnEachNode()
		change(&d)
		require.ErrorContains(t, d.Check(), want)
	}
}
