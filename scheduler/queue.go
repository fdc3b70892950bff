package scheduler

import (
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/types"

	"github.com/storagesim/storagesim/control"
)

// podState is where in the queue a pod is.
type podState int

const (
	// active: in line to be scheduled.
	active podState = iota
	// backoff: to be put in line when its backoff is over.
	backoff
	// unschedulablePods: waits for an event that could help, or the flush.
	unschedulablePods
	// inFlight: a scheduling or binding cycle works on it.
	inFlight
)

// patientErrors is after how many errors in a row a pod stops being retried on
// its own: it then waits for an event or the flush, so that a cluster in which
// something is broken for good comes to rest. Upstream retries for ever.
const patientErrors = 5

// queuedPod is a pod that has no node yet.
// Upstream: framework.QueuedPodInfo, v1.36.
type queuedPod struct {
	key   string
	uid   types.UID
	state podState
	// since is when it was last put back; until is the end of its backoff.
	since, until time.Time
	// refusals counts the times no node fitted, errors the errors in a row.
	refusals, errors int
	// rejectedBy are the plugins that turned it down; nil: any event may help.
	rejectedBy []plugin
	// said is the last decision in the trace, not to be repeated.
	said string
}

// schedulingQueue holds the pods that have no node. Keys in line are in a
// control.Queue, first come first served.
// Upstream: scheduler/backend/queue PriorityQueue, v1.36.
type schedulingQueue struct {
	cfg   Config
	clock control.Clock
	line  control.Queue
	pods  map[string]*queuedPod
	// waiting are the unschedulable pods, those waiting longest first.
	waiting []*queuedPod
	// podOf is the pod of an entry, as last heard of.
	podOf func(*queuedPod) *v1.Pod
}

// add takes in a new pod.
func (q *schedulingQueue) add(pod *v1.Pod) {
	key := control.Key(pod)
	if known, ok := q.pods[key]; ok {
		q.remove(known)
	}
	entry := &queuedPod{key: key, uid: pod.UID, since: q.clock.Now()}
	q.pods[key] = entry
	q.line.Add(key)
}

// knows says that the pod is in the queue or in flight.
func (q *schedulingQueue) knows(pod *v1.Pod) bool {
	entry, ok := q.pods[control.Key(pod)]
	return ok && entry.uid == pod.UID
}

// update takes in the new state of a pod it knows. A change of anything but its status may
// make an unschedulable pod schedulable.
// Upstream: PriorityQueue.Update, isPodUpdated, v1.36.
func (q *schedulingQueue) update(old, pod *v1.Pod) {
	if entry := q.pods[control.Key(pod)]; entry.state == unschedulablePods && podChanged(old, pod) {
		q.requeue(entry)
	}
}

func podChanged(old, pod *v1.Pod) bool {
	strip := func(p *v1.Pod) *v1.Pod {
		p = p.DeepCopy()
		p.ResourceVersion, p.Generation, p.ManagedFields, p.Status = "", 0, nil, v1.PodStatus{}
		return p
	}
	return !equality.Semantic.DeepEqual(strip(old), strip(pod))
}

// delete forgets the pod.
func (q *schedulingQueue) delete(pod *v1.Pod) {
	if entry, ok := q.pods[control.Key(pod)]; ok && entry.uid == pod.UID {
		q.remove(entry)
	}
}

// done forgets a pod whose binding has been written.
func (q *schedulingQueue) done(entry *queuedPod) {
	if q.current(entry) {
		q.remove(entry)
	}
}

func (q *schedulingQueue) remove(entry *queuedPod) {
	q.leave(entry)
	delete(q.pods, entry.key)
}

// current says that the entry has not been replaced or removed meanwhile.
func (q *schedulingQueue) current(entry *queuedPod) bool { return q.pods[entry.key] == entry }

func (q *schedulingQueue) leave(entry *queuedPod) {
	q.waiting = slices.DeleteFunc(q.waiting, func(e *queuedPod) bool { return e == entry })
}

// pop takes the pod of a key out of the line, if it really is its turn.
func (q *schedulingQueue) pop(key string) (*queuedPod, bool) {
	entry, ok := q.pods[key]
	if !ok || entry.state != active && (entry.state != backoff || q.clock.Now().Before(entry.until)) {
		return nil, false
	}
	entry.state = inFlight
	return entry, true
}

// putBackUnschedulable puts back a pod that no node fitted. It waits for an event
// that could help. None can have been missed: nothing is delivered during a
// scheduling cycle.
// Upstream: PriorityQueue.AddUnschedulableIfNotPresent, v1.36.
func (q *schedulingQueue) putBackUnschedulable(entry *queuedPod, rejectedBy []plugin) {
	entry.refusals, entry.errors = entry.refusals+1, 0
	q.putBack(entry, entry.refusals, rejectedBy)
	q.wait(entry)
}

// putBackError puts back a pod whose attempt failed.
func (q *schedulingQueue) putBackError(entry *queuedPod) {
	entry.errors++
	entry.said = "" // choosing the same node again is news
	q.putBack(entry, entry.errors, nil)
	if entry.errors > patientErrors {
		q.wait(entry)
		return
	}
	q.requeue(entry)
}

func (q *schedulingQueue) putBack(entry *queuedPod, failures int, rejectedBy []plugin) {
	entry.since, entry.rejectedBy = q.clock.Now(), rejectedBy
	entry.until = entry.since.Add(q.backoffOf(failures))
}

func (q *schedulingQueue) wait(entry *queuedPod) {
	entry.state = unschedulablePods
	q.waiting = append(q.waiting, entry)
}

// backoffOf doubles from InitialBackoff to MaxBackoff.
// Upstream: backoffQueue.calculateBackoffDuration, v1.36.
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

// requeue puts the pod in line, after its backoff if that is not over.
func (q *schedulingQueue) requeue(entry *queuedPod) {
	if entry.state == unschedulablePods {
		q.leave(entry)
	}
	if rest := entry.until.Sub(q.clock.Now()); rest > 0 {
		entry.state = backoff
		q.line.AddAfter(entry.key, rest)
		return
	}
	entry.state = active
	q.line.Add(entry.key)
}

// move puts in line the unschedulable pods that the event could help.
// Upstream: PriorityQueue.MoveAllToActiveOrBackoffQueue, v1.36.
func (q *schedulingQueue) move(e clusterEvent) {
	q.moveIf(func(entry *queuedPod) bool { return helps(entry, q.podOf(entry), e) })
}

// flush puts in line what has waited too long: an event may have been lost, or
// nobody knew it would help.
// Upstream: PriorityQueue.flushUnschedulableEntitiesLeftover, v1.36.
func (q *schedulingQueue) flush() {
	now := q.clock.Now()
	q.moveIf(func(entry *queuedPod) bool {
		return entry.errors > 0 || now.Sub(entry.since) > q.cfg.MaxUnschedulable
	})
}

func (q *schedulingQueue) moveIf(f func(*queuedPod) bool) {
	for _, entry := range slices.Clone(q.waiting) {
		if f(entry) {
			q.requeue(entry)
		}
	}
}

// helps asks the plugins that turned the pod down.
func helps(entry *queuedPod, pod *v1.Pod, e clusterEvent) bool {
	if entry.rejectedBy == nil {
		return true
	}
	return pod != nil && slices.ContainsFunc(entry.rejectedBy, func(p plugin) bool { return p.Helps(pod, e) })
}
