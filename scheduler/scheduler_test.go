package scheduler_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/storagesim/storagesim/binding"
	"github.com/storagesim/storagesim/engine"
	"github.com/storagesim/storagesim/internal/seedtest"
)

const (
	wffc    = storagev1.VolumeBindingWaitForFirstConsumer
	noProv  = binding.NotSupportedProvisioner
	extProv = "example.com/ext"
)

func zone(z string) func(*v1.Node) {
	return func(n *v1.Node) { n.Labels[v1.LabelTopologyZone] = z }
}

// semantics 2 must 3
func TestSelectedNodeIsWrittenInPreBindAndTheBindingLast(t *testing.T) {
	w := newWorld(t, engine.Config{}, node("node-1")).withPVController().withProvisioner()
	w.class("dynamic", extProv, wffc)
	w.claim("data", "5Gi", "dynamic")
	w.settle()
	assert.NotContains(t, w.getClaim("data").Annotations, binding.AnnSelectedNode)

	w.pod("web", "data")
	w.settle()
	assert.Equal(t, "node-1", w.nodeOf("web"))
	assert.Equal(t, "node-1", w.getClaim("data").Annotations[binding.AnnSelectedNode])
	assert.Equal(t, []string{
		"patch pods/status web", "update persistentvolumeclaims data", "create pods/binding web", "Scheduled web",
	}, w.did())
}

func TestAPodWithoutVolumesToBindIsBoundInOneWrite(t *testing.T) {
	w := newWorld(t, engine.Config{}, node("node-1"))
	w.pod("plain")
	w.settle()
	assert.Equal(t, []string{"create pods/binding plain", "Scheduled plain"}, w.did())
}

func TestAPodOfAnotherSchedulerOrWithANodeIsLeftAlone(t *testing.T) {
	w := newWorld(t, engine.Config{}, node("node-1"))
	other, placed := newPod("other"), newPod("placed")
	other.Spec.SchedulerName = "mine"
	placed.Spec.NodeName = "node-1"
	w.create(other)
	w.create(placed)
	w.settle()
	assert.Empty(t, w.did())
}

// semantics 2 must 2
func TestPodsScheduledBackToBackNeverTakeTheSameVolume(t *testing.T) {
	w := newWorld(t, engine.Config{}, node("node-1"))
	w.class("local", noProv, wffc)
	w.volume("pv-a", "5Gi", "local", "node-1")
	w.volume("pv-b", "5Gi", "local", "node-1")
	w.claim("one", "5Gi", "local")
	w.claim("two", "5Gi", "local")
	w.withPVController()
	w.pod("first", "one")
	w.pod("second", "two")
	w.settle()
	assert.Equal(t, "one", w.getVolume("pv-a").Spec.ClaimRef.Name)
	assert.Equal(t, "two", w.getVolume("pv-b").Spec.ClaimRef.Name)
	assert.Equal(t, []string{"node-1", "node-1"}, []string{w.nodeOf("first"), w.nodeOf("second")})
}

func TestSchedulingGoesOnWhileABindingCycleWaits(t *testing.T) {
	w := newWorld(t, engine.Config{}, node("node-1"))
	w.class("dynamic", extProv, wffc)
	w.claim("data", "5Gi", "dynamic")
	w.pod("waits", "data")
	w.pod("plain")
	w.settle()
	assert.Equal(t, "", w.nodeOf("waits"))
	assert.Equal(t, "node-1", w.getPod("waits").Status.NominatedNodeName)
	assert.Equal(t, "node-1", w.nodeOf("plain"))
}

// semantics 2 must 4
func TestAProvisionerThatGivesTheNodeBackMakesThePodLandElsewhere(t *testing.T) {
	w := newWorld(t, engine.Config{}, node("node-1"), node("node-2"))
	w.class("dynamic", extProv, wffc)
	w.claim("data", "5Gi", "dynamic")
	w.pod("web", "data")
	w.settle()
	require.Equal(t, "node-1", w.getPod("web").Status.NominatedNodeName)

	_, err := w.api.CoreV1().Nodes().Patch(w.ctx, "node-1", types.MergePatchType, []byte(`{"spec":{"unschedulable":true}}`), metav1.PatchOptions{})
	require.NoError(t, err)
	w.patch("data", `{"metadata":{"annotations":{"volume.kubernetes.io/selected-node":null,"x":"y"}}}`)
	require.NoError(t, w.e.RunFor(6*time.Second))

	condition := w.condition("web")
	assert.Equal(t, v1.PodReasonSchedulerError, condition.Reason)
	assert.Equal(t, `running PreBind plugin "VolumeBinding": binding volumes: provisioning failed for PVC "data"`, condition.Message)
	assert.Equal(t, "node-2", w.getPod("web").Status.NominatedNodeName)
	assert.Equal(t, "node-2", w.getClaim("data").Annotations[binding.AnnSelectedNode])
}

// semantics 2 must 6
func TestAClaimWithASelectedNodeKeepsThePodThere(t *testing.T) {
	w := newWorld(t, engine.Config{}, node("node-1"), node("node-2")).withPVController().withProvisioner()
	w.class("dynamic", extProv, wffc)
	w.volume("here", "5Gi", "dynamic", "node-1")
	w.claim("data", "5Gi", "dynamic")
	w.patch("data", `{"metadata":{"annotations":{"volume.kubernetes.io/selected-node":"node-2"}}}`)
	w.pod("web", "data")
	w.settle()
	assert.Equal(t, "node-2", w.nodeOf("web"))
}

// semantics 2 must 7
func TestAPodDeletedDuringPreBindStopsTheWaitWithinAPoll(t *testing.T) {
	w := newWorld(t, engine.Config{}, node("node-1"))
	w.class("dynamic", extProv, wffc)
	w.claim("data", "5Gi", "dynamic")
	w.pod("web", "data")
	w.settle()
	before := len(w.did())
	w.deletePod("web")
	require.NoError(t, w.e.RunFor(1100*time.Millisecond))
	assert.Equal(t, []string{"FailedScheduling web", "patch pods/status web refused"}, w.did()[before:])

	require.NoError(t, w.e.RunFor(time.Hour))
	assert.Len(t, w.did(), before+2, "it is not tried again")
}

// A StatefulSet makes its pod anew at once.
// semantics 2 must 7
func TestAPodMadeAnewIsNotToldWhatBecameOfTheOldOne(t *testing.T) {
	w := newWorld(t, engine.Config{}, node("node-1"))
	w.class("dynamic", extProv, wffc)
	w.claim("data", "5Gi", "dynamic")
	w.pod("web", "data")
	w.settle()
	before := len(w.did())
	w.deletePod("web")
	w.pod("web", "data")
	require.NoError(t, w.e.RunFor(time.Minute))
	assert.Equal(t, []string{"patch pods/status web", "update persistentvolumeclaims data"}, w.did()[before:])
	assert.Empty(t, w.getPod("web").Status.Conditions)
	assert.Equal(t, "node-1", w.getPod("web").Status.NominatedNodeName)

	w.withPVController().withProvisioner()
	w.settle()
	assert.Equal(t, "node-1", w.nodeOf("web"))
}

// semantics 2 must 12
func TestAFailedSecondUpdateLeavesTheFirstVolumeBound(t *testing.T) {
	w := newWorld(t, engine.Config{}, node("node-1"))
	w.class("local", noProv, wffc)
	w.class("dynamic", extProv, wffc)
	w.volume("pv", "5Gi", "local", "node-1")
	w.claim("local", "5Gi", "local")
	w.claim("made", "5Gi", "dynamic")
	require.NoError(t, w.e.Inject(engine.Fault{Actor: actor, Verb: "update", Resource: "persistentvolumeclaims", Err: fmt.Errorf("the server is on fire")}))
	w.pod("web", "local", "made")
	require.NoError(t, w.e.RunFor(500*time.Millisecond))
	assert.Equal(t, "local", w.getVolume("pv").Spec.ClaimRef.Name)
	assert.NotContains(t, w.getClaim("made").Annotations, binding.AnnSelectedNode)
	assert.Contains(t, w.condition("web").Message, "the server is on fire")
	assert.Empty(t, w.getPod("web").Status.NominatedNodeName)

	w.withPVController().withProvisioner()
	w.settle()
	assert.Equal(t, "node-1", w.nodeOf("web"), "the next attempt goes on from there")
}

// semantics 2 must 10
func TestAnUnschedulablePodSaysWhyAndIsHelpedByANewVolume(t *testing.T) {
	w := newWorld(t, engine.Config{}, node("node-1"), node("node-2")).withPVController()
	w.class("local", noProv, wffc)
	w.claim("data", "5Gi", "local")
	w.pod("web", "data")
	w.settle()
	const message = "0/2 nodes are available: 2 node(s) didn't find available persistent volumes to bind. " +
		"preemption: 0/2 nodes are available: 2 Preemption is not helpful for scheduling."
	condition := w.condition("web")
	assert.Equal(t, v1.ConditionFalse, condition.Status)
	assert.Equal(t, v1.PodReasonUnschedulable, condition.Reason)
	assert.Equal(t, message, condition.Message)
	assert.Equal(t, []string{"FailedScheduling web", "patch pods/status web"}, w.did())

	w.volume("pv", "5Gi", "local", "node-2")
	w.settle()
	assert.Equal(t, "node-2", w.nodeOf("web"))
}

func TestReasonsOfDifferentNodesAreCountedInOneMessage(t *testing.T) {
	w := newWorld(t, engine.Config{}, node("node-1"), node("node-2"))
	w.volume("pv", "5Gi", "", "node-1")
	w.claim("data", "5Gi", "")
	w.patch("data", `{"spec":{"volumeName":"pv"},"metadata":{"annotations":{"pv.kubernetes.io/bind-completed":"yes"}}}`)
	pod := newPod("web", "data")
	pod.Spec.NodeSelector = map[string]string{v1.LabelHostname: "node-2"}
	w.create(pod)
	w.settle()
	assert.Equal(t, "0/2 nodes are available: 1 node(s) didn't match PersistentVolume's node affinity, 1 node(s) didn't match Pod's node affinity/selector. "+
		"preemption: 0/2 nodes are available: 2 Preemption is not helpful for scheduling.", w.condition("web").Message)
}

func TestAMissingClaimAndThenAnUnboundOneHoldThePodUntilItIsBound(t *testing.T) {
	w := newWorld(t, engine.Config{}, node("node-1"))
	w.pod("web", "data")
	w.settle()
	assert.Equal(t, `0/1 nodes are available: persistentvolumeclaim "data" not found. not found`, w.condition("web").Message)
	w.claim("data", "5Gi", "")
	w.settle()
	assert.Equal(t, "0/1 nodes are available: pod has unbound immediate PersistentVolumeClaims. not found", w.condition("web").Message)
	w.volume("pv", "5Gi", "", "")
	w.patch("data", `{"spec":{"volumeName":"pv"},"metadata":{"annotations":{"pv.kubernetes.io/bind-completed":"yes"}}}`)
	w.settle()
	assert.Equal(t, "node-1", w.nodeOf("web"))
}

func TestAReadWriteOncePodClaimIsFreeWhenItsPodIsGone(t *testing.T) {
	w := newWorld(t, engine.Config{}, node("node-1"))
	w.volume("pv", "5Gi", "", "")
	w.claim("data", "5Gi", "", v1.ReadWriteOncePod)
	w.patch("data", `{"spec":{"volumeName":"pv"},"metadata":{"annotations":{"pv.kubernetes.io/bind-completed":"yes"}}}`)
	w.pod("a", "data")
	w.settle()
	w.pod("b", "data")
	w.settle()
	assert.Equal(t, "0/1 nodes are available: 1 node(s) unavailable due to PersistentVolumeClaim with ReadWriteOncePod access mode already "+
		"in-use by another pod. "+
		"preemption: 0/1 nodes are available: 1 No preemption victims found for incoming pod.", w.condition("b").Message)
	w.deletePod("a")
	w.settle()
	assert.Equal(t, "node-1", w.nodeOf("b"))
}

func TestAllowedTopologiesDecideTheNode(t *testing.T) {
	w := newWorld(t, engine.Config{}, node("node-a", zone("a")), node("node-b", zone("b")))
	w.class("zonal", extProv, wffc,
		v1.TopologySelectorTerm{MatchLabelExpressions: []v1.TopologySelectorLabelRequirement{{Key: v1.LabelTopologyZone, Values: []string{"b"}}}})
	w.claim("data", "5Gi", "zonal")
	w.pod("web", "data")
	w.settle()
	assert.Equal(t, "node-b", w.getPod("web").Status.NominatedNodeName)
}

func TestWaitingForVolumesEndsAfterTheTimeout(t *testing.T) {
	w := newWorld(t, engine.Config{}, node("node-1"))
	w.class("dynamic", extProv, wffc)
	w.claim("data", "5Gi", "dynamic")
	w.pod("web", "data")
	require.NoError(t, w.e.RunFor(599*time.Second))
	assert.Empty(t, w.condition("web").Reason)
	require.NoError(t, w.e.RunFor(2*time.Second))
	assert.Equal(t, `running PreBind plugin "VolumeBinding": binding volumes: context deadline exceeded`, w.condition("web").Message)
}

func TestANodeDeletedDuringPreBindFailsTheWait(t *testing.T) {
	w := newWorld(t, engine.Config{}, node("node-1"))
	w.class("dynamic", extProv, wffc)
	w.claim("data", "5Gi", "dynamic")
	w.pod("web", "data")
	w.settle()
	require.NoError(t, w.api.CoreV1().Nodes().Delete(w.ctx, "node-1", metav1.DeleteOptions{}))
	w.settle()
	assert.Equal(t, "no nodes available to schedule pods", w.condition("web").Message)
	assert.Empty(t, w.getPod("web").Status.NominatedNodeName)
}

func TestAClusterInWhichSomethingIsBrokenForGoodComesToRest(t *testing.T) {
	w := newWorld(t, engine.Config{}, node("node-1"))
	require.NoError(t, w.e.Inject(engine.Fault{Actor: actor, Verb: "create", Resource: "pods/binding", Times: -1, Err: fmt.Errorf("no")}))
	w.pod("web")
	w.settle()
	assert.Equal(t, v1.PodReasonSchedulerError, w.condition("web").Reason)
	before := w.e.Now()
	w.settle()
	assert.Equal(t, before, w.e.Now())
}

func TestABindingWhoseAnswerIsLostCountsAndIsNotMadeTwice(t *testing.T) {
	seedtest.Each(t, 50, func(t testing.TB, seed uint64) {
		w := newWorld(t, engine.Config{Policy: engine.Seeded(seed)},
			node("node-1", func(n *v1.Node) { n.Status.Allocatable[v1.ResourcePods] = resource.MustParse("1") }))
		require.NoError(t, w.e.Inject(engine.Fault{Actor: actor, Verb: "create", Resource: "pods/binding", After: true}))
		w.pod("first")
		w.settle()
		require.Equal(t, "node-1", w.nodeOf("first"))
		w.pod("second")
		w.settle()
		require.Contains(t, w.condition("second").Message, "0/1 nodes are available: 1 Too many pods.")
		w.deletePod("first")
		w.settle()
		require.Equal(t, "node-1", w.nodeOf("second"))
	})
}

func TestAGatedPodIsScheduledWhenItsGatesAreGone(t *testing.T) {
	w := newWorld(t, engine.Config{}, node("node-1"))
	pod := newPod("web")
	pod.Spec.SchedulingGates = []v1.PodSchedulingGate{{Name: "example.com/wait"}}
	w.create(pod)
	w.settle()
	assert.Empty(t, w.did())
	_, err := w.api.CoreV1().Pods("default").Patch(w.ctx, "web", types.MergePatchType, []byte(`{"spec":{"schedulingGates":null}}`), metav1.PatchOptions{})
	require.NoError(t, err)
	w.settle()
	assert.Equal(t, "node-1", w.nodeOf("web"))
}

func TestAPodBeingDeletedGetsNoNode(t *testing.T) {
	w := newWorld(t, engine.Config{})
	pod := newPod("web")
	pod.Finalizers = []string{"example.com/keep"}
	w.create(pod)
	w.settle()
	w.deletePod("web")
	_, err := w.api.CoreV1().Nodes().Create(w.ctx, node("node-1"), metav1.CreateOptions{})
	require.NoError(t, err)
	w.settle()
	assert.Empty(t, w.nodeOf("web"))
}

func TestARestartedSchedulerGoesOnWhereverItCrashed(t *testing.T) {
	for crash := range 8 {
		t.Run(fmt.Sprintf("at its call %d", crash), func(t *testing.T) {
			w := newWorld(t, engine.Config{}, node("node-1"), node("node-2")).withPVController().withProvisioner()
			w.class("local", noProv, wffc)
			w.class("dynamic", extProv, wffc)
			w.volume("pv", "5Gi", "local", "node-2")
			w.claim("local", "5Gi", "local")
			w.claim("made", "5Gi", "dynamic")
			require.NoError(t, w.e.Inject(engine.Fault{Actor: actor, Skip: crash / 2, After: crash%2 == 1, Crash: true}))
			w.pod("web", "local", "made")
			w.settle()
			assert.Equal(t, "node-2", w.nodeOf("web"))
		})
	}
}

// semantics 2 must 2, under any order of events: safety and liveness.
func TestTwoPodsRacingForOneVolumeNeverBothGetIt(t *testing.T) {
	seedtest.Each(t, 300, func(t testing.TB, seed uint64) {
		w := newWorld(t, engine.Config{Policy: engine.Seeded(seed), Seed: seed}, node("node-1"), node("node-2")).withPVController()
		w.class("local", noProv, wffc)
		w.claim("one", "5Gi", "local")
		w.claim("two", "5Gi", "local")
		w.pod("first", "one")
		w.volume("pv", "5Gi", "local", "node-2")
		w.pod("second", "two")
		w.settle()
		placed := 0
		for _, pod := range []string{"first", "second"} {
			if n := w.nodeOf(pod); n != "" {
				assert.Equal(t, "node-2", n)
				placed++
			}
		}
		require.Equal(t, 1, placed)
	})
}

func TestWhateverGoesWrongOnTheWayEveryPodThatCanRunDoes(t *testing.T) {
	seedtest.Each(t, 200, func(t testing.TB, seed uint64) {
		w := newWorld(t, engine.Config{Policy: engine.Seeded(seed), Seed: seed}, node("node-1"), node("node-2")).withPVController().withProvisioner()
		w.class("local", noProv, wffc)
		w.class("dynamic", extProv, wffc)
		w.volume("a", "5Gi", "local", "node-1")
		w.volume("b", "9Gi", "local", "node-2")
		w.claim("one", "5Gi", "local")
		w.claim("two", "5Gi", "local")
		w.claim("made", "5Gi", "dynamic")
		for i := range 3 {
			fault := engine.Fault{Actor: actor, Skip: int(seed)%7 + 3*i, After: seed%2 == 0}
			if fault.Crash = i%2 == 0; !fault.Crash {
				fault.Err = fmt.Errorf("the network is down")
			}
			require.NoError(t, w.e.Inject(fault))
		}
		w.pod("first", "one", "made")
		w.pod("second", "two")
		w.pod("third", "made") // shares a claim with the first
		w.pod("fourth", "one")
		w.settle()
		require.NoError(t, w.e.RunFor(time.Minute))
		one, two := w.getClaim("one").Spec.VolumeName, w.getClaim("two").Spec.VolumeName
		require.NotEqual(t, one, two)
		for pod, claim := range map[string]string{"first": one, "second": two, "fourth": one} {
			require.Equal(t, map[string]string{"a": "node-1", "b": "node-2"}[claim], w.nodeOf(pod), "pod %s", pod)
		}
		require.Equal(t, w.nodeOf("first"), w.nodeOf("third"))
	})
}

// A scheduler that decides on stale objects loses the write and tries again.
func TestAStaleCacheCostsAConflictAndNoVolume(t *testing.T) {
	w := newWorld(t, engine.Config{}, node("node-1")).withPVController()
	w.class("local", noProv, wffc)
	w.volume("pv-a", "5Gi", "local", "node-1")
	w.volume("pv-b", "9Gi", "local", "node-1")
	w.claim("data", "5Gi", "local")
	w.settle()
	require.NoError(t, w.e.Hold(actor, "persistentvolumes"))
	taken := w.getVolume("pv-a")
	taken.Spec.ClaimRef = &v1.ObjectReference{Namespace: "default", Name: "somebody-else"}
	_, err := w.api.CoreV1().PersistentVolumes().Update(w.ctx, taken, metav1.UpdateOptions{})
	require.NoError(t, err)
	w.pod("web", "data")
	require.NoError(t, w.e.RunFor(500*time.Millisecond))
	assert.Equal(t, []string{"patch pods/status web", "update persistentvolumes pv-a refused", "FailedScheduling web", "patch pods/status web"}, w.did())
	assert.Equal(t, "somebody-else", w.getVolume("pv-a").Spec.ClaimRef.Name)

	require.NoError(t, w.e.Release(actor, "persistentvolumes"))
	w.settle()
	assert.Equal(t, "node-1", w.nodeOf("web"))
	assert.Equal(t, "pv-b", w.getClaim("data").Spec.VolumeName)
}

func TestTheSameSeedGivesTheSameTrace(t *testing.T) {
	run := func() string {
		w := newWorld(t, engine.Config{Policy: engine.Seeded(7), Seed: 7}, node("node-1"), node("node-2"), node("node-3")).withPVController().withProvisioner()
		w.class("dynamic", extProv, wffc)
		for _, name := range []string{"a", "b", "c", "d"} {
			w.claim(name, "5Gi", "dynamic")
			w.pod(name, name)
		}
		w.settle()
		return w.e.Trace().String()
	}
	assert.Equal(t, run(), run())
}
