package scheduler

import (
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"

	"github.com/storagesim/storagesim/control"
)

var anyEvent = eventsOf(nil, testNode("node-1"))

// popAll names the pods in the order in which they are popped now.
func popAll(q *schedulingQueue) []string {
	var names []string
	for entry, ok := q.pop(); ok; entry, ok = q.pop() {
		names = append(names, entry.key[len("default/"):])
	}
	return names
}

// refused puts a pod in the queue and turns it down n times.
func refused(t *testing.T, q *schedulingQueue, pod *v1.Pod, n int) {
	q.add(pod)
	entry := popped(t, q)
	require.Equal(t, control.Key(pod), entry.key)
	for range n {
		q.putBackUnschedulable(entry, nil)
		q.put(entry, nil)
	}
	q.put(entry, &q.unschedulable)
}

// withPriority returns a pod of that priority.
func withPriority(name string, priority int32) *v1.Pod {
	pod := testPod(name)
	pod.Spec.Priority = &priority
	return pod
}

// Upstream: activeQueue.unlockedPop, SchedulerPopFromBackoffQ, v1.37.
func TestARefusedPodIsTriedAgainAtOnceWhenNobodyElseIsInLine(t *testing.T) {
	q, h := newHandQueue(t)
	q.add(testPod("web"))
	for range 10 {
		entry := popped(t, q)
		q.putBackUnschedulable(entry, nil)
		_, ok := q.pop()
		require.False(t, ok, "it waits for an event")
		h.line = nil
		q.move(anyEvent, everyPod)
		assert.Same(t, &q.backoff, entry.in)
		assert.Equal(t, []string{"default/web"}, h.line)
	}
	assert.Empty(t, h.later)
}

func TestARefusedPodLetsOthersGoFirstWhileItBacksOff(t *testing.T) {
	for _, tc := range []struct {
		name  string
		after time.Duration
		want  []string
	}{
		{"backing off", 1999 * time.Millisecond, []string{"new", "old"}},
		{"backoff over", 2 * time.Second, []string{"old", "new"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			q, h := newHandQueue(t)
			refused(t, q, testPod("old"), 1)
			h.now = h.now.Add(tc.after - time.Millisecond)
			q.move(anyEvent, everyPod)
			q.add(testPod("new"))
			h.now = h.now.Add(time.Millisecond)
			assert.Equal(t, tc.want, popAll(q))
		})
	}
}

// Upstream: PriorityQueue.requeueEntityWithQueueingStrategy, v1.37.
func TestAPodWhoseBackoffEndedWhileItWaitedKeepsItsPlaceInLine(t *testing.T) {
	q, h := newHandQueue(t)
	refused(t, q, testPod("old"), 1)
	h.now = h.now.Add(time.Minute)
	q.add(testPod("new"))
	q.move(anyEvent, everyPod)
	assert.Equal(t, []string{"old", "new"}, popAll(q))
}

// Upstream: queuesort PrioritySort.Less, v1.37.
func TestPodsOfHigherPriorityGoFirst(t *testing.T) {
	q, _ := newHandQueue(t)
	for _, pod := range []*v1.Pod{
		testPod("first"), withPriority("second", 0), withPriority("urgent", 10), withPriority("spare", -1), withPriority("urgent too", 10),
	} {
		q.add(pod)
	}
	assert.Equal(t, []string{"urgent", "urgent too", "first", "second", "spare"}, popAll(q))
}

// Upstream: backoffQueue.lessBackoffCompletedWithPriority, v1.37.
func TestAmongPodsThatBackOffTheOneThatIsDoneFirstGoesFirst(t *testing.T) {
	q, h := newHandQueue(t)
	refused(t, q, testPod("long"), 3)
	h.now = h.now.Add(100 * time.Millisecond)
	refused(t, q, testPod("short"), 1)
	h.now = h.now.Add(100 * time.Millisecond)
	refused(t, q, withPriority("urgent", 10), 1) // in the same second as short
	q.move(anyEvent, everyPod)
	assert.Equal(t, []string{"urgent", "short", "long"}, popAll(q))
}

// Upstream: backoffQueue.calculateBackoffDuration, alignToWindow, popBackoff, v1.37.
func TestAPodThatFailedWaitsOneSecondDoublingToTenToTheEndOfTheSecond(t *testing.T) {
	for _, start := range []time.Duration{0, 300 * time.Millisecond} {
		q, h := newHandQueue(t)
		h.now = h.now.Add(start)
		q.add(testPod("web"))
		for _, seconds := range []time.Duration{1, 2, 4, 8, 10} {
			entry := popped(t, q)
			whole := h.now.Truncate(time.Second)
			q.putBackError(entry)
			h.line = nil
			q.move(anyEvent, everyPod)
			assert.Empty(t, h.line, "no event shortens it")
			end := whole.Add((seconds + 1) * time.Second)
			assert.Equal(t, end.Sub(h.now), h.later["default/web"])
			h.now = end.Add(-time.Nanosecond)
			assert.Empty(t, popAll(q))
			h.now = end.Add(start)
		}
	}
}

// Upstream: PriorityQueue.AddUnschedulablePodIfNotPresent, v1.37.
func TestARefusalEndsARunOfErrorsAndErrorsDoNotCountAsRefusals(t *testing.T) {
	q, h := newHandQueue(t)
	q.add(testPod("web"))
	entry := popped(t, q)
	waits := func() time.Duration { return entry.until.Sub(h.now) }
	fails := func(err bool) {
		if err {
			q.putBackError(entry)
		} else {
			q.putBackUnschedulable(entry, nil)
			q.move(anyEvent, everyPod)
		}
	}
	for i, step := range []struct {
		err  bool
		want time.Duration
	}{{false, 2}, {false, 3}, {true, 2}, {true, 3}, {false, 5}, {true, 2}} {
		fails(step.err)
		assert.Equal(t, step.want*time.Second, waits(), "step %d", i)
		h.now = entry.until
		popped(t, q)
	}
}

func TestAFailingPodIsRetriedFiveTimesAndThenByTheFlush(t *testing.T) {
	q, h := newHandQueue(t)
	q.add(testPod("web"))
	for range patientErrors {
		entry := popped(t, q)
		q.putBackError(entry)
		assert.Same(t, &q.errorBackoff, entry.in)
		h.now = entry.until
	}
	entry := popped(t, q)
	q.putBackError(entry)
	assert.Same(t, &q.unschedulable, entry.in)
	h.now = entry.until
	h.line = nil
	q.flush()
	assert.Equal(t, []string{"default/web"}, h.line)
}

// The line holds a key at most once. That a pod goes before another, whose key called
// it, must not leave the other without one.
func TestWhoeverCanBePoppedHasAKeyInLine(t *testing.T) {
	q, h := newHandQueue(t)
	once := &onceQueue{handQueue: h}
	q.line = once
	q.add(testPod("web"))
	q.add(withPriority("urgent", 10))
	var names []string
	for len(once.line) > 0 {
		once.line = once.line[1:]
		entry, ok := q.pop()
		if !ok {
			continue
		}
		names = append(names, entry.key)
		if len(names) == 1 {
			q.putBackUnschedulable(entry, nil)
			q.move(anyEvent, everyPod)
		}
	}
	assert.Equal(t, []string{"default/urgent", "default/web", "default/urgent"}, names)
}

// onceQueue holds a key at most once, as control.Queue.
type onceQueue struct{ *handQueue }

func (o *onceQueue) Add(key string) {
	if !slices.Contains(o.line, key) {
		o.handQueue.Add(key)
	}
}
