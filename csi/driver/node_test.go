package driver

import (
	"errors"
	"syscall"
	"testing"
	"time"

	spec "github.com/container-storage-interface/spec/lib/go/csi"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc/codes"

	"github.com/storagesim/storagesim/csi"
	"github.com/storagesim/storagesim/machine"
	"github.com/storagesim/storagesim/machine/mount"
)

func TestAPodsVolumeIsABindMountOfTheStagingPathAndNotASecondMountOfTheSource(t *testing.T) {
	r := newRig(t, Config{})
	id := r.attached("data", capability())
	require.NoError(t, r.stage(id, staging, capability()))
	delete(r.driver.FSTypes, fsTypeOf(Name)) // now nothing can be mounted from the source
	require.NoError(t, r.publish(id, staging, target, false, capability()))

	require.NoError(t, r.node.Disk().WriteFile(target+"/file", []byte("hello"), 0o644))
	for _, at := range []string{staging + "/file", target + "/file"} {
		data, err := r.node.Disk().ReadFile(at)
		require.NoError(t, err)
		require.Equal(t, "hello", string(data))
	}
	data, err := r.host.Disk().ReadFile("/volumes/" + id + "/data/file")
	require.NoError(t, err)
	require.Equal(t, "hello", string(data))
	refs, err := r.node.Mounter().GetMountRefs(staging)
	require.NoError(t, err)
	require.Equal(t, []string{target}, refs, "a kubelet sees that the staged volume is in use")
}

func TestEveryNodeCallCanComeTwice(t *testing.T) {
	for name, c := range map[string]*spec.VolumeCapability{"mount": capability(), "block": blockCapability()} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, Config{})
			id := r.attached("data", c)
			for _, call := range []func() error{
				func() error { return r.stage(id, staging, c) },
				func() error { return r.publish(id, staging, target, false, c) },
				func() error { return r.unpublish(id, target) },
				func() error { return r.unstage(id, staging) },
			} {
				require.NoError(t, call())
				mounts, files, held := r.mounts(), r.files(), r.driver.Inventory.Holdings()
				require.NoError(t, call())
				require.Equal(t, mounts, r.mounts())
				require.Equal(t, files, r.files())
				require.Equal(t, held, r.driver.Inventory.Holdings())
			}
			require.Empty(t, r.mounts())
			require.NotContains(t, r.files(), target)
			require.NotContains(t, r.files(), target+"/", "unpublishing removes the target")
			require.Contains(t, r.files(), staging+"/", "the staging path is its caller's")
		})
	}
}

func TestAVolumeThatIsPublishedReadOnlyCannotBeWrittenByThatPodOnly(t *testing.T) {
	r := newRig(t, Config{})
	id := r.attached("data", capability())
	require.NoError(t, r.stage(id, staging, capability()))
	require.NoError(t, r.publish(id, staging, target, true, capability()))
	other := "/var/lib/kubelet/pods/2/mount"
	require.NoError(t, r.publish(id, staging, other, false, capability()))
	require.ErrorIs(t, r.node.Disk().WriteFile(target+"/x", nil, 0o644), syscall.EROFS)
	require.NoError(t, r.node.Disk().WriteFile(other+"/x", nil, 0o644))
	requireCode(t, codes.AlreadyExists, r.publish(id, staging, target, false, capability()), "is published at "+target+" with another readonly")
}

func TestADriverWithoutStagingPublishesTheVolumeItself(t *testing.T) {
	for name, c := range map[string]*spec.VolumeCapability{"mount": capability(), "block": blockCapability()} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, Config{NoStage: true})
			can, err := r.server.NodeGetCapabilities(ctx, nil)
			require.NoError(t, err)
			for _, one := range can.Capabilities {
				require.NotEqual(t, spec.NodeServiceCapability_RPC_STAGE_UNSTAGE_VOLUME, one.GetRpc().Type)
			}
			id := r.create("data", c)
			requireCode(t, codes.FailedPrecondition, r.publish(id, "", target, false, c), "is not attached to node node-1")
			requireCode(t, codes.Unimplemented, r.stage(id, staging, c), "no capability STAGE_UNSTAGE_VOLUME")
			requireCode(t, codes.Unimplemented, r.unstage(id, staging), "no capability STAGE_UNSTAGE_VOLUME")
			r.attached("data", c)
			second := "/var/lib/kubelet/pods/2/mount"
			require.NoError(t, r.publish(id, "", target, false, c))
			require.NoError(t, r.publish(id, "", second, false, c))
			require.NoError(t, r.unpublish(id, target))
			require.Len(t, r.mounts(), 1)
			require.NoError(t, r.unpublish(id, second))
			require.NoError(t, r.unpublish(id, second))
			require.Empty(t, r.mounts())
			require.NotContains(t, r.files(), "/dev/"+Name+"/"+id, "the last pod's device is disconnected")
			require.Empty(t, r.driver.Inventory.Holdings().Published)
		})
	}
}

func TestWhatIsWrittenToADeviceIsOnTheVolumeWhenItIsUnstaged(t *testing.T) {
	r := newRig(t, Config{})
	id := r.attached("raw", blockCapability())
	require.NoError(t, r.stage(id, staging, blockCapability()))
	require.NoError(t, r.publish(id, staging, target, false, blockCapability()))
	require.NoError(t, r.node.Disk().WriteFile(target, []byte("blocks"), 0o660))
	require.NoError(t, r.unpublish(id, target))
	require.NoError(t, r.unstage(id, staging))
	data, err := r.host.Disk().ReadFile("/volumes/" + id + "/data/device")
	require.NoError(t, err)
	require.Equal(t, "blocks", string(data))
}

// A device's writes are on the storage at once, also while a node has it.
func TestWhatIsWrittenToADeviceIsInItsSnapshotsAndClonesAndOnTheNextNode(t *testing.T) {
	r := newRig(t, Config{})
	wanted := blockCapability()
	wanted.AccessMode.Mode = spec.VolumeCapability_AccessMode_MULTI_NODE_MULTI_WRITER
	id := r.attached("raw", wanted)
	require.NoError(t, r.stage(id, staging, wanted))
	require.NoError(t, r.publish(id, staging, target, false, wanted))
	require.NoError(t, r.node.Disk().WriteFile(target, []byte("blocks"), 0o660))
	s, err := r.snapshot("monday", id)
	require.NoError(t, err)
	g, err := r.groups().CreateVolumeGroupSnapshot(ctx, &spec.CreateVolumeGroupSnapshotRequest{Name: "all", SourceVolumeIds: []string{id}})
	require.NoError(t, err)
	for name, from := range map[string]*spec.VolumeContentSource{"restored": fromSnapshot(s.SnapshotId), "clone": fromVolume(id),
		"member": fromSnapshot(g.GroupSnapshot.Snapshots[0].SnapshotId)} {
		v, err := r.createWith(&spec.CreateVolumeRequest{Name: name, VolumeCapabilities: caps(wanted), VolumeContentSource: from})
		require.NoError(t, err)
		data, err := r.host.Disk().ReadFile("/volumes/" + v.VolumeId + "/data/device")
		require.NoError(t, err)
		require.Equal(t, "blocks", string(data), name)
	}

	_, err = r.controller.ControllerPublishVolume(ctx, &spec.ControllerPublishVolumeRequest{VolumeId: id, NodeId: "node-2", VolumeCapability: wanted})
	require.NoError(t, err)
	_, err = r.second.NodeStageVolume(ctx, &spec.NodeStageVolumeRequest{VolumeId: id, StagingTargetPath: staging, VolumeCapability: wanted})
	require.NoError(t, err)
	data, err := r.machines.Disk(machine.Node, "node-2").ReadFile("/dev/" + Name + "/" + id)
	require.NoError(t, err)
	require.Equal(t, "blocks", string(data))
}

// Two nodes have the device, one writes: the other's copy, which is older, never takes its place.
func TestADeviceThatANodeHasNotWrittenDoesNotReplaceWhatAnotherHasWritten(t *testing.T) {
	for _, writer := range []string{"node-1", "node-2"} {
		r := newRig(t, Config{})
		wanted := blockCapability()
		wanted.AccessMode.Mode = spec.VolumeCapability_AccessMode_MULTI_NODE_MULTI_WRITER
		id := r.attached("raw", wanted)
		_, err := r.controller.ControllerPublishVolume(ctx, &spec.ControllerPublishVolumeRequest{VolumeId: id, NodeId: "node-2", VolumeCapability: wanted})
		require.NoError(t, err)
		require.NoError(t, r.stage(id, staging, wanted))
		_, err = r.second.NodeStageVolume(ctx, &spec.NodeStageVolumeRequest{VolumeId: id, StagingTargetPath: staging, VolumeCapability: wanted})
		require.NoError(t, err)

		require.NoError(t, r.machines.Disk(machine.Node, writer).WriteFile("/dev/"+Name+"/"+id, []byte("blocks"), 0o660))
		holds := func(id string) {
			data, err := r.host.Disk().ReadFile("/volumes/" + id + "/data/device")
			require.NoError(t, err)
			require.Equal(t, "blocks", string(data), writer)
		}
		for _, name := range []string{"clone", "another"} {
			v, err := r.createWith(&spec.CreateVolumeRequest{Name: name, VolumeCapabilities: caps(wanted), VolumeContentSource: fromVolume(id)})
			require.NoError(t, err)
			holds(v.VolumeId)
		}
		unstage := func(server spec.NodeServer) {
			_, err := server.NodeUnstageVolume(ctx, &spec.NodeUnstageVolumeRequest{VolumeId: id, StagingTargetPath: staging})
			require.NoError(t, err)
		}
		if writer == "node-1" { // it goes first
			unstage(r.server)
			unstage(r.second)
		} else {
			unstage(r.second)
			unstage(r.server)
		}
		holds(id)
	}
}

// The calls that are refused, and change nothing.
func TestANodesServerRefusesPathsThatItWasNotGivenAndTouchesNothing(t *testing.T) {
	r := newRig(t, Config{})
	id, other, raw := r.attached("data", capability()), r.attached("other", capability()), r.attached("raw", blockCapability())
	node := r.node.Disk()
	require.NoError(t, node.MkdirAll("/var/lib/kubelet/plugins/other", 0o755))
	require.NoError(t, r.stage(id, staging, capability()))
	require.NoError(t, r.stage(other, "/var/lib/kubelet/plugins/other", capability()))
	require.NoError(t, r.publish(id, staging, target, false, capability()))
	require.NoError(t, node.MkdirAll("/etc", 0o755))
	require.NoError(t, node.WriteFile("/etc/passwd", []byte("root"), 0o644))
	mounts, files, held := r.mounts(), r.files(), r.driver.Inventory.Holdings()
	free := "/var/lib/kubelet/pods/2/mount"
	for name, c := range map[string]struct {
		err   error
		code  codes.Code
		words string
	}{
		"stage without an id":               {r.stage("", staging, capability()), codes.InvalidArgument, "volume_id is missing"},
		"stage at no path":                  {r.stage(id, "", capability()), codes.InvalidArgument, "staging_target_path is missing"},
		"stage without a capability":        {r.stage(id, staging, nil), codes.InvalidArgument, "volume_capability is missing"},
		"stage at a relative path":          {r.stage(id, "plugins/x", capability()), codes.InvalidArgument, "staging_target_path: "},
		"stage outside of the node":         {r.stage(id, "/var/../../x", capability()), codes.InvalidArgument, "staging_target_path: "},
		"stage where there is no directory": {r.stage(id, "/var/lib/none", capability()), codes.FailedPrecondition, "staging_target_path /var/lib/none: "},
		"stage where another volume is": {r.stage(other, staging, capability()), codes.AlreadyExists, "something else than volume " + other +
			" is mounted there"},
		"stage a volume that there is not": {r.stage("vol-none", staging, capability()), codes.NotFound, "there is no volume vol-none"},
		"publish at no path":               {r.publish(id, staging, "", false, capability()), codes.InvalidArgument, "target_path is missing"},
		"publish from no path":             {r.publish(id, "", free, false, capability()), codes.FailedPrecondition, "staging_target_path is missing"},
		"publish from where nothing is staged": {r.publish(id, "/var/lib/kubelet/pods/2", free, false, capability()), codes.FailedPrecondition,
			"is not staged at /var/lib/kubelet/pods/2"},
		"publish from where there is nothing": {r.publish(id, "/var/lib/none", free, false, capability()), codes.FailedPrecondition,
			"is not staged at /var/lib/none"},
		"publish from another volume's staging": {r.publish(id, "/var/lib/kubelet/plugins/other", free, false, capability()), codes.FailedPrecondition,
			"is not staged at"},
		"publish from outside":        {r.publish(id, "/../x", free, false, capability()), codes.InvalidArgument, "staging_target_path: "},
		"publish outside of the node": {r.publish(id, staging, "/var/../../x", false, capability()), codes.InvalidArgument, "target_path: "},
		"publish at a relative path":  {r.publish(id, staging, "mount", false, capability()), codes.InvalidArgument, "target_path: "},
		"publish where no directory is above": {r.publish(id, staging, "/var/lib/kubelet/pods/9/mount", false, capability()), codes.FailedPrecondition,
			"target_path /var/lib/kubelet/pods/9/mount: "},
		"publish where another volume is": {r.publish(other, "/var/lib/kubelet/plugins/other", target, false, capability()), codes.AlreadyExists,
			"something else than volume " + other},
		"publish a device that is not staged": {r.publish(raw, staging, free, false, blockCapability()), codes.FailedPrecondition, "is not staged at"},
		"unpublish at no path":                {r.unpublish(id, ""), codes.InvalidArgument, "target_path is missing"},
		"unpublish another volume":            {r.unpublish(other, target), codes.FailedPrecondition, "something else than volume " + other + " is mounted there"},
		"unpublish a file":                    {r.unpublish(id, "/etc/passwd"), codes.FailedPrecondition, "it was not made for a volume"},
		"unpublish outside":                   {r.unpublish(id, "/../x"), codes.InvalidArgument, "target_path: "},
		"unstage at no path":                  {r.unstage(id, ""), codes.InvalidArgument, "staging_target_path is missing"},
		"unstage another volume":              {r.unstage(other, staging), codes.FailedPrecondition, "something else than volume " + other + " is mounted there"},
	} {
		requireCode(t, c.code, c.err, c.words)
		require.Equal(t, mounts, r.mounts(), name)
		require.Equal(t, files, r.files(), name)
		require.Equal(t, held, r.driver.Inventory.Holdings(), name)
	}
}

func TestAPublicationThatFailsRemovesTheDirectoryThatItMade(t *testing.T) {
	r := newRig(t, Config{})
	id := r.attached("data", capability())
	require.NoError(t, r.stage(id, staging, capability()))
	files := r.files()
	n := r.server.(*node)
	n.mounter = refusing{n.mounter}
	requireCode(t, codes.Internal, r.publish(id, staging, target, false, capability()), "target_path "+target+": injected")
	require.Equal(t, files, r.files())
}

func TestOfAVolumeThatIsGoneWhatIsStillMountedCanBeTakenAway(t *testing.T) {
	r := newRig(t, Config{NoAttach: true})
	id := r.create("data", capability())
	require.NoError(t, r.stage(id, staging, capability()))
	require.NoError(t, r.publish(id, staging, target, false, capability()))
	_, err := r.controller.DeleteVolume(ctx, &spec.DeleteVolumeRequest{VolumeId: id})
	require.NoError(t, err)
	require.NoError(t, r.unpublish(id, target))
	require.NoError(t, r.unstage(id, staging))
	require.Empty(t, r.mounts())
}

func TestStatsSayHowMuchOfAVolumeIsUsed(t *testing.T) {
	r := newRig(t, Config{})
	id := r.attached("data", capability())
	stats := func(id, at string) (*spec.NodeGetVolumeStatsResponse, error) {
		return r.server.NodeGetVolumeStats(ctx, &spec.NodeGetVolumeStatsRequest{VolumeId: id, VolumePath: at})
	}
	require.NoError(t, r.stage(id, staging, capability()))
	require.NoError(t, r.publish(id, staging, target, false, capability()))
	require.NoError(t, r.node.Disk().WriteFile(target+"/file", make([]byte, 4096), 0o644))
	for _, at := range []string{target, staging} {
		answer, err := stats(id, at)
		require.NoError(t, err)
		bytes, inodes := answer.Usage[0], answer.Usage[1]
		require.Equal(t, spec.VolumeUsage_BYTES, bytes.Unit)
		require.EqualValues(t, defaultSize, bytes.Total)
		require.EqualValues(t, 4096, bytes.Used)
		require.EqualValues(t, defaultSize-4096, bytes.Available)
		require.Equal(t, spec.VolumeUsage_INODES, inodes.Unit)
		require.EqualValues(t, 2, inodes.Used, "the file and its directory")
	}
	_, err := stats(id, "/etc")
	requireCode(t, codes.NotFound, err, "volume "+id+" is not at /etc")
	_, err = stats("vol-none", target)
	requireCode(t, codes.NotFound, err, "there is no volume vol-none")
	_, err = stats(id, "")
	requireCode(t, codes.InvalidArgument, err, "volume_path is missing")
	raw := r.attached("raw", blockCapability())
	require.NoError(t, r.stage(raw, staging+"-raw", blockCapability()))
	answer, err := stats(raw, "/dev/"+Name+"/"+raw)
	require.NoError(t, err)
	require.Len(t, answer.Usage, 1, "a device has no inodes")
}

func TestANodeSaysItsNameItsTopologyAndHowManyVolumesItTakes(t *testing.T) {
	info, err := newRig(t, Config{}).server.NodeGetInfo(ctx, nil)
	require.NoError(t, err)
	require.Equal(t, "node-1", info.NodeId)
	require.Zero(t, info.MaxVolumesPerNode)
	require.Nil(t, info.AccessibleTopology)
	info, err = newRig(t, Config{Topology: true, MaxVolumes: 3}).server.NodeGetInfo(ctx, nil)
	require.NoError(t, err)
	require.EqualValues(t, 3, info.MaxVolumesPerNode)
	require.Equal(t, map[string]string{"topology." + Name + "/node": "node-1"}, info.AccessibleTopology.Segments)
}

// refusing is a mounter that mounts nothing.
type refusing struct{ mount.Interface }

func (refusing) Mount(string, string, string, []string) error { return errors.New("injected") }

func TestAServerThatStartsAgainFindsWhatIsStagedAndPublishedOnItsNode(t *testing.T) {
	for _, cfg := range []Config{{}, {NoStage: true}} {
		r := newRig(t, cfg)
		for at, c := range map[string]*spec.VolumeCapability{"1": capability(), "2": blockCapability()} {
			id, from := r.attached("data-"+at, c), staging+at
			require.NoError(t, r.node.Disk().MkdirAll(from, 0o755))
			if !cfg.NoStage {
				require.NoError(t, r.stage(id, from, c))
			}
			require.NoError(t, r.publish(id, from, "/var/lib/kubelet/pods/"+at+"/mount", at == "1", c))
		}
		held := r.driver.Inventory.Holdings()
		require.Len(t, held.Published, 2)
		b := r.driver.Inventory.(*Backend)
		clear(b.staged)
		clear(b.published)
		b.published[csi.Place{Volume: "vol-wrong", Node: "node-1", Path: "/x"}] = true
		again, err := r.driver.Node(csi.Host{Machine: r.node, Node: "node-1", Now: time.Now})
		require.NoError(t, err)
		require.Equal(t, held, r.driver.Inventory.Holdings())
		r.server = again
		for _, p := range held.Published {
			require.NoError(t, r.unpublish(p.Volume, p.Path))
		}
		for _, p := range held.Staged {
			require.NoError(t, r.unstage(p.Volume, p.Path))
		}
		held = r.driver.Inventory.Holdings()
		require.Empty(t, held.Staged)
		require.Empty(t, held.Published)
	}
}

func TestANewExt4FileSystemHasADirectoryForWhatIsFound(t *testing.T) {
	for name, cfg := range map[string]Config{"staged": {}, "not staged": {NoStage: true}} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, cfg)
			as := func(fsType string) *spec.VolumeCapability {
				c := capability()
				c.AccessType = &spec.VolumeCapability_Mount{Mount: &spec.VolumeCapability_MountVolume{FsType: fsType}}
				return c
			}
			use := func(id string, c *spec.VolumeCapability) {
				if cfg.NoStage {
					require.NoError(t, r.publish(id, "", target, false, c))
					require.NoError(t, r.unpublish(id, target))
					return
				}
				require.NoError(t, r.stage(id, staging, c))
				require.NoError(t, r.unstage(id, staging))
			}
			for fsType, want := range map[string][]string{"ext4": {"lost+found/"}, "xfs": {}, "": {}} {
				id := r.attached("data-"+fsType, as(fsType))
				use(id, as(fsType))
				use(id, as(fsType))
				list, err := r.host.Disk().List("/volumes/" + id + "/data")
				require.NoError(t, err)
				require.Equal(t, want, list, fsType)
			}
			used := r.attached("used", as("ext4"))
			require.NoError(t, r.host.Disk().WriteFile("/volumes/"+used+"/data/file", nil, 0o644))
			use(used, as("ext4"))
			list, err := r.host.Disk().List("/volumes/" + used + "/data")
			require.NoError(t, err)
			require.Equal(t, []string{"file"}, list, "it is not formatted again")
		})
	}
}
