package api_test

import (
	"cmp"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/storagesim/storagesim/api"
	"github.com/storagesim/storagesim/api/fake"
	"github.com/storagesim/storagesim/api/store"
	"github.com/storagesim/storagesim/api/views"
)

func listEvents(t *testing.T, c *fake.Clientset, opts metav1.ListOptions) []v1.Event {
	list, err := c.CoreV1().Events("").List(ctx, opts)
	require.NoError(t, err)
	return list.Items
}

// eventOf returns an event as a controller's recorder makes it, which has been counted once.
func eventOf(t *testing.T, of runtime.Object, message string) *v1.Event {
	about, ok := views.ReferenceTo(of)
	require.True(t, ok)
	now := metav1.NewTime(start.Truncate(time.Second))
	return &v1.Event{
		ObjectMeta: metav1.ObjectMeta{Namespace: cmp.Or(about.Namespace, "default")}, InvolvedObject: about, Type: "Normal", Reason: "R", Message: message,
		Source: v1.EventSource{Component: "kubelet", Host: "node-1"}, ReportingController: "kubelet",
		Count: 1, FirstTimestamp: now, LastTimestamp: now,
	}
}

// countedAgain returns the event that counts one more.
func countedAgain(event *v1.Event, at time.Time) *v1.Event {
	again := *event
	again.Count, again.LastTimestamp = event.Count+1, metav1.NewTime(at.Truncate(time.Second))
	return &again
}

func TestAnEventIsFoundByItsObjectAndItsReason(t *testing.T) {
	s, c := newServer()
	seen := writes(s)
	pvc := createClaim(t, c, claim("data"))
	s.RecordEvent(eventOf(t, pvc, "no such file"))
	s.RecordEvent(eventOf(t, createVolume(t, c, volume("pv")), "done"))
	assert.Len(t, *seen, 2, "events are not reported")
	events := listEvents(t, c, metav1.ListOptions{FieldSelector: "involvedObject.kind=PersistentVolumeClaim,reason=R,type=Normal"})
	require.Len(t, events, 1)
	e := events[0]
	assert.Regexp(t, `^data\.[0-9a-f]+$`, e.Name)
	assert.Equal(t, "default", e.Namespace)
	assert.Equal(t, v1.ObjectReference{
		Kind: "PersistentVolumeClaim", APIVersion: "v1", Namespace: "default", Name: "data", UID: pvc.UID, ResourceVersion: pvc.ResourceVersion,
	}, e.InvolvedObject)
	assert.NotEmpty(t, e.UID)
	assert.NotEmpty(t, e.CreationTimestamp)
	assert.Len(t, listEvents(t, c, metav1.ListOptions{FieldSelector: "involvedObject.name=pv"}), 1)
}

func TestAnEventThatIsCountedKeepsWhatOthersWroteToIt(t *testing.T) {
	s, c := newServer()
	pvc := createClaim(t, c, claim("data"))
	one, two := s.RecordEvent(eventOf(t, pvc, "one")), s.RecordEvent(eventOf(t, pvc, "two"))
	assert.NotEqual(t, one.Name, two.Name)
	_, err := c.CoreV1().Events("default").Patch(ctx, one.Name, types.MergePatchType, []byte(`{"metadata":{"labels":{"seen":"yes"}}}`), metav1.PatchOptions{})
	require.NoError(t, err)
	again := s.RecordEvent(countedAgain(one, start.Add(3*time.Minute)))
	assert.Equal(t, map[string]string{"seen": "yes"}, again.Labels)
	assert.EqualValues(t, 1, one.Count, "what was given out is not written to")
	events := listEvents(t, c, metav1.ListOptions{})
	require.Len(t, events, 2)
	assert.EqualValues(t, 2, events[0].Count)
	assert.Equal(t, start.Truncate(time.Second), events[0].FirstTimestamp.Time)
	assert.Equal(t, start.Truncate(time.Second).Add(3*time.Minute), events[0].LastTimestamp.Time)
}

func TestANamespaceThatEndsTakesNoNewEvents(t *testing.T) {
	s, c := newServer()
	_, err := c.CoreV1().Namespaces().Create(ctx, &v1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "team"}}, metav1.CreateOptions{})
	require.NoError(t, err)
	m, err := c.CoreV1().ConfigMaps("team").Create(ctx, &v1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "a"}}, metav1.CreateOptions{})
	require.NoError(t, err)
	before := s.RecordEvent(eventOf(t, m, "before"))
	require.NoError(t, c.CoreV1().Namespaces().Delete(ctx, "team", metav1.DeleteOptions{}))
	s.RecordEvent(countedAgain(before, start))
	s.RecordEvent(eventOf(t, m, "after"))
	s.RecordEvent(&v1.Event{ObjectMeta: metav1.ObjectMeta{Namespace: "team"}, Message: "after, by the other API"})
	s.RecordEvent(&v1.Event{ObjectMeta: metav1.ObjectMeta{Namespace: "nowhere"}, Message: "elsewhere"})
	events, err := c.CoreV1().Events("").List(ctx, metav1.ListOptions{})
	require.NoError(t, err)
	require.Len(t, events.Items, 1)
	assert.Equal(t, "before", events.Items[0].Message)
	assert.EqualValues(t, 2, events.Items[0].Count, "an event that is there is counted on")
}

func TestEventsExpireAnHourAfterTheyWereLastSeen(t *testing.T) {
	clock := newClock()
	s := api.NewServer(api.Config{Now: clock.Now})
	c := fake.New(s, "user")
	m := createMap(t, c, configMap("a"))
	repeated := s.RecordEvent(eventOf(t, m, "repeated"))
	s.RecordEvent(eventOf(t, m, "once"))
	clock.Advance(40 * time.Minute)
	repeated = s.RecordEvent(countedAgain(repeated, clock.Now()))
	clock.Advance(40 * time.Minute)
	s.RecordEvent(eventOf(t, m, "new"))
	var left []string
	for _, e := range listEvents(t, c, metav1.ListOptions{}) {
		left = append(left, e.Message)
	}
	assert.ElementsMatch(t, []string{"repeated", "new"}, left)
	clock.Advance(2 * time.Hour)
	s.RecordEvent(countedAgain(repeated, clock.Now()))
	events := listEvents(t, c, metav1.ListOptions{})
	require.Len(t, events, 1)
	assert.Equal(t, repeated.Name, events[0].Name, "a recorder makes the event that is gone anew")
	assert.NotEqual(t, repeated.UID, events[0].UID)
	assert.EqualValues(t, 3, events[0].Count)
}

func TestNoReaderSeesAnEventThatHasExpired(t *testing.T) {
	clock := newClock()
	s := api.NewServer(api.Config{Now: clock.Now})
	c := fake.New(s, "user")
	m := createMap(t, c, configMap("a"))
	recorded := s.RecordEvent(eventOf(t, m, "recorded"))
	named := eventOf(t, m, "created")
	named.Name = "named"
	created, err := c.CoreV1().Events("default").Create(ctx, named, metav1.CreateOptions{})
	require.NoError(t, err)
	clock.Advance(time.Hour)
	require.Len(t, listEvents(t, c, metav1.ListOptions{}), 2)
	_, err = c.CoreV1().Events("default").Patch(ctx, "named", types.MergePatchType, []byte(`{"metadata":{"labels":{"seen":"yes"}}}`), metav1.PatchOptions{})
	require.NoError(t, err)
	clock.Advance(time.Second)
	left := listEvents(t, c, metav1.ListOptions{})
	require.Len(t, left, 1, "who writes an event lets it last for another hour")
	assert.Equal(t, "named", left[0].Name)

	clock.Advance(time.Hour)
	before, err := c.CoreV1().Events("").List(ctx, metav1.ListOptions{})
	require.NoError(t, err)
	assert.Empty(t, before.Items)
	assert.Empty(t, listEvents(t, c, metav1.ListOptions{FieldSelector: "metadata.name=named", Limit: 1}))
	v1Events, err := c.EventsV1().Events("default").List(ctx, metav1.ListOptions{})
	require.NoError(t, err)
	assert.Empty(t, v1Events.Items)
	for _, name := range []string{"named", recorded.Name} {
		_, err = c.CoreV1().Events("default").Get(ctx, name, metav1.GetOptions{})
		assert.True(t, apierrors.IsNotFound(err), "%v", err)
	}
	_, err = c.CoreV1().Events("default").Patch(ctx, "named", types.MergePatchType, []byte(`{}`), metav1.PatchOptions{})
	assert.True(t, apierrors.IsNotFound(err), "%v", err)
	assert.True(t, apierrors.IsNotFound(c.CoreV1().Events("default").Delete(ctx, "named", metav1.DeleteOptions{})))
	for _, obj := range s.Objects(true) {
		_, event := obj.(*v1.Event)
		assert.False(t, event)
	}
	assert.Empty(t, s.Follow(views.Events, store.Selector{}, nil).List())
	watcher, err := c.CoreV1().Events("").Watch(ctx, metav1.ListOptions{AllowWatchBookmarks: true})
	require.NoError(t, err)
	defer watcher.Stop()
	assert.Equal(t, watch.Bookmark, (<-watcher.ResultChan()).Type, "none is told first")
	after, err := c.CoreV1().Events("").List(ctx, metav1.ListOptions{})
	require.NoError(t, err)
	assert.Equal(t, before.ResourceVersion, after.ResourceVersion, "to read is no write")

	again, err := c.CoreV1().Events("default").Create(ctx, named, metav1.CreateOptions{})
	require.NoError(t, err, "its name is free")
	assert.NotEqual(t, created.UID, again.UID)
	assert.Len(t, listEvents(t, c, metav1.ListOptions{}), 1)
}

func TestAnEventThatIsGoneIsRecordedAnew(t *testing.T) {
	clock := newClock()
	s := api.NewServer(api.Config{Now: clock.Now})
	c := fake.New(s, "user")
	m := createMap(t, c, configMap("a"))
	about, ok := views.ReferenceTo(m)
	require.True(t, ok)
	event := s.RecordEvent(&v1.Event{ObjectMeta: metav1.ObjectMeta{Namespace: "default"}, InvolvedObject: about, Message: "once"})
	clock.Advance(40 * time.Minute)
	again := event.DeepCopy()
	again.Series = &v1.EventSeries{Count: 2}
	again = s.RecordEvent(again)
	assert.Equal(t, event.UID, again.UID)
	clock.Advance(40 * time.Minute)
	s.RecordEvent(eventOf(t, m, "other"))
	events := listEvents(t, c, metav1.ListOptions{})
	require.Len(t, events, 2, "an event stays for an hour after it was last written")
	assert.EqualValues(t, 2, events[0].Series.Count)

	require.NoError(t, c.CoreV1().Events("default").Delete(ctx, event.Name, metav1.DeleteOptions{}))
	s.RecordEvent(again)
	got, err := c.CoreV1().Events("default").Get(ctx, event.Name, metav1.GetOptions{})
	require.NoError(t, err)
	assert.NotEqual(t, event.UID, got.UID)
	assert.EqualValues(t, 2, got.Series.Count)
}
