package api_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/utils/ptr"

	"github.com/storagesim/storagesim/api"
	"github.com/storagesim/storagesim/api/fake"
	"github.com/storagesim/storagesim/api/store"
)

func TestAPodIsRemovedAtOnceOrLeftToItsNode(t *testing.T) {
	for _, tc := range []struct {
		name  string
		pod   func(*v1.Pod)
		phase v1.PodPhase
		grace *int64
		left  *int64 // nil: gone
	}{
		{name: "an unscheduled pod goes at once", pod: func(p *v1.Pod) { p.Spec.NodeName = "" }},
		{name: "a scheduled one has its own grace period", pod: func(p *v1.Pod) { p.Spec.TerminationGracePeriodSeconds = ptr.To(int64(7)) }, left: ptr.To(int64(7))},
		{name: "30 s by default", left: ptr.To(int64(30))},
		{name: "or what the deletion says", grace: ptr.To(int64(3)), left: ptr.To(int64(3))},
		{name: "a negative one is the shortest", grace: ptr.To(int64(-5)), left: ptr.To(int64(1))},
		{name: "0 removes it", grace: ptr.To(int64(0))},
		{name: "a finished pod goes at once", phase: v1.PodSucceeded},
		{name: "a failed one, too", phase: v1.PodFailed},
	} {
		t.Run(tc.name, func(t *testing.T) {
			_, c := newServer()
			pods := c.CoreV1().Pods("default")
			p := podOn("web", "node-1")
			if tc.pod != nil {
				tc.pod(p)
			}
			p = createPod(t, c, p)
			if tc.phase != "" {
				p.Status.Phase = tc.phase
				_, err := pods.UpdateStatus(ctx, p, metav1.UpdateOptions{})
				require.NoError(t, err)
			}
			require.NoError(t, pods.Delete(ctx, "web", metav1.DeleteOptions{GracePeriodSeconds: tc.grace}))
			got, err := pods.Get(ctx, "web", metav1.GetOptions{})
			if tc.left == nil {
				assert.True(t, apierrors.IsNotFound(err), err)
				return
			}
			require.NoError(t, err)
			assert.Equal(t, tc.left, got.DeletionGracePeriodSeconds)
			assert.Equal(t, start.Truncate(time.Second).Add(time.Duration(*tc.left)*time.Second), got.DeletionTimestamp.Time)
			assert.EqualValues(t, 2, got.Generation)
		})
	}
}

func TestARepeatedDeletionOnlyShortensTheGracePeriod(t *testing.T) {
	clock := newClock()
	s := api.NewServer(api.Config{Now: clock.Now})
	c := fake.New(s, "user")
	pods := c.CoreV1().Pods("default")
	createPod(t, c, podOn("web", "node-1"))
	cursor := s.Follow(podsGVR, store.Selector{}, nil)
	cursor.List()
	del := func(grace *int64) *v1.Pod {
		require.NoError(t, pods.Delete(ctx, "web", metav1.DeleteOptions{GracePeriodSeconds: grace}))
		got, err := pods.Get(ctx, "web", metav1.GetOptions{})
		if err != nil {
			return nil
		}
		return got
	}
	first := del(nil)
	clock.Advance(4 * time.Second)
	assert.Equal(t, first.ResourceVersion, del(nil).ResourceVersion)
	assert.Equal(t, first.ResourceVersion, del(ptr.To(int64(60))).ResourceVersion)
	shorter := del(ptr.To(int64(10)))
	assert.Equal(t, first.Generation, shorter.Generation, "only the first deletion counts")
	assert.EqualValues(t, 10, *shorter.DeletionGracePeriodSeconds)
	assert.Equal(t, start.Truncate(time.Second).Add(10*time.Second), shorter.DeletionTimestamp.Time, "counted from the first deletion")
	assert.EqualValues(t, 1, *del(ptr.To(int64(-5))).DeletionGracePeriodSeconds, "a negative one is the shortest")
	assert.Nil(t, del(ptr.To(int64(0))), "the kubelet has stopped it")
	assert.Equal(t, []string{"MODIFIED web", "MODIFIED web", "MODIFIED web", "MODIFIED web", "DELETED web"}, said(drain(t, cursor)))
}

func TestAPodWithAFinalizerOutlivesItsGracePeriod(t *testing.T) {
	_, c := newServer()
	pods := c.CoreV1().Pods("default")
	p := podOn("web", "node-1")
	p.Finalizers = []string{"example.com/hold"}
	createPod(t, c, p)
	require.NoError(t, pods.Delete(ctx, "web", metav1.DeleteOptions{}))
	unhold := []byte(`{"metadata":{"finalizers":null}}`)
	hold := []byte(`{"metadata":{"finalizers":["example.com/hold"]}}`)
	got, err := pods.Patch(ctx, "web", types.MergePatchType, unhold, metav1.PatchOptions{})
	require.NoError(t, err, "its node still has time to stop it")
	assert.NotNil(t, got.DeletionTimestamp)
	_, err = pods.Patch(ctx, "web", types.MergePatchType, hold, metav1.PatchOptions{})
	assert.True(t, apierrors.IsInvalid(err), "no new finalizers while deleting: %v", err)
	require.NoError(t, pods.Delete(ctx, "web", *metav1.NewDeleteOptions(0)))
	_, err = pods.Get(ctx, "web", metav1.GetOptions{})
	assert.True(t, apierrors.IsNotFound(err))

	createPod(t, c, p)
	require.NoError(t, pods.Delete(ctx, "web", *metav1.NewDeleteOptions(0)))
	got, err = pods.Get(ctx, "web", metav1.GetOptions{})
	require.NoError(t, err, "the finalizer holds it")
	assert.Zero(t, *got.DeletionGracePeriodSeconds)
	_, err = pods.Patch(ctx, "web", types.MergePatchType, unhold, metav1.PatchOptions{})
	require.NoError(t, err)
	_, err = pods.Get(ctx, "web", metav1.GetOptions{})
	assert.True(t, apierrors.IsNotFound(err))
}

func TestADeletionCannotBeTakenBackNorHeldByMore(t *testing.T) {
	_, c := newServer()
	maps := c.CoreV1().ConfigMaps("default")
	patch := func(pt types.PatchType, data string) (*v1.ConfigMap, error) {
		return maps.Patch(ctx, "a", pt, []byte(data), metav1.PatchOptions{})
	}
	m := configMap("a")
	m.Finalizers = []string{"example.com/a", "example.com/b"}
	createMap(t, c, m)
	require.NoError(t, maps.Delete(ctx, "a", metav1.DeleteOptions{}))
	got, err := patch(types.MergePatchType, `{"metadata":{"deletionTimestamp":null,"deletionGracePeriodSeconds":null}}`)
	require.NoError(t, err)
	assert.NotNil(t, got.DeletionTimestamp)
	_, err = patch(types.JSONPatchType, `[{"op":"add","path":"/metadata/finalizers/-","value":"example.com/c"}]`)
	assert.True(t, apierrors.IsInvalid(err), err)
	_, err = patch(types.StrategicMergePatchType, `{"metadata":{"$deleteFromPrimitiveList/finalizers":["example.com/a"]}}`)
	require.NoError(t, err)
	got, err = patch(types.JSONPatchType, `[{"op":"remove","path":"/metadata/finalizers/0"}]`)
	require.NoError(t, err, "the answer is the final state")
	assert.Empty(t, got.Finalizers)
	_, err = maps.Get(ctx, "a", metav1.GetOptions{})
	assert.True(t, apierrors.IsNotFound(err), err)

	held := createClaim(t, c, claim("a"))
	claims := c.CoreV1().PersistentVolumeClaims("default")
	require.NoError(t, claims.Delete(ctx, "a", metav1.DeleteOptions{}))
	held.ResourceVersion, held.Finalizers = "", nil
	_, err = claims.UpdateStatus(ctx, held, metav1.UpdateOptions{})
	require.NoError(t, err, "the last finalizer may also go with the status")
	_, err = claims.Get(ctx, "a", metav1.GetOptions{})
	assert.True(t, apierrors.IsNotFound(err), err)
}

// semantics 8.1: a name is taken until the object is gone.
func TestTheNameOfAnObjectBeingDeletedIsTaken(t *testing.T) {
	s, c := newServer()
	seen := writes(s)
	claims := c.CoreV1().PersistentVolumeClaims("default")
	createClaim(t, c, claim("a"))
	require.NoError(t, claims.Delete(ctx, "a", metav1.DeleteOptions{}))
	_, err := claims.Create(ctx, claim("a"), metav1.CreateOptions{})
	assert.True(t, apierrors.IsAlreadyExists(err), err)
	last, err := claims.Patch(ctx, "a", types.JSONPatchType, []byte(`[{"op":"remove","path":"/metadata/finalizers"}]`), metav1.PatchOptions{})
	require.NoError(t, err)
	assert.Empty(t, last.Finalizers)
	removal := (*seen)[len(*seen)-1]
	assert.Nil(t, removal.New)
	assert.NotEmpty(t, removal.Old.(*v1.PersistentVolumeClaim).Finalizers)
	assert.Empty(t, removal.Last.(*v1.PersistentVolumeClaim).Finalizers)
	createClaim(t, c, claim("a"))
}

// Upstream: apis/meta/v1/validation ValidateDeleteOptions; endpoints/handlers
// DeleteResource, v1.37: before the object is looked for.
func TestDeleteOptionsThatMeanNothingAreRefused(t *testing.T) {
	_, c := newServer()
	const invalid = `DeleteOptions.meta.k8s.io "" is invalid: `
	for _, tc := range []struct {
		opts metav1.DeleteOptions
		want string
	}{
		{policy("Sideways"), invalid + `propagationPolicy: Unsupported value: "Sideways": supported values: "Foreground", "Background", "Orphan", "nil"`},
		{
			metav1.DeleteOptions{PropagationPolicy: ptr.To(metav1.DeletePropagationOrphan), OrphanDependents: ptr.To(true)},
			invalid + `propagationPolicy: Invalid value: "Orphan": orphanDependents and deletionPropagation cannot be both set`,
		},
		{metav1.DeleteOptions{DryRun: []string{"Some"}}, invalid + `dryRun: Unsupported value: ["Some"]: supported values: "All"`},
	} {
		err := c.CoreV1().ConfigMaps("default").Delete(ctx, "there-is-none", tc.opts)
		assert.True(t, apierrors.IsInvalid(err), err)
		assert.EqualError(t, err, tc.want)
	}
}

func TestACollectionIsDeletedByItsSelectors(t *testing.T) {
	s, c := newServer()
	seen := writes(s)
	for _, name := range []string{"a", "b", "c"} {
		m := configMap(name)
		m.Labels = map[string]string{"keep": map[bool]string{true: "yes", false: "no"}[name == "b"]}
		createMap(t, c, m)
	}
	*seen = nil
	maps := c.CoreV1().ConfigMaps("default")
	require.NoError(t, maps.DeleteCollection(ctx, metav1.DeleteOptions{}, metav1.ListOptions{LabelSelector: "keep=no"}))
	list, err := maps.List(ctx, metav1.ListOptions{})
	require.NoError(t, err)
	require.Len(t, list.Items, 1)
	assert.Equal(t, "b", list.Items[0].Name)
	require.Len(t, *seen, 2)
	assert.Equal(t, "deletecollection", (*seen)[0].Verb)
	assert.Equal(t, "a", (*seen)[0].Name)
	assert.Error(t, maps.DeleteCollection(ctx, metav1.DeleteOptions{}, metav1.ListOptions{FieldSelector: "spec.x=1"}))
	err = c.CoreV1().ConfigMaps("").DeleteCollection(ctx, metav1.DeleteOptions{}, metav1.ListOptions{})
	assert.True(t, apierrors.IsMethodNotSupported(err), "only one namespace's objects can be deleted together: %v", err)
	_, err = c.Invokes(clienttesting.NewDeleteCollectionAction(v1.SchemeGroupVersion.WithResource("namespaces"), "", metav1.ListOptions{}), nil)
	assert.True(t, apierrors.IsMethodNotSupported(err), "namespaces are deleted one by one: %v", err)
}

func TestAnEvictionIsADeletion(t *testing.T) {
	_, c := newServer()
	createPod(t, c, podOn("web", "node-1"))
	require.NoError(t, c.PolicyV1().Evictions("default").Evict(ctx, &policyv1.Eviction{ObjectMeta: metav1.ObjectMeta{Name: "web", Namespace: "default"}}))
	got, err := c.CoreV1().Pods("default").Get(ctx, "web", metav1.GetOptions{})
	require.NoError(t, err)
	assert.NotNil(t, got.DeletionTimestamp)
	require.NoError(t, c.CoreV1().Pods("default").EvictV1(ctx, &policyv1.Eviction{
		ObjectMeta: metav1.ObjectMeta{Name: "web"}, DeleteOptions: metav1.NewDeleteOptions(0),
	}))
	_, err = c.CoreV1().Pods("default").Get(ctx, "web", metav1.GetOptions{})
	assert.True(t, apierrors.IsNotFound(err))
}
