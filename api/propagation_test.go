package api_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	batchv1 "k8s.io/api/batch/v1"
	v1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/utils/ptr"

	"github.com/storagesim/storagesim/api"
	"github.com/storagesim/storagesim/api/fake"
	"github.com/storagesim/storagesim/api/store"
)

const (
	orphan     = metav1.FinalizerOrphanDependents
	foreground = metav1.FinalizerDeleteDependents
)

func policy(p metav1.DeletionPropagation) metav1.DeleteOptions {
	return metav1.DeleteOptions{PropagationPolicy: &p}
}

func orphanDependents(b bool) metav1.DeleteOptions { return metav1.DeleteOptions{OrphanDependents: &b} }

// deletable is an object of some kind in the namespace default, and how to reach it.
type deletable struct {
	gvr schema.GroupVersionResource
	new func(meta metav1.ObjectMeta) runtime.Object
}

var deletables = map[string]deletable{
	"config map": {v1.SchemeGroupVersion.WithResource("configmaps"), func(m metav1.ObjectMeta) runtime.Object { return &v1.ConfigMap{ObjectMeta: m} }},
	"job": {batchv1.SchemeGroupVersion.WithResource("jobs"), func(m metav1.ObjectMeta) runtime.Object {
		return &batchv1.Job{ObjectMeta: m, Spec: batchv1.JobSpec{Template: v1.PodTemplateSpec{Spec: v1.PodSpec{
			RestartPolicy: v1.RestartPolicyNever, Containers: []v1.Container{{Name: "c", Image: "busybox"}},
		}}}}
	}},
	"replication controller": {v1.SchemeGroupVersion.WithResource("replicationcontrollers"), func(m metav1.ObjectMeta) runtime.Object {
		return &v1.ReplicationController{ObjectMeta: m, Spec: v1.ReplicationControllerSpec{Selector: map[string]string{"a": "b"}, Template: &v1.PodTemplateSpec{
			ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"a": "b"}}, Spec: v1.PodSpec{Containers: []v1.Container{{Name: "c", Image: "busybox"}}},
		}}}
	}},
	"event": {v1.SchemeGroupVersion.WithResource("events"), func(m metav1.ObjectMeta) runtime.Object {
		return &v1.Event{ObjectMeta: m, InvolvedObject: v1.ObjectReference{Namespace: "default", Name: "a"}}
	}},
	"event of events.k8s.io": {eventsv1.SchemeGroupVersion.WithResource("events"), func(m metav1.ObjectMeta) runtime.Object {
		return &eventsv1.Event{
			ObjectMeta: m, Regarding: v1.ObjectReference{Namespace: "default", Name: "a"}, EventTime: metav1.NewMicroTime(start),
			ReportingController: "example.com/c", ReportingInstance: "c-0", Action: "Test", Reason: "Test", Type: "Normal",
		}
	}},
	"namespace": {v1.SchemeGroupVersion.WithResource("namespaces"), func(m metav1.ObjectMeta) runtime.Object {
		m.Namespace = ""
		return &v1.Namespace{ObjectMeta: m}
	}},
}

// finalizersOf returns the finalizers of the object, nil if it is gone.
func (d deletable) finalizersOf(t *testing.T, c *fake.Clientset) []string {
	t.Helper()
	got, err := c.Invokes(clienttesting.NewGetAction(d.gvr, "default", "x"), nil)
	if apierrors.IsNotFound(err) {
		return nil
	}
	require.NoError(t, err)
	return append([]string{}, got.(metav1.Object).GetFinalizers()...)
}

// Upstream: registry/generic/registry shouldOrphanDependents and shouldDeleteDependentsInForeground;
// registry/core/namespace/storage for the namespace, v1.37.
func TestHowAnObjectIsDeletedBecomesAFinalizerOfIt(t *testing.T) {
	for _, tc := range []struct {
		name, Entry string
		has         []string
		opts        metav1.DeleteOptions
		want        []string // nil: gone
	}{
		{name: "nothing said: it goes at once", Entry: "config map"},
		{name: "in the background", Entry: "config map", opts: policy("Background")},
		{name: "in the foreground", Entry: "config map", opts: policy("Foreground"), want: []string{foreground}},
		{name: "its dependents orphaned", Entry: "config map", opts: policy("Orphan"), want: []string{orphan}},
		{name: "orphanDependents", Entry: "config map", opts: orphanDependents(true), want: []string{orphan}},
		{name: "orphanDependents=false is the background", Entry: "config map", opts: orphanDependents(false)},
		{name: "other finalizers stay, in front", Entry: "config map", has: []string{"example.com/a"}, opts: policy("Orphan"),
			want: []string{"example.com/a", orphan}},
		{name: "nothing said: the finalizer decides", Entry: "config map", has: []string{orphan}, want: []string{orphan}},
		{name: "and the other one, too", Entry: "config map", has: []string{foreground, "example.com/a"}, want: []string{foreground, "example.com/a"}},
		{name: "the options win over the finalizer", Entry: "config map", has: []string{orphan, "example.com/a"}, opts: policy("Foreground"),
			want: []string{"example.com/a", foreground}},
		{name: "the background takes it away", Entry: "config map", has: []string{foreground, "example.com/a"}, opts: policy("Background"),
			want: []string{"example.com/a"}},
		{name: "and if it was the only one, the object goes", Entry: "config map", has: []string{orphan}, opts: policy("Background")},
		{name: "a job leaves its pods", Entry: "job", want: []string{orphan}},
		{name: "unless told otherwise", Entry: "job", opts: policy("Background")},
		{name: "or by orphanDependents", Entry: "job", opts: orphanDependents(false)},
		{name: "or by its finalizer", Entry: "job", has: []string{foreground}, want: []string{foreground}},
		{name: "a replication controller leaves its pods", Entry: "replication controller", want: []string{orphan}},
		{name: "an event has no dependents", Entry: "event", opts: policy("Foreground")},
		{name: "nor has it of events.k8s.io", Entry: "event of events.k8s.io", opts: policy("Orphan")},
		{name: "an event loses such a finalizer", Entry: "event", has: []string{orphan, "example.com/a"}, want: []string{"example.com/a"}},
		{name: "a namespace stays until it is finalized", Entry: "namespace", want: []string{}},
		{name: "a namespace in the foreground", Entry: "namespace", opts: policy("Foreground"), want: []string{foreground}},
		{name: "of a namespace orphanDependents=false is the foreground", Entry: "namespace", opts: orphanDependents(false), want: []string{foreground}},
		{name: "the finalizer of a namespace", Entry: "namespace", has: []string{orphan}, want: []string{orphan}},
		{name: "the options win there, too", Entry: "namespace", has: []string{orphan}, opts: policy("Background"), want: []string{}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			_, c := newServer()
			d := deletables[tc.Entry]
			obj := d.new(metav1.ObjectMeta{Name: "x", Namespace: "default", Finalizers: tc.has})
			_, err := c.Invokes(clienttesting.NewCreateAction(d.gvr, obj.(metav1.Object).GetNamespace(), obj), obj)
			require.NoError(t, err)
			_, err = c.Invokes(clienttesting.NewDeleteActionWithOptions(d.gvr, "default", "x", tc.opts), nil)
			require.NoError(t, err)
			assert.Equal(t, tc.want, d.finalizersOf(t, c))
		})
	}
}

func TestADeletionRepeatedWithAnotherPolicyChangesTheFinalizer(t *testing.T) {
	clock := newClock()
	s := api.NewServer(api.Config{Now: clock.Now})
	c := fake.New(s, "user")
	maps := c.CoreV1().ConfigMaps("default")
	createMap(t, c, configMap("a"))
	cursor := s.Follow(v1.SchemeGroupVersion.WithResource("configmaps"), store.Selector{}, nil)
	cursor.List()
	del := func(opts metav1.DeleteOptions) *v1.ConfigMap {
		t.Helper()
		clock.Advance(time.Minute)
		require.NoError(t, maps.Delete(ctx, "a", opts))
		got, err := maps.Get(ctx, "a", metav1.GetOptions{})
		require.NoError(t, err)
		return got
	}
	first := del(policy("Foreground"))
	assert.Equal(t, []string{foreground}, first.Finalizers)
	assert.Equal(t, first.ResourceVersion, del(policy("Foreground")).ResourceVersion, "nothing changes")
	assert.Equal(t, first.ResourceVersion, del(metav1.DeleteOptions{}).ResourceVersion, "nothing is said")
	second := del(policy("Orphan"))
	assert.Equal(t, []string{orphan}, second.Finalizers)
	assert.Equal(t, first.DeletionTimestamp, second.DeletionTimestamp, "when it was deleted first counts")
	require.NoError(t, maps.Delete(ctx, "a", policy("Background")))
	_, err := maps.Get(ctx, "a", metav1.GetOptions{})
	assert.True(t, apierrors.IsNotFound(err), "nothing holds it any more: %v", err)
	changes := drain(t, cursor)
	assert.Equal(t, []string{"MODIFIED a", "MODIFIED a", "DELETED a"}, said(changes))
	assert.Equal(t, []string{orphan}, changes[2].Object.(*v1.ConfigMap).Finalizers, "the last state is the one that was stored")
}

// Upstream: registry/generic/registry updateForGracefulDeletionAndFinalizers, v1.37:
// errAlreadyDeleting comes before the finalizers are looked at.
func TestAPolicyComesTooLateWhileAPodHasItsGracePeriod(t *testing.T) {
	_, c := newServer()
	pods := c.CoreV1().Pods("default")
	del := func(opts metav1.DeleteOptions, grace *int64) []string {
		t.Helper()
		opts.GracePeriodSeconds = grace
		require.NoError(t, pods.Delete(ctx, "web", opts))
		got, err := pods.Get(ctx, "web", metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			return nil
		}
		require.NoError(t, err)
		return append([]string{}, got.Finalizers...)
	}
	createPod(t, c, podOn("web", "node-1"))
	assert.Equal(t, []string{foreground}, del(policy("Foreground"), nil))
	assert.Equal(t, []string{foreground}, del(policy("Orphan"), nil), "its grace period runs")
	assert.Equal(t, []string{orphan}, del(policy("Orphan"), ptr.To(int64(5))), "shortened, it is deleted anew")
	assert.Equal(t, []string{orphan}, del(metav1.DeleteOptions{}, ptr.To(int64(0))), "its node is done, the garbage collector is not")
	assert.Equal(t, []string{foreground}, del(policy("Foreground"), nil), "the grace period is over")
	assert.Nil(t, del(policy("Background"), nil))
}

// Upstream: rest.BeforeDelete, v1.37.
func TestAShorterGracePeriodDoesNotEndInThePast(t *testing.T) {
	for _, tc := range []struct {
		name        string
		asked, left int64
		end         time.Duration // after the first deletion
	}{
		{name: "some of it is left", asked: 25, left: 25, end: 25 * time.Second},
		{name: "all of it has passed: a second for the kubelet", asked: 10, left: 1, end: 20 * time.Second},
	} {
		t.Run(tc.name, func(t *testing.T) {
			clock := newClock()
			c := fake.New(api.NewServer(api.Config{Now: clock.Now}), "user")
			createPod(t, c, podOn("web", "node-1"))
			require.NoError(t, c.CoreV1().Pods("default").Delete(ctx, "web", metav1.DeleteOptions{}))
			clock.Advance(20 * time.Second)
			require.NoError(t, c.CoreV1().Pods("default").Delete(ctx, "web", *metav1.NewDeleteOptions(tc.asked)))
			got, err := c.CoreV1().Pods("default").Get(ctx, "web", metav1.GetOptions{})
			require.NoError(t, err)
			assert.Equal(t, tc.left, *got.DeletionGracePeriodSeconds)
			assert.Equal(t, start.Truncate(time.Second).Add(tc.end), got.DeletionTimestamp.Time)
		})
	}
}

func TestACollectionIsDeletedWithAPolicy(t *testing.T) {
	_, c := newServer()
	maps := c.CoreV1().ConfigMaps("default")
	err := maps.DeleteCollection(ctx, policy("Sideways"), metav1.ListOptions{})
	assert.True(t, apierrors.IsInvalid(err), "also where there is nothing to delete: %v", err)
	err = maps.DeleteCollection(ctx, policy("Sideways"), metav1.ListOptions{Continue: "1"})
	assert.True(t, apierrors.IsInvalid(err), "a token is read after the options: %v", err)
	createMap(t, c, configMap("a"))
	createMap(t, c, configMap("b"))
	require.NoError(t, maps.DeleteCollection(ctx, policy("Foreground"), metav1.ListOptions{}))
	list, err := maps.List(ctx, metav1.ListOptions{})
	require.NoError(t, err)
	require.Len(t, list.Items, 2)
	for _, m := range list.Items {
		assert.Equal(t, []string{foreground}, m.Finalizers)
		assert.NotNil(t, m.DeletionTimestamp)
	}
	require.NoError(t, maps.DeleteCollection(ctx, policy("Background"), metav1.ListOptions{}))
	list, err = maps.List(ctx, metav1.ListOptions{})
	require.NoError(t, err)
	assert.Empty(t, list.Items)
}

// Upstream: registry/core/namespace/storage REST.Delete, v1.37.
func TestANamespaceIsRemovedByADeletionOnlyWhenItIsFinalized(t *testing.T) {
	_, c := newServer()
	namespaces := c.CoreV1().Namespaces()
	ns, err := namespaces.Create(ctx, &v1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "x"}}, metav1.CreateOptions{})
	require.NoError(t, err)
	wrong := metav1.DeleteOptions{Preconditions: metav1.NewUIDPreconditions("another")}
	err = namespaces.Delete(ctx, "x", wrong)
	assert.True(t, apierrors.IsConflict(err))
	assert.ErrorContains(t, err, `Operation cannot be fulfilled on namespaces "x": Precondition failed: UID in precondition: another, UID in object meta: `+
		string(ns.UID))

	ns.Spec.Finalizers = nil
	_, err = namespaces.Finalize(ctx, ns, metav1.UpdateOptions{})
	require.NoError(t, err)
	require.NoError(t, namespaces.Delete(ctx, "x", metav1.DeleteOptions{}))
	ns, err = namespaces.Get(ctx, "x", metav1.GetOptions{})
	require.NoError(t, err, "the first deletion only marks it")
	assert.Equal(t, v1.NamespaceTerminating, ns.Status.Phase)
	assert.Nil(t, ns.DeletionGracePeriodSeconds)
	require.NoError(t, namespaces.Delete(ctx, "x", metav1.DeleteOptions{}))
	_, err = namespaces.Get(ctx, "x", metav1.GetOptions{})
	assert.True(t, apierrors.IsNotFound(err), err)
}
