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

func newHandQueue(t *testing.T) (*schedulingQueue, *handQueue) {
	cfg, err := Config{}.withDefaults()
	require.NoError(t, err)
	h := &handQueue{later: map[string]time.Duration{}}
	q := &schedulingQueue{cfg: cfg, clock: h, line: h, pods: map[string]*queuedPod{}}
	q.podOf = func(e *queuedPod) *v1.Pod { return testPod("web", "data") }
	return q, h
}

func popped(t *testing.T, q *schedulingQueue) *queuedPod {
	t.Helper()
	entry, ok := q.pop("default/web")
	require.True(t, ok)
	return entry
}

func TestAnUnschedulablePodIsMovedOnlyByAnEventThatCouldHelp(t *testing.T) {
	q, h := newHandQueue(t)
	q.add(testPod("web", "data"))
	q.putBackUnschedulable(popped(t, q), []plugin{volumeBinding{}})
	h.line, h.now = nil, h.now.Add(time.Minute)

	cordoned := testNode("node-1", func(n *v1.Node) { n.Spec.Unschedulable = true })
	q.move(clusterEvent{cordoned, testNode("node-1")})
	q.move(clusterEvent{nil, testClaim("other", "1Gi", delayed)})
	q.move(clusterEvent{testVolume("pv", "1Gi", delayed, ""), nil})
	assert.Empty(t, h.line)

	q.move(clusterEvent{nil, testVolume("pv", "1Gi", delayed, "")})
	assert.Equal(t, []string{"default/web"}, h.line)
	assert.Empty(t, q.waiting)
}

func TestThePodBacksOffOneSecondDoublingToTen(t *testing.T) {
	q, h := newHandQueue(t)
	q.add(testPod("web"))
	entry := popped(t, q)
	for _, want := range []time.Duration{1, 2, 4, 8, 10, 10} {
		q.putBackUnschedulable(entry, nil)
		q.move(clusterEvent{nil, testNode("node-1")})
		assert.Equal(t, want*time.Second, h.later["default/web"])
		_, ok := q.pop("default/web")
		assert.False(t, ok, "not before its backoff is over")
		h.now = h.now.Add(want * time.Second)
		popped(t, q)
	}
}

func TestAFailingPodIsRetriedFiveTimesAndThenByTheFlush(t *testing.T) {
	q, h := newHandQueue(t)
	q.add(testPod("web"))
	for range patientErrors {
		entry := popped(t, q)
		q.putBackError(entry)
		assert.Equal(t, backoff, entry.state)
		h.now = h.now.Add(10 * time.Second)
	}
	entry := popped(t, q)
	q.putBackError(entry)
	assert.Equal(t, unschedulablePods, entry.state)
	h.now = h.now.Add(10 * time.Second)
	h.line = nil
	q.flush()
	assert.Equal(t, []string{"default/web"}, h.line)
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

func TestOnlyAChangeOfMoreThanStatusRequeuesAnUnschedulablePod(t *testing.T) {
	q, h := newHandQueue(t)
	pod := testPod("web")
	q.add(pod)
	q.putBackUnschedulable(popped(t, q), []plugin{nodeAffinity{}})
	h.line, h.now = nil, h.now.Add(time.Minute)

	status := pod.DeepCopy()
	status.ResourceVersion, status.Status.NominatedNodeName = "2", "node-1"
	q.update(pod, status)
	assert.Empty(t, h.line)
	relaxed := status.DeepCopy()
	relaxed.Spec.Tolerations = []v1.Toleration{{Operator: v1.TolerationOpExists}}
	q.update(status, relaxed)
	assert.Equal(t, []string{"default/web"}, h.line)
}

func TestAPodMadeAnewUnderTheSameNameIsAnotherPod(t *testing.T) {
	q, _ := newHandQueue(t)
	q.add(testPod("web"))
	first := popped(t, q)
	again := testPod("web")
	again.UID = "another"
	q.add(again)
	assert.False(t, q.current(first))
	q.delete(testPod("web"))
	assert.True(t, q.knows(again), "the news of the first one's end does not concern it")
	q.done(first)
	assert.True(t, q.knows(again))
}
