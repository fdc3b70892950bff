package attachdetach_test

import (
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/storagesim/storagesim/binding"
	"github.com/storagesim/storagesim/controllers/attachdetach"
	"github.com/storagesim/storagesim/engine"
	"github.com/storagesim/storagesim/trace"
)

// unprotected is a patch that lets an object be deleted at once.
var unprotected = []byte(`{"metadata":{"finalizers":null}}`)

// remove removes a claim that is in use.
func (r *rig) remove(claim string) {
	r.Helper()
	claims := r.User.CoreV1().PersistentVolumeClaims("default")
	_, err := claims.Patch(ctx, claim, types.MergePatchType, unprotected, metav1.PatchOptions{})
	require.NoError(r, err)
	r.runFor(time.Second)
	require.NoError(r, claims.Delete(ctx, claim, metav1.DeleteOptions{}))
}

// A pod's volume is attached only if pod, claim and volume belong to each other, seen from both ends.
func TestAVolumeIsAttachedOnlyForAPodWhoseClaimHasIt(t *testing.T) {
	volume := func(change func(*v1.PersistentVolume)) func(*rig) {
		return func(r *rig) {
			pv, err := r.User.CoreV1().PersistentVolumes().Get(ctx, "data", metav1.GetOptions{})
			require.NoError(r, err)
			change(pv)
			_, err = r.User.CoreV1().PersistentVolumes().Update(ctx, pv, metav1.UpdateOptions{})
			require.NoError(r, err)
		}
	}
	for name, spoil := range map[string]func(*rig){
		"the volume is bound to nothing":                 volume(func(pv *v1.PersistentVolume) { pv.Spec.ClaimRef = nil }),
		"the volume is bound to an older claim":          volume(func(pv *v1.PersistentVolume) { pv.Spec.ClaimRef.UID = "other" }),
		"the volume is bound to a claim not yet made up": volume(func(pv *v1.PersistentVolume) { pv.Spec.ClaimRef.UID = "" }),
		"the claim is not bound":                         func(r *rig) { r.phase("data", v1.ClaimLost) },
	} {
		r := withAttacher(t)
		r.volume("data", rwo)
		spoil(r)
		r.pod("web", "node-1", "data")
		r.runFor(10 * time.Minute)
		assert.Empty(t, r.list(), name)
	}
}

// The claim of a pod's ephemeral volume is the pod's own, or another one that has its name by chance.
func TestAnEphemeralVolumeIsAttachedOnlyIfItsClaimIsThePods(t *testing.T) {
	for _, own := range []bool{true, false} {
		r := withAttacher(t)
		r.volume("web-data", rwo)
		pod, err := r.User.CoreV1().Pods("default").Create(ctx, &v1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "web"}, Spec: v1.PodSpec{
			NodeName: "node-1", Containers: []v1.Container{{Name: "c", Image: "busybox"}},
			Volumes: []v1.Volume{{Name: "data", VolumeSource: v1.VolumeSource{Ephemeral: &v1.EphemeralVolumeSource{
				VolumeClaimTemplate: &v1.PersistentVolumeClaimTemplate{Spec: v1.PersistentVolumeClaimSpec{
					AccessModes: []v1.PersistentVolumeAccessMode{rwo}, Resources: size(),
				}},
			}}}},
		}}, metav1.CreateOptions{})
		require.NoError(t, err)
		claim, err := r.User.CoreV1().PersistentVolumeClaims("default").Get(ctx, "web-data", metav1.GetOptions{})
		require.NoError(t, err)
		if own {
			claim.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(pod, v1.SchemeGroupVersion.WithKind("Pod"))}
			_, err = r.User.CoreV1().PersistentVolumeClaims("default").Update(ctx, claim, metav1.UpdateOptions{})
			require.NoError(t, err)
		}
		r.runFor(10 * time.Minute)
		assert.Equal(t, own, len(r.list()) == 1, "its own: %v", own)
	}
}

// The claim is deleted by hand, so that the end of the pod does not lead to the volume any more: the next look at all pods finds it, whatever has
// become of the pod.
func TestAVolumeWhoseClaimIsGoneIsDetachedWithinAMinuteOfTheEndOfItsPod(t *testing.T) {
	for name, end := range map[string]func(*rig){
		"it is deleted": func(r *rig) { r.deletePod("web") },
		"another has its name": func(r *rig) {
			require.NoError(r, r.Engine.Hold(attachdetach.ActorName, "pods"))
			r.deletePod("web")
			r.pod("web", "node-1", "data")
			require.NoError(r, r.Engine.Release(attachdetach.ActorName, "pods"))
		},
		"it has ended": func(r *rig) { r.endPod("web") },
		"it lives":     nil,
	} {
		r := withAttacher(t)
		r.volume("data", rwo)
		r.pod("web", "node-1", "data")
		r.Settle()
		r.inUse("node-1", "something")
		r.Settle()
		r.remove("data")
		r.runFor(10 * time.Minute)
		require.Equal(t, "data@node-1", r.attachments(), "%s: the pod has it", name)
		if end != nil {
			end(r)
		}
		r.runFor(62 * time.Second)
		assert.Equal(t, end == nil, len(r.list()) == 1, name)
	}
}

func TestAVolumeIsDetachedWithinAMinuteOnceItsDriverNeedsNoAttach(t *testing.T) {
	r := withAttacher(t)
	r.volume("data", rwo)
	r.pod("web", "node-1", "data")
	r.Settle()
	r.inUse("node-1", "something")
	r.needsNoAttach(driver)
	r.runFor(62 * time.Second)
	assert.Empty(t, r.list())
}

// With DropOld a pod loses the volume that its claim no longer leads to, and keeps it as long as it is not known where the claim leads.
func TestAPodLosesAnOldVolumeOnlyIfAnotherIsKnown(t *testing.T) {
	for drop, want := range map[bool]string{false: "next@node-1 old@node-1", true: "next@node-1"} {
		r := newRig(t, engine.Config{}, attachdetach.Config{DropOld: drop})
		require.NoError(t, r.Engine.Add("csi-attacher", attacher))
		r.volume("old", rwo)
		r.volume("kept", rwo)
		r.volume("next", rwo)
		r.pod("web", "node-1", "", "old", "kept")
		r.Settle()
		r.inUse("node-1", "something")
		r.Settle()
		claims, volumes := r.User.CoreV1().PersistentVolumeClaims("default"), r.User.CoreV1().PersistentVolumes()
		r.remove("old")
		r.runFor(5 * time.Minute)
		require.Equal(t, "kept@node-1 old@node-1", r.attachments(), "the claim is gone")

		claim, err := claims.Create(ctx, &v1.PersistentVolumeClaim{
			ObjectMeta: metav1.ObjectMeta{Name: "old"},
			Spec:       v1.PersistentVolumeClaimSpec{AccessModes: []v1.PersistentVolumeAccessMode{rwo}, VolumeName: "next", Resources: size()},
		}, metav1.CreateOptions{})
		require.NoError(t, err)
		r.runFor(5 * time.Minute)
		require.Equal(t, "kept@node-1 old@node-1", r.attachments(), "the new claim is not bound")
		claim.Status.Phase = v1.ClaimBound
		_, err = claims.UpdateStatus(ctx, claim, metav1.UpdateOptions{})
		require.NoError(t, err)
		pv, err := volumes.Get(ctx, "next", metav1.GetOptions{})
		require.NoError(t, err)
		pv.Spec.ClaimRef.UID = claim.UID
		_, err = volumes.Update(ctx, pv, metav1.UpdateOptions{})
		require.NoError(t, err)
		r.runFor(5 * time.Minute)
		assert.Equal(t, "kept@node-1 "+want, r.attachments(), "DropOld: %v", drop)
	}
}

// A node that is deleted and made again has lost the list of attached volumes, without which its kubelet does not mount.
func TestANodeThatIsMadeAgainGetsItsListOfAttachedVolumes(t *testing.T) {
	r := withAttacher(t)
	r.volume("data", rwo)
	r.pod("web", "node-1", "data")
	r.Settle()
	require.NoError(t, r.User.CoreV1().Nodes().Delete(ctx, "node-1", metav1.DeleteOptions{}))
	r.Settle()
	r.node("node-1")
	r.runFor(time.Second)
	assert.Equal(t, []v1.UniqueVolumeName{unique("data")}, r.listed("node-1"))
	assert.Equal(t, "data@node-1", r.attachments())
}

// A node that joins while the controller runs gets volumes, and one that is deleted without any gets none.
func TestOnlyANodeThatExistsGetsVolumes(t *testing.T) {
	r := withAttacher(t)
	r.volume("data", rwo)
	r.Settle()
	r.node("node-3")
	r.pod("web", "node-3", "data")
	r.Settle()
	require.Equal(t, "data@node-3", r.attachments())
	require.Equal(t, []string{"create volumeattachments", "patch nodes"}, r.writes(), "that it joins is no reason to write its status")
	require.NoError(t, r.User.CoreV1().Nodes().Delete(ctx, "node-2", metav1.DeleteOptions{}))
	r.volume("other", rwo)
	r.pod("two", "node-2", "other")
	r.runFor(10 * time.Minute)
	assert.Equal(t, "data@node-3", r.attachments())
}

// What the API server refuses is told to the pod, and what could not be read or deleted leaves the volume attached.
func TestAFailingAPIServerNeverMakesAVolumeDetachedOrAttachedInThought(t *testing.T) {
	r := withAttacher(t)
	require.NoError(t, r.Engine.Inject(engine.Fault{Actor: attachdetach.ActorName, Verb: "create", Resource: "volumeattachments", Times: 1,
		Err: errors.New("it is ill")}))
	r.volume("data", rwo)
	r.pod("web", "node-1", "data")
	r.runFor(10 * time.Second)
	assert.Contains(t, r.events("web")[0], "kubernetes.io/csi: attacher.Attach failed: ")
	require.Equal(t, "data@node-1", r.attachments())
	r.inUse("node-1", unique("data"))
	r.Settle()
	r.deletePod("web")

	for _, fault := range []engine.Fault{{Verb: "get", Resource: "nodes"}, {Verb: "delete", Resource: "volumeattachments"}} {
		fault.Actor, fault.Times, fault.Err = attachdetach.ActorName, 3, errors.New("it is ill")
		require.NoError(t, r.Engine.Inject(fault))
	}
	r.inUse("node-1")
	r.runFor(5 * time.Second)
	assert.Equal(t, "data@node-1", r.attachments())
	assert.Empty(t, r.listed("node-1"))
	assert.Contains(t, r.story(), "is not detached from node node-1: DetachVolume failed fetching node from API server: ")
	r.runFor(time.Minute)
	assert.Empty(t, r.list())
	assert.Contains(t, r.story(), "detacher.Detach failed to delete VolumeAttachment")
}

// Of the attachments that no node's status lists a controller that starts takes up those of volumes that it would attach.
func TestAControllerThatStartsTakesUpOnlyAttachmentsOfVolumesThatItWouldAttach(t *testing.T) {
	attachment := func(r *rig, name string, source storagev1.VolumeAttachmentSource) {
		_, err := r.User.StorageV1().VolumeAttachments().Create(ctx, &storagev1.VolumeAttachment{
			ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: storagev1.VolumeAttachmentSpec{Attacher: driver, NodeName: "node-1", Source: source},
		}, metav1.CreateOptions{})
		require.NoError(r, err)
	}
	for name, c := range map[string]struct {
		cfg   attachdetach.Config
		spoil func(*rig)
		kept  bool
	}{
		"a volume of the controller's": {},
		"an old version remembers it":  {cfg: attachdetach.Config{Remember: func(*storagev1.VolumeAttachment) bool { return true }}},
		"an old version forgets it":    {cfg: attachdetach.Config{Remember: func(*storagev1.VolumeAttachment) bool { return false }}, kept: true},
		"the volume is gone": {spoil: func(r *rig) {
			_, err := r.User.CoreV1().PersistentVolumes().Patch(ctx, "data", types.MergePatchType, unprotected, metav1.PatchOptions{})
			require.NoError(r, err)
			require.NoError(r, r.User.CoreV1().PersistentVolumes().Delete(ctx, "data", metav1.DeleteOptions{}))
		}, kept: true},
		"its driver needs no attach": {spoil: func(r *rig) { r.needsNoAttach(driver) }, kept: true},
	} {
		r := newRig(t, engine.Config{}, c.cfg)
		require.NoError(t, r.Engine.Stop(attachdetach.ActorName))
		r.volume("data", rwo)
		attachment(r, "csi-2cfd0bda3f2ce00e2b40bd207791acdc185b303285949ca73475d473fee0abb1", storagev1.VolumeAttachmentSource{PersistentVolumeName: new("data")})
		if c.spoil != nil {
			c.spoil(r)
		}
		require.NoError(t, r.Engine.Start(attachdetach.ActorName))
		r.runFor(time.Second)
		r.inUse("node-1", "something")
		r.runFor(10 * time.Minute)
		assert.Equal(t, c.kept, len(r.list()) == 1, name)
	}
}

// A pod that comes back to a node gets its volume again, whatever failed while it was to be detached.
func TestAVolumeThatIsNeededAgainIsListedAgainAfterAFailedDetach(t *testing.T) {
	for name, fault := range map[string]engine.Fault{
		"the attachment could not be deleted":    {Verb: "delete", Resource: "volumeattachments", Times: 3, Err: errors.New("it is ill")},
		"the node's status could not be written": {Verb: "patch", Resource: "nodes/status", Times: 3, Err: errors.New("it is ill")},
	} {
		r := inUseAt(t, withAttacher(t))
		fault.Actor = attachdetach.ActorName
		require.NoError(t, r.Engine.Inject(fault))
		r.inUse("node-1")
		r.runFor(150 * time.Millisecond)
		r.pod("web", "node-1", "data")
		r.volume("other", rwo)
		r.pod("two", "node-1", "other") // its volume has the list written once more
		r.runFor(time.Minute)
		assert.Equal(t, []v1.UniqueVolumeName{unique("data"), unique("other")}, r.listed("node-1"), name)
		assert.Equal(t, "data@node-1 other@node-1", r.attachments(), name)
	}
}

func TestANodesStatusThatCouldNotBeWrittenIsWrittenLater(t *testing.T) {
	r := withAttacher(t)
	require.NoError(t, r.Engine.Inject(engine.Fault{Actor: attachdetach.ActorName, Verb: "patch", Resource: "nodes/status", Times: 3,
		Err: errors.New("it is ill")}))
	r.volume("data", rwo)
	r.pod("web", "node-1", "data")
	r.runFor(2 * time.Second)
	assert.Equal(t, []v1.UniqueVolumeName{unique("data")}, r.listed("node-1"))
}

// A controller that starts knows from the nodes' status what is attached, writes nothing about what it finds in order, and takes back what is not so.
func TestAControllerThatStartsBelievesTheNodesStatusAndLooksAfterIt(t *testing.T) {
	r := withAttacher(t)
	r.volume("data", rwo)
	r.pod("web", "node-1", "data")
	r.Settle()
	r.inUse("node-1", unique("data"))
	r.Settle()
	before := r.writes()
	require.NoError(t, r.Engine.Crash(attachdetach.ActorName))
	r.runFor(5 * time.Minute)
	require.Equal(t, before, r.writes())
	r.deleteAttachment()
	r.runFor(62 * time.Second)
	require.Equal(t, "data@node-1", r.attachments(), "it was made again")

	require.NoError(t, r.Engine.Stop(attachdetach.ActorName))
	r.patchNode("node-2", "status", map[string]any{"status": map[string]any{"volumesAttached": []any{
		map[string]any{"name": unique("lost"), "devicePath": ""}, map[string]any{"name": unique("used"), "devicePath": ""},
		map[string]any{"name": "kubernetes.io/iscsi/foreign", "devicePath": ""},
	}}})
	r.inUse("node-2", unique("used"))
	require.NoError(t, r.Engine.Start(attachdetach.ActorName))
	r.runFor(5 * time.Minute)
	assert.Equal(t, []v1.UniqueVolumeName{unique("used")}, r.listed("node-2"), "the other has no attachment, and nobody needs it")
}

// The nodes that want a volume for one node have their turns, though attaching fails at one of them each time.
func TestANodeWhereAttachingFailsDoesNotKeepTheVolumeFromAnother(t *testing.T) {
	for _, ill := range []string{"node-1", "node-2"} {
		r := newRig(t, engine.Config{}, attachdetach.Config{})
		r.volume("data", rwo)
		r.pod("web", "node-1", "data")
		r.pod("two", "node-2", "data")
		for range 20 {
			r.runFor(30 * time.Second)
			r.status(ill, `{"attachError":{"message":"it is ill"}}`)
		}
		assert.Equal(t, "data@node-1? data@node-2?", r.attachments(), ill)
	}
}

func TestAVolumeForManyNodesIsAttachedToASecondOneLater(t *testing.T) {
	r := withAttacher(t)
	r.volume("data", rwx)
	r.pod("web", "node-1", "data")
	r.Settle()
	r.pod("two", "node-2", "data")
	r.Settle()
	assert.Equal(t, "data@node-1 data@node-2", r.attachments())
}

// A volume of a plugin that a CSI driver has replaced is attached as that driver's, also one that stands in the pod, and also after a restart.
func TestAVolumeOfAnOldPluginIsAttachedAsItsDrivers(t *testing.T) {
	source := func() *v1.GCEPersistentDiskVolumeSource { return &v1.GCEPersistentDiskVolumeSource{PDName: "disk"} }
	r := withAttacher(t)
	r.volumeFrom("old", v1.PersistentVolumeSource{GCEPersistentDisk: source()}, rwo)
	r.pod("web", "node-1", "old")
	_, err := r.User.CoreV1().Pods("default").Create(ctx, &v1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "two"}, Spec: v1.PodSpec{
		NodeName: "node-2", Containers: []v1.Container{{Name: "c", Image: "busybox"}},
		Volumes: []v1.Volume{
			{Name: "disk", VolumeSource: v1.VolumeSource{GCEPersistentDisk: &v1.GCEPersistentDiskVolumeSource{PDName: "inline"}}},
			{Name: "nothing", VolumeSource: v1.VolumeSource{EmptyDir: &v1.EmptyDirVolumeSource{}}},
		},
	}}, metav1.CreateOptions{})
	require.NoError(t, err)
	r.Settle()
	check := func(when string) {
		list := r.list()
		require.Len(t, list, 2, when)
		for _, va := range list {
			assert.Equal(t, "pd.csi.storage.gke.io", va.Spec.Attacher, when)
			if va.Spec.NodeName == "node-1" {
				assert.Equal(t, "old", *va.Spec.Source.PersistentVolumeName, when)
			} else {
				assert.Contains(t, va.Spec.Source.InlineVolumeSpec.CSI.VolumeHandle, "inline", when)
			}
		}
	}
	check("at first")
	require.NoError(t, r.Engine.Stop(attachdetach.ActorName))
	r.patchNode("node-1", "status", map[string]any{"status": map[string]any{"volumesAttached": nil}})
	require.NoError(t, r.Engine.Start(attachdetach.ActorName))
	r.runFor(5 * time.Minute)
	check("after a restart")
	assert.Len(t, r.listed("node-1"), 1)
	r.deletePod("web")
	r.deletePod("two")
	r.inUse("node-1", "something")
	r.inUse("node-2", "something")
	r.runFor(time.Minute)
	assert.Empty(t, r.list())
}

// A volume that no pod needs is looked after as long as it is attached.
func TestAnAttachmentThatIsDeletedByHandIsNoticedThoughNoPodNeedsIt(t *testing.T) {
	r := inUseAt(t, withAttacher(t))
	r.runFor(5 * time.Minute)
	require.Equal(t, []v1.UniqueVolumeName{unique("data")}, r.listed("node-1"))
	r.deleteAttachment()
	r.runFor(62 * time.Second)
	assert.Empty(t, r.listed("node-1"))
}

// What is over leaves nothing behind: the next volume is looked after as the first one was, and without volumes nothing is done from time to time.
func TestTheControllerRestsWithoutVolumesAndBeginsAnew(t *testing.T) {
	r := withAttacher(t)
	r.pod("plain", "node-1", "")
	r.runFor(time.Minute)
	require.True(t, r.idle(), "a volume of no claim is not awaited")
	r.pod("ended", "node-1", "none")
	r.endPod("ended")
	r.runFor(10 * time.Minute)
	require.True(t, r.idle(), "that of a pod that has ended is not, either")
	r.deletePod("ended")
	r.runFor(time.Second)
	require.True(t, r.idle())
	r.pod("waits", "node-1", "none")
	r.runFor(10 * time.Minute)
	require.False(t, r.idle())
	r.deletePod("waits")
	r.runFor(10 * time.Minute)
	require.True(t, r.idle(), "nobody waits any more")

	for _, name := range []string{"first", "second"} {
		r.volume(name, rwo)
		r.pod("web", "node-1", name)
		r.Settle()
		r.deleteAttachment()
		r.runFor(62 * time.Second)
		require.Equal(t, name+"@node-1", r.attachments(), "it was made again")
		r.inUse("node-1", "something")
		r.deletePod("web")
		r.runFor(10 * time.Minute)
		require.Empty(t, r.attachments())
		require.True(t, r.idle())
	}
}

// While a volume is being attached nothing is attached for certain; what pods need is looked at all the same.
func TestAVolumeThatNoPodNeedsAnyMoreIsNotTriedAgain(t *testing.T) {
	r := newRig(t, engine.Config{}, attachdetach.Config{})
	r.volume("data", rwo)
	r.Settle()
	r.pod("web", "node-1", "data")
	r.runFor(10 * time.Second)
	r.remove("data") // so that the end of the pod does not lead to the volume
	r.runFor(time.Second)
	r.deletePod("web")
	r.runFor(2 * time.Minute)
	r.inUse("node-1", "something")
	r.runFor(10 * time.Second)
	assert.Empty(t, r.list())
}

// An attachment that the cache does not show is no error when it is made, and the API tells whether it is attached.
func TestAnAttachmentThatTheCacheDoesNotShowIsLookedUp(t *testing.T) {
	r := withAttacher(t)
	r.Settle()
	require.NoError(t, r.Engine.Hold(attachdetach.ActorName, "volumeattachments"))
	r.volume("data", rwo)
	va := &storagev1.VolumeAttachment{
		ObjectMeta: metav1.ObjectMeta{Name: binding.AttachmentName("handle-data", driver, "node-1")},
		Spec:       storagev1.VolumeAttachmentSpec{Attacher: driver, NodeName: "node-1", Source: storagev1.VolumeAttachmentSource{PersistentVolumeName: new("data")}},
	}
	again := func() {
		_, err := r.User.StorageV1().VolumeAttachments().Create(ctx, va, metav1.CreateOptions{})
		require.NoError(t, err)
	}
	again()
	r.pod("web", "node-1", "data")
	r.runFor(10 * time.Second)
	require.NoError(t, r.Engine.Release(attachdetach.ActorName, "volumeattachments"))
	r.runFor(10 * time.Second)
	require.Equal(t, []v1.UniqueVolumeName{unique("data")}, r.listed("node-1"))
	require.Len(t, r.events("web"), 1, "it was attached at once")

	r.deleteAttachment()
	r.Settle()
	require.NoError(t, r.Engine.Hold(attachdetach.ActorName, "volumeattachments"))
	again()
	r.runFor(2 * time.Minute)
	assert.NotContains(t, r.story(), "is no longer attached")
	assert.Len(t, r.events("web"), 1, "and never again")
}

// Which of several comes first is left to chance, as upstream's walks over Go maps are.
func TestChanceSaysWhichVolumeComesFirst(t *testing.T) {
	attachedFirst, detachedFirst := map[string]bool{}, map[v1.UniqueVolumeName]bool{}
	for seed := range uint64(20) {
		r := newRig(t, engine.Config{Policy: engine.Seeded(seed), Seed: seed}, attachdetach.Config{})
		r.volume("data", rwo)
		r.pod("web", "node-1", "data")
		r.pod("two", "node-2", "data")
		r.runFor(time.Second)
		attachedFirst[r.attachments()] = true

		r = newRig(t, engine.Config{Policy: engine.Seeded(seed), Seed: seed}, attachdetach.Config{})
		require.NoError(t, r.Engine.Add("csi-attacher", attacher))
		r.volume("a", rwo)
		r.volume("b", rwo)
		r.pod("web", "node-1", "a", "b")
		r.Settle()
		r.inUse("node-1", "something")
		r.Settle()
		r.Engine.Server().OnWrite(func(w trace.Write) {
			if node, ok := w.New.(*v1.Node); ok && len(node.Status.VolumesAttached) == 1 {
				detachedFirst[node.Status.VolumesAttached[0].Name] = true
			}
		})
		r.deletePod("web")
		r.Settle()
	}
	assert.Equal(t, map[string]bool{"data@node-1?": true, "data@node-2?": true}, attachedFirst)
	assert.Equal(t, map[v1.UniqueVolumeName]bool{unique("a"): true, unique("b"): true}, detachedFirst)
}

func TestAnInlineVolumeOfADriverThatNeedsNoAttachIsNotAttached(t *testing.T) {
	r := withAttacher(t)
	r.needsNoAttach("pd.csi.storage.gke.io")
	_, err := r.User.CoreV1().Pods("default").Create(ctx, &v1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "web"}, Spec: v1.PodSpec{
		NodeName: "node-1", Containers: []v1.Container{{Name: "c", Image: "busybox"}},
		Volumes: []v1.Volume{{Name: "disk", VolumeSource: v1.VolumeSource{GCEPersistentDisk: &v1.GCEPersistentDiskVolumeSource{PDName: "inline"}}}},
	}}, metav1.CreateOptions{})
	require.NoError(t, err)
	r.Settle()
	assert.Empty(t, r.list())
}

// The controller does not look after the attachment of a volume that need not be attached: its node, which uses it, keeps it in its list.
func TestAnAttachmentThatIsNotNeededMayGo(t *testing.T) {
	r := withAttacher(t)
	r.volume("data", rwo)
	r.pod("web", "node-1", "data")
	r.Settle()
	r.inUse("node-1", unique("data"))
	r.needsNoAttach(driver)
	r.deleteAttachment()
	r.runFor(5 * time.Minute)
	assert.Equal(t, []v1.UniqueVolumeName{unique("data")}, r.listed("node-1"))
}
