package api_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/storagesim/storagesim/api"
	"github.com/storagesim/storagesim/api/fake"
	"github.com/storagesim/storagesim/api/store"
)

var (
	configMaps = v1.SchemeGroupVersion.WithResource("configmaps")
	podsGVR    = v1.SchemeGroupVersion.WithResource("pods")
)

// semantics 8 must 3
func TestACursorSeesEveryChangeAfterItsListOnceAndInOrder(t *testing.T) {
	s, c := newServer()
	before := createMap(t, c, configMap("before"))
	notified := 0
	cursor := s.Follow(configMaps, store.Selector{}, func() { notified++ })
	defer cursor.Stop()
	_, _, err := cursor.Next()
	assert.True(t, apierrors.IsResourceExpired(err), "there was no list yet: %v", err)
	createMap(t, c, configMap("too-early-to-be-a-change"))
	require.Len(t, cursor.List(), 2)
	assert.Empty(t, drain(t, cursor))

	a := createMap(t, c, configMap("a"))
	updateMap(t, c, a, "1")
	updateMap(t, c, before, "1")
	require.NoError(t, c.CoreV1().ConfigMaps("default").Delete(ctx, "a", metav1.DeleteOptions{}))
	createVolume(t, c, volume("of-another-resource"))
	changes := drain(t, cursor)
	assert.Equal(t, []string{"ADDED a", "MODIFIED a", "MODIFIED before", "DELETED a"}, said(changes))
	for i, change := range changes {
		assert.Equal(t, fmt.Sprint(change.RV), change.Object.(*v1.ConfigMap).ResourceVersion)
		if i > 0 {
			assert.Greater(t, change.RV, changes[i-1].RV)
		}
	}
	assert.Nil(t, changes[0].Old)
	assert.Same(t, changes[0].Object, changes[1].Old)
	assert.Equal(t, map[string]string{"value": "1"}, changes[3].Object.(*v1.ConfigMap).Data, "the last state")
	assert.Equal(t, 5, notified)
}

func TestACursorThatFellBehindIsToldSoAndListsAgain(t *testing.T) {
	s := api.NewServer(api.Config{LogLimit: 10})
	c := fake.New(s, "user")
	m := createMap(t, c, configMap("a"))
	cursor := s.Follow(configMaps, store.Selector{}, nil)
	defer cursor.Stop()
	cursor.List()
	for i := range 10 {
		m = updateMap(t, c, m, fmt.Sprint(i))
	}
	assert.Len(t, drain(t, cursor), 10, "ten changes are kept")
	for i := range 11 {
		m = updateMap(t, c, m, fmt.Sprint("again", i))
	}
	_, _, err := cursor.Next()
	assert.True(t, apierrors.IsResourceExpired(err), err)
	assert.Equal(t, int32(410), err.(apierrors.APIStatus).Status().Code)
	assert.Equal(t, m.Data, cursor.List()[0].Object.(*v1.ConfigMap).Data)
	assert.Empty(t, drain(t, cursor))
}

func TestACursorThatNothingConcernedNeverFallsBehind(t *testing.T) {
	s := api.NewServer(api.Config{LogLimit: 10})
	c := fake.New(s, "user")
	cursor := s.Follow(podsGVR, store.Selector{Fields: fields.OneTermEqualSelector("spec.nodeName", "node-1")}, nil)
	defer cursor.Stop()
	cursor.List()
	for i := range 50 {
		createPod(t, c, podOn(fmt.Sprint("elsewhere-", i), "node-2"))
	}
	createPod(t, c, podOn("here", "node-1"))
	assert.Equal(t, []string{"ADDED here"}, said(drain(t, cursor)))
}

func TestLeavingASelectionIsADeletionAndEnteringItAnAddition(t *testing.T) {
	s, c := newServer()
	cursor := s.Follow(configMaps, store.Selector{Labels: labels.SelectorFromSet(labels.Set{"app": "web"})}, nil)
	defer cursor.Stop()
	cursor.List()
	maps := c.CoreV1().ConfigMaps("default")
	patch := func(p string) {
		_, err := maps.Patch(ctx, "a", types.MergePatchType, []byte(p), metav1.PatchOptions{})
		require.NoError(t, err)
	}
	createMap(t, c, configMap("a"))
	patch(`{"metadata":{"labels":{"app":"web"}}}`)
	patch(`{"data":{"x":"1"}}`)
	patch(`{"data":{"x":"2"},"metadata":{"labels":{"app":"db"}}}`)
	patch(`{"data":{"x":"3"}}`)
	patch(`{"metadata":{"labels":{"app":"web"}}}`)
	require.NoError(t, maps.Delete(ctx, "a", metav1.DeleteOptions{}))
	changes := drain(t, cursor)
	assert.Equal(t, []string{"ADDED a", "MODIFIED a", "DELETED a", "ADDED a", "DELETED a"}, said(changes))
	left := changes[2].Object.(*v1.ConfigMap)
	assert.Equal(t, "1", left.Data["x"], "the last state that was selected")
	assert.Equal(t, fmt.Sprint(changes[2].RV), left.ResourceVersion)
	assert.Nil(t, changes[3].Old)
}

func TestOnlyCursorsThatAChangeMayConcernAreNotified(t *testing.T) {
	s, c := newServer()
	calls := map[string]int{}
	follow := func(name string, sel store.Selector) *store.Cursor {
		cursor := s.Follow(podsGVR, sel, func() { calls[name]++ })
		t.Cleanup(cursor.Stop)
		cursor.List()
		return cursor
	}
	node1 := follow("node-1", store.Selector{Fields: fields.OneTermEqualSelector("spec.nodeName", "node-1")})
	follow("node-2", store.Selector{Fields: fields.OneTermEqualSelector("spec.nodeName", "node-2")})
	unassigned := follow("none", store.Selector{Fields: fields.OneTermEqualSelector("spec.nodeName", "")})
	follow("name", store.Selector{Fields: fields.OneTermEqualSelector("metadata.name", "web")})
	follow("namespace", store.Selector{Namespace: "kube-system"})
	follow("all", store.Selector{})

	createPod(t, c, pod("web"))
	assert.Equal(t, map[string]int{"none": 1, "name": 1, "all": 1}, calls)
	require.NoError(t, c.CoreV1().Pods("default").Bind(ctx, &v1.Binding{
		ObjectMeta: metav1.ObjectMeta{Name: "web", Namespace: "default"}, Target: v1.ObjectReference{Name: "node-1"},
	}, metav1.CreateOptions{}))
	assert.Equal(t, map[string]int{"none": 2, "name": 2, "all": 2, "node-1": 1}, calls)
	assert.Equal(t, []string{"ADDED web", "DELETED web"}, said(drain(t, unassigned)))
	assert.Equal(t, []string{"ADDED web"}, said(drain(t, node1)))
}

func TestAStoppedCursorHearsNothing(t *testing.T) {
	s, c := newServer()
	notified := 0
	cursor := s.Follow(configMaps, store.Selector{}, func() { notified++ })
	cursor.List()
	cursor.Stop()
	cursor.Stop()
	createMap(t, c, configMap("a"))
	assert.Zero(t, notified)
	assert.Empty(t, drain(t, cursor))
}

func TestFollowingAnUnknownResourceSelectsNothing(t *testing.T) {
	s, _ := newServer()
	cursor := s.Follow(schema.GroupVersionResource{Group: "example.com", Version: "v1", Resource: "things"}, store.Selector{}, nil)
	assert.Empty(t, cursor.List())
	assert.Empty(t, drain(t, cursor))
	cursor.Stop()
}

// BenchmarkNotify measures a pod's change with as many kubelets following their own
// pods: the cost must not grow with them.
func BenchmarkNotify(b *testing.B) {
	for _, kubelets := range []int{0, 10, 5000} {
		b.Run(fmt.Sprint(kubelets), func(b *testing.B) {
			s := api.NewServer(api.Config{})
			c := fake.New(s, "user")
			for i := range kubelets {
				s.Follow(podsGVR, store.Selector{Fields: fields.OneTermEqualSelector("spec.nodeName", fmt.Sprint("node-", i))}, func() {}).List()
			}
			p := createPod(b, c, podOn("web", "node-1"))
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				p.Status.Message = fmt.Sprint(i)
				var err error
				p, err = c.CoreV1().Pods("default").UpdateStatus(ctx, p, metav1.UpdateOptions{})
				require.NoError(b, err)
			}
		})
	}
}
