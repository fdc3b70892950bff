package volumemanager

import (
	"cmp"
	"context"
	"errors"
	"path"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/storagesim/storagesim/control"
	"github.com/storagesim/storagesim/kubelet/internal/layout"
	"github.com/storagesim/storagesim/machine/disk"
	"github.com/storagesim/storagesim/machine/mount"
	"github.com/storagesim/storagesim/trace"
	"github.com/storagesim/storagesim/volume"
)

// A volume that is not mounted yet stays wanted as long as its pod exists; with DropUnmounted no longer than its pod runs.
func TestAVolumeStaysWantedUntilItIsMountedOrItsPodIsGone(t *testing.T) {
	for name, c := range map[string]struct{ mounted, gone, drop, wanted bool }{
		"mounted":         {mounted: true},
		"not mounted":     {wanted: true},
		"gone":            {gone: true},
		"it is not to be": {drop: true},
	} {
		r, p := newFakeRig(t, nil, nil)
		r.vm.decisions.DropUnmounted = c.drop
		r.Settle()
		if !c.mounted {
			p.fails["SetUp"] = errFake
		}
		r.add("pod-1")
		r.run(100 * time.Millisecond)
		r.pods.released["pod-1"] = true
		r.vm.ReleasePod("pod-1", c.gone)
		assert.Equal(t, c.wanted, r.vm.desired.get(fakeKey) != nil, name)
		assert.True(t, r.vm.touched[fakeKey], name)
		r.run(time.Minute)
		assert.Equal(t, c.wanted, r.vm.desired.get(fakeKey) != nil, name)
	}
}

// A pod that ends before it was looked at does not hold up the others, nor does it keep them waiting for the unmounting.
func TestAPodThatEndsUnseenHoldsUpNobody(t *testing.T) {
	r, _ := newFakeRig(t, nil, nil)
	r.Settle()
	r.vm.ExpectPod("pod-2")
	r.vm.ExpectPod("pod-3")
	require.False(t, r.vm.WaitForUnmount("pod-1"))
	r.vm.ReleasePod("pod-2", true)
	require.Equal(t, []types.UID{"pod-2"}, r.pods.woken)
	r.vm.ReleasePod("pod-3", true)
	require.Equal(t, []types.UID{"pod-2", "pod-3", "pod-1"}, r.pods.woken, "the one that waited")
	require.True(t, r.vm.WaitForUnmount("pod-1"))
	r.vm.ExpectPod("pod-2")
	r.vm.ReleasePod("pod-2", true)
	require.Equal(t, []types.UID{"pod-2", "pod-3", "pod-1", "pod-2"}, r.pods.woken, "it waits no more")
	r.vm.ReleasePod("pod-2", true)
	require.Len(t, r.pods.woken, 4, "it has been seen")
}

// A pod whose volumes are known is not processed again, only looked at; one without is, when it is new or has changed, and one with a container that was
// added and uses a volume that no other does.
func TestWhichNewsOfAPodMakesItsVolumesBeProcessed(t *testing.T) {
	for name, c := range map[string]struct{ populated, unused, added, changed, want bool }{
		"it is new":             {added: true, want: true},
		"it has changed":        {changed: true, want: true},
		"its status has":        {},
		"its volumes are known": {populated: true, unused: true, added: true, changed: true},
		"one more is used":      {populated: true, changed: true, want: true},
		"one more is, unseen":   {populated: true},
	} {
		r, _ := newFakeRig(t, nil, nil)
		r.Settle()
		pod := podOf("pod-1", false)
		if c.unused {
			pod.Spec.Containers[0].VolumeMounts = nil
		}
		r.pods.pods["pod-1"] = pod
		r.vm.desired.pods["pod-1"] = &processedPod{populated: c.populated}
		r.vm.UpdatePod(pod, c.added, c.changed)
		r.run(time.Second)
		assert.Equal(t, c.want, len(r.pods.woken) > 0, name)
		assert.Equal(t, c.want, r.vm.desired.get(fakeKey) != nil, name)
	}
	r, _ := newFakeRig(t, nil, nil)
	r.Settle()
	r.add("pod-1")
	r.run(time.Second)
	r.pods.woken = nil
	r.vm.ExpectPod("pod-1")
	r.vm.populator.queue.Add("pod-1")
	r.run(time.Second)
	assert.True(t, r.vm.desired.hasAddedPods(), "it is seen")
	r.vm.ExpectPod("pod-2")
	r.vm.populator.queue.Add("pod-2")
	r.run(time.Second)
	assert.True(t, r.vm.desired.hasAddedPods(), "one that wants no volumes is, too")

	newer := podOf("pod-1", false)
	newer.Labels = map[string]string{"a": "b"}
	r.vm.UpdatePod(newer, false, false)
	assert.Same(t, newer, r.vm.desired.get(fakeKey).about)
	r.vm.ForgetPod("pod-1")
	assert.False(t, r.vm.ArePopulated("pod-1"))
}

// What was found on the disk stays mounted until the pods are known, which takes a kubelet 1.1 s.
func TestWhatWasFoundStaysUntilThePodsAreKnown(t *testing.T) {
	for _, found := range []bool{true, false} {
		r, p := newFakeRig(t, nil, nil)
		r.Settle()
		if found {
			require.NoError(t, r.node.MkdirAll(layout.PodVolumeDir("pod-1", "example.com~fake", "pv-data"), 0o750))
		}
		r.vm.Reconstruct()
		r.vm.Start()
		assert.Equal(t, !found, r.vm.desired.hasAddedPods())
		r.run(time.Second)
		assert.Empty(t, p.calls)
		r.run(time.Second)
		assert.True(t, r.vm.desired.hasAddedPods())
		if found {
			assert.Equal(t, []string{"TearDown", "UnmountDevice /stage/pv-data"}, p.calls)
			assert.Equal(t, []string{"finds volumes of an earlier life on disk: 1, each uncertain; none is unmounted before all pods are known"}, r.noted())
			assert.Equal(t, []string{"unmounts pv-data " + layout.PodVolumeDir("pod-1", "example.com~fake", "pv-data") + " for pod pod-1"}, r.mounts())
		} else {
			assert.Empty(t, r.noted())
		}
	}
	r, _ := newFakeRig(t, nil, nil)
	require.NoError(t, r.node.MkdirAll(path.Dir(layout.PodsDir), 0o750))
	r.failAt("readdir " + layout.PodsDir)
	r.Settle()
	assert.Empty(t, r.vm.Reconstruct())
	if assert.Len(t, r.noted(), 1) {
		assert.Regexp(t, "^cannot look for volumes of an earlier life: .*operation not permitted", r.noted()[0])
	}
}

// Mounts in a pod's directories count, also of volumes that the volume manager does not know, and one level deeper.
func TestMountsThatNobodyKnowsCount(t *testing.T) {
	dir := layout.PodVolumeDir("pod-1", "example.com~other", "data")
	for name, c := range map[string]struct {
		mount      string
		drop, want bool
		fails      string
	}{
		"none":              {},
		"one":               {mount: dir, want: true},
		"one level deeper":  {mount: dir + "/mount", want: true},
		"it does not count": {mount: dir, drop: true},
		"it is not known":   {mount: dir, fails: "look " + dir},
	} {
		r, _ := newFakeRig(t, nil, nil)
		r.Settle()
		require.NoError(t, r.node.MkdirAll(cmp.Or(c.mount, dir), 0o750))
		if c.mount != "" {
			require.NoError(t, r.vm.mounter.Mount("/disk/data", c.mount, "", []string{"bind"}))
		}
		r.vm.decisions.DropUnmounted = c.drop
		r.failAt(c.fails)
		assert.Equal(t, c.want, r.vm.PodVolumesExist("pod-1"), name)
	}
}

// A pod's directory goes by rmdir alone. A mount point in it, and what cannot be read or removed, keeps it.
func TestAPodsDirectoryWithAMountStays(t *testing.T) {
	dir, ready := layout.PodVolumeDir("pod-1", "example.com~fake", "pv-data"), layout.PodPluginsDir("pod-1")+"/example.com~fake/pv-data/ready"
	for name, c := range map[string]struct{ mount, fails, want string }{
		"nothing":                      {},
		"a mount":                      {mount: path.Dir(dir), want: path.Dir(dir) + " is still mounted"},
		"one that is not known":        {fails: "look " + path.Dir(dir), want: "operation not permitted"},
		"one that cannot be read":      {fails: "readdir " + dir, want: "operation not permitted"},
		"one that cannot be looked at": {fails: "lstat " + dir, want: "operation not permitted"},
		"one that cannot be removed":   {fails: "remove " + dir, want: "operation not permitted"},
		"a note that cannot be":        {fails: "remove " + ready, want: "operation not permitted"},
	} {
		r, _ := newFakeRig(t, nil, nil)
		r.Settle()
		require.NoError(t, r.node.MkdirAll(dir, 0o750))
		require.NoError(t, r.node.MkdirAll(path.Dir(ready), 0o750))
		require.NoError(t, r.node.WriteFile(ready, nil, 0o640))
		r.vm.mounter = bindMounted{r.vm.mounter, c.mount}
		r.failAt(c.fails)
		err := r.vm.RemovePodDir("pod-1")
		r.failAt("")
		if c.want == "" {
			assert.NoError(t, err, name)
			_, err = r.node.Lstat(layout.PodDir("pod-1"))
			assert.Error(t, err, name)
			continue
		}
		assert.ErrorContains(t, err, `orphaned pod "pod-1" found, but volume paths are still present on disk: `, name)
		assert.ErrorContains(t, err, c.want, name)
		_, err = r.node.Stat("/disk/data")
		assert.NoError(t, err, name)
	}
}

// bindMounted is a mounter of a kernel's mounts, which are directories.
type bindMounted struct {
	mount.Interface
	at string
}

func (m bindMounted) IsMountPoint(name string) (bool, error) {
	if name == m.at {
		return true, nil
	}
	return m.Interface.IsMountPoint(name)
}

// A pod that waits is told that the node is full, if the plugin of a volume that is not attached says so.
func TestAPodThatWaitsIsToldThatTheNodeIsFull(t *testing.T) {
	for name, c := range map[string]struct{ attachable, attached, exhausted, want bool }{
		"it is":                  {attachable: true, exhausted: true, want: true},
		"it is not":              {attachable: true},
		"the volume is attached": {attachable: true, attached: true, exhausted: true},
		"it need not be":         {exhausted: true},
	} {
		r, p := newFakeRig(t, nil, nil)
		p.exhausted = c.exhausted
		r.Settle()
		r.pods.pods["pod-1"] = podOf("pod-1", false)
		r.vm.desired.add(&volumeToMount{podVolume: podVolume{"first", "pod-1"}, spec: fakeSpec("first")})
		r.vm.desired.add(&volumeToMount{podVolume: podVolume{"unknown", "pod-1"}, attachable: true, spec: &volume.Spec{}})
		r.vm.desired.add(&volumeToMount{podVolume: fakeKey, outerNames: []string{"data"}, attachable: c.attachable, spec: fakeSpec("pv-data")})
		r.vm.actual.attached[fakeKey.volume] = c.attached
		err := r.vm.WaitTimedOut(context.Background(), "pod-1")
		var full *VolumeAttachLimitExceededError
		assert.Equal(t, c.want, errors.As(err, &full), name)
		assert.ErrorIs(t, err, context.DeadlineExceeded, name)
		assert.ErrorContains(t, err, "unmounted volumes=[data]", name)
	}
}

// Decisions of an earlier version are taken as they are given. A field that is not set decides as today.
func TestTheDefaultsOfDecisionsAreTodays(t *testing.T) {
	r, _ := newFakeRig(t, nil, nil)
	d := r.vm.decisions
	assert.Equal(t, []bool{true, false, false, true, true}, []bool{
		d.Uncertain(volume.Uncertainf("x")), d.Uncertain(errFake), d.Final(volume.Uncertainf("x")), d.Final(errFake), d.Reconstruct("pod"),
	})
	assert.Equal(t, []bool{true, false}, []bool{r.vm.actual.uncertain(volume.Uncertainf("x")), r.vm.actual.final(volume.Uncertainf("x"))})
	s := &given{}
	s.decideBy(Decisions{
		Uncertain: func(error) bool { return true }, Final: func(error) bool { return false }, Reconstruct: func(types.UID) bool { return false },
		RemoveDir: func(*disk.Disk, string) error { return errOther },
	})
	assert.Equal(t, []bool{true, false, false}, []bool{s.decisions.Uncertain(errFake), s.decisions.Final(errFake), s.decisions.Reconstruct("pod")})
	assert.Equal(t, errOther, s.decisions.RemoveDir(nil, ""))
}

// KeepInUse reports what was found before the Node is read.
func TestWhatWasFoundIsReportedAtOnceIfItIsToBeKept(t *testing.T) {
	for _, keep := range []bool{true, false} {
		r, p := newFakeRig(t, nil, nil)
		r.Settle()
		p.attaches, r.vm.decisions.KeepInUse = true, keep
		r.vm.reconstruction.found = []*mountedVolume{{podVolume: fakeKey, plugin: p, spec: fakeSpec("pv-data")}}
		r.vm.ReportReconstructed()
		assert.Equal(t, keep, r.vm.attachments.attachable[fakeKey.volume])
		assert.Equal(t, keep, r.vm.reconstruction.found == nil)
	}
}

// KeepUnread keeps what is mounted for a pod that lives and whose claim cannot be read.
func TestWhatALivingPodHasIsKeptAlthoughItsClaimIsNotRead(t *testing.T) {
	for name, c := range map[string]struct{ keep, populated, released, kept bool }{
		"as upstream":       {},
		"it is kept":        {keep: true, kept: true},
		"it has no such":    {keep: true, populated: true},
		"the pod has ended": {keep: true, released: true},
	} {
		r, p := newFakeRig(t, nil, nil)
		r.Settle()
		r.vm.decisions.KeepUnread = c.keep
		r.vm.desired.pods["pod-1"] = &processedPod{populated: c.populated}
		r.pods.released["pod-1"] = c.released
		r.vm.actual.volumes.put(fakeKey, &mountedVolume{podVolume: fakeKey, state: stateUncertain, plugin: p, spec: fakeSpec("pv-data")})
		r.vm.touch(fakeKey)
		r.run(time.Second)
		assert.Equal(t, c.kept, len(p.calls) == 0, name)
	}
}

// The host tells plugins of the node, gives them the CSIDrivers once.
func TestWhatPluginsSeeOfTheKubelet(t *testing.T) {
	r, p := newFakeRig(t, nil, nil)
	drivers := p.host.CSIDrivers()
	assert.Same(t, drivers, p.host.CSIDrivers())
	r.Settle()
	p.attaches = false
	key := func() {
		r.vm.desired.add(&volumeToMount{podVolume: fakeKey, attachable: true, spec: fakeSpec("pv-data"), plugin: p, about: podOf("pod-1", false)})
	}
	key()
	ctx, api := context.Background(), r.User.StorageV1().CSIDrivers()
	driver, err := api.Create(ctx, &storagev1.CSIDriver{ObjectMeta: metav1.ObjectMeta{Name: "fake.example.com"}}, metav1.CreateOptions{})
	require.NoError(t, err)
	r.vm.attachments.attachable[fakeKey.volume] = true
	r.Settle()
	assert.False(t, r.vm.desired.get(fakeKey).attachable, "the new driver says so")
	r.vm.desired.get(fakeKey).attachable, r.vm.attachments.attachable[fakeKey.volume] = true, true
	driver.Labels = map[string]string{"a": "b"}
	_, err = api.Update(ctx, driver, metav1.UpdateOptions{})
	require.NoError(t, err)
	r.Settle()
	assert.False(t, r.vm.desired.get(fakeKey).attachable, "the changed one, too")

	p.host.Trace(trace.Ref{Kind: "Pod", Name: "x"}, "something")
	assert.Contains(t, r.noted(), "something")
	assert.Empty(t, r.vm.RegistrationPlugins())
	watching := &registering{fakePlugin: newFakePlugin()}
	manager, err := volume.InitPlugins([]volume.VolumePlugin{watching}, p.host)
	require.NoError(t, err)
	r.vm.plugins = manager
	assert.Equal(t, []volume.RegistrationPlugin{watching}, r.vm.RegistrationPlugins())
}

// registering is a plugin with which drivers register.
type registering struct{ *fakePlugin }

func (registering) WatchRegistrations(control.Env, volume.NodeInfoManager) {}
func (registering) Ready()                                                 {}

// The volumes that containers of each kind use count.
func TestWhichVolumesAPodsContainersUse(t *testing.T) {
	pod := &v1.Pod{}
	use := func(name string) v1.Container {
		return v1.Container{VolumeMounts: []v1.VolumeMount{{Name: name + "-dir"}}, VolumeDevices: []v1.VolumeDevice{{Name: name + "-dev"}}}
	}
	pod.Spec.InitContainers, pod.Spec.Containers = []v1.Container{use("init")}, []v1.Container{use("main")}
	pod.Spec.EphemeralContainers = []v1.EphemeralContainer{{EphemeralContainerCommon: v1.EphemeralContainerCommon(use("debug"))}}
	mounts, devices := podVolumeNames(pod)
	assert.Equal(t, map[string]bool{"init-dir": true, "main-dir": true, "debug-dir": true}, mounts)
	assert.Equal(t, map[string]bool{"init-dev": true, "main-dev": true, "debug-dev": true}, devices)
}
