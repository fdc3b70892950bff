package driver

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	spec "github.com/container-storage-interface/spec/lib/go/csi"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc/codes"

	"github.com/storagesim/storagesim/csi"
)

func caps(c ...*spec.VolumeCapability) []*spec.VolumeCapability { return c }

func manyNodes() *spec.VolumeCapability {
	c := capability()
	c.AccessMode.Mode = spec.VolumeCapability_AccessMode_MULTI_NODE_MULTI_WRITER
	return c
}

func (r *rig) createWith(req *spec.CreateVolumeRequest) (*spec.Volume, error) {
	answer, err := r.controller.CreateVolume(ctx, req)
	return answer.GetVolume(), err
}

func (r *rig) attach(id, node string, readOnly bool, c *spec.VolumeCapability) error {
	_, err := r.controller.ControllerPublishVolume(ctx, &spec.ControllerPublishVolumeRequest{VolumeId: id, NodeId: node, Readonly: readOnly, VolumeCapability: c})
	return err
}

func TestAVolumeOfANameIsMadeOnceAndOnlyAsItWasAskedForFirst(t *testing.T) {
	r := newRig(t, Config{})
	ask := func(size, limit int64, c *spec.VolumeCapability) (*spec.Volume, error) {
		return r.createWith(&spec.CreateVolumeRequest{Name: "data", VolumeCapabilities: caps(c),
			CapacityRange: &spec.CapacityRange{RequiredBytes: size, LimitBytes: limit}})
	}
	first, err := ask(1000, 0, capability())
	require.NoError(t, err)
	require.EqualValues(t, 1000, first.CapacityBytes)
	for _, size := range []int64{1000, 500} {
		again, err := ask(size, 0, capability())
		require.NoError(t, err)
		require.Equal(t, first.VolumeId, again.VolumeId)
		require.EqualValues(t, 1000, again.CapacityBytes, "a larger one serves")
	}
	_, err = ask(1001, 0, capability())
	requireCode(t, codes.AlreadyExists, err, "volume data exists with another size or type")
	_, err = ask(500, 999, capability())
	requireCode(t, codes.AlreadyExists, err, "another size or type")
	_, err = ask(1000, 0, blockCapability())
	requireCode(t, codes.AlreadyExists, err, "another size or type")
	require.Len(t, r.driver.Inventory.Holdings().Volumes, 1)
}

func TestTheSizeOfAVolumeIsWithinWhatIsAskedForAndWhatIsFree(t *testing.T) {
	r := newRig(t, Config{Capacity: 3 << 30})
	for i, c := range []struct {
		asked *spec.CapacityRange
		want  int64
		code  codes.Code
		words string
	}{
		{nil, 1 << 30, codes.OK, ""},
		{&spec.CapacityRange{LimitBytes: 100}, 100, codes.OK, ""},
		{&spec.CapacityRange{RequiredBytes: 7, LimitBytes: 7}, 7, codes.OK, ""},
		{&spec.CapacityRange{LimitBytes: 1 << 40}, 1 << 30, codes.OK, ""},
		{&spec.CapacityRange{RequiredBytes: 8, LimitBytes: 7}, 0, codes.OutOfRange, "required_bytes 8 and limit_bytes 7 cannot both hold"},
		{&spec.CapacityRange{RequiredBytes: -1}, 0, codes.OutOfRange, "required_bytes -1"},
		{&spec.CapacityRange{LimitBytes: -1}, 0, codes.OutOfRange, "limit_bytes -1"},
		{&spec.CapacityRange{RequiredBytes: 1 << 30}, 0, codes.ResourceExhausted, "1073741824 bytes are asked for, and 1073741717 are free"},
	} {
		v, err := r.createWith(&spec.CreateVolumeRequest{Name: fmt.Sprint(i), VolumeCapabilities: caps(capability()), CapacityRange: c.asked})
		if c.code != codes.OK {
			requireCode(t, c.code, err, c.words)
			continue
		}
		require.NoError(t, err)
		require.Equal(t, c.want, v.CapacityBytes)
	}
	free := func(c ...*spec.VolumeCapability) int64 {
		answer, err := r.controller.GetCapacity(ctx, &spec.GetCapacityRequest{VolumeCapabilities: c})
		require.NoError(t, err)
		return answer.AvailableCapacity
	}
	before := free(capability())
	require.EqualValues(t, 1<<30-107, before)
	require.Zero(t, free(&spec.VolumeCapability{}), "what cannot be made has no capacity")
	_, err := r.controller.DeleteVolume(ctx, &spec.DeleteVolumeRequest{VolumeId: idOf("0")})
	require.NoError(t, err)
	require.EqualValues(t, before+1<<30, free(capability()), "what is deleted is free again")
}

func TestWhatIsFreeIsKnownWithoutReadingTheOtherVolumes(t *testing.T) {
	r := newRig(t, Config{Capacity: 3 << 30})
	free := func() int64 {
		answer, err := r.controller.GetCapacity(ctx, &spec.GetCapacityRequest{})
		require.NoError(t, err)
		return answer.AvailableCapacity
	}
	make := func(name string) {
		_, err := r.createWith(&spec.CreateVolumeRequest{Name: name, VolumeCapabilities: caps(capability())})
		require.NoError(t, err)
	}
	make("first")
	_, err := r.controller.ControllerExpandVolume(ctx,
		&spec.ControllerExpandVolumeRequest{VolumeId: idOf("first"), CapacityRange: &spec.CapacityRange{RequiredBytes: 1<<30 + 5}})
	require.NoError(t, err)
	make("first") // it exists already
	require.EqualValues(t, 2<<30-5, free())

	r.controller, err = r.driver.NewController(csi.Host{Machine: r.host, Now: time.Now})
	require.NoError(t, err)
	require.EqualValues(t, 2<<30-5, free(), "a process that starts finds what is there")

	file := volumesDir + "/" + idOf("first") + "/volume.json"
	was, err := r.host.Disk().ReadFile(file)
	require.NoError(t, err)
	require.NoError(t, r.host.Disk().WriteFile(file, []byte("not JSON"), 0o644))
	make("second")
	require.EqualValues(t, 1<<30-5, free())
	require.NoError(t, r.host.Disk().WriteFile(file, was, 0o644))
	for range 2 {
		_, err = r.controller.DeleteVolume(ctx, &spec.DeleteVolumeRequest{VolumeId: idOf("first")})
		require.NoError(t, err)
		require.EqualValues(t, 2<<30, free())
	}
}

func TestRequestsToMakeAVolumeThatAreNotCompleteAreRefused(t *testing.T) {
	r := newRig(t, Config{})
	for name, c := range map[string]struct {
		req   *spec.CreateVolumeRequest
		words string
	}{
		"no name":       {&spec.CreateVolumeRequest{VolumeCapabilities: caps(capability())}, "name is missing"},
		"no capability": {&spec.CreateVolumeRequest{Name: "x"}, "volume_capabilities are missing"},
		"a source": {&spec.CreateVolumeRequest{Name: "x", VolumeCapabilities: caps(capability()), VolumeContentSource: &spec.VolumeContentSource{}},
			"is not supported"},
		"no access mode": {&spec.CreateVolumeRequest{Name: "x", VolumeCapabilities: caps(&spec.VolumeCapability{AccessType: capability().AccessType})},
			"access_mode is missing"},
		"no access type": {&spec.CreateVolumeRequest{Name: "x", VolumeCapabilities: caps(&spec.VolumeCapability{AccessMode: capability().AccessMode})},
			"access_type is missing"},
		"two access types": {&spec.CreateVolumeRequest{Name: "x", VolumeCapabilities: caps(capability(), blockCapability())}, "a block or a mount volume, not both"},
	} {
		_, err := r.createWith(c.req)
		requireCode(t, codes.InvalidArgument, err, c.words)
		require.Empty(t, r.driver.Inventory.Holdings().Volumes, name)
	}
}

func TestAVolumeIsDeletedOnceAndNotWhileItIsAttached(t *testing.T) {
	r := newRig(t, Config{})
	id := r.attached("data", capability())
	remove := func(id string) error {
		_, err := r.controller.DeleteVolume(ctx, &spec.DeleteVolumeRequest{VolumeId: id})
		return err
	}
	requireCode(t, codes.FailedPrecondition, remove(id), "volume "+id+" is attached")
	requireCode(t, codes.InvalidArgument, remove(""), "volume_id is missing")
	_, err := r.controller.ControllerUnpublishVolume(ctx, &spec.ControllerUnpublishVolumeRequest{VolumeId: id, NodeId: "node-1"})
	require.NoError(t, err)
	require.NoError(t, remove(id))
	require.NoError(t, remove(id))
	require.NoError(t, remove("../volumes"), "that was never a volume")
	require.Empty(t, r.driver.Inventory.Holdings().Volumes)
}

func TestAVolumeIsAttachedToOneNodeOrToManyAsItsAccessModeSays(t *testing.T) {
	r := newRig(t, Config{})
	one, many := r.create("one", capability()), r.create("many", manyNodes())
	for range 2 {
		require.NoError(t, r.attach(one, "node-1", false, capability()))
		require.NoError(t, r.attach(many, "node-1", false, manyNodes()))
		require.NoError(t, r.attach(many, "node-2", false, manyNodes()))
	}
	requireCode(t, codes.FailedPrecondition, r.attach(one, "node-2", false, capability()), "volume "+one+" is attached to node node-1")
	requireCode(t, codes.AlreadyExists, r.attach(one, "node-1", true, capability()), "is attached to node node-1 with another readonly")
	requireCode(t, codes.NotFound, r.attach(one, "node-9", false, capability()), "there is no node node-9")
	requireCode(t, codes.NotFound, r.attach("vol-none", "node-1", false, capability()), "there is no volume vol-none")
	requireCode(t, codes.InvalidArgument, r.attach("", "node-1", false, capability()), "volume_id is missing")
	requireCode(t, codes.InvalidArgument, r.attach(one, "", false, capability()), "node_id is missing")
	requireCode(t, codes.InvalidArgument, r.attach(one, "node-1", false, nil), "volume_capability is missing")
	for range 2 { // without a node, the capacity of all
		_, err := r.controller.ControllerUnpublishVolume(ctx, &spec.ControllerUnpublishVolumeRequest{VolumeId: many})
		require.NoError(t, err)
		require.Len(t, r.driver.Inventory.Holdings().Attached, 1)
	}
	_, err := r.controller.ControllerUnpublishVolume(ctx, &spec.ControllerUnpublishVolumeRequest{VolumeId: "vol-none", NodeId: "node-1"})
	require.NoError(t, err, "what is not there is detached")
}

func TestANodeGetsNoMoreVolumesThanItSaysThatItTakes(t *testing.T) {
	r := newRig(t, Config{MaxVolumes: 2})
	for _, name := range []string{"a", "b"} {
		r.attached(name, capability())
	}
	third := r.create("c", capability())
	requireCode(t, codes.ResourceExhausted, r.attach(third, "node-1", false, capability()), "node node-1 has 2 volumes, and can have no more")
	require.NoError(t, r.attach(idOf("a"), "node-1", false, capability()), "it is there already")
	require.NoError(t, r.attach(third, "node-2", false, capability()))
}

func TestWithTopologyAVolumeIsOnTheNodeThatIsPreferredAndNowhereElse(t *testing.T) {
	r := newRig(t, Config{Topology: true})
	on := func(node string) *spec.Topology {
		return &spec.Topology{Segments: map[string]string{"topology." + Name + "/node": node}}
	}
	v, err := r.createWith(&spec.CreateVolumeRequest{
		Name: "data", VolumeCapabilities: caps(capability()),
		AccessibilityRequirements: &spec.TopologyRequirement{Requisite: []*spec.Topology{on("node-1"), on("node-2")},
			Preferred: []*spec.Topology{on("node-2"), on("node-1")}},
	})
	require.NoError(t, err)
	require.Len(t, v.AccessibleTopology, 1)
	require.Equal(t, on("node-2").Segments, v.AccessibleTopology[0].Segments)
	requireCode(t, codes.FailedPrecondition, r.attach(v.VolumeId, "node-1", false, capability()), "volume "+v.VolumeId+" is on node node-2")
	require.NoError(t, r.attach(v.VolumeId, "node-2", false, capability()))
	_, err = r.createWith(&spec.CreateVolumeRequest{
		Name: "other", VolumeCapabilities: caps(capability()),
		AccessibilityRequirements: &spec.TopologyRequirement{Requisite: []*spec.Topology{{Segments: map[string]string{"zone": "a"}}}},
	})
	requireCode(t, codes.ResourceExhausted, err, "none of the required topologies has the key topology."+Name+"/node")
	v, err = r.createWith(&spec.CreateVolumeRequest{Name: "anywhere", VolumeCapabilities: caps(capability())})
	require.NoError(t, err)
	require.Empty(t, v.AccessibleTopology, "who asks for nothing gets a volume for all nodes")
}

func TestWithTopologyEachNodeHasRoomOfItsOwn(t *testing.T) {
	r := newRig(t, Config{Topology: true, Capacity: 10})
	at := func(node string) *spec.Topology {
		return &spec.Topology{Segments: map[string]string{"topology." + Name + "/node": node}}
	}
	create := func(name, node string, size int64) error {
		_, err := r.createWith(&spec.CreateVolumeRequest{
			Name: name, VolumeCapabilities: caps(capability()), CapacityRange: &spec.CapacityRange{RequiredBytes: size},
			AccessibilityRequirements: &spec.TopologyRequirement{Requisite: []*spec.Topology{at(node)}},
		})
		return err
	}
	require.NoError(t, create("a", "node-1", 7))
	requireCode(t, codes.ResourceExhausted, create("b", "node-1", 4), "4 bytes are asked for, and 3 are free")
	require.NoError(t, create("b", "node-2", 4))
	for node, want := range map[string][2]int64{"node-1": {3, 3}, "node-2": {6, 6}, "node-3": {0, 0}, "": {9, 6}} {
		req := &spec.GetCapacityRequest{AccessibleTopology: at(node)}
		if node == "" {
			req.AccessibleTopology = nil
		}
		answer, err := r.controller.GetCapacity(ctx, req)
		require.NoError(t, err)
		require.Equal(t, want, [2]int64{answer.AvailableCapacity, answer.GetMaximumVolumeSize().GetValue()}, node)
	}
	_, err := r.controller.ControllerExpandVolume(ctx,
		&spec.ControllerExpandVolumeRequest{VolumeId: idOf("a"), CapacityRange: &spec.CapacityRange{RequiredBytes: 11}})
	requireCode(t, codes.OutOfRange, err, "to grow by 4 bytes, and 3 are free")
}

func TestVolumesAreListedInPagesWithTheNodesThatTheyAreAttachedTo(t *testing.T) {
	r := newRig(t, Config{})
	want := map[string][]string{r.attached("a", capability()): {"node-1"}, r.create("b", capability()): nil, r.create("c", capability()): nil}
	got, token, pages := map[string][]string{}, "", 0
	for pages == 0 || token != "" {
		answer, err := r.controller.ListVolumes(ctx, &spec.ListVolumesRequest{MaxEntries: 2, StartingToken: token})
		require.NoError(t, err)
		for _, e := range answer.Entries {
			got[e.Volume.VolumeId] = e.Status.PublishedNodeIds
		}
		token = answer.NextToken
		pages++
	}
	require.Equal(t, 2, pages)
	require.Equal(t, want, got)
	for _, bad := range []string{"x", "-1", "9"} {
		_, err := r.controller.ListVolumes(ctx, &spec.ListVolumesRequest{StartingToken: bad})
		requireCode(t, codes.Aborted, err, fmt.Sprintf("starting_token %q is none that was given", bad))
	}
}

func TestTheCapabilitiesOfAVolumeAreConfirmedIfItHasThem(t *testing.T) {
	r := newRig(t, Config{})
	id := r.create("data", capability())
	ask := func(id string, c ...*spec.VolumeCapability) (*spec.ValidateVolumeCapabilitiesResponse, error) {
		return r.controller.ValidateVolumeCapabilities(ctx, &spec.ValidateVolumeCapabilitiesRequest{VolumeId: id, VolumeCapabilities: c})
	}
	answer, err := ask(id, capability())
	require.NoError(t, err)
	require.Len(t, answer.Confirmed.VolumeCapabilities, 1)
	answer, err = ask(id, blockCapability())
	require.NoError(t, err)
	require.Nil(t, answer.Confirmed)
	require.Equal(t, "volume "+id+" is a mount volume; the capabilities are of type block", answer.Message)
	_, err = ask(id)
	requireCode(t, codes.InvalidArgument, err, "volume_capabilities are missing")
	_, err = ask("vol-none", capability())
	requireCode(t, codes.NotFound, err, "there is no volume vol-none")
}

func TestAVolumesIOPSAreChangedIfTheDriverHasThem(t *testing.T) {
	r := newRig(t, Config{AttributesClasses: true})
	id := idOf("data")
	_, err := r.createWith(&spec.CreateVolumeRequest{Name: "data", VolumeCapabilities: caps(capability()), MutableParameters: map[string]string{"iops": "10"}})
	require.NoError(t, err)
	iops := func() string {
		data, err := r.host.Disk().ReadFile(volumesDir + "/" + id + "/volume.json")
		require.NoError(t, err)
		v := volume{}
		require.NoError(t, json.Unmarshal(data, &v))
		return v.IOPS
	}
	require.Equal(t, "10", iops())
	modify := func(id string, parameters map[string]string) error {
		_, err := r.controller.ControllerModifyVolume(ctx, &spec.ControllerModifyVolumeRequest{VolumeId: id, MutableParameters: parameters})
		return err
	}
	for range 2 {
		require.NoError(t, modify(id, map[string]string{"iops": "20"}))
		require.Equal(t, "20", iops())
	}
	requireCode(t, codes.InvalidArgument, modify(id, map[string]string{"colour": "blue"}), `"colour" is not known; there is iops`)
	requireCode(t, codes.InvalidArgument, modify(id, map[string]string{"iops": "many"}), `iops is "many"; it must be a positive number`)
	requireCode(t, codes.InvalidArgument, modify("", nil), "volume_id is missing")
	requireCode(t, codes.NotFound, modify("no", nil), "there is no volume no")
	require.Equal(t, "20", iops())

	plain := newRig(t, Config{})
	_, err = plain.createWith(&spec.CreateVolumeRequest{Name: "data", VolumeCapabilities: caps(capability()), MutableParameters: map[string]string{"iops": "10"}})
	requireCode(t, codes.InvalidArgument, err, "volumes cannot be modified")
}

func TestWhatTheDriverCanDoFollowsFromItsConfiguration(t *testing.T) {
	for name, c := range map[string]struct {
		cfg      Config
		attaches bool
		services int // controller service and expansion, and topology
	}{
		"as it is": {Config{}, true, 3}, "without attach": {Config{NoAttach: true}, false, 3}, "with topology": {Config{Topology: true}, true, 4},
		"without group snapshots": {Config{NoGroupSnapshots: true}, true, 2}, "without snapshots": {Config{NoSnapshots: true}, true, 2},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, c.cfg)
			can, err := r.controller.ControllerGetCapabilities(ctx, nil)
			require.NoError(t, err)
			attaches := false
			for _, one := range can.Capabilities {
				attaches = attaches || one.GetRpc().Type == spec.ControllerServiceCapability_RPC_PUBLISH_UNPUBLISH_VOLUME
			}
			require.Equal(t, c.attaches, attaches)
			info, err := r.driver.Identity.GetPluginInfo(ctx, nil)
			require.NoError(t, err)
			require.Equal(t, Name, info.Name)
			services, err := r.driver.Identity.GetPluginCapabilities(ctx, nil)
			require.NoError(t, err)
			require.Len(t, services.Capabilities, c.services)
			ready, err := r.driver.Identity.Probe(ctx, nil)
			require.NoError(t, err)
			require.True(t, ready.Ready.Value)
		})
	}
	for _, bad := range []Config{{Capacity: -1}, {MaxVolumes: -1}} {
		_, err := New(bad)
		require.ErrorContains(t, err, "-1 is negative")
	}
}
