package engine_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/tools/record"
	"k8s.io/client-go/tools/reference"

	"github.com/storagesim/storagesim/api/fake"
	"github.com/storagesim/storagesim/control"
	"github.com/storagesim/storagesim/engine"
	"github.com/storagesim/storagesim/trace"
)

// speaker is a controller that says what it is told to, and counts as the one of client-go does.
type speaker struct {
	*engine.Engine
	t        *testing.T
	recorder control.Recorder
}

func newSpeaker(t *testing.T) *speaker {
	x := &speaker{Engine: newEngine(t, engine.Config{}), t: t}
	require.NoError(t, x.Add("talker", func(env control.Env) error {
		x.recorder = env.Recorder("talker")
		return nil
	}))
	return x
}

// say returns the record of what is said, and the events with that reason.
func (x *speaker) say(of *v1.ConfigMap, eventtype, reason, message string) (trace.Event, []v1.Event) {
	x.recorder.Event(of, eventtype, reason, message)
	entries := x.Trace().Entries()
	list, err := fake.New(x.Server(), "user").CoreV1().Events("default").List(context.Background(), metav1.ListOptions{FieldSelector: "reason=" + reason})
	require.NoError(x.t, err)
	return entries[len(entries)-1].Record.(trace.Event), list.Items
}

// Upstream's correlator is asked beside ours: which events are sent, which are combined, and what their counts are.
func TestEventsAreCountedCombinedAndKeptBackAsByClientGo(t *testing.T) {
	t.Parallel()
	dropped, combined := 0, 0
	for seed := range uint64(30) {
		rng := rand.New(rand.NewPCG(seed, 7))
		x := newSpeaker(t)
		upstream := record.NewEventCorrelator(clockOf{x.Engine})
		objects := []*v1.ConfigMap{configMap("a"), configMap("b")}
		for n := range 150 {
			of := objects[rng.IntN(2)]
			eventtype, reason := []string{"Normal", "Warning"}[rng.IntN(2)], []string{"One", "Two", "Three"}[rng.IntN(3)]
			message := fmt.Sprint("again ", rng.IntN(3))
			if seed%2 == 1 {
				reason, message = "Three", fmt.Sprint("each time another ", n)
			}
			gaps := []time.Duration{0, time.Second, 15 * time.Second, time.Minute, 11 * time.Minute}
			require.NoError(t, x.RunFor(gaps[rng.IntN(3+int(seed%3))]))
			ref, err := reference.GetReference(scheme.Scheme, of)
			require.NoError(t, err)
			now := metav1.NewTime(x.Now())
			want, err := upstream.EventCorrelate(&v1.Event{
				ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "n"}, InvolvedObject: *ref, Type: eventtype, Reason: reason, Message: message,
				Source: v1.EventSource{Component: "talker"}, ReportingController: "talker", Count: 1, FirstTimestamp: now, LastTimestamp: now,
			})
			require.NoError(t, err)
			got, events := x.say(of, eventtype, reason, message)
			require.Equal(t, want.Skip, got.Dropped, "seed %d, event %d", seed, n)
			if want.Skip {
				dropped++
				continue
			}
			if want.Event.Message != message {
				combined++
			}
			found := false
			for _, e := range events {
				found = found || e.InvolvedObject.Name == of.Name && e.Type == eventtype && e.Message == want.Event.Message && e.Count == want.Event.Count
			}
			require.True(t, found, "seed %d, event %d: no event says %q %d times", seed, n, want.Event.Message, want.Event.Count)
		}
	}
	require.Greater(t, dropped, 300)
	require.Greater(t, combined, 500)
}

// clockOf is the clock of an engine for client-go.
type clockOf struct{ *engine.Engine }

func (c clockOf) Since(t time.Time) time.Duration { return c.Now().Sub(t) }

func TestAnObjectHasItsEventsSentOnceInFiveMinutesAfterTheFirst25(t *testing.T) {
	x := newSpeaker(t)
	cm := configMap("m")
	sent := 0
	for range 61 { // a quarter of an hour, as the resync of the PV controller speaks
		if event, _ := x.say(cm, v1.EventTypeNormal, "Waiting", "for a pod"); !event.Dropped {
			sent++
		}
		require.NoError(t, x.RunFor(15*time.Second))
	}
	require.Equal(t, 28, sent)
	event, events := x.say(cm, v1.EventTypeWarning, "Failed", "which is of another type")
	require.False(t, event.Dropped)
	require.EqualValues(t, 1, events[0].Count)
	event, events = x.say(cm, v1.EventTypeNormal, "Done", "at last")
	require.True(t, event.Dropped, "also what was never said before is kept back")
	require.False(t, event.Repeated)
	require.Empty(t, events)
	require.Contains(t, event.String(), "keeps back an event, one of too many about configmap default/m: Normal Done: at last")
	require.NoError(t, x.RunFor(5*time.Minute))
	event, events = x.say(cm, v1.EventTypeNormal, "Done", "at last")
	require.False(t, event.Dropped)
	require.EqualValues(t, 2, events[0].Count, "what was kept back counts")

	require.NoError(t, x.Crash("talker"))
	require.NoError(t, x.Settle())
	event, events = x.say(cm, v1.EventTypeNormal, "Done", "at last")
	require.False(t, event.Dropped, "a new process knows nothing of it")
	require.Len(t, events, 2)
}
