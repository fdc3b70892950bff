package scheduler_test

import (
	"context"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	corev1 "k8s.io/client-go/kubernetes/typed/core/v1"

	"github.com/storagesim/storagesim/engine"
)

// Upstream: runtime/framework.go RunPostFilterPlugins, preemption.go Preempt, v1.37.
func TestWhichRefusalTakesTheNominatedNodeOff(t *testing.T) {
	never := v1.PreemptNever
	cordoned := func(n *v1.Node) { n.Spec.Unschedulable = true }
	for _, tt := range []struct {
		name  string
		nodes []*v1.Node
		claim string
		class string
		want  string
	}{
		{"PreFilter's", []*v1.Node{node("node-1")}, "missing", "", "node-1"},
		{"Filter's", []*v1.Node{node("node-1", cordoned)}, "data", "", ""},
		{"Filter's, of a pod that never preempts", []*v1.Node{node("node-1", cordoned)}, "data", "patient", "node-1"},
		{"that there are no nodes", nil, "data", "patient", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w := newWorld(t, engine.Config{}, tt.nodes...)
			_, err := w.api.SchedulingV1().PriorityClasses().Create(w.ctx, &schedulingv1.PriorityClass{
				ObjectMeta: metav1.ObjectMeta{Name: "patient"}, PreemptionPolicy: &never,
			}, metav1.CreateOptions{})
			require.NoError(t, err)
			w.class("dynamic", extProv, wffc)
			w.claim("data", "5Gi", "dynamic")
			pod := newPod("web", tt.claim)
			pod.Spec.PriorityClassName = tt.class
			w.create(pod)
			_, err = w.api.CoreV1().Pods("default").Patch(w.ctx, "web", types.MergePatchType,
				[]byte(`{"status":{"nominatedNodeName":"node-1"}}`), metav1.PatchOptions{}, "status")
			require.NoError(t, err)
			w.settle()
			assert.Equal(t, v1.PodReasonUnschedulable, w.condition("web").Reason)
			assert.Equal(t, tt.want, w.getPod("web").Status.NominatedNodeName)
		})
	}
}

// Of a node with pods of lower priority the message says why their end would not help, of another that it has no victims.
// Upstream: preemption.go evaluate, defaultpreemption SelectVictimsOnNode, v1.37.
func TestTheMessageSaysOfEachNodeWhyPreemptionDoesNotHelp(t *testing.T) {
	pods := func(n string) func(*v1.Node) {
		return func(node *v1.Node) { node.Status.Allocatable[v1.ResourcePods] = resource.MustParse(n) }
	}
	cpu := func(n *v1.Node) { n.Status.Allocatable[v1.ResourceCPU] = resource.MustParse("4") }
	w := newWorld(t, engine.Config{}, node("node-1", pods("1")), node("node-2", cpu), node("node-3", func(n *v1.Node) { n.Spec.Unschedulable = true }))
	never := v1.PreemptNever
	for name, value := range map[string]int32{"low": 10, "high": 20, "patient": 30} {
		class := &schedulingv1.PriorityClass{ObjectMeta: metav1.ObjectMeta{Name: name}, Value: value}
		if name == "patient" {
			class.PreemptionPolicy = &never
		}
		_, err := w.api.SchedulingV1().PriorityClasses().Create(w.ctx, class, metav1.CreateOptions{})
		require.NoError(t, err)
	}
	add := func(name, class, cpu, node string) {
		pod := newPod(name)
		pod.Spec.PriorityClassName = class
		if node != "" {
			pod.Spec.NodeSelector = map[string]string{v1.LabelHostname: node}
		}
		pod.Spec.Containers[0].Resources.Requests = v1.ResourceList{v1.ResourceCPU: resource.MustParse(cpu)}
		w.create(pod)
		w.settle()
	}
	add("first", "high", "1", "node-1")
	add("second", "low", "1", "node-2")
	add("third", "high", "2", "node-2")
	const head = "0/3 nodes are available: 1 Insufficient cpu, 1 Too many pods, 1 node(s) were unschedulable. preemption: "
	add("huge", "high", "3", "")
	assert.Equal(t, head+"0/3 nodes are available: 1 Insufficient cpu, 1 No preemption victims found for incoming pod, "+
		"1 Preemption is not helpful for scheduling.", w.condition("huge").Message)
	add("patient", "patient", "3", "")
	assert.Equal(t, head+"not eligible due to preemptionPolicy=Never.", w.condition("patient").Message)
}

// Who matters more is placed first, although they came last.
func TestPodsArePlacedInOrderOfPriority(t *testing.T) {
	w := newWorld(t, engine.Config{}, node("node-1", func(n *v1.Node) { n.Status.Allocatable[v1.ResourcePods] = resource.MustParse("1") }))
	_, err := w.api.SchedulingV1().PriorityClasses().Create(w.ctx, &schedulingv1.PriorityClass{
		ObjectMeta: metav1.ObjectMeta{Name: "high"}, Value: 100,
	}, metav1.CreateOptions{})
	require.NoError(t, err)
	w.pod("first")
	urgent := newPod("urgent")
	urgent.Spec.PriorityClassName = "high"
	w.create(urgent)
	w.settle()
	assert.Equal(t, "node-1", w.nodeOf("urgent"))
	assert.Empty(t, w.nodeOf("first"))
}

// A pod that was to go to a node and does not any longer has kept the place from pods of
// its priority or less. Those are tried again, and no others.
// Upstream: scheduler/eventhandlers.go hasNominatedNodeNameChanged, getLEPriorityPreCheck, v1.37.
func TestTheEndOfANominationHelpsPodsOfItsPriorityOrLess(t *testing.T) {
	never := v1.PreemptNever
	for _, tt := range []struct {
		name string
		end  func(pods corev1.PodInterface) error
		want string // pods that are tried again
	}{
		{"it is taken off", setNominated("null"), "equal low"},
		{"it is another node", setNominated(`"node-2"`), "equal low"},
		{"it stays", setNominated(`"node-1"`), ""},
		{"the pod is deleted", func(pods corev1.PodInterface) error {
			return pods.Delete(context.Background(), "nominated", metav1.DeleteOptions{})
		}, "equal low"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w := newWorld(t, engine.Config{}, node("node-1", func(n *v1.Node) { n.Status.Allocatable[v1.ResourcePods] = resource.MustParse("0") }))
			for name, value := range map[string]int32{"high": 200, "equal": 100, "low": 1} {
				_, err := w.api.SchedulingV1().PriorityClasses().Create(w.ctx, &schedulingv1.PriorityClass{
					ObjectMeta: metav1.ObjectMeta{Name: name}, Value: value, PreemptionPolicy: &never,
				}, metav1.CreateOptions{})
				require.NoError(t, err)
			}
			for _, pod := range []struct{ name, class string }{{"nominated", "equal"}, {"high", "high"}, {"equal", "equal"}, {"low", "low"}} {
				obj := newPod(pod.name)
				obj.Spec.PriorityClassName = pod.class
				w.create(obj)
			}
			pods := w.api.CoreV1().Pods("default")
			require.NoError(t, setNominated(`"node-1"`)(pods))
			w.settle()
			require.Equal(t, "node-1", w.getPod("nominated").Status.NominatedNodeName, "a pod that does not preempt keeps it")
			require.NoError(t, tt.end(pods))
			w.settle()
			var again []string
			for _, name := range []string{"equal", "high", "low"} {
				if len(w.attemptsAt(name)) > 1 {
					again = append(again, name)
				}
			}
			assert.Equal(t, tt.want, strings.Join(again, " "))
		})
	}
}

// setNominated writes the nominated node, a JSON value, of the pod of that name.
func setNominated(node string) func(corev1.PodInterface) error {
	return func(pods corev1.PodInterface) error {
		_, err := pods.Patch(context.Background(), "nominated", types.MergePatchType, []byte(`{"status":{"nominatedNodeName":`+node+`}}`),
			metav1.PatchOptions{}, "status")
		return err
	}
}
