package attachdetach_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"

	"github.com/storagesim/storagesim/binding"
	"github.com/storagesim/storagesim/controllers/attachdetach"
	"github.com/storagesim/storagesim/engine"
)

// semantics 6 must 5.
func TestAVolumeAttachmentIsNamedAfterHandleDriverAndNode(t *testing.T) {
	r := withAttacher(t)
	r.volume("data", rwo)
	r.pod("web", "node-1", "data")
	r.Settle()
	require.Len(t, r.list(), 1)
	first := r.list()[0]
	assert.Equal(t, "csi-2cfd0bda3f2ce00e2b40bd207791acdc185b303285949ca73475d473fee0abb1", first.Name)
	assert.Equal(t, first.Name, binding.AttachmentName("handle-data", driver, "node-1"))
	assert.Equal(t, driver, first.Spec.Attacher)
	r.deletePod("web")
	r.Settle()
	require.Empty(t, r.list())
	r.pod("web", "node-1", "data")
	r.Settle()
	require.Len(t, r.list(), 1)
	assert.Equal(t, first.Name, r.list()[0].Name)
	assert.NotEqual(t, first.UID, r.list()[0].UID)
}

// Nothing happens to the pod after the caches have shown its volume, and no other volume is attached.
func TestAPodWhoseVolumeTheCachesShowedTooLateIsFoundWithinThreeMinutes(t *testing.T) {
	for _, behind := range []string{"persistentvolumes", "persistentvolumeclaims"} {
		r := withAttacher(t)
		r.Settle()
		require.NoError(t, r.Engine.Hold(attachdetach.ActorName, behind))
		r.volume("data", rwo)
		r.pod("web", "node-1", "data")
		r.Settle()
		require.Empty(t, r.attachments(), behind)
		require.NoError(t, r.Engine.Release(attachdetach.ActorName, behind))
		r.runFor(2*time.Minute + 50*time.Second)
		if behind == "persistentvolumes" { // a claim that comes late leads to its pods
			require.Empty(t, r.attachments(), behind)
		}
		r.runFor(20 * time.Second)
		require.Equal(t, "data@node-1", r.attachments(), behind)
	}
}

func TestAVolumeIsAttachedToTheNodeOfItsPodAndListedInTheNodesStatus(t *testing.T) {
	r := newRig(t, engine.Config{}, attachdetach.Config{})
	r.volume("data", rwo)
	r.pod("web", "node-1", "data")
	r.runFor(30 * time.Second)
	assert.Equal(t, "data@node-1?", r.attachments())
	assert.Empty(t, r.listed("node-1"), "nothing is listed before it is attached")
	r.status("node-1", `{"attached":true}`)
	r.runFor(10 * time.Second)
	assert.Equal(t, []v1.UniqueVolumeName{unique("data")}, r.listed("node-1"))
	assert.Regexp(t, `^\S+ SuccessfulAttachVolume: AttachVolume.Attach succeeded for volume "data" $`, r.events("web")[0])
	assert.Equal(t, []string{"create volumeattachments", "patch nodes"}, r.writes())
}

// semantics 6 must 1, and both forms of the multi-attach error.
func TestAVolumeForOneNodeIsAttachedToAnotherOnlyAfterItIsDetached(t *testing.T) {
	r := withAttacher(t)
	r.volume("data", rwo)
	r.pod("web", "node-1", "data")
	r.Settle()
	r.inUse("node-1", unique("data"))
	r.pod("two", "node-2", "data")
	r.runFor(time.Hour)
	assert.Equal(t, "data@node-1", r.attachments())
	require.Len(t, r.events("two"), 1, "the error is told once")
	assert.Contains(t, r.events("two")[0], `FailedAttachVolume: Waiting for detach for volume "data" Volume is already used by pod(s) web`)

	r.deletePod("web")
	r.runFor(time.Second)
	r.pod("three", "node-2", "data")
	r.deletePod("two")
	r.runFor(time.Hour)
	assert.Equal(t, "data@node-1", r.attachments(), "node-1 is ready and uses it")
	require.Len(t, r.events("three"), 0, "for the volume at the node it was told already")

	r.deletePod("three")
	r.runFor(time.Second)
	r.pod("four", "node-2", "data")
	r.runFor(time.Minute)
	require.Len(t, r.events("four"), 1)
	assert.Contains(t, r.events("four")[0],
		`Waiting for detach for volume "data" Volume is already exclusively attached to one node, waiting on detach before it can be attached to another node`)

	r.inUse("node-1")
	r.runFor(10 * time.Second)
	assert.Equal(t, "data@node-2", r.attachments())
	assert.Contains(t, r.events("four")[1], "SuccessfulAttachVolume")
}

// semantics 6 must 2.
func TestAVolumeForManyNodesIsAttachedToManyAtOnce(t *testing.T) {
	r := withAttacher(t)
	r.volume("data", rwx)
	r.pod("web", "node-1", "data")
	r.pod("two", "node-2", "data")
	r.Settle()
	assert.Equal(t, "data@node-1 data@node-2", r.attachments())
	assert.Equal(t, []v1.UniqueVolumeName{unique("data")}, r.listed("node-2"))
}

// Conformance: csi07f, whose events come 0.66, 1.75, 3.36, 5.92, 10.49, 19.06, 35.64 and
// 68.18 s after the pod, which took a tenth of a second to be scheduled.
func TestAnAttachThatFailsIsToldEachTimeAndTriedAgainWithBackoff(t *testing.T) {
	r := newRig(t, engine.Config{}, attachdetach.Config{})
	r.volume("data", rwo)
	r.pod("web", "node-1", "data")
	r.runFor(200 * time.Millisecond)
	r.status("node-1", `{"attachError":{"message":"rpc error: code = Internal desc = no"}}`)
	r.runFor(60 * time.Second)
	assert.Empty(t, r.listed("node-1"))
	var times []string
	for _, event := range r.events("web") {
		assert.Contains(t, event, `FailedAttachVolume: AttachVolume.Attach failed for volume "data" : rpc error: code = Internal desc = no`)
		at, _, _ := strings.Cut(event, " ")
		times = append(times, at)
	}
	assert.Equal(t, []string{"0.5s", "1.6s", "3.2s", "5.8s", "10.4s", "19.0s", "35.6s"}, times)
	r.status("node-1", `{"attached":true,"attachError":null}`)
	r.runFor(10 * time.Second)
	assert.Contains(t, r.events("web")[7], "68.2s SuccessfulAttachVolume")
	assert.Len(t, r.list(), 1, "it was made once")

	// After a success the backoff begins anew.
	r.inUse("node-1", "something")
	r.deletePod("web")
	r.runFor(time.Second)
	require.Empty(t, r.list())
	r.pod("web", "node-1", "data")
	r.runFor(200 * time.Millisecond)
	r.status("node-1", `{"attachError":{"message":"no"}}`)
	r.runFor(2 * time.Second)
	assert.Len(t, r.events("web"), 8+2, "it fails twice within two seconds")
}

// The loop runs for another volume at some time while the first backs off, once exactly when the backoff ends.
func TestAnAttachIsTriedAgainWheneverTheLoopTurnsMeanwhile(t *testing.T) {
	for meanwhile := time.Duration(0); meanwhile < time.Second; meanwhile += 10 * time.Millisecond {
		r := newRig(t, engine.Config{}, attachdetach.Config{})
		r.volume("data", rwo)
		r.volume("other", rwo)
		r.pod("web", "node-1", "data")
		r.runFor(200 * time.Millisecond)
		r.status("node-1", `{"attachError":{"message":"no"}}`)
		r.runFor(meanwhile)
		r.pod("two", "node-2", "other")
		r.runFor(time.Minute)
		r.status("node-1", `{"attached":true,"attachError":null}`)
		r.runFor(3 * time.Minute)
		require.NotEmpty(t, r.listed("node-1"), "%s after the failure", meanwhile)
	}
}

// semantics 6 must 9.
func TestAnAttachThatTimesOutIsUncertainAndIsDetachedWhenThePodIsGone(t *testing.T) {
	r := newRig(t, engine.Config{}, attachdetach.Config{})
	r.volume("data", rwo)
	r.pod("web", "node-1", "data")
	r.runFor(125 * time.Second)
	require.Len(t, r.events("web"), 1)
	assert.Contains(t, r.events("web")[0], `timed out waiting for external-attacher of disk.example.com CSI driver to attach volume handle-data`)
	r.deletePod("web")
	r.runFor(3 * time.Minute)
	assert.Equal(t, "data@node-1?", r.attachments(), "a volume that may be attached counts as in use until the node says otherwise")
	r.inUse("node-1", "something")
	r.runFor(5 * time.Second)
	assert.Empty(t, r.attachments())
	assert.NotContains(t, r.writes(), "patch nodes", "it was never listed")
}

// An uncertain attachment elsewhere does not block: the attacher refuses if need be.
func TestAnUncertainAttachmentDoesNotKeepAVolumeFromAnotherNode(t *testing.T) {
	r := newRig(t, engine.Config{}, attachdetach.Config{})
	r.volume("data", rwo)
	r.pod("web", "node-1", "data")
	r.runFor(125 * time.Second)
	r.deletePod("web")
	r.pod("two", "node-2", "data")
	r.runFor(3 * time.Minute) // the second attempt at node-1 has to end first
	assert.Equal(t, "data@node-1? data@node-2?", r.attachments())
}

func TestAVolumeOfADriverThatNeedsNoAttachIsNotAttached(t *testing.T) {
	r := withAttacher(t)
	r.needsNoAttach(driver)
	r.volume("data", rwo)
	r.pod("web", "node-1", "data")
	r.runFor(10 * time.Minute)
	assert.Empty(t, r.list())
	assert.Empty(t, r.writes())
}

func TestAVolumeIsNotAttachedToANodeThatAttachesItself(t *testing.T) {
	r := withAttacher(t)
	r.patchNode("node-1", "", map[string]any{"metadata": map[string]any{"annotations": nil}})
	r.volume("data", rwo)
	r.pod("web", "node-1", "data")
	r.runFor(10 * time.Minute)
	assert.Empty(t, r.list())
}

func TestAClaimThatIsBoundAfterItsPodIsScheduledIsAttached(t *testing.T) {
	r := withAttacher(t)
	r.pod("web", "node-1", "data")
	r.Settle()
	r.volume("data", rwo)
	r.runFor(time.Second)
	assert.Equal(t, "data@node-1", r.attachments())

	r.volume("other", rwo)
	r.phase("other", v1.ClaimLost)
	r.pod("two", "node-2", "other")
	r.Settle()
	require.Equal(t, "data@node-1", r.attachments())
	r.phase("other", v1.ClaimBound)
	r.runFor(time.Second)
	assert.Equal(t, "data@node-1 other@node-2", r.attachments(), "nothing but its phase has changed")
}

// Upstream: operation_executor.go VerifyVolumesAreAttached, v1.37.
func TestAVolumeWhoseVolumeAttachmentIsDeletedByHandIsAttachedAgainWithinAMinute(t *testing.T) {
	r := withAttacher(t)
	r.volume("data", rwo)
	r.pod("web", "node-1", "data")
	r.Settle()
	uid := r.list()[0].UID
	r.deleteAttachment()
	r.runFor(62 * time.Second)
	require.Equal(t, "data@node-1", r.attachments())
	assert.NotEqual(t, uid, r.list()[0].UID)
	assert.Equal(t, []v1.UniqueVolumeName{unique("data")}, r.listed("node-1"))
	assert.Contains(t, r.story(), "pv data: is no longer attached to node node-1")
}

func TestANegativeWaitIsRefused(t *testing.T) {
	e := engine.New(engine.Config{})
	defer e.Close()
	err := e.Add(attachdetach.ActorName, attachdetach.New(attachdetach.Config{MaxWaitForUnmount: -1}))
	require.ErrorContains(t, errors.Join(err, e.Settle()), "attachdetach.Config.MaxWaitForUnmount is -1ns; it must not be negative (0 is 6m0s)")
}

func TestWithoutCSIVolumesTheControllerDoesNothing(t *testing.T) {
	r := withAttacher(t)
	r.pod("web", "node-1", "missing")
	r.Settle()
	before := r.Engine.Trace().Len()
	r.runFor(24 * time.Hour)
	assert.Equal(t, before, r.Engine.Trace().Len())
	assert.Empty(t, r.writes())
}

// Upstream reads its lister, and treats a missing object as one that will still appear: csi_attacher.go
// waitForVolumeAttachmentWithLister, v1.37.
func TestAnAttachmentThatVanishesIsAwaitedForTheWholeTwoMinutesAndThenMadeAgain(t *testing.T) {
	r := newRig(t, engine.Config{}, attachdetach.Config{})
	r.volume("data", rwo)
	r.pod("web", "node-1", "data")
	r.runFor(10 * time.Second)
	require.Len(t, r.list(), 1)
	r.deleteAttachment()
	r.runFor(100 * time.Second)
	assert.Empty(t, r.list())
	assert.Empty(t, r.events("web"))
	r.runFor(20 * time.Second)
	require.Len(t, r.list(), 1)
	assert.Contains(t, r.events("web")[0], "timed out waiting for external-attacher of "+driver+" CSI driver to attach volume handle-data")
}
