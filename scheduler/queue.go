package scheduler

import (
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/storagesim/storagesim/control"
	"github.com/storagesim/storagesim/internal/semantic"
)

// patientErrors is after how many errors in a row a pod stops being retried on
// its own: it then waits for an event or the flush, so that a cluster in which
// something is broken for good comes to rest. Upstream retries for ever.
const patientErrors = 5

// queuedPod is a pod that has no node yet.
// Upstream: pkg/scheduler/framework/types.go QueuedPodInfo, v1.37.
type queuedPod struct {
	key string
	uid types.UID
	// in is the list it waits in; nil: a scheduling or binding cycle works on it.
	in *podList
	// priority is the pod's, which is immutable.
	priority int32
	// since is when it was last put in the queue, as the turn-th that was.
	since time.Time
	turn  int
	// until is the end of its backoff.
	until time.Time
	// refusals counts the times no node fitted, errors the errors in a row.
	// Upstream: UnschedulableCount, ConsecutiveErrorsCount.
	refusals, errors int
	// rejectedBy are the plugins that turned it down; nil: any event may help.
	rejectedBy []plugin
	// waitsFor is set while the scheduler makes room for the pod on a node.
	waitsFor *preempted
	// unbound is the node on which the pod's volumes could not be bound the last time, "" if none, and unboundTimes how often that was on any node.
	unbound      string
	unboundTimes int
	// said is the last decision in the trace, not to be repeated.
	said string
}

// unboundOn notes that the pod's volumes could not be bound on a node.
func (p *queuedPod) unboundOn(node string) {
	p.unbound = node
	p.unboundTimes++
}

// patience is the number of times that a pod's volumes may fail to be bound until it leaves the node of the last time for one that is as good.
const patience = 2

// leaves reports whether it is the turn of other nodes that are as good as this one.
func (p *queuedPod) leaves(node string) bool {
	return p != nil && p.unbound == node && p.unboundTimes >= patience
}

// schedulingQueue holds the pods that have no node.
// Upstream: scheduler/backend/queue PriorityQueue, v1.37.
type schedulingQueue struct {
	cfg   Config
	clock control.Clock
	// hints say which events could help whom.
	hints hintMap
	// podOf is the pod of an entry, as last heard of.
	podOf func(*queuedPod) *v1.Pod
	// gated, if set, says that a pod must not be tried yet.
	gated func(*queuedPod) bool
	// line calls pop once for each key in it. Whose turn it is then is pop's to say:
	// while a pod can be popped there is a key in line, not always its own.
	line control.Queue
	pods map[string]*queuedPod
	// active are in line to be scheduled.
	active podList
	// backoff holds refused pods that an event may have helped; they are scheduled when
	// their backoff is over, or before that if no other pod is in line.
	backoff podList
	// errorBackoff failed with an error and are put in line when their backoff is over.
	errorBackoff podList
	// unschedulable wait for an event that could help, or the flush.
	unschedulable podList
	turns         int
}

func newSchedulingQueue(cfg Config, clock control.Clock, hints hintMap, podOf func(*queuedPod) *v1.Pod) *schedulingQueue {
	return &schedulingQueue{
		cfg: cfg, clock: clock, hints: hints, podOf: podOf, pods: map[string]*queuedPod{},
		active: podList{order: byTurn}, unschedulable: podList{order: byTurn},
		backoff: podList{order: byBackoff}, errorBackoff: podList{order: byBackoff},
	}
}

// add takes in a new pod. The queue holds no pod of that name: the deletion of an earlier one
// is delivered first.
// Upstream: PriorityQueue.Add, v1.37.
func (q *schedulingQueue) add(pod *v1.Pod) {
	entry := &queuedPod{key: control.Key(pod), uid: pod.UID, priority: priority(pod)}
	q.stamp(entry)
	q.pods[entry.key] = entry
	q.requeue(entry)
}

// stamp marks the pod as put in the queue now.
func (q *schedulingQueue) stamp(entry *queuedPod) {
	q.turns++
	entry.since, entry.turn = q.clock.Now(), q.turns
}

// put moves the pod to the list; nil: out of all.
func (q *schedulingQueue) put(entry *queuedPod, list *podList) {
	if entry.in != nil {
		entry.in.remove(entry)
	}
	if entry.in = list; list != nil {
		list.add(entry)
	}
}

// knows says that the pod is in the queue or in flight.
func (q *schedulingQueue) knows(pod *v1.Pod) bool {
	entry, ok := q.pods[control.Key(pod)]
	return ok && entry.uid == pod.UID
}

// update takes in the new state of a pod it knows. The change may help the pod, if it is
// unschedulable and one of those that turned it down says so. A pod that is left alone
// after errors is helped by no change of its status: its own failures are written there.
// Upstream: PriorityQueue.Update, v1.37.
func (q *schedulingQueue) update(old, pod *v1.Pod) {
	entry := q.pods[control.Key(pod)]
	if entry.in != &q.unschedulable || !turnedDown(entry) && !podChanged(old, pod) {
		return
	}
	for _, e := range eventsOf(old, pod) {
		if q.hints.helps(pod, entry.rejectedBy, e) {
			q.requeue(entry)
			return
		}
	}
}

// podChanged: in anything but its status, as isPodUpdated compared until release 1.36.
func podChanged(old, pod *v1.Pod) bool {
	strip := func(p *v1.Pod) *v1.Pod {
		p = p.DeepCopy()
		p.ResourceVersion, p.Generation, p.ManagedFields, p.Finalizers, p.Status = "", 0, nil, nil, v1.PodStatus{}
		return p
	}
	return !semantic.Equal(strip(old), strip(pod))
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
	q.put(entry, nil)
	delete(q.pods, entry.key)
}

// current says that the entry has not been replaced or removed meanwhile.
func (q *schedulingQueue) current(entry *queuedPod) bool { return q.pods[entry.key] == entry }

// pop takes out the pod whose turn it is.
func (q *schedulingQueue) pop() (*queuedPod, bool) {
	q.flushBackoffCompleted()
	// A line wakes for the soonest moment that it was told for a key, and that may be one
	// of an earlier turn of this pod.
	if resting := q.errorBackoff.first(); resting != nil {
		q.line.AddAfter(resting.key, q.backoffLeft(resting))
	}
	entry := q.next()
	if entry == nil {
		return nil, false
	}
	q.put(entry, nil)
	if next := q.next(); next != nil {
		q.line.Add(next.key)
	}
	return entry, true
}

// next returns the first pod in line; if the line is empty, the refused pod whose backoff ends
// first, although it has not ended: the scheduler has nothing better to do.
// Upstream: activeQueue.unlockedPop with SchedulerPopFromBackoffQ, v1.37.
func (q *schedulingQueue) next() *queuedPod {
	if first := q.active.first(); first != nil {
		return first
	}
	return q.backoff.first()
}

// putBackUnschedulable puts back a pod that no node fitted. It waits for an event
// that could help. None can have been missed: nothing is delivered during a
// scheduling cycle. During a binding cycle much is, but that ends with an error, if
// not well, and whom an error puts back is tried again without an event.
// Upstream: PriorityQueue.AddUnschedulablePodIfNotPresent, v1.37.
func (q *schedulingQueue) putBackUnschedulable(entry *queuedPod, rejectedBy []plugin) {
	entry.refusals, entry.errors = entry.refusals+1, 0
	q.putBack(entry, entry.refusals, rejectedBy)
	q.put(entry, &q.unschedulable)
}

// putBackError puts back a pod whose attempt failed.
// Upstream: PriorityQueue.AddUnschedulablePodIfNotPresent, v1.37.
func (q *schedulingQueue) putBackError(entry *queuedPod) {
	entry.errors++
	entry.said = "" // choosing the same node again is news
	q.putBack(entry, entry.errors, nil)
	if entry.errors > patientErrors {
		q.put(entry, &q.unschedulable)
		return
	}
	q.requeue(entry)
}

func (q *schedulingQueue) putBack(entry *queuedPod, failures int, rejectedBy []plugin) {
	q.stamp(entry)
	entry.rejectedBy, entry.until = rejectedBy, q.backoffEnd(entry.since, failures)
}

// requeue puts the pod in line, or with those that back off.
// Upstream: PriorityQueue.requeueEntityWithQueueingStrategy, v1.37.
func (q *schedulingQueue) requeue(entry *queuedPod) {
	if q.gated != nil && q.gated(entry) {
		q.put(entry, &q.unschedulable)
		return
	}
	switch rest := q.backoffLeft(entry); {
	case rest <= 0:
		q.put(entry, &q.active)
	case entry.errors > 0:
		q.put(entry, &q.errorBackoff)
		q.line.AddAfter(entry.key, rest)
		return
	default:
		q.put(entry, &q.backoff)
	}
	q.line.Add(entry.key)
}

// activate puts a pod in line that waits for an event or for the end of its backoff, if it is still in the queue.
// Upstream: PriorityQueue.Activate, v1.37.
func (q *schedulingQueue) activate(entry *queuedPod) {
	if q.current(entry) && entry.in != nil && entry.in != &q.active {
		q.put(entry, &q.active)
		q.line.Add(entry.key)
	}
}

// everyPod selects all pods, to ask for each whether an event helps.
func everyPod(*queuedPod) bool { return true }

// turnedDown: the pod waits for something that a plugin misses, and not because of errors.
func turnedDown(entry *queuedPod) bool { return len(entry.rejectedBy) > 0 }

// move puts in line the unschedulable pods, of those asked, that one of the events could
// help.
// Upstream: PriorityQueue.MoveAllToActiveOrBackoffQueue, v1.37.
func (q *schedulingQueue) move(events []clusterEvent, asked func(*queuedPod) bool) {
	for _, e := range events {
		if len(q.unschedulable.pods) > 0 && q.hints.ofInterest(e) {
			q.moveIf(func(entry *queuedPod) bool { return asked(entry) && q.hints.helps(q.podOf(entry), entry.rejectedBy, e) })
		}
	}
}

// flush puts pods in line that have waited too long: an event may have been lost, or
// no plugin has registered for it.
// Upstream: PriorityQueue.flushUnschedulableEntitiesLeftover, v1.37.
func (q *schedulingQueue) flush() {
	now := q.clock.Now()
	q.moveIf(func(entry *queuedPod) bool {
		return entry.errors > 0 || now.Sub(entry.since) > q.cfg.MaxUnschedulable
	})
}

func (q *schedulingQueue) moveIf(f func(*queuedPod) bool) {
	for _, entry := range slices.Clone(q.unschedulable.pods) {
		if f(entry) {
			q.requeue(entry)
		}
	}
}
