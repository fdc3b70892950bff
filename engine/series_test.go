package engine_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/storagesim/storagesim/api/fake"
	"github.com/storagesim/storagesim/control"
	"github.com/storagesim/storagesim/engine"
)

// talker says a note of cm, as it is at that time, whenever it is told to.
type talker struct {
	t    *testing.T
	e    *engine.Engine
	cm   *v1.ConfigMap
	last control.EventRecorder
}

func newTalker(t *testing.T) *talker {
	w := &talker{t: t, e: newEngine(t, engine.Config{}), cm: configMap("m")}
	create(t, w.e, w.cm)
	w.cm = get(t, w.e, "m")
	require.NoError(t, w.e.Add("talker", func(env control.Env) error {
		w.last = env.EventRecorder("talking")
		return nil
	}))
	require.NoError(t, w.e.Settle())
	return w
}

func (w *talker) says(note string) {
	w.last.Eventf(w.cm, nil, v1.EventTypeNormal, "Hello", "Greeting", "%s", note)
}

// events returns the notes of the events with how often each was said, 0 for no series.
func (w *talker) events() []string {
	list, err := fake.New(w.e.Server(), "user").CoreV1().Events("default").List(context.Background(), metav1.ListOptions{})
	require.NoError(w.t, err)
	var notes []string
	for _, e := range list.Items {
		count := int32(0)
		if e.Series != nil {
			count = e.Series.Count
		}
		notes = append(notes, fmt.Sprintf("%s %d", e.Message, count))
	}
	return notes
}

// Upstream: client-go tools/events getKey, v1.37.
func TestWhatIsSaidAgainOfAnotherResourceVersionIsANewEvent(t *testing.T) {
	w := newTalker(t)
	w.says("one")
	w.says("other words")
	require.Equal(t, []string{"one 2"}, w.events(), "a series, whatever is said")
	w.cm.Data = map[string]string{"a": "1"}
	_, err := fake.New(w.e.Server(), "user").CoreV1().ConfigMaps("default").Update(context.Background(), w.cm, metav1.UpdateOptions{})
	require.NoError(t, err)
	w.cm = get(t, w.e, "m")
	w.says("one")
	require.Equal(t, []string{"one 2", "one 0"}, w.events())
}

func TestAnEventOfAnotherActionOrReasonIsANewEvent(t *testing.T) {
	w := newTalker(t)
	w.says("one")
	w.last.Eventf(w.cm, nil, v1.EventTypeNormal, "Hello", "Waving", "two")
	w.last.Eventf(w.cm, nil, v1.EventTypeNormal, "Goodbye", "Greeting", "three")
	w.last.Eventf(w.cm, nil, v1.EventTypeWarning, "Hello", "Greeting", "four")
	w.last.Eventf(w.cm, configMap("other"), v1.EventTypeNormal, "Hello", "Greeting", "five")
	require.Equal(t, []string{"one 0", "two 0", "three 0", "four 0", "five 0"}, w.events())
}

// Upstream: client-go tools/events recordToSink, finishSeries, v1.37.
func TestASeriesIsWrittenWhenItBeginsAndWhenItEnds(t *testing.T) {
	w := newTalker(t)
	for range 5 {
		w.says("one")
	}
	require.Equal(t, []string{"one 2"}, w.events(), "it is counted in memory")
	require.NoError(t, w.e.RunFor(13*time.Minute))
	require.Equal(t, []string{"one 5"}, w.events())
	w.says("one")
	require.Equal(t, []string{"one 5", "one 0"}, w.events(), "after six minutes it is forgotten")
}

// Upstream: client-go tools/events refreshExistingEventSeries, v1.37.
func TestASeriesThatGoesOnIsWrittenEveryHalfHour(t *testing.T) {
	w := newTalker(t)
	for range 31 {
		w.says("one")
		require.NoError(t, w.e.RunFor(time.Minute))
	}
	require.Equal(t, []string{"one 30"}, w.events())
}

func TestWhatARecorderHasCountedIsLostInACrash(t *testing.T) {
	w := newTalker(t)
	w.says("one")
	require.NoError(t, w.e.Crash("talker"))
	require.NoError(t, w.e.Settle())
	w.says("one")
	require.Equal(t, []string{"one 0", "one 0"}, w.events())
}

func TestAnEventOfEventsV1HasTheFieldsThatTheAPIServerShows(t *testing.T) {
	w := newTalker(t)
	w.says("one")
	list, err := fake.New(w.e.Server(), "user").CoreV1().Events("default").List(context.Background(), metav1.ListOptions{})
	require.NoError(t, err)
	e := list.Items[0]
	require.Regexp(t, `^m\.[0-9a-f]+$`, e.Name)
	require.NotEmpty(t, e.UID)
	require.Equal(t, w.cm.ResourceVersion, e.InvolvedObject.ResourceVersion)
	require.Equal(t, "ConfigMap", e.InvolvedObject.Kind)
	require.Equal(t, []string{"Greeting", "talking", "talking-control-plane"}, []string{e.Action, e.ReportingController, e.ReportingInstance})
	require.Equal(t, w.e.Now(), e.EventTime.UTC())
	require.Zero(t, e.Count)
	require.Zero(t, e.FirstTimestamp)
	require.Zero(t, e.Source)
}
