package scheduler_test

import (
	"errors"
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

	"github.com/storagesim/storagesim/engine"
	"github.com/storagesim/storagesim/trace"
)

// csiDriver is a provisioner that is a CSI driver, too.
const csiDriver = "ext.example.com"

// attachable makes a claim bound to a volume of the CSI driver csiDriver.
func (w *world) attachable(name string) {
	w.t.Helper()
	pv := volume("pv-"+name, "1Gi", "", "")
	pv.Spec.PersistentVolumeSource = v1.PersistentVolumeSource{CSI: &v1.CSIPersistentVolumeSource{Driver: csiDriver, VolumeHandle: "handle-" + name}}
	_, err := w.api.CoreV1().PersistentVolumes().Create(w.ctx, pv, metav1.CreateOptions{})
	require.NoError(w.t, err)
	w.claim(name, "1Gi", "")
	w.bind(name, pv.Name)
}

// semantics section 2.4 NodeVolumeLimits
func TestAPodWaitsUntilItsVolumeCanBeAttached(t *testing.T) {
	const full = "0/1 nodes are available: 1 node(s) exceed max volume count. " +
		"preemption: 0/1 nodes are available: 1 No preemption victims found for incoming pod."
	w := newWorld(t, engine.Config{}, node("node-1"))
	one, two, name := int32(1), int32(2), "pv-a"
	csiNode, err := w.api.StorageV1().CSINodes().Create(w.ctx, &storagev1.CSINode{
		ObjectMeta: metav1.ObjectMeta{Name: "node-1"},
		Spec: storagev1.CSINodeSpec{Drivers: []storagev1.CSINodeDriver{{Name: csiDriver, NodeID: "node-1",
			Allocatable: &storagev1.VolumeNodeResources{Count: &one}}}},
	}, metav1.CreateOptions{})
	require.NoError(t, err)
	for _, claim := range []string{"a", "b", "c"} {
		w.attachable(claim)
		w.pod(claim, claim)
	}
	w.settle()
	require.Equal(t, []string{"node-1", "", ""}, []string{w.nodeOf("a"), w.nodeOf("b"), w.nodeOf("c")}, "assumed pods count")
	w.unschedulable("b", full)

	attachments := w.api.StorageV1().VolumeAttachments()
	_, err = attachments.Create(w.ctx, &storagev1.VolumeAttachment{ObjectMeta: metav1.ObjectMeta{Name: "a-on-node-1"}, Spec: storagev1.VolumeAttachmentSpec{
		Attacher: csiDriver, NodeName: "node-1", Source: storagev1.VolumeAttachmentSource{PersistentVolumeName: &name},
	}}, metav1.CreateOptions{})
	require.NoError(t, err)
	w.deletePod("a")
	w.settle()
	w.unschedulable("b", full) // its volume is still attached

	require.NoError(t, attachments.Delete(w.ctx, "a-on-node-1", metav1.DeleteOptions{}))
	w.settle()
	require.Equal(t, "node-1", w.nodeOf("b"))
	w.unschedulable("c", full)

	csiNode.Spec.Drivers[0].Allocatable.Count = &two
	_, err = w.api.StorageV1().CSINodes().Update(w.ctx, csiNode, metav1.UpdateOptions{})
	require.NoError(t, err)
	w.settle()
	assert.Equal(t, "node-1", w.nodeOf("c"))
}

// semantics 2 must 9. No pod waits for the event that a driver goes, so
// the pod is tried again by the flush, after five minutes.
func TestWhatNobodyWaitsForIsNoticedByTheFlush(t *testing.T) {
	w := newWorld(t, engine.Config{}, node("node-1"))
	w.class("dynamic", csiDriver, wffc)
	_, err := w.api.StorageV1().CSIDrivers().Create(w.ctx,
		&storagev1.CSIDriver{ObjectMeta: metav1.ObjectMeta{Name: csiDriver}, Spec: storagev1.CSIDriverSpec{StorageCapacity: new(true)}}, metav1.CreateOptions{})
	require.NoError(t, err)
	w.claim("data", "5Gi", "dynamic")
	w.pod("web", "data")
	w.settle()
	w.unschedulable("web", "0/1 nodes are available: 1 node(s) did not have enough free storage."+noHelp1)

	require.NoError(t, w.api.StorageV1().CSIDrivers().Delete(w.ctx, csiDriver, metav1.DeleteOptions{}))
	require.NoError(t, w.e.RunFor(5*time.Minute))
	assert.Empty(t, w.getPod("web").Status.NominatedNodeName)
	require.NoError(t, w.e.RunFor(31*time.Second))
	assert.Equal(t, "node-1", w.getPod("web").Status.NominatedNodeName)
}

func TestCapacityThatIsPublishedLaterHelps(t *testing.T) {
	w := newWorld(t, engine.Config{}, node("node-1"), node("node-2"))
	w.class("dynamic", csiDriver, wffc)
	_, err := w.api.StorageV1().CSIDrivers().Create(w.ctx,
		&storagev1.CSIDriver{ObjectMeta: metav1.ObjectMeta{Name: csiDriver}, Spec: storagev1.CSIDriverSpec{StorageCapacity: new(true)}}, metav1.CreateOptions{})
	require.NoError(t, err)
	w.claim("data", "5Gi", "dynamic")
	w.pod("web", "data")
	w.settle()
	require.Empty(t, w.getPod("web").Status.NominatedNodeName)
	_, err = w.api.StorageV1().CSIStorageCapacities("default").Create(w.ctx, &storagev1.CSIStorageCapacity{
		ObjectMeta: metav1.ObjectMeta{Name: "cap"}, StorageClassName: "dynamic", Capacity: new(resource.MustParse("5Gi")),
		NodeTopology: &metav1.LabelSelector{MatchLabels: map[string]string{v1.LabelHostname: "node-2"}},
	}, metav1.CreateOptions{})
	require.NoError(t, err)
	w.settle()
	assert.Equal(t, "node-2", w.getPod("web").Status.NominatedNodeName)
}

// To upstream it is gone: scheduler.go newPodInformer, v1.37.
func TestAPodThatEndsMakesRoom(t *testing.T) {
	w := newWorld(t, engine.Config{}, node("node-1", roomForOne))
	w.pod("first")
	w.settle()
	w.pod("second")
	w.settle()
	require.Contains(t, w.condition("second").Message, "1 Too many pods.")
	_, err := w.api.CoreV1().Pods("default").Patch(w.ctx, "first", types.MergePatchType, []byte(`{"status":{"phase":"Succeeded"}}`),
		metav1.PatchOptions{}, "status")
	require.NoError(t, err)
	w.settle()
	assert.Equal(t, "node-1", w.nodeOf("second"))
}

// Also where nothing of it was written, so that no change of the pod helps the others.
// Upstream: schedule_one.go handleBindingCycleError, v1.37.
func TestAPodWhoseBindingFailsMakesRoom(t *testing.T) {
	for name, written := range map[string]bool{"its nomination was written": true, "it was not": false} {
		w := newWorld(t, engine.Config{}, node("node-1", roomForOne))
		if !written {
			require.NoError(t, w.e.Inject(engine.Fault{Actor: actor, Verb: "patch", Resource: "pods/status", Name: "first", Err: errors.New("no")}))
		}
		w.class("dynamic", extProv, wffc)
		w.claim("data", "5Gi", "dynamic")
		w.pod("first", "data")
		w.settle()
		require.Equal(t, written, w.getPod("first").Status.NominatedNodeName != "", name)
		w.pod("second")
		w.settle()
		require.Contains(t, w.condition("second").Message, "1 Too many pods.", name)
		w.patch("data", `{"metadata":{"annotations":{"volume.kubernetes.io/selected-node":null}}}`)
		require.NoError(t, w.e.RunFor(1100*time.Millisecond))
		assert.Equal(t, "node-1", w.nodeOf("second"), "%s: while the first backs off", name)
	}
}

// A pod that is deleted while it is being bound frees its node at once, although its
// binding has not noticed yet: also where a finalizer keeps it.
// Upstream: scheduler/eventhandlers.go handleAssumedPodDeletion and deletePod, v1.37.
func TestAPodThatIsDeletedWhileItIsBeingBoundMakesRoomAtOnce(t *testing.T) {
	for name, finalizers := range map[string][]string{"it is gone": nil, "a finalizer keeps it": {"example.com/hold"}} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, engine.Config{}, node("node-1", roomForOne))
			w.class("dynamic", extProv, wffc)
			w.claim("data", "5Gi", "dynamic") // no provisioner runs: the binding waits
			first := newPod("first", "data")
			first.Finalizers = finalizers
			w.create(first)
			w.settle()
			w.pod("second")
			w.settle()
			require.Contains(t, w.condition("second").Message, "1 Too many pods.")
			start := w.e.Now()
			require.NoError(t, w.api.CoreV1().Pods("default").Delete(w.ctx, "first", metav1.DeleteOptions{}))
			require.NoError(t, w.e.RunFor(10*time.Millisecond))
			assert.Equal(t, "node-1", w.nodeOf("second"))
			assert.Equal(t, 10*time.Millisecond, w.e.Now().Sub(start))
		})
	}
}

// Extended resources are counted like others, and given back.
func TestAnExtendedResourceIsTakenAndGivenBack(t *testing.T) {
	const gpu = "example.com/gpu"
	w := newWorld(t, engine.Config{}, node("node-1", func(n *v1.Node) { n.Status.Allocatable[gpu] = resource.MustParse("2") }))
	for _, name := range []string{"first", "second", "third"} {
		pod := newPod(name)
		pod.Spec.Containers[0].Resources.Limits = v1.ResourceList{gpu: resource.MustParse("1")}
		w.create(pod)
		w.settle()
	}
	assert.Equal(t, "node-1", w.nodeOf("second"))
	require.Contains(t, w.condition("third").Message, "1 Insufficient "+gpu)
	_, err := w.api.CoreV1().Pods("default").Patch(w.ctx, "first", types.MergePatchType, []byte(`{"status":{"phase":"Succeeded"}}`),
		metav1.PatchOptions{}, "status")
	require.NoError(t, err)
	w.settle()
	assert.Equal(t, "node-1", w.nodeOf("third"))
}

func roomForOne(n *v1.Node) { n.Status.Allocatable[v1.ResourcePods] = resource.MustParse("1") }

// No time passes, however often it has been turned down.
func TestAPodThatIsTurnedDownIsTriedAgainAtEveryEventThatHelps(t *testing.T) {
	w := newWorld(t, engine.Config{}, node("node-1", func(n *v1.Node) { n.Spec.Unschedulable = true }))
	w.pod("web")
	w.settle()
	start := w.e.Now()
	for i := range 3 {
		_, err := w.api.CoreV1().Nodes().Create(w.ctx, node(fmt.Sprintf("full-%d", i), func(n *v1.Node) { n.Status.Allocatable = nil }), metav1.CreateOptions{})
		require.NoError(t, err)
		w.settle()
		require.Contains(t, w.condition("web").Message, fmt.Sprintf("%d Too many pods", i+1))
	}
	_, err := w.api.CoreV1().Nodes().Patch(w.ctx, "node-1", types.MergePatchType, []byte(`{"spec":{"unschedulable":null}}`), metav1.PatchOptions{})
	require.NoError(t, err)
	w.settle()
	assert.Equal(t, "node-1", w.nodeOf("web"))
	assert.Equal(t, start, w.e.Now())
}

// Errors are not overcome by events: the pod waits 1, 2 and 4 s, each to the end of the
// second. Upstream: backoffQueue.isEntityBackingoff, v1.37.
func TestAPodWhoseAttemptFailedWaitsForItsBackoff(t *testing.T) {
	w := newWorld(t, engine.Config{}, node("node-1"))
	require.NoError(t, w.e.Inject(engine.Fault{Actor: actor, Verb: "create", Resource: "pods/binding", Times: 3, Err: fmt.Errorf("no")}))
	require.NoError(t, w.e.RunFor(300*time.Millisecond))
	start := w.e.Now().Truncate(time.Second)
	w.pod("web")
	require.NoError(t, w.e.RunFor(time.Second))
	_, err := w.api.CoreV1().Nodes().Create(w.ctx, node("node-2"), metav1.CreateOptions{})
	require.NoError(t, err)
	w.settle()
	assert.NotEmpty(t, w.nodeOf("web"))
	assert.Equal(t, 10*time.Second, w.e.Now().Sub(start))
}

// In order the first by name; the seeded policy takes any, the same for the same
// seed.
func TestAmongEqualNodesThePolicyChooses(t *testing.T) {
	placed := func(cfg engine.Config) string {
		w := newWorld(t, cfg, node("node-2"), node("node-3"), node("node-1"))
		w.pod("web")
		w.settle()
		return w.nodeOf("web")
	}
	chosen := map[string]int{} // by a fixed number of seeds: what all of them say together counts
	for seed := range uint64(30) {
		require.Equal(t, "node-1", placed(engine.Config{Seed: seed}))
		first := placed(engine.Config{Policy: engine.Seeded(seed), Seed: seed})
		require.Equal(t, first, placed(engine.Config{Policy: engine.Seeded(seed), Seed: seed}))
		chosen[first]++
	}
	assert.Len(t, chosen, 3, "%v", chosen)
}

// said returns the messages of the events about a pod, the oldest first, with how often
// each was said.
func (w *world) said(pod string) []string {
	w.t.Helper()
	events, err := w.api.CoreV1().Events("default").List(w.ctx, metav1.ListOptions{FieldSelector: "involvedObject.name=" + pod})
	require.NoError(w.t, err)
	var list []string
	for _, e := range events.Items {
		count := int32(1)
		if e.Series != nil {
			count = e.Series.Count
		}
		list = append(list, fmt.Sprintf("%d %s %s: %s", count, e.Reason, e.Action, e.Message))
	}
	return list
}

// The condition that the scheduler writes makes a new version of the pod, so the next
// attempt makes a new event, even if it says the same. An attempt on the same version
// is counted. Upstream: client-go tools/events getKey, v1.37.
func TestEachVersionOfAPodHasAnEventOfItsOwn(t *testing.T) {
	const missing, unbound = `FailedScheduling Scheduling: 0/1 nodes are available: persistentvolumeclaim "data" not found. not found`,
		"FailedScheduling Scheduling: 0/1 nodes are available: pod has unbound immediate PersistentVolumeClaims. not found"
	w := newWorld(t, engine.Config{}, node("node-1"))
	w.pod("web", "data")
	w.settle()
	require.Equal(t, []string{"1 " + missing}, w.said("web"))
	w.claim("data", "1Gi", "")
	w.settle()
	require.Equal(t, []string{"1 " + missing, "1 " + unbound}, w.said("web"))
	for i := range 3 {
		w.patch("data", fmt.Sprintf(`{"metadata":{"labels":{"a":"%d"}}}`, i))
		w.settle()
	}
	require.Equal(t, []string{"1 " + missing, "1 " + unbound, "2 " + unbound}, w.said("web"), "the third attempt on one version is only counted")
}

// A pod that waits for a volume gains nothing from a taint or an uncordoned node.
// Upstream: scheduler.go buildQueueingHintMap, v1.37.
func TestAPodWithoutAVolumeIsNotTriedAgainWhenANodeIsTaintedOrUncordoned(t *testing.T) {
	w := newWorld(t, engine.Config{}, node("node-1"))
	w.claim("data", "1Gi", "")
	w.pod("web", "data")
	w.settle()
	attempts := func() int {
		n := 0
		for _, e := range w.e.Trace().Entries() {
			if said, ok := e.Record.(trace.Event); ok && said.Reason == "FailedScheduling" {
				n++
			}
		}
		return n
	}
	require.Equal(t, 1, attempts())
	for i, change := range []struct {
		patch string
		helps bool
	}{
		{`{"spec":{"unschedulable":true}}`, false},
		{`{"spec":{"unschedulable":false}}`, false},
		{`{"spec":{"taints":[{"key":"gpu","effect":"NoSchedule"}]}}`, false},
		{`{"spec":{"taints":null}}`, false},
		{`{"metadata":{"annotations":{"a":"b"}}}`, false},
		{`{"metadata":{"labels":{"a":"b"}}}`, true},
		{`{"status":{"allocatable":{"example.com/gpu":"1"}}}`, false},
	} {
		before := attempts()
		sub := "status"
		if i < 6 {
			sub = ""
		}
		_, err := w.api.CoreV1().Nodes().Patch(w.ctx, "node-1", types.MergePatchType, []byte(change.patch), metav1.PatchOptions{}, sub)
		require.NoError(t, err)
		require.NoError(t, w.e.RunFor(20*time.Second))
		assert.Equal(t, change.helps, attempts() > before, change.patch)
	}
}

// attemptsAt returns the seconds since the start at which an attempt for the pod failed.
func (w *world) attemptsAt(pod string) []float64 {
	var at []float64
	for _, e := range w.e.Trace().Entries() {
		if said, ok := e.Record.(trace.Event); ok && said.Reason == "FailedScheduling" && said.About.Name == pod {
			at = append(at, e.Time.Sub(engine.Start()).Seconds())
		}
	}
	return at
}

// Without nodes an attempt is an error to the queue, and no refusal: no plugin has turned
// the pod down. Upstream: scheduler/scheduler.go ErrNoNodesAvailable, v1.37.
func TestWithoutNodesAPodIsTriedAgainAfterOneTwoFourSeconds(t *testing.T) {
	w := newWorld(t, engine.Config{})
	require.NoError(t, w.e.RunFor(500*time.Millisecond))
	w.pod("web")
	require.NoError(t, w.e.RunFor(29*time.Second))
	// A backoff lasts until the second is over.
	assert.Equal(t, []float64{0.5, 2, 5, 10, 19}, w.attemptsAt("web"))
	w.unschedulable("web", "no nodes available to schedule pods")
}

// What upstream tries every 11 seconds is left alone here, and tried when it would be.
func TestAPodLeftAloneAfterManyErrorsKeepsItsBackoff(t *testing.T) {
	w := newWorld(t, engine.Config{})
	w.pod("web")
	require.NoError(t, w.e.RunFor(47*time.Second))
	assert.Equal(t, []float64{0, 2, 5, 10, 19, 30}, w.attemptsAt("web"))
	_, err := w.api.CoreV1().Nodes().Create(w.ctx, node("node-1"), metav1.CreateOptions{})
	require.NoError(t, err)
	require.NoError(t, w.e.RunFor(4900*time.Millisecond))
	assert.Empty(t, w.nodeOf("web"))
	w.settle()
	assert.Equal(t, 52*time.Second, w.e.Now().Sub(engine.Start()))
	assert.Equal(t, "node-1", w.nodeOf("web"))
}

// Upstream: findMatchingVolumes takes the first of a list in the order of a Go map.
func TestAmongEqualVolumesThePolicyChooses(t *testing.T) {
	given := func(cfg engine.Config) string {
		w := newWorld(t, cfg, node("node-1")).withPVController()
		w.class("local", "kubernetes.io/no-provisioner", wffc)
		for _, name := range []string{"pv-3", "pv-1", "pv-2"} {
			w.volume(name, "5Gi", "local", "node-1")
		}
		w.volume("larger", "6Gi", "local", "node-1")
		w.claim("data", "5Gi", "local")
		w.pod("web", "data")
		w.settle()
		return w.getClaim("data").Spec.VolumeName
	}
	chosen := map[string]int{} // by a fixed number of seeds: what all of them say together counts
	for seed := range uint64(20) {
		require.Equal(t, "pv-1", given(engine.Config{Seed: seed}))
		chosen[given(engine.Config{Policy: engine.Seeded(seed), Seed: seed})]++
	}
	assert.Len(t, chosen, 3, "%v", chosen)
	assert.Zero(t, chosen["larger"])
}
