package api_test

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/utils/ptr"

	"github.com/storagesim/storagesim/api"
	"github.com/storagesim/storagesim/api/fake"
)

// semantics 8 must 3
func TestAWatchFromAListSeesEveryLaterChangeOnceAndInOrder(t *testing.T) {
	_, c := newServer()
	maps := c.CoreV1().ConfigMaps("default")
	m := createMap(t, c, configMap("a"))
	list, err := maps.List(ctx, metav1.ListOptions{})
	require.NoError(t, err)
	for i := range 100 {
		m = updateMap(t, c, m, fmt.Sprint(i))
	}
	w, err := maps.Watch(ctx, metav1.ListOptions{ResourceVersion: list.ResourceVersion})
	require.NoError(t, err)
	defer w.Stop()
	for i := range 200 {
		if i >= 100 {
			m = updateMap(t, c, m, fmt.Sprint(i))
		}
		e := next(t, w)
		assert.Equal(t, watch.Modified, e.Type)
		assert.Equal(t, fmt.Sprint(i), e.Object.(*v1.ConfigMap).Data["value"])
	}
}

func TestAWatchWithoutAVersionBeginsWithWhatThereIs(t *testing.T) {
	for _, rv := range []string{"", "0"} {
		_, c := newServer()
		createMap(t, c, configMap("b"))
		createMap(t, c, configMap("a"))
		w, err := c.CoreV1().ConfigMaps("").Watch(ctx, metav1.ListOptions{ResourceVersion: rv})
		require.NoError(t, err)
		createMap(t, c, configMap("c"))
		for _, name := range []string{"a", "b", "c"} {
			e := next(t, w)
			assert.Equal(t, watch.Added, e.Type)
			assert.Equal(t, name, nameOf(e.Object))
		}
		w.Stop()
	}
}

// semantics 8 must 4
func TestDeletingWithAFinalizerIsAModificationAndThenADeletionWithTheFinalState(t *testing.T) {
	_, c := newServer()
	m := configMap("a")
	m.Finalizers = []string{"example.com/hold"}
	maps := c.CoreV1().ConfigMaps("default")
	w, err := maps.Watch(ctx, metav1.ListOptions{})
	require.NoError(t, err)
	defer w.Stop()
	createMap(t, c, m)
	require.NoError(t, maps.Delete(ctx, "a", metav1.DeleteOptions{}))
	require.NoError(t, maps.Delete(ctx, "a", metav1.DeleteOptions{}), "it may be repeated")
	held, err := maps.Get(ctx, "a", metav1.GetOptions{})
	require.NoError(t, err)
	held.Finalizers, held.Data = nil, map[string]string{"last": "words"}
	_, err = maps.Update(ctx, held, metav1.UpdateOptions{})
	require.NoError(t, err)

	assert.Equal(t, watch.Added, next(t, w).Type)
	e := next(t, w)
	assert.Equal(t, watch.Modified, e.Type)
	assert.Equal(t, start.Truncate(time.Second), e.Object.(*v1.ConfigMap).DeletionTimestamp.Time)
	assert.Equal(t, ptr.To(int64(0)), e.Object.(*v1.ConfigMap).DeletionGracePeriodSeconds)
	e = next(t, w)
	assert.Equal(t, watch.Deleted, e.Type)
	assert.Equal(t, "words", e.Object.(*v1.ConfigMap).Data["last"])
	assert.Empty(t, e.Object.(*v1.ConfigMap).Finalizers)
	_, err = maps.Get(ctx, "a", metav1.GetOptions{})
	assert.True(t, apierrors.IsNotFound(err))
}

// semantics 8 must 12
func TestATooOldVersionIsGone(t *testing.T) {
	c := fake.New(api.NewServer(api.Config{LogLimit: 5}), "user")
	m := createMap(t, c, configMap("a"))
	old := m.ResourceVersion
	for i := range 10 {
		m = updateMap(t, c, m, fmt.Sprint(i))
	}
	w, err := c.CoreV1().ConfigMaps("").Watch(ctx, metav1.ListOptions{ResourceVersion: old})
	require.NoError(t, err)
	e := next(t, w)
	assert.Equal(t, watch.Error, e.Type)
	err = apierrors.FromObject(e.Object)
	assert.True(t, apierrors.IsResourceExpired(err), err)
	assert.ErrorContains(t, err, "too old resource version: "+old)
	_, open := <-w.ResultChan()
	assert.False(t, open)
}

func TestTheLatestVersionForgottenIsStillAPlaceToWatchFrom(t *testing.T) {
	c := fake.New(api.NewServer(api.Config{LogLimit: 5}), "user")
	versions := []*v1.ConfigMap{createMap(t, c, configMap("a"))}
	for i := range 10 {
		versions = append(versions, updateMap(t, c, versions[i], fmt.Sprint(i)))
	}
	for back, first := range map[int]watch.EventType{6: watch.Modified, 7: watch.Error} {
		w, err := c.CoreV1().ConfigMaps("").Watch(ctx, metav1.ListOptions{ResourceVersion: versions[len(versions)-back].ResourceVersion})
		require.NoError(t, err)
		assert.Equal(t, first, next(t, w).Type, "from %d back", back)
		w.Stop()
	}
}

func TestAWatcherThatFellBehindGetsWhatItHadInHandAndThenGone(t *testing.T) {
	c := fake.New(api.NewServer(api.Config{LogLimit: 5}), "user")
	m := createMap(t, c, configMap("a"))
	w, err := c.CoreV1().ConfigMaps("").Watch(ctx, metav1.ListOptions{ResourceVersion: m.ResourceVersion})
	require.NoError(t, err)
	defer w.Stop()
	for i := range 1000 {
		m = updateMap(t, c, m, fmt.Sprint(i))
	}
	e := next(t, w)
	for i := 0; e.Type == watch.Modified && i < 1000; i++ {
		e = next(t, w)
	}
	assert.True(t, apierrors.IsResourceExpired(apierrors.FromObject(e.Object)))
}

func TestAVersionThatIsNoNumberOrInTheFutureIsRefused(t *testing.T) {
	_, c := newServer()
	maps := c.CoreV1().ConfigMaps("")
	_, err := maps.Watch(ctx, metav1.ListOptions{ResourceVersion: "abc"})
	assert.EqualError(t, err, `resourceVersion: Invalid value: "abc": strconv.ParseUint: parsing "abc": invalid syntax`)
	_, err = maps.List(ctx, metav1.ListOptions{ResourceVersion: "abc"})
	assert.True(t, apierrors.IsBadRequest(err), err)
	_, err = maps.List(ctx, metav1.ListOptions{ResourceVersion: "99999"})
	assert.True(t, apierrors.IsTimeout(err), err)
	assert.True(t, apierrors.HasStatusCause(err, metav1.CauseTypeResourceVersionTooLarge))
	_, err = maps.List(ctx, metav1.ListOptions{ResourceVersionMatch: metav1.ResourceVersionMatchExact})
	assert.ErrorContains(t, err, "resourceVersionMatch is forbidden unless resourceVersion is provided")
	_, err = maps.Watch(ctx, metav1.ListOptions{SendInitialEvents: ptr.To(true)})
	assert.True(t, apierrors.IsInvalid(err), err)
}

func TestInitialEventsEndWithABookmarkThatSaysSo(t *testing.T) {
	_, c := newServer()
	createMap(t, c, configMap("a"))
	createVolume(t, c, volume("later"))
	w, err := c.CoreV1().ConfigMaps("").Watch(ctx, metav1.ListOptions{
		SendInitialEvents: ptr.To(true), AllowWatchBookmarks: true, ResourceVersionMatch: metav1.ResourceVersionMatchNotOlderThan,
	})
	require.NoError(t, err)
	defer w.Stop()
	createMap(t, c, configMap("b"))
	assert.Equal(t, "a", nameOf(next(t, w).Object))
	e := next(t, w)
	assert.Equal(t, watch.Bookmark, e.Type)
	assert.Equal(t, "true", e.Object.(*v1.ConfigMap).Annotations[metav1.InitialEventsAnnotationKey])
	assert.Equal(t, "6", e.Object.(*v1.ConfigMap).ResourceVersion, "the latest version when the watch began")
	assert.Equal(t, "b", nameOf(next(t, w).Object))
}

// Upstream's internal kinds of apps have replicas that are no pointer, so that an empty one has 0.
func TestTheObjectOfABookmarkHasTheReplicasOfAnEmptyOne(t *testing.T) {
	_, c := newServer()
	opts := metav1.ListOptions{
		SendInitialEvents: ptr.To(true), AllowWatchBookmarks: true, ResourceVersionMatch: metav1.ResourceVersionMatchNotOlderThan,
	}
	for kind, begin := range map[string]func() (watch.Interface, error){
		"Deployment":  func() (watch.Interface, error) { return c.AppsV1().Deployments("").Watch(ctx, opts) },
		"StatefulSet": func() (watch.Interface, error) { return c.AppsV1().StatefulSets("").Watch(ctx, opts) },
		"ReplicaSet":  func() (watch.Interface, error) { return c.AppsV1().ReplicaSets("").Watch(ctx, opts) },
	} {
		w, err := begin()
		require.NoError(t, err)
		e := next(t, w)
		w.Stop()
		require.Equal(t, watch.Bookmark, e.Type)
		fields, err := runtime.DefaultUnstructuredConverter.ToUnstructured(e.Object)
		require.NoError(t, err)
		replicas, found, err := unstructured.NestedInt64(fields, "spec", "replicas")
		require.NoError(t, err)
		assert.True(t, found, kind)
		assert.Zero(t, replicas, kind)
	}
}

func TestBookmarksComeAboutEveryMinuteIfAskedFor(t *testing.T) {
	clock := newClock()
	c := fake.New(api.NewServer(api.Config{Now: clock.Now}), "user")
	m := createMap(t, c, configMap("watched"))
	opts := metav1.ListOptions{ResourceVersion: m.ResourceVersion, FieldSelector: "metadata.name=watched"}
	without, err := c.CoreV1().ConfigMaps("").Watch(ctx, opts)
	require.NoError(t, err)
	defer without.Stop()
	opts.AllowWatchBookmarks = true
	with, err := c.CoreV1().ConfigMaps("").Watch(ctx, opts)
	require.NoError(t, err)
	defer with.Stop()
	createMap(t, c, configMap("unseen-1"))
	clock.Advance(61 * time.Second)
	last := createMap(t, c, configMap("unseen-2"))
	e := next(t, with)
	assert.Equal(t, watch.Bookmark, e.Type)
	assert.Equal(t, last.ResourceVersion, e.Object.(*v1.ConfigMap).ResourceVersion)
	assert.Empty(t, e.Object.(*v1.ConfigMap).Annotations)
	updateMap(t, c, m, "1")
	assert.Equal(t, watch.Modified, next(t, with).Type)
	assert.Equal(t, watch.Modified, next(t, without).Type)
}

func TestStoppingAWatchEndsItsGoroutine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := fake.New(api.NewServer(api.Config{}), "user")
		createMap(t, c, configMap("a"))
		for range 10 { // one event in hand, and no reader
			w, err := c.CoreV1().ConfigMaps("").Watch(ctx, metav1.ListOptions{})
			require.NoError(t, err)
			synctest.Wait()
			w.Stop()
			w.Stop()
			synctest.Wait()
			_, open := <-w.ResultChan()
			assert.False(t, open)
		}
	}) // a goroutine left behind would be a deadlock here
}

func TestManyWritesWithWatchersThatNeverReadTakeBoundedMemory(t *testing.T) {
	held := heapAfterWrites(t, 100_000, 10)
	t.Logf("%.1f MiB in use after 100,000 writes", held)
	assert.Less(t, held, 100.0)
}
