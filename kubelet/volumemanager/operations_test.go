package volumemanager

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/storagesim/storagesim/engine"
	"github.com/storagesim/storagesim/machine/disk"
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

// The trace says what a key of the queue of operations stands for.
func TestAnOperationIsNamedInWords(t *testing.T) {
	pods := &fakePods{pods: map[types.UID]*v1.Pod{"pod-1": podOf("pod-1", false)}}
	x := &operationExecutor{shared: &shared{pods: pods}, pending: map[string]*pendingOperation{}}
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
	rec := &reconciler{r.vm.shared, r.vm.attachments, r.vm.operations, r.vm.reconstruction}
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
	_, _, ok = Hang("something else")
	assert.False(t, ok)
	p.fails = nil
	r.run(time.Minute)
	assert.True(t, r.vm.AreMounted("pod-1"))
}

// A mount that ends after its pod is taken away again.
func TestAVolumeThatIsMountedAfterItsPodHasEndedIsUnmounted(t *testing.T) {
	r, p := newFakeRig(t, nil, nil)
	r.Settle()
	p.meanwhile["SetUp"] = func() {
		r.pods.released["pod-1"] = true
		r.vm.ReleasePod("pod-1", true)
		assert.False(t, r.vm.WaitForUnmount("pod-1"), "it is being mounted")
	}
	r.add("pod-1")
	r.run(time.Second)
	assert.Equal(t, []string{"MountDevice", "SetUp", "TearDown", "UnmountDevice /stage/pv-data"}, p.calls)
	assert.True(t, r.vm.WaitForUnmount("pod-1"))
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
		"it is elsewhere":  {away, func(*rig) {}, [2]string{`FailedMount: MountVolume.NodeAffinity check failed for volume "pv-data" : no matching NodeSelectorTerms`, `FailedMount: MapVolume.NodeAffinity check failed for volume "pv-data" : no matching NodeSelectorTerms`}},
		"no node":          {func(*v1.PersistentVolume) {}, unread, [2]string{`FailedMount: MountVolume.NodeAffinity check failed for volume "pv-data" : error retrieving node: not now`, `FailedMount: MapVolume.NodeAffinity check failed for volume "pv-data" : error retrieving node: not now`}},
		"another pod's":    {only, taken, [2]string{`FailedMount: MountVolume.SetUp failed for volume "pv-data" : volume uses the ReadWriteOncePod access mode and is already in use by another pod`, `FailedMapVolume: MapVolume.SetUpDevice failed for volume "pv-data" : volume uses the ReadWriteOncePod access mode and is already in use by another pod`}},
		"one mount option": {func(pv *v1.PersistentVolume) { pv.Spec.MountOptions = []string{"ro"} }, func(*rig) {}, [2]string{`FailedMount: MountVolume.MountOptionSupport check failed for volume "pv-data" : mount options are not supported for this volume type`}},
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
	assert.Nil(t, (&shared{}).fetchObjects(ctx, &volumeToMount{}), "a plugin that needs none")
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
