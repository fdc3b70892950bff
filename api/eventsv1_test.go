package api_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/storagesim/storagesim/api"
	"github.com/storagesim/storagesim/api/fake"
)

// TestEventsOfBothGroupsAreTheSameEvents writes an event in each form and reads it in the other,
// through every verb.
func TestEventsOfBothGroupsAreTheSameEvents(t *testing.T) {
	client := fake.New(api.NewServer(api.Config{Now: time.Now}), "user")
	core, modern := client.CoreV1().Events("default"), client.EventsV1().Events("default")
	watched, err := modern.Watch(t.Context(), metav1.ListOptions{})
	require.NoError(t, err)
	defer watched.Stop()

	pod := v1.ObjectReference{Kind: "Pod", Namespace: "default", Name: "web", APIVersion: "v1"}
	_, err = modern.Create(t.Context(), &eventsv1.Event{
		ObjectMeta: metav1.ObjectMeta{Name: "a"}, EventTime: metav1.NowMicro(), Regarding: pod, Reason: "Scheduled", Note: "to node-1",
		Action: "Binding", Type: "Normal", ReportingController: "default-scheduler", ReportingInstance: "default-scheduler-x",
	}, metav1.CreateOptions{})
	require.NoError(t, err)
	read, err := core.Get(t.Context(), "a", metav1.GetOptions{})
	require.NoError(t, err)
	assert.Equal(t, pod, read.InvolvedObject)
	assert.Equal(t, "to node-1", read.Message)
	change := <-watched.ResultChan()
	assert.Equal(t, watch.Added, change.Type)
	assert.Equal(t, "to node-1", change.Object.(*eventsv1.Event).Note)

	_, err = core.Create(t.Context(), &v1.Event{
		ObjectMeta: metav1.ObjectMeta{Name: "b"}, InvolvedObject: pod, Reason: "Pulled", Message: "an image", Type: "Normal", Count: 3,
		Source: v1.EventSource{Component: "kubelet"},
	}, metav1.CreateOptions{})
	require.NoError(t, err)
	list, err := modern.List(t.Context(), metav1.ListOptions{FieldSelector: "regarding.name=web,reason=Pulled"})
	require.NoError(t, err)
	require.Len(t, list.Items, 1)
	assert.Equal(t, "an image", list.Items[0].Note)
	assert.Equal(t, int32(3), list.Items[0].DeprecatedCount)
	assert.Equal(t, "kubelet", list.Items[0].DeprecatedSource.Component)

	patched, err := modern.Patch(t.Context(), "a", types.StrategicMergePatchType,
		[]byte(`{"series":{"count":2,"lastObservedTime":"2026-01-01T00:00:00.000000Z"}}`), metav1.PatchOptions{})
	require.NoError(t, err)
	assert.Equal(t, int32(2), patched.Series.Count)
	read, err = core.Get(t.Context(), "a", metav1.GetOptions{})
	require.NoError(t, err)
	assert.Equal(t, int32(2), read.Series.Count)

	_, err = modern.Patch(t.Context(), "a", types.MergePatchType, []byte(`{"note":"to node-2"}`), metav1.PatchOptions{})
	assert.ErrorContains(t, err, `Event "a" is invalid: message: Invalid value: "to node-2": field is immutable`)

	require.NoError(t, modern.Delete(t.Context(), "a", metav1.DeleteOptions{}))
	_, err = core.Get(t.Context(), "a", metav1.GetOptions{})
	assert.True(t, apierrors.IsNotFound(err))
	_, err = modern.Patch(t.Context(), "a", types.MergePatchType, []byte(`{"note":"gone"}`), metav1.PatchOptions{})
	assert.True(t, apierrors.IsNotFound(err))
	assert.EqualError(t, err, `events.events.k8s.io "a" not found`)
	_, err = modern.List(t.Context(), metav1.ListOptions{FieldSelector: "regarding.color=red"})
	assert.True(t, apierrors.IsBadRequest(err))
}
