package api_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/storagesim/storagesim/api"
	"github.com/storagesim/storagesim/api/fake"
	"github.com/storagesim/storagesim/api/views"
)

func listEvents(t *testing.T, c *fake.Clientset, opts metav1.ListOptions) []v1.Event {
	list, err := c.CoreV1().Events("").List(ctx, opts)
	require.NoError(t, err)
	return list.Items
}

func TestAnEventNamesItsObjectAndItsSource(t *testing.T) {
	s, c := newServer()
	seen := writes(s)
	pvc := createClaim(t, c, claim("data"))
	pv := createVolume(t, c, volume("pv"))
	s.Event("kubelet/node-1", "kubelet", "node-1", pvc, v1.EventTypeWarning, "FailedMount", "no such file")
	s.Event("persistent-volume-binder", "persistentvolume-controller", "", pv, v1.EventTypeNormal, "Recycled", "done")
	assert.Len(t, *seen, 2, "events are not reported")
	events := listEvents(t, c, metav1.ListOptions{FieldSelector: "involvedObject.kind=PersistentVolumeClaim,reason=FailedMount,type=Warning"})
	require.Len(t, events, 1)
	e := events[0]
	assert.Regexp(t, `^data\.[0-9a-f]+$`, e.Name)
	assert.Equal(t, "default", e.Namespace)
	assert.Equal(t, v1.ObjectReference{
		Kind: "PersistentVolumeClaim", APIVersion: "v1", Namespace: "default", Name: "data", UID: pvc.UID, ResourceVersion: pvc.ResourceVersion,
	}, e.InvolvedObject)
	assert.Equal(t, v1.EventSource{Component: "kubelet", Host: "node-1"}, e.Source)
	assert.Equal(t, "kubelet", e.ReportingController)
	assert.NotEmpty(t, e.UID)
	assert.EqualValues(t, 1, e.Count)

	onVolume := listEvents(t, c, metav1.ListOptions{FieldSelector: "involvedObject.name=pv"})
	require.Len(t, onVolume, 1)
	assert.Equal(t, "default", onVolume[0].Namespace, "events on cluster-scoped objects live in default")
}

func TestARepeatedEventIsCounted(t *testing.T) {
	clock := newClock()
	s := api.NewServer(api.Config{Now: clock.Now})
	c := fake.New(s, "user")
	pvc := createClaim(t, c, claim("data"))
	say := func(message string) {
		s.Event("binder", "controller", "", pvc, v1.EventTypeNormal, "Waiting", message)
		clock.Advance(time.Minute)
	}
	say("one")
	say("two")
	say("one")
	say("one")
	events := listEvents(t, c, metav1.ListOptions{})
	require.Len(t, events, 2)
	assert.NotEqual(t, events[0].Name, events[1].Name)
	assert.EqualValues(t, 3, events[0].Count)
	assert.Equal(t, start.Truncate(time.Second), events[0].FirstTimestamp.Time)
	assert.Equal(t, start.Truncate(time.Second).Add(3*time.Minute), events[0].LastTimestamp.Time)
}

func TestAnEventOnAnObjectCreatedAgainIsANewOne(t *testing.T) {
	s, c := newServer()
	for range 2 {
		m := createMap(t, c, configMap("a"))
		s.Event("x", "x", "", m, v1.EventTypeNormal, "Same", "same")
		require.NoError(t, c.CoreV1().ConfigMaps("default").Delete(ctx, "a", metav1.DeleteOptions{}))
	}
	assert.Len(t, listEvents(t, c, metav1.ListOptions{}), 2)
}

func TestANamespaceThatEndsTakesNoNewEvents(t *testing.T) {
	s, c := newServer()
	_, err := c.CoreV1().Namespaces().Create(ctx, &v1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "team"}}, metav1.CreateOptions{})
	require.NoError(t, err)
	m, err := c.CoreV1().ConfigMaps("team").Create(ctx, &v1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "a"}}, metav1.CreateOptions{})
	require.NoError(t, err)
	say := func(message string) { s.Event("x", "x", "", m, v1.EventTypeNormal, "R", message) }
	say("before")
	require.NoError(t, c.CoreV1().Namespaces().Delete(ctx, "team", metav1.DeleteOptions{}))
	say("before")
	say("after")
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
	say := func(message string) { s.Event("x", "x", "", m, v1.EventTypeNormal, "R", message) }
	say("repeated")
	say("once")
	clock.Advance(40 * time.Minute)
	say("repeated")
	clock.Advance(40 * time.Minute)
	say("new")
	var left []string
	for _, e := range listEvents(t, c, metav1.ListOptions{}) {
		left = append(left, e.Message)
	}
	assert.ElementsMatch(t, []string{"repeated", "new"}, left)
	clock.Advance(2 * time.Hour)
	say("repeated")
	events := listEvents(t, c, metav1.ListOptions{})
	require.Len(t, events, 1)
	assert.EqualValues(t, 1, events[0].Count, "the old one was forgotten")
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
	s.Event("x", "x", "", m, v1.EventTypeNormal, "R", "other")
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
