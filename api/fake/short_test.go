package fake_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	clienttesting "k8s.io/client-go/testing"

	"github.com/storagesim/storagesim/api/fake"
)

// The short way to the server and client-go's way with a reactor give the same
// answers.
func TestTheShortWayAnswersAsClientGosWayDoes(t *testing.T) {
	short, _ := newServer()
	long, _ := newServer()
	longClient := fake.NewWithoutActions(long, "controller")
	heard := 0
	longClient.PrependReactor("*", "*", func(clienttesting.Action) (bool, runtimeObject, error) { heard++; return false, nil, nil })
	want := tell(longClient)
	got := tell(fake.NewWithoutActions(short, "controller"))
	require.Len(t, got, len(want))
	for i := range want {
		assert.Equal(t, want[i], got[i], "call %d", i)
	}
	assert.Equal(t, len(want)/2, heard)
}

// tell makes each kind of call for each kind of object, right and wrong, and
// tells what came back.
func tell(c *fake.Clientset) []string {
	var said []string
	note := func(obj any, err error) {
		text, _ := json.Marshal(obj)
		said = append(said, string(text), "")
		if err != nil {
			said[len(said)-1] = err.Error()
		}
	}
	core := c.CoreV1()

	pv, err := core.PersistentVolumes().Create(ctx, volume("pv"), metav1.CreateOptions{})
	note(pv, err)
	stale := pv.DeepCopy()
	pv.Spec.ClaimRef = &v1.ObjectReference{Namespace: "default", Name: "data"}
	pv.Status.Phase = v1.VolumeBound // is not the update's to say
	pv, err = core.PersistentVolumes().Update(ctx, pv, metav1.UpdateOptions{})
	note(pv, err)
	pv.Status.Phase = v1.VolumeBound
	pv.Spec.StorageClassName = "other" // is not the status update's to say
	pv, err = core.PersistentVolumes().UpdateStatus(ctx, pv, metav1.UpdateOptions{})
	note(pv, err)
	note(core.PersistentVolumes().Get(ctx, "pv", metav1.GetOptions{}))
	note(core.PersistentVolumes().Update(ctx, stale, metav1.UpdateOptions{}))
	labels, phase := []byte(`{"metadata":{"labels":{"a":"b"}}}`), []byte(`{"status":{"phase":"Available"}}`)
	note(core.PersistentVolumes().Patch(ctx, "pv", types.MergePatchType, labels, metav1.PatchOptions{}))
	note(core.PersistentVolumes().Patch(ctx, "pv", types.StrategicMergePatchType, phase, metav1.PatchOptions{}, "status"))
	note(core.PersistentVolumes().Patch(ctx, "gone", types.MergePatchType, labels, metav1.PatchOptions{}))
	note(core.PersistentVolumes().Patch(ctx, "pv", types.JSONPatchType, labels, metav1.PatchOptions{}))
	note(core.PersistentVolumes().UpdateStatus(ctx, stale, metav1.UpdateOptions{}))
	note(core.PersistentVolumes().Get(ctx, "none", metav1.GetOptions{}))
	note(core.PersistentVolumes().Create(ctx, volume("pv"), metav1.CreateOptions{}))
	bad := pv.DeepCopy()
	bad.Spec.Capacity = nil
	note(core.PersistentVolumes().Update(ctx, bad, metav1.UpdateOptions{}))

	pvc, err := core.PersistentVolumeClaims("default").Create(ctx, claim("data"), metav1.CreateOptions{})
	note(pvc, err)
	pvc.Spec.VolumeName = "pv"
	pvc, err = core.PersistentVolumeClaims("default").Update(ctx, pvc, metav1.UpdateOptions{})
	note(pvc, err)
	pvc.Status.Phase, pvc.Spec.VolumeName = v1.ClaimBound, "other"
	note(core.PersistentVolumeClaims("default").UpdateStatus(ctx, pvc, metav1.UpdateOptions{}))
	note(core.PersistentVolumeClaims("other").Get(ctx, "data", metav1.GetOptions{}))
	note(core.PersistentVolumeClaims("").Get(ctx, "data", metav1.GetOptions{}))
	note(core.PersistentVolumeClaims("elsewhere").Update(ctx, pvc, metav1.UpdateOptions{}))

	web, err := core.Pods("default").Create(ctx, pod("web"), metav1.CreateOptions{})
	note(web, err)
	web.Labels = map[string]string{"app": "web"}
	web, err = core.Pods("default").Update(ctx, web, metav1.UpdateOptions{})
	note(web, err)
	web.Status.Phase, web.Spec.NodeName = v1.PodRunning, "other"
	note(core.Pods("default").UpdateStatus(ctx, web, metav1.UpdateOptions{}))

	node, err := core.Nodes().Create(ctx, &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: "node-1"}}, metav1.CreateOptions{})
	note(node, err)
	node.Labels, node.Status.Phase = map[string]string{"zone": "a"}, v1.NodeRunning
	node, err = core.Nodes().Update(ctx, node, metav1.UpdateOptions{})
	note(node, err)
	node.Spec.Unschedulable, node.Status.Phase = true, v1.NodeTerminated
	note(core.Nodes().UpdateStatus(ctx, node, metav1.UpdateOptions{}))
	note(core.Nodes().Get(ctx, "node-1", metav1.GetOptions{}))
	note(core.Nodes().Get(ctx, "none", metav1.GetOptions{}))
	return said
}

func TestTheShortWayKeepsNothingOfTheCallers(t *testing.T) {
	s, _ := newServer()
	c := fake.NewWithoutActions(s, "controller").CoreV1().PersistentVolumes()
	given := volume("pv")
	answer, err := c.Create(ctx, given, metav1.CreateOptions{})
	require.NoError(t, err)
	given.Labels = map[string]string{"changed": "later"}
	given.Spec.Capacity[v1.ResourceStorage] = resource.MustParse("7Gi")
	answer.Spec.Capacity[v1.ResourceStorage] = resource.MustParse("8Gi")

	update, err := c.Get(ctx, "pv", metav1.GetOptions{})
	require.NoError(t, err)
	update.Annotations = map[string]string{"a": "1"}
	answer, err = c.Update(ctx, update, metav1.UpdateOptions{})
	require.NoError(t, err)
	update.Annotations["a"], answer.Annotations["a"] = "2", "3"
	update.Spec.AccessModes[0], answer.Spec.AccessModes[0] = "x", "y"

	answer, err = c.UpdateStatus(ctx, func() *v1.PersistentVolume { o, _ := c.Get(ctx, "pv", metav1.GetOptions{}); return o }(), metav1.UpdateOptions{})
	require.NoError(t, err)
	answer.Spec.Capacity[v1.ResourceStorage] = resource.MustParse("9Gi")

	stored, err := c.Get(ctx, "pv", metav1.GetOptions{})
	require.NoError(t, err)
	assert.Equal(t, volume("pv").Spec.Capacity, stored.Spec.Capacity)
	assert.Equal(t, volume("pv").Spec.AccessModes, stored.Spec.AccessModes)
	assert.Equal(t, map[string]string{"a": "1"}, stored.Annotations)
	assert.Empty(t, stored.Labels)
}

func TestAReactorPutBeforeAGatedClientIsAsked(t *testing.T) {
	s, _ := newServer()
	c := fake.NewWithoutActions(s, "controller")
	pv, err := c.CoreV1().PersistentVolumes().Create(ctx, volume("pv"), metav1.CreateOptions{})
	require.NoError(t, err)
	c.PrependReactor("update", "persistentvolumes", func(clienttesting.Action) (bool, runtimeObject, error) {
		return true, nil, assert.AnError
	})
	_, err = c.CoreV1().PersistentVolumes().Update(ctx, pv, metav1.UpdateOptions{})
	assert.ErrorIs(t, err, assert.AnError)
}

func TestTheShortWayRefusesNothing(t *testing.T) {
	s, user := newServer()
	for name, c := range map[string]*fake.Clientset{"client-go's way": user, "the short way": fake.NewWithoutActions(s, "controller")} {
		volumes := c.CoreV1().PersistentVolumes()
		_, create := volumes.Create(ctx, nil, metav1.CreateOptions{})
		_, update := volumes.Update(ctx, nil, metav1.UpdateOptions{})
		_, status := volumes.UpdateStatus(ctx, nil, metav1.UpdateOptions{})
		for _, err := range []error{create, update, status} {
			assert.True(t, apierrors.IsBadRequest(err), "%s: %v", name, err)
		}
	}
}
