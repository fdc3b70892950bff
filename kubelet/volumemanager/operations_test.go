package volumemanager

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/storagesim/storagesim/engine"
	"github.com/storagesim/storagesim/kubelet/internal/layout"
	"github.com/storagesim/storagesim/machine/disk"
	"github.com/storagesim/storagesim/trace"
	"github.com/storagesim/storagesim/volume"
)

// An operation whose reason is gone does nothing.
func TestAnOperationThatHasNothingToDoDoesNothing(t *testing.T) {
	mounted := func(r *rig) {
		r.add("pod-1")
		r.run(time.Second)
		require.True(r, r.vm.AreMounted("pod-1"))
	}
	for name, c := range map[string]struct {
		verb   verb
		before func(r *rig)
	}{
		"to mount what nobody wants":           {mountVolume, func(*rig) {}},
		"to mount what is mounted":             {mountVolume, mounted},
		"to unmount what is not mounted":       {unmountVolume, func(*rig) {}},
		"to unmount what is wanted":            {unmountVolume, mounted},
		"to unmount no device":                 {unmountDevice, func(*rig) {}},
		"to unmount the device of a pod":       {unmountDevice, func(r *rig) { mounted(r); r.vm.desired.volumes.remove(fakeKey) }},
		"to unmount the device that is wanted": {unmountDevice, func(r *rig) { mounted(r); r.vm.actual.volumes.remove(fakeKey) }},
		"to expand what nobody wants":          {expandVolume, func(r *rig) { mounted(r); r.vm.desired.volumes.remove(fakeKey); tooSmall(r) }},
		"to expand what is not mounted":        {expandVolume, func(r *rig) { mounted(r); r.vm.actual.volumes.remove(fakeKey); tooSmall(r) }},
		"to expand what is large enough":       {expandVolume, mounted},
	} {
		r, p := newFakeRig(t, nil, nil)
		p.grows = true
		r.Settle()
		c.before(r)
		p.calls = nil
		pod, node := r.states()
		r.do(func(ctx context.Context) {
			assert.NoError(t, r.vm.operations.execute(ctx, operation{c.verb, fakeKey}), name)
		})
		assert.Empty(t, p.calls, name)
		podAfter, nodeAfter := r.states()
		assert.Equal(t, []mountState{pod, node}, []mountState{podAfter, nodeAfter}, name)
	}
	x := &operationExecutor{}
	assert.EqualError(t, x.execute(context.Background(), operation{verb: "paint"}), `there is no operation "paint"`)
}

// fakeOf returns the plugin of a fake rig.
func fakeOf(r *rig) *fakePlugin {
	plugin, err := r.vm.plugins.FindPluginByName(fakeName)
	require.NoError(r, err)
	return plugin.(*fakePlugin)
}

// tooSmall makes the volume smaller on the node than it should be.
func tooSmall(r *rig) {
	r.vm.sizes.actual[fakeKey.volume], r.vm.sizes.desired[fakeKey.volume] = oneGi()[v1.ResourceStorage], twoGi()[v1.ResourceStorage]
}

// A volume grows only if it is in no use that forbids it, if its size is known, and if that is less than it should be. What left the node is forgotten.
func TestWhichVolumesAreTooSmall(t *testing.T) {
	for name, c := range map[string]struct {
		change func(s *volumeSizes)
		want   bool
	}{
		"one that has grown":       {func(*volumeSizes) {}, true},
		"one in use":               {func(s *volumeSizes) { s.inUse["v"] = true }, false},
		"one of unknown size":      {func(s *volumeSizes) { delete(s.actual, "v") }, false},
		"one of the size":          {func(s *volumeSizes) { s.actual["v"] = s.desired["v"] }, false},
		"one that should not grow": {func(s *volumeSizes) { delete(s.desired, "v") }, false},
		"one that is gone":         {func(s *volumeSizes) { s.forget("v") }, false},
	} {
		s := newVolumeSizes()
		s.initialize("v", oneGi()[v1.ResourceStorage])
		s.initialize("v", twoGi()[v1.ResourceStorage])
		s.desired["v"], s.failed["v"] = twoGi()[v1.ResourceStorage], true
		c.change(s)
		assert.Equal(t, c.want, s.needsExpansion("v"), name)
		if name == "one that is gone" {
			s.inUse["v"] = true
			s.forget("v")
			assert.Equal(t, newVolumeSizes(), s)
		}
	}
}

// Operations of one volume wait for each other, and begin when the one before them ends, in order; a failure is no news for a pod that wants its volume.
func TestAnOperationWaitsForTheOneBeforeIt(t *testing.T) {
	r, p := newFakeRig(t, nil, nil)
	r.Settle()
	require.NoError(t, r.Engine.Inject(engine.Fault{Actor: actor, Verb: "get", Resource: "nodes", Delay: 10 * time.Second, Times: 2})) // of the affinity
	r.add("pod-1")
	r.addPod(podOf("pod-2", false))
	r.run(9 * time.Second)
	require.Empty(t, p.calls)
	require.Equal(t, []scope{{fakeKey, true}}, r.vm.operations.inWork, "the volume is mounted for the node")
	require.Equal(t, []string{"mount pod-2/" + string(fakeKey.volume)}, r.vm.operations.behind)
	r.run(2 * time.Second)
	require.Equal(t, []string{"MountDevice", "SetUp"}, p.calls)
	require.Empty(t, r.vm.operations.behind)
	r.run(10 * time.Second)
	require.Equal(t, []string{"MountDevice", "SetUp", "SetUp"}, p.calls)
	require.True(t, r.vm.AreMounted("pod-2"))
	require.Empty(t, r.vm.operations.inWork)
	require.Empty(t, r.vm.operations.pending)
}

// An operation that has failed is tried again after its backoff, however often the volume is looked at, and as often as it fails. A success ends that.
func TestAnOperationThatFailsIsTriedAfterItsBackoff(t *testing.T) {
	r, p := newFakeRig(t, nil, nil)
	r.Settle()
	p.fails["SetUp"] = errFake
	r.add("pod-1")
	tried := func() (n int) {
		for _, call := range p.calls {
			if call == "SetUp" {
				n++
			}
		}
		return n
	}
	r.run(100 * time.Millisecond)
	require.Equal(t, 1, tried())
	r.pods.woken = nil
	for range 3 {
		r.vm.touchPod("pod-1")
		r.run(10 * time.Millisecond)
	}
	require.Equal(t, 1, tried())
	require.Empty(t, r.pods.woken, "it wants the volume, and waits")
	r.run(500 * time.Millisecond)
	require.Equal(t, 2, tried())
	require.Empty(t, r.pods.woken, "it still does")
	r.vm.touchPod("pod-1")
	r.run(500 * time.Millisecond)
	require.Equal(t, 2, tried())
	p.fails = nil
	r.run(time.Second)
	require.Equal(t, 3, tried())
	require.True(t, r.vm.AreMounted("pod-1"))
	require.Empty(t, r.vm.operations.pending)
	require.Equal(t, []string{"pod-1"}, []string{string(r.pods.woken[0])})

	r.vm.actual.markUncertain(fakeKey)
	p.fails = map[string]error{"SetUp": errFake}
	r.vm.touchPod("pod-1")
	r.run(10 * time.Millisecond)
	require.Equal(t, 4, tried(), "the backoff is forgotten")
	r.run(510 * time.Millisecond)
	require.Equal(t, 5, tried())
}

// An operation that is started while it is in work is not started again when it fails: it waits for its backoff.
func TestAnOperationThatIsStartedDuringAnAttemptWaitsForItsBackoff(t *testing.T) {
	r, p := newFakeRig(t, nil, nil)
	r.Settle()
	require.NoError(t, r.Engine.Inject(engine.Fault{Actor: actor, Verb: "get", Resource: "nodes", Delay: 10 * time.Second})) // of the affinity
	start := r.Engine.Now()
	var at []float64
	p.meanwhile["SetUp"] = func() { at = append(at, r.Engine.Now().Sub(start).Seconds()) }
	p.fails["SetUp"] = errFake
	r.add("pod-1")
	r.run(5 * time.Second)
	r.vm.touchPod("pod-1")
	r.run(7 * time.Second)
	require.Equal(t, []float64{10, 10.5, 11.5}, at)
	p.fails = nil
	r.run(2 * time.Second)
	require.True(t, r.vm.AreMounted("pod-1"))
	require.Empty(t, r.vm.operations.pending)
}

// An operation of another kind that succeeds takes the place of one of its volume that waits for its backoff: a pod that comes later does not wait for that.
func TestAnUnmountEndsTheBackoffOfAMount(t *testing.T) {
	r, p := newFakeRig(t, nil, nil)
	r.Settle()
	p.fails["MountDevice"] = volume.Uncertainf("slow")
	r.add("pod-1")
	r.run(4 * time.Second)
	require.Equal(t, []string{"MountDevice", "MountDevice", "MountDevice", "MountDevice"}, p.calls, "after 0, 0.5, 1.5 and 3.5 seconds; the next after 7.5")
	p.calls = nil
	r.pods.released["pod-1"] = true
	r.vm.ReleasePod("pod-1", true)
	r.run(time.Second)
	require.Equal(t, []string{"UnmountDevice /stage/pv-data"}, p.calls)
	p.fails = nil
	r.addPod(podOf("pod-2", false))
	r.run(time.Second)
	require.True(t, r.vm.AreMounted("pod-2"))
	require.Empty(t, r.vm.operations.pending)
}

// What is mounted for the node has one backoff for all pods: after a failure none of them is tried before it is over, then one of them, and when that has
// succeeded the others. What is mounted for each pod alone has one for each.
func TestAVolumeOfTheNodeHasOneBackoffForAllItsPods(t *testing.T) {
	for _, staged := range []bool{true, false} {
		r, p := newFakeRig(t, nil, nil)
		p.stages = staged
		r.Settle()
		start := r.Engine.Now()
		step := map[bool]string{true: "MountDevice", false: "SetUp"}[staged]
		var at []int64
		p.meanwhile[step] = func() { at = append(at, r.Engine.Now().Sub(start).Milliseconds()) }
		p.fails[step] = errFake
		r.add("pod-1")
		r.addPod(podOf("pod-2", false))
		r.run(400 * time.Millisecond)
		r.vm.touchPod("pod-2")
		r.run(2 * time.Second)
		if !staged {
			require.Equal(t, []int64{0, 0, 500, 500, 1500, 1500}, at)
			continue
		}
		require.Equal(t, []int64{0, 500, 1500}, at)
		p.fails = nil
		r.run(2 * time.Second)
		require.Equal(t, []int64{0, 500, 1500, 3500}, at)
		require.True(t, r.vm.AreMounted("pod-1"))
		require.True(t, r.vm.AreMounted("pod-2"))
		require.Empty(t, r.vm.operations.pending)
	}
}

// Which of its pods a volume is mounted for after the backoff is left open, but it is one that still wants it.
func TestAVolumeOfTheNodeIsTriedForAPodThatWantsIt(t *testing.T) {
	first := map[types.UID]int{}
	for seed := range uint64(12) {
		r := newRigOf(t, engine.Config{Policy: engine.Seeded(seed)}, boundClaim(), func(claim *v1.PersistentVolumeClaim) *v1.PersistentVolume {
			pv := localVolume(claim)
			pv.Spec.PersistentVolumeSource = v1.PersistentVolumeSource{CSI: &v1.CSIPersistentVolumeSource{Driver: "fake.example.com", VolumeHandle: "data"}}
			return pv
		}, func(cfg *Config) { cfg.Plugins = []volume.VolumePlugin{newFakePlugin()} })
		p := fakeOf(r)
		r.Settle()
		p.fails["MountDevice"] = errFake
		r.add("pod-1")
		r.addPod(podOf("pod-2", false))
		r.run(400 * time.Millisecond)
		p.meanwhile["SetUp"] = func() {
			for _, uid := range []types.UID{"pod-1", "pod-2"} {
				if r.vm.actual.mounting[podVolume{fakeKey.volume, uid}] && len(p.calls) == 2 {
					first[uid]++
				}
			}
		}
		p.fails, p.calls = nil, nil
		if seed%3 == 0 { // the first one ends meanwhile
			gone := r.vm.operations.backoffOf(operation{mountVolume, podVolume{fakeKey.volume, "none"}}, scope{fakeKey, true}).pod
			r.pods.released[gone] = true
			r.vm.ReleasePod(gone, true)
			r.run(time.Second)
			require.Equal(t, []string{"MountDevice", "SetUp"}, p.calls)
		} else {
			r.run(time.Second)
			require.Equal(t, []string{"MountDevice", "SetUp", "SetUp"}, p.calls)
		}
		r.run(time.Minute)
		require.Empty(t, r.vm.operations.pending)
	}
	require.Greater(t, first["pod-1"], 1)
	require.Greater(t, first["pod-2"], 1)
}

// The trace says what a key of the queue of operations stands for.
func TestAnOperationIsNamedInWords(t *testing.T) {
	pods := &fakePods{pods: map[types.UID]*v1.Pod{"pod-1": podOf("pod-1", false)}}
	x := &operationExecutor{given: &given{pods: pods}, pending: map[string]*pendingOperation{}}
	for want, op := range map[string]operation{
		"to mount volume v of pod default/web": {mountVolume, podVolume{"v", "pod-1"}},
		"to unmount volume v of pod pod-2":     {unmountVolume, podVolume{"v", "pod-2"}},
		"to unmount the device of volume v":    {unmountDevice, podVolume{"v", ""}},
	} {
		assert.Equal(t, op.key(), x.about(op.key()))
		x.pending[op.key()] = &pendingOperation{operation: op}
		assert.Equal(t, want, x.about(op.key()))
	}
}

// A pod's volumes are mounted in the order of its spec, whatever their names.
func TestVolumesAreMountedInTheOrderOfThePodsSpec(t *testing.T) {
	r, _ := newFakeRig(t, nil, nil)
	r.Settle()
	rec := &reconciler{r.vm.given, r.vm.states, r.vm.attachments, r.vm.operations, r.vm.reconstruction}
	var keys []podVolume
	for i := range 9 {
		key := podVolume{v1.UniqueVolumeName(fmt.Sprint("v", 9-i)), "pod-1"}
		keys = append(keys, key)
		r.vm.desired.add(&volumeToMount{podVolume: key})
		r.vm.touched[key] = true
	}
	list := rec.takeTouched()
	for i := range list {
		assert.Equal(t, keys[8-i], list[i], "in order of their names")
	}
	assert.Empty(t, r.vm.touched)
	assert.Equal(t, list, r.vm.desired.volumes.ofPod("pod-1"))
	var order []podVolume
	for _, v := range inOrder([]*volumeToMount{r.vm.desired.get(keys[2]), r.vm.desired.get(keys[0]), r.vm.desired.get(keys[1])}) {
		order = append(order, v.podVolume)
	}
	assert.Equal(t, keys[:3], order)
}

// A mount that gets no answer is tried again after one, two, four seconds and so on, at least every minute, and the trace says so once. Meanwhile the volume is
// in use.
func TestAMountThatHangsIsTriedUntilItIsAnswered(t *testing.T) {
	r, p := newFakeRig(t, nil, nil)
	r.Settle()
	start := r.Engine.Now()
	var at []int
	p.meanwhile["SetUp"] = func() {
		at = append(at, int(r.Engine.Now().Sub(start).Seconds()))
		assert.True(t, r.vm.actual.mounting[fakeKey])
	}
	p.fails["SetUp"] = fmt.Errorf("server: %w", disk.ErrSilent)
	r.add("pod-1")
	r.run(250 * time.Second)
	assert.Equal(t, []int{0, 1, 3, 7, 15, 31, 63, 123, 183, 243}, at)
	require.Len(t, r.noted(), 1)
	name, why, ok := Hang(r.noted()[0])
	assert.Equal(t, []any{"pv-data", p.fails["SetUp"].Error(), true}, []any{name, why, ok})
	name, why, ok = Hang("something else hangs: yes")
	assert.Equal(t, []any{"", "", false}, []any{name, why, ok})
	p.fails = nil
	r.run(time.Minute)
	assert.True(t, r.vm.AreMounted("pod-1"))
}

// A mount that ends after its pod, or may have, is taken away at once.
func TestAVolumeThatIsMountedAfterItsPodHasEndedIsUnmounted(t *testing.T) {
	for _, failure := range []error{nil, volume.Uncertainf("no answer")} {
		r, p := newFakeRig(t, nil, nil)
		r.Settle()
		p.fails["SetUp"] = failure
		p.meanwhile["SetUp"] = func() {
			r.pods.released["pod-1"] = true
			r.vm.ReleasePod("pod-1", true)
			assert.True(t, r.vm.IsMounting("pod-1"), "it is being mounted")
			assert.True(t, r.vm.WaitForUnmount("pod-1"), "its object does not wait for that")
		}
		r.add("pod-1")
		r.run(100 * time.Millisecond)
		assert.Equal(t, []string{"MountDevice", "SetUp", "TearDown", "UnmountDevice /stage/pv-data"}, p.calls)
		assert.False(t, r.vm.IsMounting("pod-1"))
		assert.True(t, r.vm.WaitForUnmount("pod-1"))
	}
	r, p := newFakeRig(t, nil, nil)
	r.Settle()
	p.takes, p.fails["SetUp"] = time.Second, volume.Uncertainf("no answer")
	r.add("pod-1")
	r.run(500 * time.Millisecond)
	r.pods.released["pod-1"] = true
	r.vm.ReleasePod("pod-1", true)
	r.run(600 * time.Millisecond)
	assert.Equal(t, []string{"MountDevice", "SetUp", "TearDown", "UnmountDevice /stage/pv-data"}, p.calls, "before the mount would be tried again")
}

// A volume that is mounted and too small is expanded after that.
func TestAVolumeThatIsTooSmallForOnePodGrowsWhenAnotherHasIt(t *testing.T) {
	r, p := newFakeRig(t, nil, nil)
	p.grows = true
	r.Settle()
	tooSmall(r)
	r.add("pod-1")
	r.run(time.Second)
	assert.True(t, r.vm.AreMounted("pod-1"))
	assert.Equal(t, "NodeExpand", p.calls[len(p.calls)-1])
	assert.Len(t, r.pods.woken, 3, "its volumes are known, mounted, and have grown")
}

// A device is made ready for the node once.
func TestADeviceIsMadeReadyForTheNodeOnce(t *testing.T) {
	r, p := newFakeRig(t, nil, ofBlocks)
	r.Settle()
	r.addPod(podOf("pod-1", true))
	r.addPod(podOf("pod-2", true))
	r.run(time.Second)
	assert.Equal(t, []string{"SetUpDevice", "MapPodDevice", "MapPodDevice"}, p.calls)
}

// A mount that waits for an answer ends with its kubelet.
func TestAMountThatHangsEndsWithItsKubelet(t *testing.T) {
	r, _ := newFakeRig(t, nil, nil)
	r.Settle()
	var err error
	tried := 0
	r.do(func(ctx context.Context) {
		ctx, cancel := context.WithCancel(ctx)
		cancel()
		err = r.vm.operations.mounts.answered(ctx, trace.Ref{}, "v", func() error {
			if tried++; tried > 1 {
				return nil
			}
			return disk.ErrSilent
		})
	})
	assert.ErrorIs(t, err, context.Canceled)
	assert.Equal(t, 1, tried)
}

// What is known after a mount that failed of a plugin that does not say itself whether something is mounted: what is left in the pod's directory counts.
// One that is only brought up to date stays mounted.
func TestADirectoryThatIsLeftCountsUnlessThePluginSaysMore(t *testing.T) {
	old := func(state mountState, remount bool) *mountedVolume {
		return &mountedVolume{podVolume: fakeKey, state: state, remount: remount}
	}
	for name, c := range map[string]struct {
		says, exists bool
		at           string
		old          *mountedVolume
		failure      error
		want         mountState
		deviates     bool
	}{
		"nothing is left":            {failure: errFake},
		"a directory":                {exists: true, failure: errFake, want: stateUncertain, deviates: true},
		"one of the node's own":      {exists: true, at: "/srv", failure: errFake},
		"it says that nothing is":    {says: true, exists: true, failure: errFake},
		"it says that it may be":     {says: true, exists: true, failure: volume.Uncertainf("x"), want: stateUncertain},
		"it may be in any case":      {exists: true, failure: volume.Uncertainf("x"), want: stateUncertain},
		"it was uncertain, and ends": {old: old(stateUncertain, false), failure: errFake},
		"it was mounted before":      {exists: true, old: old(stateMounted, true), failure: errFake, want: stateMounted},
	} {
		r, p := newFakeRig(t, nil, nil)
		r.Settle()
		p.at, p.remounts = c.at, true
		v := &volumeToMount{podVolume: fakeKey, spec: fakeSpec("pv-data"), plugin: plainPlugin{p}, about: podOf("pod-1", false)}
		if c.says {
			v.plugin = p
		}
		r.vm.desired.pods["pod-1"] = &processedPod{}
		if c.old != nil {
			r.vm.actual.volumes.put(fakeKey, c.old)
		}
		mounter := fakeVolume{p, "pv-data", "pod-1"}
		if c.exists {
			require.NoError(t, r.node.MkdirAll(mounter.GetPath(), 0o750))
		}
		r.vm.operations.mounts.markSetUp(v, mounter, c.failure)
		pod, _ := r.states()
		assert.Equal(t, c.want, pod, name)
		assert.Equal(t, c.deviates, len(r.Engine.Trace().Deviations()) > 0, name)
		assert.Equal(t, c.want == stateUncertain, r.syncs("pod-1"), "%s: only what may be mounted is brought up to date", name)
	}
}

// A part of a volume that stays mounted keeps the volume mounted. The pod that is told of is the one that is known, also of what was found on the disk.
func TestAVolumeStaysMountedWhileAPartOfItIs(t *testing.T) {
	r, p := newFakeRig(t, nil, nil)
	r.Settle()
	pod := podOf("pod-1", false)
	pod.Spec.Containers[0].VolumeMounts[0].SubPath = "part"
	r.addPod(pod)
	r.run(time.Second)
	r.vm.actual.volumes.get(fakeKey).about = trace.Ref{Kind: "Pod", Name: "pod-1"}
	require.NoError(t, r.node.MkdirAll(layout.PodSubPathsDir("pod-1")+"/pv-data/c", 0o750))
	require.NoError(t, r.node.WriteFile(layout.PodSubPathsDir("pod-1")+"/pv-data/c/0", []byte("x"), 0o640))
	p.calls = nil
	r.release("pod-1")
	r.run(100 * time.Millisecond)
	if assert.NotEmpty(t, r.failed()) {
		assert.Contains(t, r.failed()[0], `error cleaning subPath mounts for volume "pv-data" : `)
	}
	assert.Empty(t, p.calls)
	require.NoError(t, r.node.Remove(layout.PodSubPathsDir("pod-1")+"/pv-data/c/0"))
	r.run(time.Minute)
	assert.Equal(t, []string{"TearDown", "UnmountDevice /stage/pv-data"}, p.calls)
	assert.Contains(t, r.mounts()[len(r.mounts())-1], " for pod default/web")
}

// Plugins that can do less are asked for less, and what they cannot do is refused.
func TestPluginsThatCanDoLess(t *testing.T) {
	r, p := newFakeRig(t, nil, nil)
	r.Settle()
	plain, ctx := plainPlugin{p}, context.Background()
	m := r.vm.operations.mounts
	v := &volumeToMount{podVolume: fakeKey, spec: fakeSpec("pv-data"), plugin: plain, attachable: true, about: podOf("pod-1", true)}
	assert.NoError(t, waitForAttach(ctx, v))
	assert.NoError(t, m.checkNodeAffinity(ctx, &volumeToMount{spec: &volume.Spec{}}), "a volume of the pod's own is on any node")
	assert.EqualError(t, m.maps.mapVolume(ctx, v),
		`MapVolume.FindMapperPluginBySpec failed for volume "pv-data" : volume plugin "example.com/fake" does not support volumeMode Block`)
	_, err := m.expansion.deviceResizeOptions(v, volume.NodeResizeOptions{})
	assert.EqualError(t, err, `MapVolume.FindMapperPluginBySpec failed to find BlockVolumeMapper plugin for volume "pv-data"`)
	err = m.maps.unmapDevice(ctx, &mountedDevice{plugin: devicePlugin{p}, spec: fakeSpec("pv-data")})
	assert.EqualError(t, err, `UnmapDevice.NewUnmapper failed for volume "pv-data" : volume plugin "example.com/fake" makes no devices`)
	found := &mountedVolume{podVolume: fakeKey, plugin: plain, spec: fakeSpec("pv-data"), block: true}
	assert.Nil(t, constructDevice(found))
	assert.Empty(t, globalMapPath(found))
	found.plugin, p.fails["CanDeviceMount"] = p, errFake
	assert.Nil(t, constructDevice(found))
	for name, c := range map[string]struct {
		v    volumeToMount
		want bool
	}{
		"one that can grow":     {volumeToMount{plugin: p, spec: fakeSpec("v")}, true},
		"one of another plugin": {volumeToMount{plugin: plain, spec: fakeSpec("v")}, false},
		"one of the pod's own":  {volumeToMount{plugin: p, spec: &volume.Spec{}}, false},
		"one of the pod's, too": {volumeToMount{plugin: p, spec: &volume.Spec{PersistentVolume: &v1.PersistentVolume{}, Inline: true}}, false},
	} {
		p.grows = true
		assert.Equal(t, c.want, expander(&c.v) != nil, name)
		p.grows = false
		assert.Nil(t, expander(&c.v), name)
	}
	manager, err := volume.InitPlugins([]volume.VolumePlugin{plain}, p.host)
	require.NoError(t, err)
	r.vm.plugins, r.vm.decisions.FindStaged = manager, true
	require.NoError(t, r.node.MkdirAll(fakeLink, 0o750))
	r.vm.Reconstruct()
	assert.Empty(t, r.vm.actual.volumes.byPod, "a plugin without devices has none")
	assert.Empty(t, r.vm.actual.devices)
}

// A device that is a link and nothing more has one link for each pod, and the directory of the links goes with the last one.
func TestADeviceOfLinksAloneLeavesNoDirectory(t *testing.T) {
	r, p := newFakeRig(t, nil, ofBlocks)
	p.linked, p.stages = true, false
	r.Settle()
	r.addPod(podOf("pod-1", true))
	r.run(time.Second)
	require.True(t, r.vm.AreMounted("pod-1"))
	assert.Equal(t, []string{"MapPodDevice"}, p.calls)
	assert.Empty(t, r.vm.actual.devices)
	r.release("pod-1")
	r.Settle()
	require.True(t, r.vm.WaitForUnmount("pod-1"))
	_, err := r.node.Lstat(fakeGlobal)
	assert.Error(t, err)
	p.stages = true
	r.vm.actual.devices[fakeKey.volume] = &mountedDevice{plugin: p, spec: fakeSpec("pv-data"), path: fakeGlobal, block: true}
	r.vm.touch(fakeKey)
	r.run(time.Second)
	assert.Empty(t, r.vm.actual.devices, "what was found needs no more to go")
	assert.Equal(t, []string{"MapPodDevice"}, p.calls)
}

// Before all pods are known nothing is unmounted, neither from a pod nor from the node. Then the devices go in order of their names.
func TestNothingIsTakenAwayBeforeAllPodsAreKnown(t *testing.T) {
	r, p := newFakeRig(t, nil, nil)
	r.Settle()
	r.add("pod-1")
	r.run(time.Second)
	p.calls = nil
	for _, name := range []string{"b", "a"} {
		r.vm.actual.devices[v1.UniqueVolumeName(name)] = &mountedDevice{plugin: p, spec: fakeSpec(name), path: "/stage/" + name}
	}
	r.vm.ExpectPod("pod-2")
	r.release("pod-1")
	r.vm.touch(podVolume{"b", "a-pod"}, podVolume{"a", "b-pod"}, podVolume{"b", "c-pod"})
	r.run(time.Minute)
	assert.Empty(t, p.calls)
	r.vm.populator.seen("pod-2")
	r.run(100 * time.Millisecond)
	assert.ElementsMatch(t, []string{"TearDown", "UnmountDevice /stage/a", "UnmountDevice /stage/b", "UnmountDevice /stage/pv-data"}, p.calls)
	assert.Less(t, slices.Index(p.calls, "UnmountDevice /stage/a"), slices.Index(p.calls, "UnmountDevice /stage/b"))
	r.vm.touched = map[podVolume]bool{}
	r.vm.actual.volumes.put(podVolume{"v", "pod-9"}, &mountedVolume{})
	r.vm.touchPod("pod-9")
	assert.True(t, r.vm.touched[podVolume{"v", "pod-9"}])
	orphan := layout.PodVolumeDir("pod-8", "x", "y")
	require.NoError(t, r.node.MkdirAll(orphan, 0o750))
	r.vm.actual.volumes.remove(podVolume{"v", "pod-9"})
	r.run(time.Second)
	r.vm.reconstruction.orphans = []string{orphan}
	r.vm.Reconcile()
	r.run(time.Second)
	_, err := r.node.Lstat(orphan)
	assert.Error(t, err)
}

// An operation on a volume that is not attached is refused.
func TestAMountIsRefusedWithoutItsAttachment(t *testing.T) {
	r, p := newFakeRig(t, nil, nil)
	r.Settle()
	r.vm.desired.add(&volumeToMount{podVolume: fakeKey, attachable: true, plugin: p, spec: fakeSpec("pv-data"), about: podOf("pod-1", false)})
	r.do(func(ctx context.Context) {
		assert.ErrorContains(t, r.vm.operations.execute(ctx, operation{mountVolume, fakeKey}), "VerifyControllerAttachedVolume failed")
	})
	assert.Empty(t, p.calls)
	assert.Empty(t, r.said(), "it is no event")
}

// A volume is refused on a node that it cannot be reached from, and one for one pod to a second one, before anything is done. Mount options need a plugin that
// takes them.
func TestAVolumeIsRefusedBeforeAnythingIsDone(t *testing.T) {
	away := func(pv *v1.PersistentVolume) {
		pv.Spec.NodeAffinity.Required.NodeSelectorTerms[0].MatchExpressions[0].Values = []string{"node-2"}
	}
	only := func(pv *v1.PersistentVolume) {
		pv.Spec.AccessModes = []v1.PersistentVolumeAccessMode{v1.ReadWriteOncePod}
	}
	taken := func(r *rig) { r.vm.actual.volumes.put(podVolume{fakeKey.volume, "other"}, &mountedVolume{}) }
	unread := func(r *rig) {
		require.NoError(r, r.Engine.Inject(engine.Fault{Actor: actor, Verb: "get", Resource: "nodes", Err: errOther}))
	}
	for name, c := range map[string]struct {
		pv     func(*v1.PersistentVolume)
		before func(r *rig)
		want   [2]string // as a directory, and as a device
	}{
		"nothing is wrong": {func(*v1.PersistentVolume) {}, func(*rig) {}, [2]string{}},
		"it is elsewhere": {away, func(*rig) {}, [2]string{`FailedMount: MountVolume.NodeAffinity check failed for volume "pv-data" : no matching NodeSelectorTerms`,
			`FailedMount: MapVolume.NodeAffinity check failed for volume "pv-data" : no matching NodeSelectorTerms`}},
		"no node": {func(*v1.PersistentVolume) {}, unread,
			[2]string{`FailedMount: MountVolume.NodeAffinity check failed for volume "pv-data" : error retrieving node: not now`,
				`FailedMount: MapVolume.NodeAffinity check failed for volume "pv-data" : error retrieving node: not now`}},
		"another pod's": {only, taken,
			[2]string{`FailedMount: MountVolume.SetUp failed for volume "pv-data" : volume uses the ReadWriteOncePod access mode and is already in use by another pod`,
				`FailedMapVolume: MapVolume.SetUpDevice failed for volume "pv-data" : volume uses the ReadWriteOncePod access mode and is already in use by another pod`}},
		"an option that it takes": {func(pv *v1.PersistentVolume) { pv.Spec.MountOptions = []string{"ro"} },
			func(r *rig) { fakeOf(r).options = true }, [2]string{}},
		"one mount option": {func(pv *v1.PersistentVolume) { pv.Spec.MountOptions = []string{"ro"} }, func(*rig) {},
			[2]string{`FailedMount: MountVolume.MountOptionSupport check failed for volume "pv-data" : mount options are not supported for this volume type`}},
	} {
		for i, want := range c.want {
			r, p := newFakeRig(t, nil, func(pv *v1.PersistentVolume) {
				if c.pv(pv); i == 1 {
					ofBlocks(pv)
				}
			})
			r.Settle()
			c.before(r)
			r.addPod(podOf("pod-1", i == 1))
			r.run(100 * time.Millisecond)
			if want == "" {
				assert.NotEmpty(t, p.calls, name)
				continue
			}
			assert.Equal(t, []string{want}, r.said(), name)
			assert.Empty(t, p.calls, name)
		}
	}
}

// What the trace says of mounts: where they come from, whether they are only read, and why they fail. One that is known is told once.
func TestTheTraceTellsEachMountOnce(t *testing.T) {
	path := fakeVolume{name: "pv-data", pod: "pod-1"}.GetPath()
	for name, c := range map[string]struct {
		alone, readOnly bool
		want            []string
	}{
		"mounted for the node first": {false, false, []string{"mounts pv-data: /stage/pv-data -> " + path + " for pod default/web"}},
		"from a server":              {true, false, []string{"mounts pv-data: server:/pv-data -> " + path + " for pod default/web"}},
		"only read":                  {true, true, []string{"mounts pv-data: server:/pv-data -> " + path + " for pod default/web ro"}},
	} {
		r, p := newFakeRig(t, nil, nil)
		p.stages, p.remounts, p.readOnly = !c.alone, true, c.readOnly
		r.Settle()
		r.add("pod-1")
		r.run(150 * time.Second)
		assert.Equal(t, c.want, r.mounts(), name)
		p.fails["SetUp"] = errFake
		r.run(time.Minute)
		if mounts := r.mounts(); assert.Greater(t, len(mounts), 1, name) {
			assert.Contains(t, mounts[1], " for pod default/web fails: broken", name)
		}
		assert.True(t, r.vm.AreMounted("pod-1"), "it is mounted as before")
		p.fails = map[string]error{"TearDown": errFake}
		r.release("pod-1")
		r.run(100 * time.Millisecond)
		unmounts := "unmounts pv-data " + path + " for pod default/web"
		assert.Equal(t, unmounts+` fails: UnmountVolume.TearDown failed for volume "pv-data" : broken`, r.mounts()[len(r.mounts())-1])
		p.fails = nil
		r.run(time.Minute)
		assert.Equal(t, unmounts, r.mounts()[len(r.mounts())-1])
	}
}

// What lies outside of the directories of pods is not mounted, and the trace does not say that it is.
func TestAVolumeOfTheNodesOwnIsNotToldToBeMounted(t *testing.T) {
	r, p := newFakeRig(t, nil, nil)
	p.at = "/srv"
	p.fails["SetUp"] = errFake
	r.Settle()
	r.add("pod-1")
	r.run(100 * time.Millisecond)
	p.fails = nil
	r.run(time.Second)
	require.True(t, r.vm.AreMounted("pod-1"))
	r.release("pod-1")
	r.Settle()
	require.True(t, r.vm.WaitForUnmount("pod-1"))
	assert.Empty(t, r.mounts())
}

// What a pod's security context asks is passed on.
func TestAPluginIsToldWhatThePodAsksOfItsVolumes(t *testing.T) {
	r, p := newFakeRig(t, nil, nil)
	r.Settle()
	pod, group, policy := podOf("pod-1", false), int64(7), v1.FSGroupChangeOnRootMismatch
	pod.Spec.SecurityContext = &v1.PodSecurityContext{FSGroup: &group, FSGroupChangePolicy: &policy}
	r.addPod(pod)
	r.run(time.Second)
	assert.Equal(t, volume.MounterArgs{FsGroup: &group, FSGroupChangePolicy: &policy}, p.args)
}

// The ConfigMaps and Secrets of a volume are read before it is set up, each once. Only a missing one is named in the singular.
func TestTheObjectsOfAVolumeAreReadBeforeItIsSetUp(t *testing.T) {
	r, p := newFakeRig(t, nil, nil)
	ctx := context.Background()
	_, err := r.User.CoreV1().ConfigMaps("default").Create(ctx, &v1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "config"}}, metav1.CreateOptions{})
	require.NoError(t, err)
	_, err = r.User.CoreV1().Secrets("default").Create(ctx, &v1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "secret"}}, metav1.CreateOptions{})
	require.NoError(t, err)
	r.Settle()
	require.NoError(t, r.Engine.Inject(engine.Fault{Actor: actor, Verb: "get", Resource: "secrets", Name: "broken", Err: errOther}))
	want := map[volume.ObjectRef]string{
		{Kind: "ConfigMap", Name: "config"}:  "config",
		{Kind: "Secret", Name: "secret"}:     "secret",
		{Kind: "ConfigMap", Name: "missing"}: `configmap "missing" not found`,
		{Kind: "Secret", Name: "missing"}:    `secret "missing" not found`,
		{Kind: "Secret", Name: "broken"}:     "not now",
		{Kind: "Pod", Name: "pod"}:           "volumes are not made of objects of kind Pod",
	}
	for ref := range want {
		p.objects = append(p.objects, ref, ref)
	}
	got := map[volume.ObjectRef]string{}
	p.meanwhile["SetUp"] = func() {
		for ref := range want {
			obj, err := p.host.GetObject(ref)
			if err != nil {
				got[ref] = err.Error()
			} else {
				got[ref] = obj.(metav1.Object).GetName()
			}
		}
		_, err := p.host.GetObject(volume.ObjectRef{Kind: "Secret", Name: "another"})
		assert.EqualError(t, err, `Secret "another" was not read`)
	}
	r.add("pod-1")
	r.run(time.Second)
	assert.Equal(t, want, got)
	assert.Nil(t, (&given{}).fetchObjects(ctx, &volumeToMount{}), "a plugin that needs none")
}

// A pod that ends while the objects of its volume are read gets no volume.
func TestAPodThatEndsWhileTheObjectsAreReadGetsNoVolume(t *testing.T) {
	r, p := newFakeRig(t, nil, nil)
	p.objects = []volume.ObjectRef{{Kind: "Secret", Name: "secret"}}
	r.Settle()
	require.NoError(t, r.Engine.Inject(engine.Fault{Actor: actor, Verb: "get", Resource: "secrets", Delay: time.Second}))
	r.add("pod-1")
	r.run(500 * time.Millisecond)
	r.pods.released["pod-1"] = true
	r.vm.ReleasePod("pod-1", true)
	r.run(time.Minute)
	assert.Empty(t, p.calls)
	assert.Empty(t, r.said())
}
