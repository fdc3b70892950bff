package scheduler

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"

	"github.com/storagesim/storagesim/control"
)

// handQueue is a clock and a line of keys, both moved by hand.
type handQueue struct {
	control.Queue
	now   time.Time
	line  []string
	later map[string]time.Duration
}

func (h *handQueue) Add(key string)                           { h.line = append(h.line, key) }
func (h *handQueue) AddAfter(key string, d time.Duration)     { h.later[key] = d }
func (h *handQueue) Now() time.Time                           { return h.now }
func (*handQueue) Sleep(context.Context, time.Duration) error { return nil }
func (*handQueue) Poll(context.Context, time.Duration, time.Duration, func(context.Context) (bool, error)) error {
	return nil
}

func newHandQueue(t testing.TB) (*schedulingQueue, *handQueue) {
	cfg, err := Config{}.withDefaults()
	require.NoError(t, err)
	h := &handQueue{later: map[string]time.Duration{}}
	q := newSchedulingQueue(cfg, h, buildQueueingHintMap(allPlugins()), func(*queuedPod) *v1.Pod { return testPod("web", "data") })
	q.line = h
	return q, h
}

// allPlugins returns the scheduler's, for their tables of events.
func allPlugins() framework { return stillScheduler(Config{}, nil).plugins }

func popped(t *testing.T, q *schedulingQueue) *queuedPod {
	t.Helper()
	entry, ok := q.pop()
	require.True(t, ok)
	return entry
}

// Upstream: scheduling_queue.go activate, v1.37.
func TestAPodIsActivatedWhereverItWaits(t *testing.T) {
	for name, wait := range map[string]func(q *schedulingQueue, entry *queuedPod) *podList{
		"for an event": func(q *schedulingQueue, entry *queuedPod) *podList {
			q.putBackUnschedulable(entry, []plugin{volumeBinding{}})
			return &q.unschedulable
		},
		"for its backoff": func(q *schedulingQueue, entry *queuedPod) *podList {
			q.putBackUnschedulable(entry, []plugin{volumeBinding{}})
			q.requeue(entry)
			return &q.backoff
		},
		"for its backoff after an error": func(q *schedulingQueue, entry *queuedPod) *podList {
			q.putBackError(entry)
			return &q.errorBackoff
		},
	} {
		q, h := newHandQueue(t)
		q.add(testPod("web", "data"))
		entry := popped(t, q)
		require.Same(t, wait(q, entry), entry.in, name)
		h.line = nil
		q.activate(entry)
		assert.Same(t, &q.active, entry.in, name)
		assert.Equal(t, []string{entry.key}, h.line, name)
	}
	q, h := newHandQueue(t)
	q.add(testPod("web", "data"))
	entry := popped(t, q)
	h.line = nil
	q.activate(entry)
	assert.Nil(t, entry.in, "a pod that is being scheduled does not wait")
	assert.Empty(t, h.line)
}

func TestAnUnschedulablePodIsMovedOnlyByAnEventThatCouldHelp(t *testing.T) {
	q, h := newHandQueue(t)
	q.add(testPod("web", "data"))
	q.putBackUnschedulable(popped(t, q), []plugin{volumeBinding{}})
	h.line, h.now = nil, h.now.Add(time.Minute)

	cordoned := testNode("node-1", func(n *v1.Node) { n.Spec.Unschedulable = true })
	q.move(eventsOf(testNode("node-1"), cordoned), everyPod)
	q.move(eventsOf(nil, testClaim("other", "1Gi", delayed)), everyPod)
	q.move(eventsOf(testVolume("pv", "1Gi", delayed, ""), nil), everyPod)
	assert.Empty(t, h.line)

	q.move(eventsOf(nil, testVolume("pv", "1Gi", delayed, "")), everyPod)
	assert.Equal(t, []string{"default/web"}, h.line)
	assert.Empty(t, q.unschedulable.pods)
}

func TestTheFlushTriesAPodAgainAfterFiveMinutes(t *testing.T) {
	q, h := newHandQueue(t)
	q.add(testPod("web"))
	q.putBackUnschedulable(popped(t, q), []plugin{volumeBinding{}})
	h.line, h.now = nil, h.now.Add(5*time.Minute)
	q.flush()
	assert.Empty(t, h.line)
	h.now = h.now.Add(time.Second)
	q.flush()
	assert.Equal(t, []string{"default/web"}, h.line)
}

// Upstream: PriorityQueue.Update, v1.37.
func TestAChangeOfThePodIsAnEventLikeOthers(t *testing.T) {
	tolerant := func(key string) func(*v1.Pod) {
		return func(p *v1.Pod) { p.Spec.Tolerations = []v1.Toleration{{Key: key, Operator: v1.TolerationOpExists}} }
	}
	for _, tc := range []struct {
		name   string
		by     plugin
		change func(*v1.Pod)
		helps  bool
	}{
		{"status", nil, func(p *v1.Pod) { p.Status.NominatedNodeName = "node-1" }, false},
		{"finalizers", nil, func(p *v1.Pod) { p.Finalizers = []string{"example.com/f"} }, false},
		{"what has been changed and changed back", nil, func(p *v1.Pod) { p.Generation = 3 }, false},
		{"anything, nobody having turned it down", nil, func(p *v1.Pod) { p.Labels = map[string]string{"a": "b"} }, true},
		{"label", taintToleration{}, func(p *v1.Pod) { p.Labels = map[string]string{"a": "b"} }, false},
		{"toleration", taintToleration{}, tolerant("gpu"), true},
		{"toleration, of no use to its volumes", volumeBinding{}, tolerant("gpu"), false},
		{"toleration, of no use on a cordoned node", nodeUnschedulable{}, tolerant("gpu"), false},
		{"toleration of a cordoned node", nodeUnschedulable{}, tolerant(v1.TaintNodeUnschedulable), true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			q, _ := newHandQueue(t)
			old := testPod("web")
			q.add(old)
			var by []plugin
			if tc.by != nil {
				by = []plugin{tc.by}
			}
			q.putBackUnschedulable(popped(t, q), by)
			pod := old.DeepCopy()
			pod.ResourceVersion = "2"
			tc.change(pod)
			q.update(old, pod)
			_, ok := q.pop()
			assert.Equal(t, tc.helps, ok)
		})
	}
}

func TestAPodMadeAnewUnderTheSameNameIsAnotherPod(t *testing.T) {
	q, _ := newHandQueue(t)
	q.add(testPod("web"))
	first := popped(t, q)
	q.delete(testPod("web"))
	again := testPod("web")
	again.UID = "another"
	q.add(again)
	assert.False(t, q.current(first))
	q.delete(testPod("web"))
	assert.True(t, q.knows(again), "the news of the first one's end does not concern it")
	q.done(first)
	assert.True(t, q.knows(again))
}
