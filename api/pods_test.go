package api_test

import (
	"strconv"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/storagesim/storagesim/api/fake"
)

func bindingTo(node string) *v1.Binding {
	return &v1.Binding{
		ObjectMeta: metav1.ObjectMeta{Name: "web", Namespace: "default"},
		Target:     v1.ObjectReference{Kind: "Node", Name: node},
	}
}

func TestBindingAPodAssignsItToTheNode(t *testing.T) {
	s, c := newServer()
	pods := c.CoreV1().Pods("default")
	_, err := c.CoreV1().Nodes().Create(ctx, &v1.Node{ObjectMeta: metav1.ObjectMeta{
		Name: "node-1", Labels: map[string]string{v1.LabelTopologyZone: "a", "other": "label"},
	}}, metav1.CreateOptions{})
	require.NoError(t, err)
	createPod(t, c, pod("web"))
	status := `{"status":{"nominatedNodeName":"node-1","conditions":[{"type":"PodScheduled","status":"False","reason":"Unschedulable","message":"no"}]}}`
	_, err = pods.Patch(ctx, "web", types.StrategicMergePatchType, []byte(status), metav1.PatchOptions{}, "status")
	require.NoError(t, err)
	seen := writes(s)

	b := bindingTo("node-1")
	b.Annotations = map[string]string{"from": "binding"}
	require.NoError(t, pods.Bind(ctx, b, metav1.CreateOptions{}))
	got, err := pods.Get(ctx, "web", metav1.GetOptions{})
	require.NoError(t, err)
	assert.Equal(t, "node-1", got.Spec.NodeName)
	assert.Empty(t, got.Status.NominatedNodeName)
	require.Len(t, got.Status.Conditions, 1)
	condition := got.Status.Conditions[0]
	assert.Equal(t, v1.PodCondition{Type: v1.PodScheduled, Status: v1.ConditionTrue, LastTransitionTime: condition.LastTransitionTime}, condition)
	assert.Equal(t, "binding", got.Annotations["from"])
	assert.Equal(t, map[string]string{v1.LabelTopologyZone: "a"}, got.Labels)

	require.Len(t, *seen, 1)
	w := (*seen)[0]
	assert.Equal(t, "create pods/binding Pod web 201", w.Verb+" "+w.Resource.Resource+"/"+w.Subresource+" "+w.Kind+" "+w.Name+" "+strconv.Itoa(w.Code))
	assert.Equal(t, "node-1", w.New.(*v1.Pod).Spec.NodeName)
}

func TestAPodIsBoundOnceAndNotWhileItIsDeleted(t *testing.T) {
	_, c := newServer()
	pods := c.CoreV1().Pods("default")
	bind := func(b *v1.Binding) error { return pods.Bind(ctx, b, metav1.CreateOptions{}) }
	assert.True(t, apierrors.IsNotFound(bind(bindingTo("node-1"))))
	p := pod("web")
	p.Finalizers = []string{"example.com/hold"}
	createPod(t, c, p)

	assert.EqualError(t, bind(bindingTo("")), "target.name: Required value")
	other := bindingTo("node-1")
	other.Target.Kind = "Service"
	assert.EqualError(t, bind(other), `target.kind: Unsupported value: "Service": supported values: "Node", "<empty>"`)
	stranger := bindingTo("node-1")
	stranger.UID = "another"
	assert.True(t, apierrors.IsConflict(bind(stranger)))
	stale := bindingTo("node-1")
	stale.ResourceVersion = "1"
	assert.True(t, apierrors.IsConflict(bind(stale)))

	require.NoError(t, bind(bindingTo("node-1")))
	err := bind(bindingTo("node-2"))
	assert.True(t, apierrors.IsConflict(err))
	assert.EqualError(t, err, `Operation cannot be fulfilled on pods/binding "web": pod web is already assigned to node "node-1"`)

	gated := pod("gated")
	gated.Spec.SchedulingGates = []v1.PodSchedulingGate{{Name: "example.com/gate"}}
	createPod(t, c, gated)
	toGated := bindingTo("node-1")
	toGated.Name = "gated"
	err = bind(toGated)
	assert.True(t, apierrors.IsConflict(err), err)
	assert.ErrorContains(t, err, "pod gated has non-empty .spec.schedulingGates")

	q := pod("going")
	q.Finalizers = p.Finalizers
	createPod(t, c, q)
	require.NoError(t, pods.Delete(ctx, "going", metav1.DeleteOptions{}))
	b := bindingTo("node-1")
	b.Name = "going"
	err = bind(b)
	assert.True(t, apierrors.IsConflict(err))
	assert.ErrorContains(t, err, "pod going is being deleted, cannot be assigned to a host")
}

func TestOfManySchedulersThatBindOnePodExactlyOneSucceeds(t *testing.T) {
	s, c := newServer()
	createPod(t, c, pod("web"))
	var bound atomic.Int32
	var wg sync.WaitGroup
	for i := range 20 {
		pods := fake.New(s, "scheduler-"+strconv.Itoa(i)).CoreV1().Pods("default")
		wg.Go(func() {
			if err := pods.Bind(ctx, bindingTo("node-"+strconv.Itoa(i)), metav1.CreateOptions{}); err == nil {
				bound.Add(1)
			} else {
				assert.True(t, apierrors.IsConflict(err), err)
			}
		})
	}
	wg.Wait()
	assert.EqualValues(t, 1, bound.Load())
}
