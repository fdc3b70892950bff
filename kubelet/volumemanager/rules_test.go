package volumemanager

import (
	"context"
	"errors"
	"path"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/storagesim/storagesim/engine"
	"github.com/storagesim/storagesim/kubelet/internal/layout"
	"github.com/storagesim/storagesim/trace"
	"github.com/storagesim/storagesim/volume"
)

var (
	errUncertain = errors.New("no answer")
	errFinal     = errors.New("never")
	errOther     = errors.New("not now")
)

func world() *actualStateOfWorld {
	w := newActualStateOfWorld()
	w.uncertain = func(err error) bool { return errors.Is(err, errUncertain) }
	w.final = func(err error) bool { return errors.Is(err, errFinal) }
	return w
}

// What is known of a volume after an attempt to set it up. It is torn down later if it is mounted or uncertain, so that nothing that may be
// mounted is ever forgotten.
func TestAVolumeThatMayBeMountedIsNotForgotten(t *testing.T) {
	key := podVolume{"v", "pod"}
	old := func(state mountState, found bool) *mountedVolume {
		return &mountedVolume{podVolume: key, state: state, reconstructed: found}
	}
	for name, c := range map[string]struct {
		old     *mountedVolume
		failure error
		left    bool
		marked  bool
		want    *mountedVolume // nil: nothing is known
	}{
		"it succeeds":                                {nil, nil, false, true, old(stateMounted, false)},
		"it succeeds, and was uncertain":             {old(stateUncertain, true), nil, false, true, old(stateMounted, false)},
		"it fails":                                   {nil, errOther, false, false, nil},
		"it fails for good":                          {nil, errFinal, false, false, nil},
		"nothing is known of it":                     {nil, errUncertain, false, true, old(stateUncertain, false)},
		"it fails and leaves something":              {nil, errFinal, true, true, old(stateUncertain, false)},
		"it fails and leaves what was found":         {old(stateUncertain, true), errOther, true, true, old(stateUncertain, true)},
		"it fails and leaves what was uncertain":     {old(stateUncertain, false), errOther, true, true, old(stateUncertain, false)},
		"it was uncertain, and is again":             {old(stateUncertain, false), errUncertain, false, false, old(stateUncertain, false)},
		"it was uncertain, and fails":                {old(stateUncertain, false), errOther, false, false, old(stateUncertain, false)},
		"it was uncertain, and fails for good":       {old(stateUncertain, false), errFinal, false, false, nil},
		"it was found on the disk, and fails so":     {old(stateUncertain, true), errFinal, false, false, old(stateUncertain, true)},
		"it is mounted, and fails for good":          {old(stateMounted, false), errFinal, false, false, old(stateMounted, false)},
		"it is mounted, and nothing is known of now": {old(stateMounted, false), errUncertain, false, false, old(stateMounted, false)},
	} {
		w := world()
		if c.old != nil {
			w.volumes.put(key, c.old)
		}
		assert.Equal(t, c.marked, w.markSetUp(&mountedVolume{podVolume: key}, c.failure, c.left), name)
		assert.Equal(t, c.want, w.volumes.get(key), name)
		assert.Equal(t, c.want != nil, w.podHasVolumes("pod"), name)
		assert.Equal(t, c.want != nil && c.want.state == stateMounted, w.isMounted(key), name)
		assert.Equal(t, c.want != nil && c.want.state == stateMounted, w.isUpToDate(key), name)
		if w.markUncertain(key); c.want != nil {
			assert.Equal(t, stateUncertain, w.volumes.get(key).state, name)
		}
	}
	w := world()
	w.volumes.put(key, &mountedVolume{state: stateMounted, remount: true})
	assert.True(t, w.isMounted(key))
	assert.False(t, w.isUpToDate(key), "it must be set up again")
}

func TestADeviceThatMayBeMountedIsNotForgotten(t *testing.T) {
	v := &volumeToMount{podVolume: podVolume{"v", "pod"}}
	for name, c := range map[string]struct {
		old     *mountedDevice
		failure error
		want    mountState // "": nothing is known
	}{
		"it succeeds":                             {nil, nil, stateMounted},
		"it fails":                                {nil, errOther, ""},
		"nothing is known of it":                  {nil, errUncertain, stateUncertain},
		"it was uncertain, and succeeds":          {&mountedDevice{state: stateUncertain}, nil, stateMounted},
		"it was uncertain, and is again":          {&mountedDevice{state: stateUncertain}, errUncertain, stateUncertain},
		"it was uncertain, and fails":             {&mountedDevice{state: stateUncertain}, errOther, stateUncertain},
		"it was uncertain, and fails for good":    {&mountedDevice{state: stateUncertain}, errFinal, ""},
		"it was found on the disk, and fails so":  {&mountedDevice{state: stateUncertain, reconstructed: true}, errFinal, stateUncertain},
		"it is mounted, and fails for good":       {&mountedDevice{state: stateMounted}, errFinal, stateMounted},
		"it is mounted, and nothing is known now": {&mountedDevice{state: stateMounted}, errUncertain, stateMounted},
	} {
		w := world()
		if c.old != nil {
			w.devices["v"] = c.old
		}
		w.markDevice(v, "/path", c.failure)
		got := mountState("")
		if d := w.devices["v"]; d != nil {
			got = d.state
		}
		assert.Equal(t, c.want, got, name)
		assert.Equal(t, c.want == stateMounted, w.isDeviceMounted("v"), name)
	}
}

// Only a volume whose one access mode is ReadWriteOncePod is for one pod.
func TestAVolumeForOnePodIsRefusedToASecondOne(t *testing.T) {
	const once, only = v1.ReadWriteOnce, v1.ReadWriteOncePod
	for _, c := range []struct {
		modes  []v1.PersistentVolumeAccessMode
		users  []types.UID
		refuse bool
	}{
		{[]v1.PersistentVolumeAccessMode{only}, nil, false},
		{[]v1.PersistentVolumeAccessMode{only}, []types.UID{"pod"}, false},
		{[]v1.PersistentVolumeAccessMode{only}, []types.UID{"other"}, true},
		{[]v1.PersistentVolumeAccessMode{only}, []types.UID{"pod", "other"}, true},
		{[]v1.PersistentVolumeAccessMode{once}, []types.UID{"other"}, false},
		{[]v1.PersistentVolumeAccessMode{only, once}, []types.UID{"other"}, false},
	} {
		w := world()
		for _, user := range c.users {
			w.volumes.put(podVolume{"v", user}, &mountedVolume{})
		}
		v := &volumeToMount{podVolume: podVolume{"v", "pod"},
			spec: &volume.Spec{PersistentVolume: &v1.PersistentVolume{Spec: v1.PersistentVolumeSpec{AccessModes: c.modes}}}}
		assert.Equal(t, c.refuse, w.checkReadWriteOncePod(v) != nil, "%+v", c)
	}
	assert.NoError(t, world().checkReadWriteOncePod(&volumeToMount{spec: &volume.Spec{}}), "it is no PersistentVolume")
}

// Operations on one volume wait for each other if both are on the same pod, or one is on the whole node.
func TestOperationsOnTheSameVolumeDoNotOverlap(t *testing.T) {
	of := func(volume v1.UniqueVolumeName, pod types.UID, whole bool) scope {
		return scope{podVolume{volume, pod}, whole}
	}
	for _, c := range []struct {
		a, b scope
		want bool
	}{
		{of("v", "a", false), of("v", "a", false), true},
		{of("v", "a", false), of("v", "b", false), false},
		{of("v", "a", true), of("v", "b", false), true},
		{of("v", "a", false), of("v", "b", true), true},
		{of("v", "a", false), of("w", "a", false), false},
		{of("v", "a", true), of("w", "a", true), false},
	} {
		assert.Equal(t, c.want, c.a.overlaps(c.b), "%v %v", c.a, c.b)
	}
	x := &operationExecutor{states: &states{desired: newDesiredStateOfWorld()}}
	key := podVolume{"v", "pod"}
	for name, c := range map[string]struct {
		verb verb
		v    *volumeToMount
		want bool
	}{
		"a directory of the pod":    {mountVolume, &volumeToMount{podVolume: key}, false},
		"a pod that is gone":        {mountVolume, nil, false},
		"a volume to attach":        {mountVolume, &volumeToMount{podVolume: key, attachable: true}, true},
		"unmounting from a pod":     {unmountVolume, &volumeToMount{podVolume: key, attachable: true}, false},
		"unmounting from the node":  {unmountDevice, nil, true},
		"an expansion, of any kind": {expandVolume, &volumeToMount{podVolume: key}, true},
	} {
		x.desired = newDesiredStateOfWorld()
		if c.v != nil {
			x.desired.add(c.v)
		}
		assert.Equal(t, scope{key, c.want}, x.scopeOf(operation{c.verb, key}), name)
	}
}

// A volume that two pods have is theirs until both have let it go.
func TestAVolumeIsUsedAsLongAsAPodHasIt(t *testing.T) {
	p := newPodVolumes[int]()
	a, b, c := podVolume{"v", "a"}, podVolume{"v", "b"}, podVolume{"w", "a"}
	p.put(b, 2)
	p.put(a, 1)
	p.put(c, 3)
	p.put(a, 4)
	p.remove(podVolume{"w", "b"})
	assert.Equal(t, []int{4, 2, 3}, []int{p.get(a), p.get(b), p.get(c)})
	assert.Equal(t, []podVolume{a, b}, p.of("v"))
	assert.Equal(t, []podVolume{a, c}, p.ofPod("a"))
	assert.True(t, p.usedElsewhere(a))
	p.remove(b)
	assert.False(t, p.has(b))
	assert.False(t, p.usedElsewhere(a))
	assert.True(t, p.usedElsewhere(b))
	assert.True(t, p.uses("v"))
	p.remove(a)
	assert.False(t, p.uses("v"))
	assert.False(t, p.usedElsewhere(a))
	p.remove(c)
	assert.Empty(t, p.byPod)
	assert.Empty(t, p.users)
}

// semantics 5 must 10: a volume is mounted only once it is listed as attached, after the node has said that it uses it.
func TestAVolumeIsMountedOnlyOnceItIsReportedAndAttached(t *testing.T) {
	v := &volumeToMount{podVolume: podVolume{"v", "pod"}, attachable: true}
	for name, c := range map[string]struct {
		attachable, attached, reported, listed bool
		waits                                  bool
	}{
		"it need not be attached":      {false, false, false, false, false},
		"it was attached before":       {true, true, false, false, false},
		"nothing is known":             {true, false, false, false, true},
		"the node has not reported it": {true, false, false, true, true},
		"it is not listed":             {true, false, true, false, true},
		"both":                         {true, false, true, true, false},
	} {
		r := newRig(t, engine.Config{})
		r.Settle()
		a := r.vm.attachments
		v.attachable, a.actual.attached["v"], a.mayMount = c.attachable, c.attached, map[v1.UniqueVolumeName]bool{"v": c.reported}
		if c.listed {
			node, err := r.User.CoreV1().Nodes().Get(context.Background(), "node-1", metav1.GetOptions{})
			require.NoError(t, err)
			node.Status.VolumesAttached = []v1.AttachedVolume{{Name: "other"}, {Name: "v"}}
			_, err = r.User.CoreV1().Nodes().UpdateStatus(context.Background(), node, metav1.UpdateOptions{})
			require.NoError(t, err)
		}
		assert.False(t, a.isListed("v"), "%s: no node is followed", name)
		a.followNode()
		r.Settle()
		assert.Equal(t, c.listed, a.isListed("v"), name)
		assert.Equal(t, c.waits, a.waitsForAttach(v), name)
	}
}

// Until the kubelet knows its pods and its Node, volumesInUse keeps what it lists: a volume of an earlier life may be mounted.
func TestVolumesInUseStayUntilThePodsAreKnown(t *testing.T) {
	list := func(names ...v1.UniqueVolumeName) []v1.UniqueVolumeName { return names }
	for name, c := range map[string]struct {
		synced, keep, unseen bool
		want                 []v1.UniqueVolumeName
	}{
		"the node was not read": {false, false, false, list("old", "v")},
		"it was":                {true, false, false, list("v")},
		"a version that keeps, pods not all seen": {true, true, true, list("old", "v")},
		"a version that keeps, pods seen":         {false, true, false, list("v")},
		"pods not all seen":                       {true, false, true, list("v")},
	} {
		a := &attachments{
			given: &given{}, states: &states{desired: newDesiredStateOfWorld(), actual: world()},
			attachable: map[v1.UniqueVolumeName]bool{"v": true, "w": true}, synced: c.synced,
		}
		a.decisions.KeepInUse = c.keep
		a.desired.volumes.put(podVolume{"v", "pod"}, &volumeToMount{})
		if c.unseen {
			a.desired.unseen["other"] = true
		}
		assert.Equal(t, c.want, a.volumesToReport(list("old", "v")), name)
	}
}

// A volume that is no longer in use is to be attached anew before it is used again.
func TestAVolumeThatIsNoLongerInUseIsNotTakenForAttached(t *testing.T) {
	for _, unseen := range []bool{false, true} {
		r := newRig(t, engine.Config{})
		r.Settle()
		a := r.vm.attachments
		a.attachable = map[v1.UniqueVolumeName]bool{"v": true, "w": true}
		a.actual.attached = map[v1.UniqueVolumeName]bool{"v": true, "w": true}
		a.reportedInUse = []v1.UniqueVolumeName{"v", "w"}
		a.desired.volumes.put(podVolume{"v", "pod"}, &volumeToMount{})
		if unseen {
			a.desired.unseen["other"] = true
		}
		a.checkVolumesInUse()
		assert.Equal(t, map[bool]int{true: 2, false: 1}[unseen], len(a.attachable), "pods that are not seen yet may use it")
		assert.Equal(t, len(a.attachable), len(a.actual.attached))
		a.markVolumesAsReportedInUse([]v1.UniqueVolumeName{"v", "w"})
		assert.Equal(t, map[v1.UniqueVolumeName]bool{"v": true}, a.mayMount, "no pod wants the other one")
	}
}

// What is not a mount and not empty holds data, and stays; a link or a file in the place of a directory leads elsewhere, and stops everything.
func TestWhatIsNotAMountIsNotRemoved(t *testing.T) {
	uid := types.UID("pod")
	dir := path.Join(layout.PodSubPathsDir(uid), "data", "c")
	for name, c := range map[string]struct {
		make func(r *rig) error
		fine bool
	}{
		"nothing is there":   {func(*rig) error { return nil }, true},
		"an empty directory": {func(r *rig) error { return r.node.MkdirAll(path.Join(dir, "0"), 0o750) }, true},
		"an empty file":      {func(r *rig) error { return r.node.WriteFile(path.Join(dir, "0"), nil, 0o640) }, true},
		"a file with data":   {func(r *rig) error { return r.node.WriteFile(path.Join(dir, "0"), []byte("x"), 0o640) }, false},
		"a directory with data": {func(r *rig) error {
			return errors.Join(r.node.MkdirAll(path.Join(dir, "0"), 0o750), r.node.WriteFile(path.Join(dir, "0", "data"), nil, 0o640))
		}, false},
		"a file instead of them":     {func(r *rig) error { return r.node.WriteFile(path.Join(dir, "..", "file"), []byte("x"), 0o640) }, false},
		"a link instead of a volume": {func(r *rig) error { return link(r, "/disk/data", path.Join(dir, "..", "..", "linked")) }, false},
		"a link instead of subpaths": {func(r *rig) error { return link(r, "/disk", layout.PodSubPathsDir(uid)) }, false},
		"a link instead of the pod":  {func(r *rig) error { return link(r, "/disk", layout.PodDir(uid)) }, false},
		"one of a pod that uses none": {func(r *rig) error {
			r.pods.pods[uid] = &v1.Pod{}
			return r.node.WriteFile(path.Join(dir, "0"), []byte("x"), 0o640)
		}, true},
	} {
		r := newRig(t, engine.Config{})
		require.NoError(t, r.node.MkdirAll("/disk/data/c/0", 0o750))
		if name != "nothing is there" {
			require.NoError(t, r.node.MkdirAll(dir, 0o750))
		}
		require.NoError(t, c.make(r), name)
		r.Settle()
		p := r.vm.subPaths
		volume := "data"
		if name == "a link instead of a volume" {
			volume = "linked"
		}
		err := p.clean(uid, volume)
		assert.Equal(t, c.fine, err == nil, "%s: %v", name, err)
		if name == "a file instead of them" {
			assert.ErrorContains(t, err, "directory not empty", "it is none of a container")
		}
		if !c.fine {
			require.Error(t, r.vm.RemovePodDir(uid), name)
		}
		_, err = r.node.Lstat("/disk/data/c/0")
		require.NoError(t, err, "%s: the data behind the link", name)
	}
}

// link puts a link in the place of whatever is there.
func link(r *rig, to, name string) error {
	if err := r.node.RemoveAll(name); err != nil {
		return err
	}
	_, err := r.node.Symlink(to, name)
	return err
}

// A pod's directory goes only if nothing but directories is in it, and the note that a volume is ready.
func TestAPodsDirectoryWithAFileStays(t *testing.T) {
	volumes := layout.PodVolumesDir("pod")
	for file, gone := range map[string]bool{"": true, "data": false, "kubernetes.io~secret/token/token": false} {
		r := newRig(t, engine.Config{})
		r.Settle()
		require.NoError(t, r.node.MkdirAll(path.Join(volumes, "kubernetes.io~secret/token"), 0o750))
		if file != "" {
			require.NoError(t, r.node.WriteFile(path.Join(volumes, file), nil, 0o640))
		}
		err := r.vm.RemovePodDir("pod")
		assert.Equal(t, gone, err == nil, file)
		if !gone {
			assert.ErrorContains(t, err, " is still there", file)
		}
		_, err = r.node.Lstat(path.Join(volumes, file))
		assert.Equal(t, gone, err != nil, file)
		require.NoError(t, r.vm.RemovePodDir("never there"))
	}
}

func TestAVolumeOfAPodKeepsItsPlaceAndGetsItsNames(t *testing.T) {
	dsw := newDesiredStateOfWorld()
	first, second := &volumeToMount{podVolume: podVolume{"w", "pod"}, outerNames: []string{"a"}},
		&volumeToMount{podVolume: podVolume{"v", "pod"}, outerNames: []string{"b"}}
	dsw.add(first)
	dsw.add(second)
	dsw.add(&volumeToMount{podVolume: podVolume{"w", "pod"}, outerNames: []string{"a", "c"}})
	assert.Equal(t, []*volumeToMount{first, second}, dsw.ofPod("pod"))
	assert.Equal(t, []string{"a", "c"}, first.outerNames)
	assert.Equal(t, []int{1, 2}, []int{first.order, second.order})
	pod := &v1.Pod{}
	pod.UID = "pod"
	dsw.update(pod)
	assert.Same(t, pod, first.about)
	assert.Equal(t, trace.RefOf("Pod", pod), second.ref())
}

// What a pod that waits for its volumes is told: only volumes that a container has count.
func TestAPodThatWaitsIsToldWhatItLacks(t *testing.T) {
	pod := &v1.Pod{}
	pod.UID = "pod"
	container := v1.Container{}
	for _, name := range []string{"d", "c", "b", "a", "mounted"} {
		container.VolumeMounts = append(container.VolumeMounts, v1.VolumeMount{Name: name})
		pod.Spec.Volumes = append(pod.Spec.Volumes, v1.Volume{Name: name})
	}
	container.VolumeDevices = []v1.VolumeDevice{{Name: "device"}}
	pod.Spec.Volumes = append(pod.Spec.Volumes, v1.Volume{Name: "device"}, v1.Volume{Name: "unused"})
	pod.Spec.Containers = []v1.Container{container}
	s := &states{desired: newDesiredStateOfWorld(), actual: world()}
	for name, v := range map[string]*volumeToMount{
		"a": {attachable: true}, "b": {attachable: true}, "c": {attachable: true}, "mounted": {}, "device": {},
	} {
		v.podVolume, v.outerNames = podVolume{v1.UniqueVolumeName(name), "pod"}, []string{name}
		s.desired.add(v)
	}
	s.actual.attached["b"] = true
	s.actual.volumes.put(podVolume{"mounted", "pod"}, &mountedVolume{state: stateMounted})
	s.actual.volumes.put(podVolume{"c", "pod"}, &mountedVolume{state: stateUncertain})
	assert.Equal(t, "unmounted volumes=[a b c d device], unattached volumes=[a c], failed to process volumes=[d]", s.missing(pod).String())
}
