package volumemanager

import (
	"path"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/types"

	"github.com/storagesim/storagesim/kubelet/internal/layout"
	"github.com/storagesim/storagesim/volume"
)

// fakeKey is the volume of a fake rig, as its pod has it.
var fakeKey = podVolume{fakeName + "/pv-data", "pod-1"}

// Where the links to the device of a fake rig are.
var (
	fakeGlobal = path.Join(layout.PluginDir("fake"), "pv-data")
	fakeLink   = path.Join(layout.PodVolumeDeviceDir("pod-1", volume.EscapeQualifiedName(fakeName)), "pv-data")
)

// ofBlocks makes a volume one of mode Block.
func ofBlocks(pv *v1.PersistentVolume) { pv.Spec.VolumeMode = new(v1.PersistentVolumeBlock) }

func larger(pv *v1.PersistentVolume) {
	pv.Spec.Capacity = v1.ResourceList{v1.ResourceStorage: resource.MustParse("2Gi")}
}

// states returns what is known of the volume of a fake rig, "" for nothing.
func (r *rig) states() (pod, node mountState) {
	if v := r.vm.actual.volumes.get(fakeKey); v != nil {
		pod = v.state
	}
	if d := r.vm.actual.devices[fakeKey.volume]; d != nil {
		node = d.state
	}
	return pod, node
}

// Each step on the way of a volume to its pod may fail. The event names the step, no later one is taken, and what may be mounted is known, so that it is torn
// down. When the step succeeds the pod gets its volume.
func TestAStepThatFailsOnTheWayToAPodIsNamedAndTheLastOne(t *testing.T) {
	const mounted, uncertain = stateMounted, stateUncertain
	for _, c := range []struct {
		block        bool
		fails        string
		event        string
		calls        []string
		volume, node mountState
	}{
		{false, "NewMounter", `MountVolume.NewMounter initialization failed for volume "pv-data" : broken`, nil, "", ""},
		{false, "WaitForAttach", `MountVolume.WaitForAttach failed for volume "pv-data" : broken`, []string{"WaitForAttach"}, "", ""},
		{false, "NewDeviceMounter", `MountVolume.MountDevice failed for volume "pv-data" : broken`, []string{"WaitForAttach"}, "", ""},
		{false, "GetDeviceMountPath", `MountVolume.GetDeviceMountPath failed for volume "pv-data" : broken`, []string{"WaitForAttach"}, "", ""},
		{false, "MountDevice", `MountVolume.MountDevice failed for volume "pv-data" : broken`, []string{"WaitForAttach", "MountDevice"}, "", ""},
		{false, "SetUp", `MountVolume.SetUp failed for volume "pv-data" : broken`, []string{"WaitForAttach", "MountDevice", "SetUp"}, "", mounted},
		{false, "?MountDevice", `MountVolume.MountDevice failed for volume "pv-data" : no answer`, []string{"WaitForAttach", "MountDevice"}, "", uncertain},
		{false, "?SetUp", `MountVolume.SetUp failed for volume "pv-data" : no answer`, []string{"WaitForAttach", "MountDevice", "SetUp"}, uncertain, mounted},
		{false, "NodeExpand", `MountVolume.Setup failed while expanding volume for volume "pv-data" : broken`,
			[]string{"WaitForAttach", "MountDevice", "SetUp", "NodeExpand"}, uncertain, mounted},
		{true, "NewBlockVolumeMapper", `MapVolume.NewBlockVolumeMapper initialization failed for volume "pv-data" : broken`, nil, "", ""},
		{true, "GetGlobalMapPath", `MapVolume.GetGlobalMapPath failed for volume "pv-data" : broken`, nil, "", ""},
		{true, "WaitForAttach", `MapVolume.WaitForAttach failed for volume "pv-data" : broken`, []string{"WaitForAttach"}, "", ""},
		{true, "SetUpDevice", `MapVolume.SetUpDevice failed for volume "pv-data" : broken`, []string{"WaitForAttach", "SetUpDevice"}, "", ""},
		{true, "MapPodDevice", `MapVolume.MapPodDevice failed for volume "pv-data" : broken`, []string{"WaitForAttach", "SetUpDevice", "MapPodDevice"}, "", mounted},
		{true, "?SetUpDevice", `MapVolume.SetUpDevice failed for volume "pv-data" : no answer`, []string{"WaitForAttach", "SetUpDevice"}, "", uncertain},
		{true, "?MapPodDevice", `MapVolume.MapPodDevice failed for volume "pv-data" : no answer`, []string{"WaitForAttach", "SetUpDevice", "MapPodDevice"},
			uncertain, mounted},
		{true, "file " + fakeGlobal, `MapVolume.MapBlockVolume failed for volume "pv-data" : mkdir `, []string{"WaitForAttach", "SetUpDevice", "MapPodDevice"},
			uncertain, mounted},
		{true, "file " + path.Dir(fakeLink), `MapVolume.MapBlockVolume failed for volume "pv-data" : mkdir `,
			[]string{"WaitForAttach", "SetUpDevice", "MapPodDevice"}, uncertain, mounted},
		{true, "file " + fakeLink + "/in/the/way", `MapVolume.MapBlockVolume failed for volume "pv-data" : remove `,
			[]string{"WaitForAttach", "SetUpDevice", "MapPodDevice"}, uncertain, mounted},
		{true, "NodeExpand", `MapVolume.MarkVolumeAsMounted failed while expanding volume for volume "pv-data" : broken`,
			[]string{"WaitForAttach", "SetUpDevice", "MapPodDevice", "NodeExpand"}, uncertain, mounted},
	} {
		mode, reason := larger, "FailedMount: "
		if c.block {
			mode, reason = func(pv *v1.PersistentVolume) { larger(pv); ofBlocks(pv) }, "FailedMapVolume: "
		}
		name := reason + c.fails
		r, p := newFakeRig(t, nil, mode)
		p.attaches, p.grows = true, true
		if doubt, ok := strings.CutPrefix(c.fails, "?"); ok {
			p.fails[doubt] = volume.Uncertainf("no answer")
		} else {
			p.fails[c.fails] = errFake
		}
		p.meanwhile["SetUp"] = func() { // a directory that is left says nothing: this plugin says whether something is mounted
			require.NoError(t, r.node.MkdirAll(fakeVolume{p, "pv-data", "pod-1"}.GetPath(), 0o750))
		}
		r.Settle()
		r.vm.actual.attached[fakeKey.volume] = true
		obstacle, isFile := strings.CutPrefix(c.fails, "file ")
		if isFile {
			require.NoError(t, r.node.MkdirAll(path.Dir(obstacle), 0o750))
			require.NoError(t, r.node.WriteFile(obstacle, nil, 0o640))
		}
		r.addPod(podOf("pod-1", c.block))
		r.run(100 * time.Millisecond)
		if assert.NotEmpty(t, r.said(), name) {
			assert.Contains(t, r.said()[len(r.said())-1], reason+c.event)
		}
		assert.Equal(t, c.calls, p.calls, name)
		pod, node := r.states()
		assert.Equal(t, []mountState{c.volume, c.node}, []mountState{pod, node}, name)
		assert.False(t, r.vm.AreMounted("pod-1"), name)
		assert.Empty(t, r.vm.actual.mounting, name)

		p.fails = nil
		if isFile {
			require.NoError(t, r.node.RemoveAll(obstacle))
			require.NoError(t, r.node.RemoveAll(fakeLink))
		}
		r.run(time.Minute)
		assert.True(t, r.vm.AreMounted("pod-1"), name)
		for _, link := range []string{fakeLink, fakeGlobal + "/pod-1"} {
			if to, err := r.node.Readlink(link); c.block {
				assert.Equal(t, "/dev/fake", path.Join(path.Dir(link), to), "%s: %s", name, link)
			} else {
				assert.Error(t, err, name)
			}
		}
		assert.Empty(t, r.Engine.Trace().Deviations(), name)
		if c.block {
			assert.Equal(t, []string{"drwxr-x---", "drwxr-x---"}, []string{r.mode(fakeGlobal), r.mode(path.Dir(fakeLink))}, name)
		}
		r.release("pod-1")
		r.Settle()
		assert.True(t, r.vm.WaitForUnmount("pod-1"), name)
		assert.Empty(t, r.vm.actual.devices, name)
		assert.Empty(t, r.vm.sizes.actual, name)
		undone := []string{"TearDown", "UnmountDevice /stage/pv-data"}
		if c.block {
			undone = []string{"UnmapPodDevice", "TearDownDevice"}
			_, err := r.node.Lstat(fakeLink)
			assert.Error(t, err, name)
		}
		assert.Equal(t, undone, p.calls[len(p.calls)-2:], name)
	}
}

// Each step away from a pod may fail as well. The volume, or its mount for the node, stays known and uncertain: the next pod's is set up again, and the step
// is taken again.
func TestAStepThatFailsOnTheWayFromAPodIsTakenAgain(t *testing.T) {
	const mounted, uncertain = stateMounted, stateUncertain
	for _, c := range []struct {
		block        bool
		fails        string
		failure      string
		volume, node mountState
	}{
		{false, "NewUnmounter", `UnmountVolume.TearDown failed for volume "pv-data" : broken`, uncertain, mounted},
		{false, "TearDown", `UnmountVolume.TearDown failed for volume "pv-data" : broken`, uncertain, mounted},
		{false, "NewDeviceUnmounter", `UnmountDevice failed for volume "example.com/fake/pv-data" : broken`, "", uncertain},
		{false, "UnmountDevice /stage/pv-data", `UnmountDevice failed for volume "example.com/fake/pv-data" : broken`, "", uncertain},
		{true, "NewBlockVolumeUnmapper", `UnmapVolume.NewUnmapper failed for volume "pv-data" : broken`, mounted, mounted},
		{true, "GetGlobalMapPath", `UnmapVolume.GetGlobalMapPath failed for volume "pv-data" : broken`, mounted, mounted},
		{true, "file " + fakeLink + "/in", `UnmapVolume.UnmapBlockVolume failed for volume "pv-data" : `, uncertain, mounted},
		{true, "file " + fakeGlobal + "/pod-1/in", `UnmapVolume.UnmapBlockVolume failed for volume "pv-data" : `, uncertain, mounted},
		{true, "UnmapPodDevice", `UnmapVolume.UnmapPodDevice failed for volume "pv-data" : broken`, uncertain, mounted},
		{true, "file " + fakeGlobal + "/pod-2",
			`UnmapDevice failed for volume "pv-data" : the device "/var/lib/kubelet/plugins/fake/pv-data" is still referenced from other Pods [pod-2]`, "", mounted},
		{true, "readdir " + fakeGlobal, "operation not permitted", "", mounted},
		{true, "TearDownDevice", `UnmapDevice.TearDownDevice failed for volume "pv-data" : broken`, "", uncertain},
	} {
		name := c.fails
		mode := func(*v1.PersistentVolume) {}
		if c.block {
			mode, name = ofBlocks, "block "+name
		}
		r, p := newFakeRig(t, nil, mode)
		r.Settle()
		r.addPod(podOf("pod-1", c.block))
		r.run(100 * time.Millisecond)
		require.True(t, r.vm.AreMounted("pod-1"), name)
		r.pods.woken = nil

		p.fails[c.fails] = errFake
		obstacle, isFile := strings.CutPrefix(c.fails, "file ")
		if isFile {
			_ = r.node.Remove(path.Dir(obstacle))
			require.NoError(t, r.node.MkdirAll(path.Dir(obstacle), 0o750))
			require.NoError(t, r.node.WriteFile(obstacle, nil, 0o640))
		}
		r.failAt(c.fails)
		r.release("pod-1")
		r.run(100 * time.Millisecond)
		if assert.NotEmpty(t, r.failed(), name) {
			assert.Contains(t, r.failed()[0], c.failure)
		}
		pod, node := r.states()
		assert.Equal(t, []mountState{c.volume, c.node}, []mountState{pod, node}, name)
		assert.Equal(t, c.volume == "", r.vm.WaitForUnmount("pod-1"), name)
		assert.NotEmpty(t, r.pods.woken, "%s: its pod waits for the end", name)
		assert.NotContains(t, r.pods.woken, types.UID(""), name)

		p.fails = nil
		r.failAt("")
		if isFile {
			require.NoError(t, r.node.RemoveAll(obstacle))
		}
		r.run(time.Minute)
		assert.True(t, r.vm.WaitForUnmount("pod-1"), name)
		assert.Empty(t, r.vm.actual.devices, name)
		assert.Empty(t, r.vm.operations.pending, name)
	}
}
