package volumemanager

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/storagesim/storagesim/engine"
	"github.com/storagesim/storagesim/volume"
)

// editStatus changes the claim's status.
func (r *rig) editStatus(change func(*v1.PersistentVolumeClaim)) {
	r.Helper()
	claim := r.claim()
	change(claim)
	_, err := r.User.CoreV1().PersistentVolumeClaims("default").UpdateStatus(context.Background(), claim, metav1.UpdateOptions{})
	require.NoError(r, err)
}

// What is wrong with a pod's volume is said in an event every ten seconds, until it is not any more or the pod wants none.
func TestWhyAVolumeCannotBeProcessedIsSaidUntilItIs(t *testing.T) {
	const claim = "error processing PVC default/data: "
	ephemeral := podOf("pod-1", false)
	ephemeral.Spec.Volumes[0].VolumeSource = v1.VolumeSource{Ephemeral: &v1.EphemeralVolumeSource{}}
	none := func(*rig) {}
	held := func(finalizers ...string) func(*rig) {
		return func(r *rig) { // deletes the claim
			claims, claim := r.User.CoreV1().PersistentVolumeClaims("default"), r.claim()
			claim.Finalizers = finalizers
			_, err := claims.Update(context.Background(), claim, metav1.UpdateOptions{})
			require.NoError(t, err)
			require.NoError(t, claims.Delete(context.Background(), "data", metav1.DeleteOptions{}))
		}
	}
	for name, c := range map[string]struct {
		claim  func(*v1.PersistentVolumeClaim)
		pv     func(*v1.PersistentVolume)
		before func(*rig)
		pod    *v1.Pod
		fails  string
		want   string // "" it is mounted
	}{
		"nothing":                 {},
		"no claim":                {before: held(), want: claim + `failed to fetch PVC from API server: persistentvolumeclaims "data" not found`},
		"a claim that is deleted": {before: held("example.com/f"), want: claim + "PVC is being deleted"},
		"a claim that is to be":   {before: held(pvcProtection)},
		"a claim that is not yet bound": {before: func(r *rig) {
			r.editStatus(func(claim *v1.PersistentVolumeClaim) { claim.Status.Phase = v1.ClaimPending })
		}, want: claim + "PVC is not bound"},
		"a claim without a volume": {claim: func(claim *v1.PersistentVolumeClaim) { claim.Spec.VolumeName = "" }, want: claim + "PVC has empty pvc.Spec.VolumeName"},
		"a claim for each pod": {claim: func(claim *v1.PersistentVolumeClaim) { claim.Name = "web-data" }, pod: ephemeral,
			want: "PVC default/web-data was not created for pod default/web (pod is not owner)"},
		"a claim for this pod": {claim: func(claim *v1.PersistentVolumeClaim) {
			claim.Name = "web-data"
			claim.OwnerReferences = []metav1.OwnerReference{{APIVersion: "v1", Kind: "Pod", Name: "web", UID: "pod-1", Controller: new(true)}}
		}, pod: ephemeral},
		"no claim for this pod": {pod: ephemeral,
			want: `error processing PVC default/web-data: failed to fetch PVC from API server: persistentvolumeclaims "web-data" not found`},
		"a claim without protection": {before: func(r *rig) {
			claim := r.claim()
			claim.Finalizers = nil
			_, err := r.User.CoreV1().PersistentVolumeClaims("default").Update(context.Background(), claim, metav1.UpdateOptions{})
			require.NoError(t, err)
		}},
		"no volume": {pv: func(pv *v1.PersistentVolume) { pv.Name = "other" },
			want: claim + `failed to fetch PV pv-data from API server: persistentvolumes "pv-data" not found`},
		"a volume of nobody": {pv: func(pv *v1.PersistentVolume) { pv.Spec.ClaimRef = nil },
			want: claim + "found PV object pv-data but it has a nil pv.Spec.ClaimRef indicating it is not yet bound to the claim"},
		"a volume of an earlier claim": {pv: func(pv *v1.PersistentVolume) { pv.Spec.ClaimRef.UID = "earlier" },
			want: claim + "found PV object pv-data but its pv.Spec.ClaimRef.UID earlier does not point to claim.UID "},
		"a volume of no plugin": {pv: func(pv *v1.PersistentVolume) {
			pv.Spec.PersistentVolumeSource = v1.PersistentVolumeSource{Local: &v1.LocalVolumeSource{Path: "/disk/data"}}
		}, want: `failed to get Plugin from volumeSpec for volume "pv-data" err=no volume plugin matched: `},
		"a volume that is no driver's": {pv: func(pv *v1.PersistentVolume) {
			pv.Labels = map[string]string{v1.LabelTopologyZone: "a__b"}
			pv.Spec.PersistentVolumeSource = v1.PersistentVolumeSource{GCEPersistentDisk: &v1.GCEPersistentDiskVolumeSource{PDName: "disk"}}
		}, want: "failed to translate in tree pv to CSI: "},
		"a device as a directory": {pv: ofBlocks, want: "volume data has volumeMode Block, but is specified in volumeMounts"},
		"a directory as a device": {pod: podOf("pod-1", true),
			want: "volume data has volumeMode Filesystem, but is specified in volumeDevices"},
		"a plugin that cannot say whether it mounts for the node": {fails: "CanDeviceMount", want: "broken"},
		"a plugin that cannot say whether it is attached":         {fails: "CanAttach", want: "broken"},
		"a plugin that cannot say its name":                       {fails: "GetVolumeName", want: `failed to get unique name of volume "data": broken`},
	} {
		if c.pod == nil {
			c.pod = podOf("pod-1", false)
		}
		if c.before == nil {
			c.before = none
		}
		r, p := newFakeRig(t, c.claim, c.pv)
		r.Settle()
		c.before(r)
		p.fails[c.fails] = errFake
		r.addPod(c.pod)
		r.run(time.Second)
		if c.want == "" {
			assert.True(t, r.vm.AreMounted("pod-1"), name)
			assert.Empty(t, r.said(), name)
			continue
		}
		want := "FailedMount: Unable to attach or mount volumes: unmounted volumes=[data], unattached volumes=[], failed to process volumes=[data]: " + c.want
		said := func(times int) {
			t.Helper()
			assert.Len(t, r.told(true), times, name)
			for _, text := range r.told(true) {
				assert.Contains(t, text, want, name)
			}
		}
		said(1)
		assert.False(t, r.vm.ArePopulated("pod-1"), name)
		assert.Empty(t, r.vm.actual.volumes.byPod, name)
		r.vm.UpdatePod(c.pod, false, true) // it is processed again, and told no more often
		r.run(20 * time.Second)
		said(3)
		p.fails = nil
		if c.fails != "" {
			r.run(10 * time.Second)
			assert.True(t, r.vm.AreMounted("pod-1"), name)
		}
		r.release("pod-1")
		r.run(time.Minute)
		said(3)
	}
}

// A pod's own volume is that volume, or one of the driver that has replaced its plugin. A volume's mode is Filesystem if it says nothing.
func TestAPodsOwnVolumeNeedsNoClaim(t *testing.T) {
	r, _ := newFakeRig(t, nil, nil)
	r.Settle()
	own := &v1.Volume{Name: "own", VolumeSource: v1.VolumeSource{EmptyDir: &v1.EmptyDirVolumeSource{}}}
	spec, err := r.vm.populator.createVolumeSpec(context.Background(), podOf("pod-1", false), own)
	require.NoError(t, err)
	assert.Equal(t, volume.NewSpecFromVolume(own), spec)
	assert.NotSame(t, own, spec.Volume)
	spec, err = r.vm.populator.createVolumeSpec(context.Background(), podOf("pod-1", false), &v1.Volume{Name: "disk", VolumeSource: v1.VolumeSource{
		AWSElasticBlockStore: &v1.AWSElasticBlockStoreVolumeSource{VolumeID: "vol-1"},
	}})
	require.NoError(t, err)
	assert.True(t, spec.Inline)
	assert.Equal(t, "ebs.csi.aws.com", spec.PersistentVolume.Spec.CSI.Driver)
	for _, spec := range []*volume.Spec{{}, {PersistentVolume: &v1.PersistentVolume{}}} {
		assert.NoError(t, checkVolumeMode(spec, "v", true, false))
		assert.EqualError(t, checkVolumeMode(spec, "v", false, true), "volume v has volumeMode Filesystem, but is specified in volumeDevices")
	}
}

// A volume that must be attached has one name for all pods, although it is not mounted for the node.
func TestAVolumeThatIsAttachedHasOneNameForAllPods(t *testing.T) {
	for name, c := range map[string]struct {
		attaches, stages bool
		want             v1.UniqueVolumeName
	}{
		"attached": {true, false, "example.com/fake/pv-data"},
		"mounted":  {false, true, "example.com/fake/pv-data"},
		"neither":  {false, false, "example.com/fake/pod-1-pv-data"},
	} {
		r, p := newFakeRig(t, nil, nil)
		p.attaches, p.stages = c.attaches, c.stages
		r.Settle()
		r.add("pod-1")
		r.run(time.Second)
		assert.Equal(t, []podVolume{{c.want, "pod-1"}}, r.vm.desired.volumes.ofPod("pod-1"), name)
		got, err := r.vm.reconstruction.uniqueName(p, fakeSpec("pv-data"), "pod-1")
		assert.NoError(t, err, name)
		assert.Equal(t, c.want, got, name)
	}
}

// A claim that is bound before the pod's other volumes had time to be mounted is no event.
func TestAClaimThatIsBoundSoonIsNoEvent(t *testing.T) {
	r, _ := newFakeRig(t, nil, nil)
	r.Settle()
	r.editStatus(func(claim *v1.PersistentVolumeClaim) { claim.Status.Phase = v1.ClaimPending })
	r.add("pod-1")
	r.run(200 * time.Millisecond)
	r.editStatus(func(claim *v1.PersistentVolumeClaim) { claim.Status.Phase = v1.ClaimBound })
	r.vm.UpdatePod(r.pods.pods["pod-1"], false, true)
	r.run(time.Minute)
	assert.True(t, r.vm.AreMounted("pod-1"))
	assert.Empty(t, r.said())
}

// A pod that went out of sight while its claim waited, and that a list of pods brings back, gets its volume when the claim is bound.
func TestAPodThatComesBackHasItsVolumesProcessedAgainUntilTheyAreThere(t *testing.T) {
	r, _ := newFakeRig(t, nil, nil)
	r.Settle()
	r.editStatus(func(claim *v1.PersistentVolumeClaim) { claim.Status.Phase = v1.ClaimPending })
	r.add("pod-1")
	r.run(time.Second)
	pod := r.pods.pods["pod-1"]
	delete(r.pods.pods, "pod-1")
	r.run(time.Minute)
	r.add(pod.UID)
	r.run(time.Second)
	r.editStatus(func(claim *v1.PersistentVolumeClaim) { claim.Status.Phase = v1.ClaimBound })
	r.run(time.Minute)
	assert.True(t, r.vm.AreMounted("pod-1"))
}

// The size that a volume should have is read if it can grow and its claim and volume can be read; its size on the node, if it is not known.
func TestWhichSizesAreRead(t *testing.T) {
	for name, c := range map[string]struct {
		fixed, readOnly bool
		fails           string
		pv              func(*v1.PersistentVolume)
		want            bool
	}{
		"of one that can grow": {want: true},
		"of one that cannot":   {fixed: true},
		"of one that is read":  {readOnly: true},
		"no claim":             {fails: "persistentvolumeclaims"},
		"no volume":            {fails: "persistentvolumes"},
		"a volume of no driver": {pv: func(pv *v1.PersistentVolume) {
			pv.Labels = map[string]string{v1.LabelTopologyZone: "a__b"}
			pv.Spec.PersistentVolumeSource = v1.PersistentVolumeSource{GCEPersistentDisk: &v1.GCEPersistentDiskVolumeSource{PDName: "disk"}}
		}},
	} {
		r, p := newFakeRig(t, nil, func(pv *v1.PersistentVolume) {
			if larger(pv); c.pv != nil {
				c.pv(pv)
			}
		})
		p.grows = !c.fixed
		r.Settle()
		spec := fakeSpec("pv-data")
		spec.ReadOnly, spec.PersistentVolume.Spec.ClaimRef = c.readOnly, &v1.ObjectReference{Namespace: "default", Name: "data"}
		r.vm.desired.add(&volumeToMount{podVolume: fakeKey, plugin: p, spec: spec, about: podOf("pod-1", false)})
		if c.fails != "" {
			require.NoError(t, r.Engine.Inject(engine.Fault{Actor: actor, Verb: "get", Resource: c.fails, Err: errOther}))
		}
		r.do(func(ctx context.Context) {
			clear(r.vm.touched)
			r.vm.populator.checkVolumeFSResize(ctx, "pod-1")
			assert.Equal(t, c.want, r.vm.touched[fakeKey], name)
			desired, actual := r.vm.sizes.desired[fakeKey.volume], r.vm.sizes.actual[fakeKey.volume]
			want := []string{"0", "0"}
			if c.want {
				want = []string{"2Gi", "1Gi"}
			}
			assert.Equal(t, want, []string{desired.String(), actual.String()}, name)
		})
	}
}

// Each reason is told once, in order, whatever the order of the volumes.
func TestTheReasonsOfSeveralVolumesAreToldInOrder(t *testing.T) {
	r, p := newFakeRig(t, nil, nil)
	p.grows = true
	r.Settle()
	pod := podOf("pod-1", false)
	for _, name := range []string{"z", "a", "z-again"} {
		pod.Spec.Volumes = append(pod.Spec.Volumes, v1.Volume{Name: name, VolumeSource: v1.VolumeSource{
			PersistentVolumeClaim: &v1.PersistentVolumeClaimVolumeSource{ClaimName: name[:1]},
		}})
		pod.Spec.Containers[0].VolumeMounts = append(pod.Spec.Containers[0].VolumeMounts, v1.VolumeMount{Name: name})
	}
	pod.Spec.Volumes = append(pod.Spec.Volumes, v1.Volume{Name: "unused"})
	r.addPod(pod)
	r.run(time.Second)
	assert.Equal(t, []string{"FailedMount: Unable to attach or mount volumes: unmounted volumes=[a z z-again], unattached volumes=[], " +
		"failed to process volumes=[a z z-again]: " +
		`error processing PVC default/a: failed to fetch PVC from API server: persistentvolumeclaims "a" not found; ` +
		`error processing PVC default/z: failed to fetch PVC from API server: persistentvolumeclaims "z" not found`}, r.said())
	assert.True(t, r.vm.actual.isMounted(fakeKey), "the other one is mounted")
	r.pods.woken = nil
	r.vm.populator.reprocessSizes("pod-1")
	r.run(100 * time.Millisecond)
	assert.Empty(t, r.pods.woken, "its sizes wait until all are known")
	assert.False(t, r.vm.AreMounted("pod-1"))
}

// A pod that ends while its claim is read gets no volume.
func TestAPodThatEndsWhileItsVolumesAreProcessedGetsNone(t *testing.T) {
	r, p := newFakeRig(t, nil, nil)
	p.attaches = true
	r.Settle()
	require.NoError(t, r.Engine.Inject(engine.Fault{Actor: actor, Verb: "get", Resource: "persistentvolumeclaims", Delay: time.Second}))
	r.add("pod-1")
	r.run(100 * time.Millisecond)
	r.release("pod-1")
	r.run(time.Minute)
	assert.Empty(t, r.vm.desired.volumes.byPod)
	assert.Empty(t, r.vm.attachments.attachable)
	assert.Empty(t, p.calls)
}

// A volume whose content comes from the API is set up again every minute, and when its pod changes. The size of one that can grow is looked at as often. Of
// others nothing is looked at again.
func TestVolumesAreLookedAtEveryMinute(t *testing.T) {
	for name, c := range map[string]struct {
		remounts, grows bool
		calls           []string
	}{
		"one like others":       {},
		"one of API objects":    {remounts: true, calls: []string{"SetUp"}},
		"one that grows":        {grows: true, calls: []string{"NodeExpand"}},
		"one that does as well": {remounts: true, grows: true, calls: []string{"SetUp", "NodeExpand"}},
	} {
		r, p := newFakeRig(t, nil, nil)
		p.remounts, p.grows = c.remounts, c.grows
		r.Settle()
		r.add("pod-1")
		r.run(time.Second)
		require.True(t, r.vm.AreMounted("pod-1"), name)
		require.False(t, p.args.Remount, name)
		p.calls = nil
		r.enlarge(func(*v1.PersistentVolumeClaim) {})
		r.run(58 * time.Second)
		assert.Empty(t, p.calls, name)
		r.run(2 * time.Second)
		setUps := 0
		for _, call := range p.calls {
			if call == "SetUp" {
				setUps++
			}
		}
		assert.Equal(t, c.remounts, setUps == 1, "%s: %v", name, p.calls)
		assert.Subset(t, p.calls, c.calls, name)
		assert.Equal(t, c.calls == nil, p.calls == nil, name)
		assert.Equal(t, c.remounts, p.args.Remount, name)
		assert.True(t, r.vm.AreMounted("pod-1"), name)

		p.calls = nil
		r.vm.UpdatePod(r.pods.pods["pod-1"], false, false)
		r.run(time.Second)
		assert.Empty(t, p.calls, name)
		r.pods.woken = nil
		r.vm.UpdatePod(r.pods.pods["pod-1"], false, true)
		r.run(time.Second)
		assert.Equal(t, c.remounts, len(p.calls) > 0, name)
		assert.Equal(t, c.remounts || c.grows, len(r.pods.woken) > 0, "%s: it is looked at", name)
		p.calls = nil
		r.run(2 * time.Minute)
		assert.Equal(t, c.remounts, len(p.calls) > 0, name)
	}
}

// A volume of a pod that waits for another one is not looked at, since the pod's sync goes on: neither after a minute, nor when the pod changes. It is
// once the wait has timed out and the pod is synced again.
func TestAVolumeOfAPodThatWaitsForAnotherIsLookedAtAfterTheWait(t *testing.T) {
	r, p := newFakeRig(t, nil, nil)
	p.remounts = true
	r.Settle()
	r.add("pod-1")
	r.run(time.Second)
	other := podVolume{"other", "pod-1"}
	r.vm.desired.add(&volumeToMount{podVolume: other, outerNames: []string{"other"}, spec: fakeSpec("other"), plugin: p, about: r.pods.pods["pod-1"]})
	require.False(t, r.vm.AreMounted("pod-1"))
	p.calls = nil
	r.vm.UpdatePod(r.pods.pods["pod-1"], false, true)
	r.run(2 * time.Minute)
	assert.Empty(t, p.calls)

	require.Error(t, r.vm.WaitTimedOut(context.Background(), "pod-1"))
	r.run(time.Second)
	assert.Empty(t, p.calls)
	r.vm.ReprocessPod("pod-1")
	r.run(time.Second)
	assert.Equal(t, []string{"SetUp"}, p.calls)

	r.vm.desired.volumes.remove(other)
	require.True(t, r.vm.AreMounted("pod-1"))
	p.calls = nil
	r.run(time.Minute)
	assert.Equal(t, []string{"SetUp"}, p.calls)
}

// What may be late is late by choice: a mount by up to two periods of 100 ms, and the next sync of its pod, a minute later, by up to half a minute.
func TestLoopsMayComeRoundLate(t *testing.T) {
	var mounts, syncs []time.Duration
	for seed := uint64(1); seed <= 40; seed++ {
		p, claim := newFakePlugin(), boundClaim()
		p.remounts = true
		r := newRigOf(t, engine.Config{Policy: engine.Seeded(seed)}, claim, func(claim *v1.PersistentVolumeClaim) *v1.PersistentVolume {
			pv := localVolume(claim)
			pv.Spec.PersistentVolumeSource = v1.PersistentVolumeSource{CSI: &v1.CSIPersistentVolumeSource{Driver: "fake.example.com", VolumeHandle: "data"}}
			return pv
		}, func(cfg *Config) { cfg.Plugins, cfg.Late = []volume.VolumePlugin{p}, true })
		r.Settle()
		r.add("pod-1")
		after := func(step, most time.Duration, calls int) (passed time.Duration) {
			for ; len(p.calls) < calls; passed += step {
				require.Less(t, passed, most, "seed %d: %v", seed, p.calls)
				r.run(step)
			}
			return passed
		}
		mounts = append(mounts, after(5*time.Millisecond, 205*time.Millisecond, 2))
		syncs = append(syncs, after(time.Second, 91*time.Second, 3))
	}
	assert.LessOrEqual(t, slices.Min(mounts), 50*time.Millisecond)
	assert.GreaterOrEqual(t, slices.Max(mounts), 150*time.Millisecond)
	assert.GreaterOrEqual(t, slices.Min(syncs), 59*time.Second)
	assert.LessOrEqual(t, slices.Min(syncs), 61*time.Second)
	assert.GreaterOrEqual(t, slices.Max(syncs), 89*time.Second)
}

// A volume that is not mounted yet is not brought up to date.
func TestAVolumeThatIsNotMountedIsNotBroughtUpToDate(t *testing.T) {
	r, p := newFakeRig(t, nil, nil)
	p.remounts, p.fails["SetUp"] = true, errFake
	r.Settle()
	r.add("pod-1")
	r.run(100 * time.Millisecond)
	r.vm.UpdatePod(r.pods.pods["pod-1"], false, true)
	r.run(100 * time.Millisecond)
	assert.Equal(t, []string{"MountDevice", "SetUp"}, p.calls)
	assert.False(t, r.syncs("pod-1"))
}
