package driver

import (
	"context"
	"errors"
	"testing"
	"time"

	spec "github.com/container-storage-interface/spec/lib/go/csi"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/storagesim/storagesim/csi"
	"github.com/storagesim/storagesim/machine"
	"github.com/storagesim/storagesim/machine/disk"
)

// Paths as a kubelet gives them. The directories of staging and target exist.
const (
	staging = "/var/lib/kubelet/plugins/kubernetes.io/csi/globalmount"
	target  = "/var/lib/kubelet/pods/1/mount"
)

var ctx = context.Background()

// rig is the driver with node-1 and node-2, without a cluster.
type rig struct {
	t          *testing.T
	driver     csi.Driver
	machines   *machine.Set
	host       *machine.Machine
	node       *machine.Machine // node-1
	controller spec.ControllerServer
	server     spec.NodeServer // of node-1
	second     spec.NodeServer // of node-2
}

func newRig(t *testing.T, cfg Config) *rig {
	return newRigOn(t, cfg, func(m *machine.Config) {})
}

// newRigOn returns a rig on machines that change has prepared.
func newRigOn(t *testing.T, cfg Config, change func(m *machine.Config)) *rig {
	t.Helper()
	d, err := New(cfg)
	require.NoError(t, err)
	var machines machine.Set
	t.Cleanup(func() { require.NoError(t, machines.Close()) })
	remote := func(fstype, source string) (*disk.Disk, error) {
		if open := d.FSTypes[fstype]; open != nil {
			return open(source)
		}
		return nil, errors.New("unknown filesystem type")
	}
	add := func(kind machine.Kind, name string) *machine.Machine {
		mc := machine.Config{Kind: kind, Name: name, Now: time.Now, Remote: remote}
		change(&mc)
		m, err := machines.Add(mc)
		require.NoError(t, err)
		return m
	}
	r := &rig{t: t, driver: d, machines: &machines, host: add(machine.Host, "storage"), node: add(machine.Node, "node-1")}
	r.controller, err = d.NewController(csi.Host{Machine: r.host, Now: time.Now})
	require.NoError(t, err)
	r.server, err = d.Node(csi.Host{Machine: r.node, Node: "node-1", Now: time.Now})
	require.NoError(t, err)
	r.second, err = d.Node(csi.Host{Machine: add(machine.Node, "node-2"), Node: "node-2", Now: time.Now})
	require.NoError(t, err)
	for _, dir := range []string{staging, "/var/lib/kubelet/pods/1", "/var/lib/kubelet/pods/2"} {
		require.NoError(t, r.node.Disk().MkdirAll(dir, 0o755))
	}
	return r
}

// capability returns the capability of a volume for one node with files.
func capability() *spec.VolumeCapability { return anyCapability() }

// blockCapability returns the capability of a raw block volume.
func blockCapability() *spec.VolumeCapability {
	c := anyCapability()
	c.AccessType = &spec.VolumeCapability_Block{Block: &spec.VolumeCapability_BlockVolume{}}
	return c
}

func (r *rig) create(name string, c *spec.VolumeCapability) string {
	r.t.Helper()
	answer, err := r.controller.CreateVolume(ctx, &spec.CreateVolumeRequest{Name: name, VolumeCapabilities: []*spec.VolumeCapability{c}})
	require.NoError(r.t, err)
	return answer.Volume.VolumeId
}

// attached returns a new volume, attached to node-1.
func (r *rig) attached(name string, c *spec.VolumeCapability) string {
	r.t.Helper()
	id := r.create(name, c)
	_, err := r.controller.ControllerPublishVolume(ctx, &spec.ControllerPublishVolumeRequest{VolumeId: id, NodeId: "node-1", VolumeCapability: c})
	require.NoError(r.t, err)
	return id
}

func (r *rig) stage(id, at string, c *spec.VolumeCapability) error {
	_, err := r.server.NodeStageVolume(ctx, &spec.NodeStageVolumeRequest{VolumeId: id, StagingTargetPath: at, VolumeCapability: c})
	return err
}

func (r *rig) publish(id, from, at string, readOnly bool, c *spec.VolumeCapability) error {
	_, err := r.server.NodePublishVolume(ctx,
		&spec.NodePublishVolumeRequest{VolumeId: id, StagingTargetPath: from, TargetPath: at, Readonly: readOnly, VolumeCapability: c})
	return err
}

func (r *rig) unpublish(id, at string) error {
	_, err := r.server.NodeUnpublishVolume(ctx, &spec.NodeUnpublishVolumeRequest{VolumeId: id, TargetPath: at})
	return err
}

func (r *rig) unstage(id, at string) error {
	_, err := r.server.NodeUnstageVolume(ctx, &spec.NodeUnstageVolumeRequest{VolumeId: id, StagingTargetPath: at})
	return err
}

// mounts returns the mounts of node-1, "SOURCE on TARGET".
func (r *rig) mounts() (list []string) {
	mounts, err := r.node.Mounter().List()
	require.NoError(r.t, err)
	for _, m := range mounts {
		list = append(list, m.Device+" on "+m.Path)
	}
	return list
}

// files returns all names on node-1's disk that are not in a mount.
func (r *rig) files() (list []string) {
	var walk func(dir string)
	walk = func(dir string) {
		names, err := r.node.Disk().List(dir)
		require.NoError(r.t, err)
		for _, name := range names {
			list = append(list, dir+name)
			if name[len(name)-1] == '/' {
				walk(dir + name)
			}
		}
	}
	walk("/")
	return list
}

func requireCode(t *testing.T, want codes.Code, err error, words string) {
	t.Helper()
	require.Equal(t, want, status.Code(err), "%v", err)
	require.ErrorContains(t, err, words)
}
