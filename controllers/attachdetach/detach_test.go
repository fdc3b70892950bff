package attachdetach_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/storagesim/storagesim/controllers/attachdetach"
	"github.com/storagesim/storagesim/engine"
)

// inUseAt returns a rig with a volume that is attached to node-1 and mounted there. Its pod has been removed.
func inUseAt(t testing.TB, r *rig) *rig {
	t.Helper()
	r.volume("data", rwo)
	r.pod("web", "node-1", "data")
	r.Settle()
	r.inUse("node-1", unique("data"))
	r.Settle()
	require.Equal(t, "data@node-1", r.attachments())
	r.deletePod("web")
	r.Settle()
	return r
}

// semantics 6 must 3.
func TestANodesStatusDropsAVolumeBeforeItIsDetached(t *testing.T) {
	r := inUseAt(t, withAttacher(t))
	r.inUse("node-1")
	r.Settle()
	assert.Equal(t, []string{"create volumeattachments", "patch nodes", "patch nodes", "delete volumeattachments"}, r.writes())
	assert.Empty(t, r.listed("node-1"))
	assert.Empty(t, r.list())
}

// semantics 6 must 4. Upstream: reconciler.go reconcile, v1.37.
func TestAVolumeStaysAttachedAndListedWhileTheNodesStatusCannotBeWritten(t *testing.T) {
	r := inUseAt(t, withAttacher(t))
	require.NoError(t, r.Engine.Inject(engine.Fault{Actor: attachdetach.ActorName, Verb: "patch", Resource: "nodes/status", Times: 20, Err: engine.ErrAnswerLost}))
	r.inUse("node-1")
	r.runFor(time.Second)
	assert.Equal(t, "data@node-1", r.attachments())
	assert.Equal(t, []v1.UniqueVolumeName{unique("data")}, r.listed("node-1"))
	assert.NotContains(t, r.writes(), "delete volumeattachments")
	r.runFor(5 * time.Second)
	assert.Empty(t, r.list())
}

// Upstream: operation_generator.go GenerateDetachVolumeFunc, v1.37: "Attach() must succeed
// before adding the volume back to node status". Conformance: csi07e.
func TestAVolumeThatCouldNotBeDetachedIsUncertainAndListedOnlyWhenItIsAttachedAgain(t *testing.T) {
	r := newRig(t, engine.Config{}, attachdetach.Config{})
	r.volume("data", rwo)
	r.pod("web", "node-1", "data")
	r.runFor(time.Second)
	r.finalizers("data", `["a/b"]`)
	r.status("node-1", `{"attached":true}`)
	r.runFor(time.Second)
	r.deletePod("web")
	r.runFor(2 * time.Second)
	r.status("node-1", `{"detachError":{"message":"it is stuck"}}`)
	r.runFor(10 * time.Second)
	assert.Equal(t, "data@node-1", r.attachments())
	assert.Empty(t, r.listed("node-1"))
	assert.Len(t, r.events("web"), 1, "there is no event of the failure")
	assert.Contains(t, r.story(), "pv data: is not detached from node node-1: it is stuck")

	r.finalizers("data", `null`)
	r.pod("web", "node-1", "data")
	r.runFor(10 * time.Second)
	r.status("node-1", `{"attached":true}`)
	r.runFor(10 * time.Second)
	assert.Equal(t, []v1.UniqueVolumeName{unique("data")}, r.listed("node-1"))
}

// semantics 6 must 6.
func TestAPodThatReturnsBeforeTheDetachCancelsTheClock(t *testing.T) {
	r := inUseAt(t, withAttacher(t))
	r.ready("node-1", v1.ConditionUnknown)
	r.runFor(5 * time.Minute)
	r.pod("web", "node-1", "data")
	r.runFor(time.Minute)
	r.deletePod("web")
	r.runFor(5*time.Minute + 50*time.Second)
	assert.Equal(t, "data@node-1", r.attachments())
	r.runFor(20 * time.Second)
	assert.Empty(t, r.list())
}

// semantics 6 must 7. bugs.md 25.
func TestAVolumeOfANodeOutOfServiceIsDetachedAtOnce(t *testing.T) {
	r := inUseAt(t, withAttacher(t))
	r.ready("node-1", v1.ConditionUnknown)
	r.runFor(time.Minute)
	require.Equal(t, "data@node-1", r.attachments())
	r.outOfService("node-1")
	r.runFor(time.Second)
	assert.Empty(t, r.list())
	assert.Contains(t, r.story(), "pv data: is detached from node node-1 although the node may still use it: the node is out of service")
}

// While the driver detaches a volume the loop does not begin it anew, whatever the node says.
func TestADetachThatIsUnderWayIsNotBegunAgain(t *testing.T) {
	r := inUseAt(t, withAttacher(t))
	require.NoError(t, r.Engine.Stop("csi-attacher"))
	r.outOfService("node-1")
	for range 3 {
		r.runFor(time.Second)
		r.inUse("node-1")
		r.runFor(time.Second)
		r.inUse("node-1", unique("data"))
	}
	r.runFor(time.Second)
	require.Equal(t, "data@node-1", r.attachments())
	assert.Equal(t, 1, strings.Count(r.story(), "is detached from node node-1"))
}

// The loop waits for an answer of the API while another volume, which it saw as well, is detached. kubernetes/kubernetes 93902.
func TestAVolumeThatIsDetachedMeanwhileIsNotDetachedAgain(t *testing.T) {
	r := newRig(t, engine.Config{}, attachdetach.Config{})
	for _, name := range []string{"a", "b"} {
		r.volume(name, rwo)
		r.pod("of-"+name, "node-1", name)
	}
	r.runFor(time.Second)
	r.status("node-1", `{"attached":true}`)
	r.finalizers("b", `["a/b"]`)
	r.runFor(10 * time.Second)
	r.inUse("node-1", "something")
	r.runFor(time.Second)
	r.deletePod("of-b")
	r.runFor(200 * time.Millisecond) // after 100 ms the loop turned, and 500 ms later the operation will look whether b is detached
	r.finalizers("b", `null`)
	require.NoError(t, r.Engine.Inject(engine.Fault{Actor: attachdetach.ActorName, Verb: "patch", Resource: "nodes/status", Delay: 500 * time.Millisecond}))
	r.deletePod("of-a")
	r.ready("node-1", v1.ConditionUnknown) // so that the loop looks at both
	r.runFor(10 * time.Second)
	require.Empty(t, r.list())
	deletions := slices.DeleteFunc(r.writes(), func(write string) bool { return write != "delete volumeattachments" })
	assert.Len(t, deletions, 2)
}

// semantics 6 must 8. bugs.md 25.
func TestAVolumeThatAReadyNodeUsesIsNeverDetached(t *testing.T) {
	r := inUseAt(t, withAttacher(t))
	r.runFor(24 * time.Hour)
	assert.Equal(t, "data@node-1", r.attachments())
	assert.Equal(t, []v1.UniqueVolumeName{unique("data")}, r.listed("node-1"))
}

// semantics 6 must 1.
func TestAVolumeIsDetachedFromANodeThatIsNotReadySixMinutesAfterItsLastPodHasGone(t *testing.T) {
	r := inUseAt(t, withAttacher(t))
	gone := r.Engine.Now()
	r.runFor(4 * time.Minute)
	r.ready("node-1", v1.ConditionUnknown)
	require.NoError(t, r.Engine.RunUntil(time.Hour, func() bool { return len(r.list()) == 0 }))
	assert.InDelta(t, (6 * time.Minute).Seconds(), r.Engine.Now().Sub(gone).Seconds(), 0.5)
	assert.Contains(t, r.story(), "the node is not ready, and no pod has needed it for 6m0s")

	r = newRig(t, engine.Config{}, attachdetach.Config{DisableForceDetachOnTimeout: true})
	require.NoError(t, r.Engine.Add("csi-attacher", attacher))
	inUseAt(t, r)
	r.ready("node-1", v1.ConditionUnknown)
	r.runFor(24 * time.Hour)
	assert.Equal(t, "data@node-1", r.attachments(), "an administrator wants it so")

	r = newRig(t, engine.Config{}, attachdetach.Config{MaxWaitForUnmount: time.Minute})
	require.NoError(t, r.Engine.Add("csi-attacher", attacher))
	inUseAt(t, r)
	r.ready("node-1", v1.ConditionUnknown)
	r.runFor(61 * time.Second)
	assert.Empty(t, r.list())
}

func TestANodeThatBecomesUnreadyLaterLosesTheVolumeAtOnce(t *testing.T) {
	r := inUseAt(t, withAttacher(t))
	r.runFor(time.Hour)
	r.ready("node-1", v1.ConditionUnknown)
	r.runFor(time.Second)
	assert.Empty(t, r.list())

	r = inUseAt(t, withAttacher(t))
	r.runFor(time.Hour)
	require.NoError(t, r.User.CoreV1().Nodes().Delete(ctx, "node-1", metav1.DeleteOptions{}))
	r.runFor(time.Second)
	assert.Empty(t, r.list(), "so does one that is deleted")
}

func TestAVolumeOfADeletedNodeIsDetachedAfterSixMinutes(t *testing.T) {
	r := inUseAt(t, withAttacher(t))
	require.NoError(t, r.User.CoreV1().Nodes().Delete(ctx, "node-1", metav1.DeleteOptions{}))
	r.runFor(5 * time.Minute)
	assert.Equal(t, "data@node-1", r.attachments())
	r.runFor(2 * time.Minute)
	assert.Empty(t, r.list())
	assert.Equal(t, []string{"create volumeattachments", "patch nodes", "delete volumeattachments"}, r.writes(), "there is no status to write")
}

// The cache still shows the node, so that its status is to be written first.
func TestAVolumeOfANodeThatIsGoneUnseenIsDetached(t *testing.T) {
	r := withAttacher(t)
	r.volume("data", rwo)
	r.pod("web", "node-1", "data")
	r.Settle()
	r.inUse("node-1", "something")
	r.Settle()
	require.NoError(t, r.Engine.Hold(attachdetach.ActorName, "nodes"))
	require.NoError(t, r.User.CoreV1().Nodes().Delete(ctx, "node-1", metav1.DeleteOptions{}))
	r.deletePod("web")
	r.runFor(time.Second)
	assert.Empty(t, r.list())
}

// A pod that ends leads to its volumes at once: the next look at all pods comes later.
func TestAVolumeIsDetachedWhenItsPodEnds(t *testing.T) {
	for name, end := range map[string]func(*rig){
		"deleted": func(r *rig) { r.deletePod("web") },
		"deleted while it runs": func(r *rig) {
			r.patchPod("web", `{"status":{"containerStatuses":[{"name":"c","state":{"running":{}}}]}}`)
			r.runFor(time.Second)
			r.deletePod("web")
		},
		"ended": func(r *rig) { r.endPod("web") },
	} {
		r := withAttacher(t)
		r.volume("data", rwo)
		r.pod("web", "node-1", "data")
		r.Settle()
		r.inUse("node-1", "something")
		r.runFor(time.Second)
		require.Equal(t, "data@node-1", r.attachments(), name)
		end(r)
		r.runFor(time.Second)
		assert.Empty(t, r.list(), name)
	}
}

func TestAnAttachmentThatIsGoneAlreadyIsDetached(t *testing.T) {
	r := inUseAt(t, withAttacher(t))
	r.deleteAttachment()
	r.inUse("node-1")
	r.runFor(time.Second)
	assert.Empty(t, r.listed("node-1"))
	assert.NotContains(t, r.story(), "is not detached from node")
}

// A quirk of upstream: the name of such a volume cannot be taken apart. Upstream: csi_attacher.go Detach, v1.37.
func TestAVolumeWhoseHandleHasASeparatorIsNeverDetached(t *testing.T) {
	r := withAttacher(t)
	r.volumeFrom("data", v1.PersistentVolumeSource{CSI: &v1.CSIPersistentVolumeSource{Driver: driver, VolumeHandle: "a^b"}}, rwo)
	r.pod("web", "node-1", "data")
	r.Settle()
	r.inUse("node-1", "something")
	r.deletePod("web")
	r.runFor(10 * time.Minute)
	assert.Equal(t, "data@node-1", r.attachments())
	assert.Contains(t, r.story(), "pv data: is not detached from node node-1: volumeName missing expected data")
}

// The error that another node has the volume would be untrue then.
func TestNoErrorIsToldWhileTheVolumeIsDetachedElsewhere(t *testing.T) {
	r := newRig(t, engine.Config{}, attachdetach.Config{})
	r.volume("data", rwo)
	r.pod("web", "node-1", "data")
	r.runFor(time.Second)
	r.finalizers("data", `["a/b"]`)
	r.status("node-1", `{"attached":true}`)
	r.runFor(time.Second)
	r.inUse("node-1", "something")
	r.deletePod("web")
	r.runFor(time.Second)
	r.pod("two", "node-2", "data")
	r.runFor(time.Minute)
	require.Equal(t, "data@node-1", r.attachments())
	assert.Empty(t, r.events("two"))
	r.finalizers("data", `null`)
	r.runFor(10 * time.Second)
	assert.Equal(t, "data@node-2?", r.attachments())
}

// inUseUnseen returns a rig with a volume that its node uses after the end of its pod. The controller's cache does not
// know that the node uses it.
func inUseUnseen(t *testing.T) *rig {
	t.Helper()
	r := withAttacher(t)
	r.volume("data", rwo)
	r.pod("web", "node-1", "data")
	r.Settle()
	require.NoError(t, r.Engine.Hold(attachdetach.ActorName, "nodes"))
	r.inUse("node-1", unique("data"))
	r.deletePod("web")
	return r
}

func TestAnOldCacheDoesNotHaveAUsedVolumeDetached(t *testing.T) {
	r := inUseUnseen(t)
	r.runFor(time.Minute)
	assert.Equal(t, "data@node-1", r.attachments(), "the node is asked")
	require.NoError(t, r.Engine.Release(attachdetach.ActorName, "nodes"))
	r.runFor(5 * time.Minute)
	assert.Equal(t, "data@node-1", r.attachments())
}

// A quirk of upstream: docs/semantics.md 6 (6).
func TestAfterSixMinutesAReadyNodeIsNotAskedAgain(t *testing.T) {
	r := inUseUnseen(t)
	r.runFor(8 * time.Minute)
	assert.Empty(t, r.list(), "the cache says that it is not in use, and the API is not asked")
}

// semantics 6 must 10. bugs.md 26.
func TestARestartNeitherForgetsNorDuplicatesAttachments(t *testing.T) {
	r := withAttacher(t)
	for _, name := range []string{"used", "moved", "gone"} {
		r.volume(name, rwo)
		r.pod("pod-"+name, "node-1", name)
	}
	r.Settle()
	r.inUse("node-1", unique("used"), unique("moved"), unique("gone"))
	r.Settle()
	require.Equal(t, "gone@node-1 moved@node-1 used@node-1", r.attachments())
	before := r.list()

	require.NoError(t, r.Engine.Crash(attachdetach.ActorName))
	r.Settle()
	r.runFor(10 * time.Minute)
	assert.Equal(t, before, r.list(), "nothing was written")

	require.NoError(t, r.Engine.Stop(attachdetach.ActorName))
	r.deletePod("pod-gone")
	r.deletePod("pod-moved")
	r.pod("pod-moved", "node-2", "moved")
	r.inUse("node-1", unique("used"))
	require.NoError(t, r.Engine.Start(attachdetach.ActorName))
	r.runFor(time.Minute)
	assert.Equal(t, "moved@node-2 used@node-1", r.attachments())
	assert.Equal(t, []v1.UniqueVolumeName{unique("used")}, r.listed("node-1"))
	assert.Equal(t, []v1.UniqueVolumeName{unique("moved")}, r.listed("node-2"))
}

// bugs.md 26. The next controller knows the volume from its VolumeAttachment only, and takes it for in use until the Node
// changes. Seen in u08d_controller_restarts_while_attaching_node_silent.
func TestAControllerThatEndsWhileItDetachesGoesOnAfterwards(t *testing.T) {
	for last, want := range map[bool]string{false: "data@node-1 data@node-2", true: "data@node-2"} {
		r := newRig(t, engine.Config{}, attachdetach.Config{InUseLast: last})
		require.NoError(t, r.Engine.Add("csi-attacher", attacher))
		inUseAt(t, r)
		r.pod("two", "node-2", "data")
		require.NoError(t, r.Engine.Inject(engine.Fault{Actor: attachdetach.ActorName, Verb: "delete", Resource: "volumeattachments", Crash: true}))
		r.inUse("node-1")
		r.runFor(5 * time.Minute)
		assert.Equal(t, want, r.attachments(), "InUseLast: %v", last)
		r.heartbeat("node-1")
		r.runFor(time.Minute)
		assert.Equal(t, "data@node-2", r.attachments(), "InUseLast: %v", last)
	}
}
