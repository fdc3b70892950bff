package scheduler

import (
	"cmp"
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"
)

// backoffWindow: a backoff that ends within a second, by the clock, lasts until that
// second is over, so that pods of the same second are compared by priority.
// Upstream: backoff_queue.go backoffQOrderingWindowDuration, v1.37.
const backoffWindow = time.Second

// podList holds pods in order.
type podList struct {
	order func(a, b *queuedPod) int
	pods  []*queuedPod
}

func (l *podList) first() *queuedPod {
	if len(l.pods) == 0 {
		return nil
	}
	return l.pods[0]
}

func (l *podList) add(entry *queuedPod) {
	i, _ := slices.BinarySearchFunc(l.pods, entry, l.order)
	l.pods = slices.Insert(l.pods, i, entry)
}

func (l *podList) remove(entry *queuedPod) {
	switch i, _ := slices.BinarySearchFunc(l.pods, entry, l.order); i {
	case 0: // the usual case, however long the list
		l.pods[0], l.pods = nil, l.pods[1:]
	default:
		l.pods = slices.Delete(l.pods, i, i+1)
	}
}

// byTurn returns the order of the line: higher priorities first, then those that have been
// in the queue longest.
// Upstream: queuesort PrioritySort.Less, v1.37.
func byTurn(a, b *queuedPod) int {
	return cmp.Or(cmp.Compare(b.priority, a.priority), cmp.Compare(a.turn, b.turn))
}

// byBackoff orders pods by the end of their backoff.
// Upstream: backoffQueue.lessBackoffCompletedWithPriority, v1.37.
func byBackoff(a, b *queuedPod) int {
	return cmp.Or(a.until.Compare(b.until), byTurn(a, b))
}

// Upstream: component-helpers/scheduling/corev1 PodPriority, v1.37.
func priority(pod *v1.Pod) int32 {
	if pod.Spec.Priority == nil {
		return 0
	}
	return *pod.Spec.Priority
}

// backoffEnd returns the time at which a pod put back at since may be put in line again.
// Upstream: backoffQueue.getBackoffTime, isEntityBackingoff, v1.37.
func (q *schedulingQueue) backoffEnd(since time.Time, failures int) time.Time {
	return since.Add(q.backoffOf(failures)).Truncate(backoffWindow).Add(backoffWindow)
}

// backoffOf doubles from InitialBackoff to MaxBackoff.
// Upstream: backoffQueue.calculateBackoffDuration, v1.37.
func (q *schedulingQueue) backoffOf(failures int) time.Duration {
	d := q.cfg.InitialBackoff
	for range failures - 1 {
		if d >= q.cfg.MaxBackoff {
			break
		}
		d *= 2
	}
	return min(d, q.cfg.MaxBackoff)
}

// backoffLeft returns the rest of the pod's backoff. A pod that was left alone after
// many errors in a row is put back into the backoff in which it would be by now if it had
// been tried again and again.
func (q *schedulingQueue) backoffLeft(entry *queuedPod) time.Duration {
	now := q.clock.Now()
	if entry.errors > patientErrors && entry.until.Before(now) {
		round := q.backoffOf(entry.errors) + backoffWindow
		rounds := (int64(now.Sub(entry.until)) + int64(round) - 1) / int64(round)
		entry.until = entry.until.Add(time.Duration(rounds * int64(round)))
	}
	return entry.until.Sub(now)
}

// flushBackoffCompleted puts in line the pods whose backoff is over. Upstream does so
// every second; here it is enough before a pod is popped.
// Upstream: PriorityQueue.flushBackoffQCompleted, v1.37.
func (q *schedulingQueue) flushBackoffCompleted() {
	now := q.clock.Now()
	for _, list := range []*podList{&q.backoff, &q.errorBackoff} {
		for first := list.first(); first != nil && !now.Before(first.until); first = list.first() {
			q.put(first, &q.active)
		}
	}
}
