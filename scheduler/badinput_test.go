package scheduler_test

import (
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/storagesim/storagesim/engine"
)

// noHelp is the end of the message of a pod that fits on none of so many nodes.
const (
	noHelp1 = " preemption: 0/1 nodes are available: 1 Preemption is not helpful for scheduling."
	noHelp2 = " preemption: 0/2 nodes are available: 2 Preemption is not helpful for scheduling."
)

// unschedulable requires that the pod has no node and says so with the message.
func (w *world) unschedulable(pod, message string) {
	w.t.Helper()
	condition := w.condition(pod)
	assert.Equal(w.t, message, condition.Message)
	assert.Equal(w.t, v1.PodReasonUnschedulable, condition.Reason)
	assert.Empty(w.t, w.nodeOf(pod))
	events, err := w.api.CoreV1().Events("default").List(w.ctx, metav1.ListOptions{})
	require.NoError(w.t, err)
	assert.True(w.t, slices.ContainsFunc(events.Items, func(e v1.Event) bool {
		return e.InvolvedObject.Name == pod && e.Type == v1.EventTypeWarning && e.Reason == "FailedScheduling" && e.Message == message
	}), "no event says so")
}

// bind does what the PV controller would.
func (w *world) bind(claim, volume string) {
	w.t.Helper()
	w.patch(claim, `{"spec":{"volumeName":"`+volume+`"},"metadata":{"annotations":{"pv.kubernetes.io/bind-completed":"yes"}}}`)
}

func TestAPodWithAMissingClaimWaitsForIt(t *testing.T) {
	w := newWorld(t, engine.Config{}, node("node-1"))
	w.pod("web", "ghost")
	w.settle()
	w.unschedulable("web", `0/1 nodes are available: persistentvolumeclaim "ghost" not found. not found`)
}

func TestAPodWithAClaimThatIsBeingDeletedIsUnschedulable(t *testing.T) {
	w := newWorld(t, engine.Config{}, node("node-1"))
	w.volume("pv", "5Gi", "", "")
	w.claim("data", "5Gi", "")
	w.bind("data", "pv")
	w.patch("data", `{"metadata":{"finalizers":["example.com/keep"]}}`)
	require.NoError(t, w.api.CoreV1().PersistentVolumeClaims("default").Delete(w.ctx, "data", metav1.DeleteOptions{}))
	w.pod("web", "data")
	w.settle()
	w.unschedulable("web", `0/1 nodes are available: persistentvolumeclaim "data" is being deleted. not found`)
}

func TestAPodWithALostClaimIsUnschedulable(t *testing.T) {
	w := newWorld(t, engine.Config{}, node("node-1"))
	w.claim("data", "5Gi", "")
	w.bind("data", "pv")
	_, err := w.api.CoreV1().PersistentVolumeClaims("default").Patch(w.ctx, "data", types.MergePatchType, []byte(`{"status":{"phase":"Lost"}}`),
		metav1.PatchOptions{}, "status")
	require.NoError(t, err)
	w.pod("web", "data")
	w.settle()
	w.unschedulable("web", `0/1 nodes are available: persistentvolumeclaim "data" bound to non-existent persistentvolume "pv". not found`)
}

// A claim of the wrong mode finds no volume. One that is bound already is nothing
// to the scheduler: the kubelet will refuse to mount it.
func TestAClaimOfTheWrongModeFindsNoVolume(t *testing.T) {
	for name, patch := range map[string]func(*v1.PersistentVolumeClaimSpec){
		"volume mode": func(s *v1.PersistentVolumeClaimSpec) { s.VolumeMode = new(v1.PersistentVolumeBlock) },
		"access modes": func(s *v1.PersistentVolumeClaimSpec) {
			s.AccessModes = []v1.PersistentVolumeAccessMode{v1.ReadWriteMany}
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, engine.Config{}, node("node-1"))
			w.class("local", noProv, wffc)
			w.volume("pv", "5Gi", "local", "node-1")
			class := "local"
			claim := &v1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Name: "data"}, Spec: v1.PersistentVolumeClaimSpec{
				StorageClassName: &class, AccessModes: []v1.PersistentVolumeAccessMode{v1.ReadWriteOnce},
				Resources: v1.VolumeResourceRequirements{Requests: v1.ResourceList{v1.ResourceStorage: w.getVolume("pv").Spec.Capacity[v1.ResourceStorage]}},
			}}
			patch(&claim.Spec)
			_, err := w.api.CoreV1().PersistentVolumeClaims("default").Create(w.ctx, claim, metav1.CreateOptions{})
			require.NoError(t, err)
			w.pod("web", "data")
			w.settle()
			w.unschedulable("web", "0/1 nodes are available: 1 node(s) didn't find available persistent volumes to bind."+noHelp1)

			w.bind("data", "pv")
			w.settle()
			assert.Equal(t, "node-1", w.nodeOf("web"))
		})
	}
}

// Upstream searches a volume for each of the pod's two volumes, so one is not
// enough for the claim that both name.
func TestTheSameClaimTwiceInAPodWantsTwoVolumes(t *testing.T) {
	w := newWorld(t, engine.Config{}, node("node-1")).withPVController()
	w.class("local", noProv, wffc)
	w.volume("pv", "5Gi", "local", "node-1")
	w.claim("data", "5Gi", "local")
	w.pod("web", "data", "data")
	w.settle()
	w.unschedulable("web", "0/1 nodes are available: 1 node(s) didn't find available persistent volumes to bind."+noHelp1)
	assert.Nil(t, w.getVolume("pv").Spec.ClaimRef)

	w.pod("plain", "data") // a binding of the claim helps
	w.settle()
	assert.Equal(t, "node-1", w.nodeOf("web"))
}

// The second write of the claim is a conflict, but selected-node is written, and
// the next attempt changes nothing.
func TestTheSameClaimTwiceInAPodIsProvisionedAtTheSecondAttempt(t *testing.T) {
	w := newWorld(t, engine.Config{}, node("node-1")).withPVController().withProvisioner()
	w.class("dynamic", extProv, wffc)
	w.claim("data", "5Gi", "dynamic")
	w.pod("web", "data", "data")
	require.NoError(t, w.e.RunFor(500*time.Millisecond))
	assert.Equal(t, v1.PodReasonSchedulerError, w.condition("web").Reason)
	assert.Contains(t, w.condition("web").Message, `running PreBind plugin "VolumeBinding": Operation cannot be fulfilled`)
	w.settle()
	assert.Equal(t, "node-1", w.nodeOf("web"))
	assert.Equal(t, "pvc-data", w.getClaim("data").Spec.VolumeName)
}

func TestAClassThatVanishedLeavesTheClaimUnboundUntilItIsBack(t *testing.T) {
	w := newWorld(t, engine.Config{}, node("node-1")).withPVController()
	w.class("local", noProv, wffc)
	w.volume("pv", "5Gi", "local", "node-1")
	w.claim("data", "5Gi", "local")
	require.NoError(t, w.api.StorageV1().StorageClasses().Delete(w.ctx, "local", metav1.DeleteOptions{}))
	w.pod("web", "data")
	w.settle()
	w.unschedulable("web", "0/1 nodes are available: pod has unbound immediate PersistentVolumeClaims. not found")

	w.class("local", noProv, wffc)
	w.settle()
	assert.Equal(t, "node-1", w.nodeOf("web"))
}

func TestANodeWithoutLabelsFitsWhatAsksForNone(t *testing.T) {
	bare := node("bare", func(n *v1.Node) { n.Labels = nil })
	w := newWorld(t, engine.Config{}, bare).withPVController()
	w.class("local", noProv, wffc)
	w.class("zonal", extProv, wffc,
		v1.TopologySelectorTerm{MatchLabelExpressions: []v1.TopologySelectorLabelRequirement{{Key: v1.LabelTopologyZone, Values: []string{"a"}}}})
	w.volume("there", "1Gi", "local", "bare")
	w.claim("local", "1Gi", "local")
	w.claim("zonal", "1Gi", "zonal")
	for _, claim := range []string{"local", "zonal"} {
		w.pod("wants-"+claim, claim)
		w.settle()
		w.unschedulable("wants-"+claim, "0/1 nodes are available: 1 node(s) didn't find available persistent volumes to bind."+noHelp1)
	}
	selecting := newPod("selecting")
	selecting.Spec.NodeSelector = map[string]string{v1.LabelHostname: "bare"}
	w.create(selecting)
	w.settle()
	w.unschedulable("selecting", "0/1 nodes are available: 1 node(s) didn't match Pod's node affinity/selector."+noHelp1)

	w.volume("anywhere", "1Gi", "local", "")
	w.pod("plain")
	w.settle()
	assert.Equal(t, "bare", w.nodeOf("wants-local"))
	assert.Equal(t, "bare", w.nodeOf("plain"))
}

func affine(name string, term v1.NodeSelectorTerm) *v1.Pod {
	pod := newPod(name)
	pod.Spec.Affinity = &v1.Affinity{NodeAffinity: &v1.NodeAffinity{
		RequiredDuringSchedulingIgnoredDuringExecution: &v1.NodeSelector{NodeSelectorTerms: []v1.NodeSelectorTerm{term}},
	}}
	return pod
}

func TestAffinityTermsThatConflictOrCannotBeParsedMatchNoNode(t *testing.T) {
	byName := func(names ...string) v1.NodeSelectorTerm {
		var term v1.NodeSelectorTerm
		for _, name := range names {
			term.MatchFields = append(term.MatchFields, v1.NodeSelectorRequirement{Key: "metadata.name", Operator: v1.NodeSelectorOpIn, Values: []string{name}})
		}
		return term
	}
	byLabel := func(requirements ...v1.NodeSelectorRequirement) v1.NodeSelectorTerm {
		return v1.NodeSelectorTerm{MatchExpressions: requirements}
	}
	const noMatch = "0/2 nodes are available: 2 node(s) didn't match Pod's node affinity/selector."
	for name, tt := range map[string]struct {
		term    v1.NodeSelectorTerm
		message string
	}{
		"two names":    {byName("node-1", "node-2"), "0/2 nodes are available: pod affinity terms conflict. not found"},
		"no such name": {byName("node-3"), "0/2 nodes are available: 2 node(s) didn't satisfy plugin(s) [NodeAffinity]." + noHelp2},
		"a name and another node's label": {v1.NodeSelectorTerm{
			MatchFields:      byName("node-1").MatchFields,
			MatchExpressions: []v1.NodeSelectorRequirement{{Key: v1.LabelHostname, Operator: v1.NodeSelectorOpIn, Values: []string{"node-2"}}},
		}, "0/2 nodes are available: 1 node(s) didn't match Pod's node affinity/selector, 1 node(s) didn't satisfy plugin(s) [NodeAffinity]." + noHelp2},
		"there and not there": {byLabel(
			v1.NodeSelectorRequirement{Key: "disk", Operator: v1.NodeSelectorOpExists}, v1.NodeSelectorRequirement{Key: "disk", Operator: v1.NodeSelectorOpDoesNotExist},
		), noMatch + noHelp2},
		"more than no number": {byLabel(v1.NodeSelectorRequirement{Key: "disk", Operator: v1.NodeSelectorOpGt, Values: []string{"many"}}), noMatch + noHelp2},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, engine.Config{}, node("node-1"), node("node-2"))
			w.create(affine("web", tt.term))
			w.settle()
			w.unschedulable("web", tt.message)
		})
	}
}

func TestAPodThatNamesItsNodeGoesThereOrWaitsForIt(t *testing.T) {
	w := newWorld(t, engine.Config{}, node("node-1"), node("node-2"))
	w.create(affine("web",
		v1.NodeSelectorTerm{MatchFields: []v1.NodeSelectorRequirement{{Key: "metadata.name", Operator: v1.NodeSelectorOpIn, Values: []string{"node-3"}}}}))
	w.settle()
	require.Empty(t, w.nodeOf("web"))
	_, err := w.api.CoreV1().Nodes().Create(w.ctx, node("node-3"), metav1.CreateOptions{})
	require.NoError(t, err)
	w.settle()
	assert.Equal(t, "node-3", w.nodeOf("web"))
}

// A preferred term that cannot be parsed fails the attempt, but only where there
// is a choice.
func TestAPreferredTermThatCannotBeParsedIsAnErrorIfThereIsAChoice(t *testing.T) {
	picky := newPod("web")
	picky.Spec.Affinity = &v1.Affinity{NodeAffinity: &v1.NodeAffinity{PreferredDuringSchedulingIgnoredDuringExecution: []v1.PreferredSchedulingTerm{{
		Weight: 1, Preference: v1.NodeSelectorTerm{MatchExpressions: []v1.NodeSelectorRequirement{{Key: "disk", Operator: v1.NodeSelectorOpGt,
			Values: []string{"many"}}}},
	}}}}
	w := newWorld(t, engine.Config{}, node("node-1"), node("node-2"))
	w.create(picky)
	w.settle()
	assert.Equal(t, v1.PodReasonSchedulerError, w.condition("web").Reason)
	assert.Contains(t, w.condition("web").Message, `running PreScore plugin "NodeAffinity": preferredDuringSchedulingIgnoredDuringExecution[0]: `)

	require.NoError(t, w.api.CoreV1().Nodes().Delete(w.ctx, "node-1", metav1.DeleteOptions{}))
	w.settle()
	require.NoError(t, w.e.RunFor(time.Minute))
	assert.Equal(t, "node-2", w.nodeOf("web"))
}
