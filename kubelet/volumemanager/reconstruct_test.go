package volumemanager

import (
	"path"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/storagesim/storagesim/kubelet/internal/layout"
	"github.com/storagesim/storagesim/volume"
)

// What a kubelet finds in a pod's directories is an uncertain mount, of the pod and, if it stands on one, of the node. What no plugin knows is left, and
// removed when the pods are known and it is empty.
func TestWhatIsFoundOnTheDiskIsAnUncertainMountOrLeft(t *testing.T) {
	dir := layout.PodVolumeDir("pod-1", "example.com~fake", "pv-data")
	const unread = "cannot look for volumes of an earlier life: broken"
	orphan := dir + " is not known to be a volume and will be removed if it is empty: "
	for name, c := range map[string]struct {
		path   string
		fails  string
		alone  bool // it is not mounted for the node
		volume v1.UniqueVolumeName
		block  bool
		node   string // the path of the mount for the node, "-" for none
		noted  string
		orphan bool
	}{
		"a directory":                            {path: dir, volume: "example.com/fake/pv-data", node: "/stage/pv-data"},
		"one that is the pod's alone":            {path: dir, alone: true, volume: "example.com/fake/pod-1-pv-data", node: "-"},
		"one whose mount for the node is secret": {path: dir, fails: "NewDeviceMounter", volume: "example.com/fake/pv-data", node: ""},
		"one whose mount for the node is gone":   {path: dir, fails: "GetDeviceMountPath", volume: "example.com/fake/pv-data", node: ""},
		"one without a spec":                     {path: dir, fails: "ConstructVolumeSpec", node: "-", noted: orphan + "broken", orphan: true},
		"one that may need a mount for the node": {path: dir, fails: "CanDeviceMount", node: "-", noted: orphan + "broken", orphan: true},
		"one that may need to be attached":       {path: dir, fails: "CanAttach", node: "-", noted: orphan + "broken", orphan: true},
		"one without a name":                     {path: dir, fails: "GetVolumeName", node: "-", noted: orphan + "broken", orphan: true},
		"one of no plugin": {path: layout.PodVolumeDir("pod-1", "example.com~other", "pv-data"), node: "-", orphan: true,
			noted: layout.PodVolumeDir("pod-1", "example.com~other", "pv-data") +
				" is not known to be a volume and will be removed if it is empty: no volume plugin matched name: example.com/other"},
		"a device":                         {path: fakeLink, volume: "example.com/fake/pv-data", block: true, node: fakeGlobal},
		"a device that is the pod's alone": {path: fakeLink, alone: true, volume: "example.com/fake/pod-1-pv-data", block: true, node: "-"},
		"a device without links":           {path: fakeLink, fails: "NewBlockVolumeUnmapper", volume: "example.com/fake/pv-data", block: true, node: ""},
		"a device without a spec":          {path: fakeLink, fails: "ConstructBlockVolumeSpec", node: "-", noted: unread},
		"a device without a name":          {path: fakeLink, fails: "GetVolumeName", node: "-", noted: unread},
		"a device of no plugin":            {path: path.Join(layout.PodVolumeDeviceDir("pod-1", "example.com~other"), "pv-data"), node: "-"},
	} {
		r, p := newFakeRig(t, nil, nil)
		r.Settle()
		require.NoError(t, r.node.MkdirAll(c.path, 0o750))
		p.fails[c.fails], p.stages = errFake, !c.alone
		r.vm.desired.unseen[""] = true
		for range 2 { // the second time everything is known
			assert.Equal(t, []types.UID{"pod-1"}, r.vm.Reconstruct(), name)
		}
		found := r.vm.actual.volumes.ofPod("pod-1")
		if c.volume != "" {
			key := podVolume{c.volume, "pod-1"}
			require.Equal(t, []podVolume{key}, found, name)
			v := r.vm.actual.volumes.get(key)
			assert.Equal(t, []any{stateUncertain, true, c.path, c.block}, []any{v.state, v.reconstructed, v.path, v.block}, name)
			assert.True(t, r.vm.touched[key], name)
			assert.Len(t, r.vm.reconstruction.found, 1, name)
		} else {
			assert.Empty(t, found, name)
			if assert.NotEmpty(t, append(r.noted(), c.noted), name) && c.noted != "" {
				assert.Contains(t, r.noted(), c.noted, name)
			}
		}
		if d := r.vm.actual.devices[c.volume]; c.node == "-" {
			assert.NotContains(t, r.vm.actual.devices, c.volume, name)
		} else if assert.NotNil(t, d, name) {
			assert.Equal(t, []any{stateUncertain, true, c.node, c.block}, []any{d.state, d.reconstructed, d.path, d.block}, name)
		}
		if !c.orphan {
			assert.Empty(t, r.vm.reconstruction.orphans, name)
			continue
		}
		assert.Equal(t, []string{c.path}, r.vm.reconstruction.orphans, name)
		require.NoError(t, r.node.MkdirAll(c.path+"/data", 0o750))
		r.vm.Reconcile()
		r.run(time.Second)
		assert.Empty(t, r.failed(), "%s: the pods are not known", name)
		r.vm.populator.seen("")
		r.run(time.Second)
		assert.NotEmpty(t, r.failed(), "%s: it is not empty", name)
		require.NoError(t, r.node.RemoveAll(c.path+"/data"))
		r.run(time.Minute)
		_, err := r.node.Lstat(c.path)
		assert.Error(t, err, name)
		assert.Empty(t, r.vm.reconstruction.orphans, name)
	}
}

// semantics 5 must 3: what the kubelet cannot read it looks at again when the pod ends, and says so once.
func TestAPodsDirectoryThatCannotBeReadIsReadWhenThePodEnds(t *testing.T) {
	for _, broken := range []string{layout.PodVolumesDir("pod-1"), layout.PodVolumeDevicesDir("pod-1"), layout.PodVolumesDir("pod-1") + "/example.com~fake"} {
		r, p := newFakeRig(t, nil, nil)
		r.Settle()
		require.NoError(t, r.node.MkdirAll(path.Dir(broken), 0o750))
		require.NoError(t, r.node.WriteFile(broken, nil, 0o640))
		p.attaches, r.vm.attachments.listed = true, map[v1.UniqueVolumeName]bool{fakeKey.volume: true}
		r.vm.Reconstruct()
		require.Len(t, r.noted(), 1, broken)
		r.vm.Reconstruct()
		require.True(t, r.vm.reconstruction.unread["pod-1"], broken)
		require.Len(t, r.noted(), 1, broken)
		require.Contains(t, r.noted()[0], "cannot look for volumes of an earlier life: ")
		require.NoError(t, r.node.Remove(broken))
		require.NoError(t, r.node.MkdirAll(layout.PodVolumeDir("pod-1", "example.com~fake", "pv-data"), 0o750))
		assert.False(t, r.vm.WaitForUnmount("pod-1"), broken)
		assert.Empty(t, r.vm.reconstruction.unread, broken)
		assert.Equal(t, []v1.UniqueVolumeName{fakeKey.volume}, r.vm.attachments.volumesInUse(), broken)
		r.run(time.Second)
		assert.True(t, r.vm.WaitForUnmount("pod-1"), broken)
	}
}

// A volume of two pods stands on one mount for the node.
func TestAVolumeThatTwoPodsHaveIsFoundOnceForTheNode(t *testing.T) {
	r, _ := newFakeRig(t, nil, nil)
	r.Settle()
	require.NoError(t, r.node.MkdirAll(layout.PodVolumeDir("pod-1", "example.com~fake", "pv-data"), 0o750))
	r.vm.Reconstruct()
	device := r.vm.actual.devices[fakeKey.volume]
	require.NotNil(t, device)
	require.NoError(t, r.node.MkdirAll(layout.PodVolumeDir("pod-2", "example.com~fake", "pv-data"), 0o750))
	r.vm.Reconstruct()
	assert.Same(t, device, r.vm.actual.devices[fakeKey.volume])
	assert.True(t, r.vm.actual.volumes.has(podVolume{fakeKey.volume, "pod-2"}))
}

// What is mounted for the node alone is found only where the kubelet is to look for it, and where it is not known from a pod's directory.
func TestWhatIsMountedForTheNodeAloneIsFoundByItsPlugin(t *testing.T) {
	for name, c := range map[string]struct {
		find, known bool
		fails       string
		want        bool
	}{
		"it is looked for":      {find: true, want: true},
		"it is not":             {},
		"it is known":           {find: true, known: true},
		"its name is not known": {find: true, fails: "GetVolumeName"},
	} {
		r, p := newFakeRig(t, nil, nil)
		r.Settle()
		p.staged = []volume.StagedVolume{{Spec: fakeSpec("pv-data"), Path: "/staged", Block: true}}
		p.fails[c.fails], r.vm.decisions.FindStaged = errFake, c.find
		known := &mountedDevice{}
		if c.known {
			r.vm.actual.devices[fakeKey.volume] = known
		}
		r.vm.Reconstruct()
		alone := podVolume{volume: fakeKey.volume}
		assert.Equal(t, c.want, r.vm.touched[alone], name)
		assert.Equal(t, c.want, len(r.vm.reconstruction.found) == 1, name)
		switch d := r.vm.actual.devices[fakeKey.volume]; {
		case c.known:
			assert.Same(t, known, d, name)
		case c.want:
			assert.Equal(t, &mountedDevice{state: stateUncertain, reconstructed: true, plugin: p, spec: p.staged[0].Spec, path: "/staged", block: true}, d, name)
			assert.Equal(t, []*mountedVolume{{podVolume: alone, plugin: p, spec: p.staged[0].Spec}}, r.vm.reconstruction.found, name)
		default:
			assert.Nil(t, d, name)
		}
	}
}

// volumesInUse gets what was found, if it can be attached and is listed as attached; with KeepInUse in any case.
func TestWhatWasFoundIsInUseIfTheNodeListsIt(t *testing.T) {
	for name, c := range map[string]struct {
		attaches, listed, keep bool
		fails                  string
		want                   bool
	}{
		"listed":               {attaches: true, listed: true, want: true},
		"not listed":           {attaches: true},
		"not listed, and kept": {attaches: true, keep: true, want: true},
		"it is not attached":   {listed: true, keep: true},
		"it may be":            {attaches: true, listed: true, fails: "CanAttach"},
	} {
		r, p := newFakeRig(t, nil, nil)
		r.Settle()
		r.vm.reconstruction.found = []*mountedVolume{{podVolume: fakeKey, plugin: p, spec: fakeSpec("pv-data")}}
		p.attaches, p.fails[c.fails], r.vm.decisions.KeepInUse = c.attaches, errFake, c.keep
		status := &v1.NodeStatus{VolumesInUse: []v1.UniqueVolumeName{"old"}}
		if c.listed {
			status.VolumesAttached = []v1.AttachedVolume{{Name: fakeKey.volume}}
		}
		r.vm.UpdateFromNodeStatus(status)
		assert.Equal(t, c.want, r.vm.attachments.attachable[fakeKey.volume], name)
		assert.Equal(t, []any{status.VolumesInUse, true}, []any{r.vm.attachments.reportedInUse, r.vm.attachments.synced}, name)
		assert.Empty(t, r.vm.reconstruction.found, name)
	}
}

// A kubelet that begins with volumes on its disk mounts nothing before it asks for its pods, a volume of a new pod neither: until then its drivers register.
func TestNothingIsMountedBeforeAKubeletAsksForItsPods(t *testing.T) {
	r, p := newFakeRig(t, nil, nil)
	r.Settle()
	require.NoError(t, r.node.MkdirAll(layout.PodVolumeDir("pod-2", "example.com~fake", "other"), 0o750))
	r.vm.Reconstruct()
	r.vm.ExpectPod("")
	r.vm.env.Go("wait for the pods", r.vm.populator.awaitSources)
	r.add("pod-1")
	r.run(waitForAPIServerSyncPeriod - time.Millisecond)
	require.Empty(t, p.calls)
	r.run(10 * time.Millisecond)
	require.Contains(t, p.calls, "MountDevice")
	require.True(t, r.vm.AreMounted("pod-1"))
}
