package scheduler

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/storagesim/storagesim/control"
	"github.com/storagesim/storagesim/internal/seedtest"
)

// In every order of events the queue keeps its promises, and in the end
// every pod is placed.
func TestTheQueueLosesNobody(t *testing.T) {
	seedtest.Each(t, 300, func(t testing.TB, seed uint64) {
		r := newQueueRun(t, seed)
		steps := map[string]func(){
			"create": r.create, "remove": r.remove, "pop": r.pop, "end": r.end, "event": r.event, "flush": r.q.flush,
			"wait": func() { r.line.wait(time.Duration(r.IntN(4000)) * time.Millisecond) },
		}
		names := []string{"create", "create", "remove", "pop", "pop", "pop", "end", "end", "end", "event", "flush", "wait"}
		for i := range 200 {
			name := names[r.IntN(len(names))]
			steps[name]()
			r.check(fmt.Sprintf("step %d, %s", i, name))
		}
		r.placeAll()
		require.Empty(t, r.q.pods)
	})
}

// timedLine holds a key at most once, and gets those for later when their time has come.
type timedLine struct {
	onceQueue
	due []dueKey
}

type dueKey struct {
	key string
	at  time.Time
}

func (l *timedLine) AddAfter(key string, d time.Duration) {
	l.due = append(l.due, dueKey{key, l.now.Add(d)})
}

func (l *timedLine) wait(d time.Duration) {
	l.now = l.now.Add(d)
	l.due = slices.DeleteFunc(l.due, func(k dueKey) bool {
		if k.at.After(l.now) {
			return false
		}
		l.Add(k.key)
		return true
	})
}

// queueRun is a queue to which things happen at random.
type queueRun struct {
	*rand.Rand
	t    testing.TB
	q    *schedulingQueue
	line *timedLine
	pods map[string]*v1.Pod
	made int
	// flying have been popped, and a cycle works on them.
	flying []*queuedPod
}

func newQueueRun(t testing.TB, seed uint64) *queueRun {
	q, h := newHandQueue(t)
	r := &queueRun{Rand: rand.New(rand.NewPCG(seed, 1)), t: t, q: q, line: &timedLine{onceQueue: onceQueue{h}}, pods: map[string]*v1.Pod{}}
	q.line = r.line
	q.podOf = func(entry *queuedPod) *v1.Pod { return r.pods[entry.key] }
	return r
}

// takeOne takes any of them out of the list.
func takeOne[T any](r *queueRun, list *[]T) (taken T, ok bool) {
	if len(*list) == 0 {
		return taken, false
	}
	i := r.IntN(len(*list))
	taken = (*list)[i]
	*list = slices.Delete(*list, i, i+1)
	return taken, true
}

func (r *queueRun) somebody() *v1.Pod { return testPod(fmt.Sprintf("p%d", r.IntN(8)), "data") }

// create makes a pod, anew if there is one of its name.
func (r *queueRun) create() {
	pod := r.somebody()
	r.forget(control.Key(pod))
	r.made++
	priority := r.Int32N(3)
	pod.UID, pod.Spec.Priority = types.UID(fmt.Sprint(r.made)), &priority
	r.pods[control.Key(pod)] = pod
	r.q.add(pod)
}

func (r *queueRun) remove() { r.forget(control.Key(r.somebody())) }

func (r *queueRun) forget(key string) {
	if pod, ok := r.pods[key]; ok {
		delete(r.pods, key)
		r.q.delete(pod)
	}
}

func (r *queueRun) pop() {
	if _, ok := takeOne(r, &r.line.line); !ok {
		return
	}
	if entry, ok := r.q.pop(); ok {
		r.flying = append(r.flying, entry)
		if first := r.q.active.first(); first != nil {
			require.Negative(r.t, byTurn(entry, first), "%s goes before %s", entry.key, first.key)
		}
	}
}

// end ends the attempt to place a pod.
func (r *queueRun) end() {
	entry, ok := takeOne(r, &r.flying)
	if !ok || !r.q.current(entry) {
		return
	}
	switch r.IntN(4) {
	case 0:
		r.q.done(entry)
	case 1:
		r.q.putBackError(entry)
	case 2:
		r.q.putBackUnschedulable(entry, []plugin{volumeBinding{}})
	default:
		r.q.putBackUnschedulable(entry, []plugin{nodePorts{}})
	}
}

func (r *queueRun) event() { r.q.move(eventsOf(nil, testVolume("pv", "1Gi", delayed, "")), everyPod) }

// check requires that every pod is in one list, or worked on, and will be called.
func (r *queueRun) check(when string) {
	q, callable, known := r.q, false, 0
	for _, entry := range r.flying {
		if q.current(entry) {
			require.Nil(r.t, entry.in, when)
			known++
		}
	}
	for _, list := range []*podList{&q.active, &q.backoff, &q.errorBackoff, &q.unschedulable} {
		require.True(r.t, slices.IsSortedFunc(list.pods, list.order), when)
		for _, entry := range list.pods {
			require.True(r.t, entry.in == list && q.current(entry), "%s: %s", when, entry.key)
			known++
			switch {
			case list == &q.unschedulable:
			case list == &q.errorBackoff && entry.until.After(r.line.now):
				require.Contains(r.t, r.line.due, dueKey{entry.key, entry.until}, when)
			default:
				callable = true
			}
		}
	}
	require.Len(r.t, q.pods, known, when)
	require.False(r.t, callable && len(r.line.line) == 0, "%s: nobody calls those who can be popped", when)
}

// placeAll ends what is under way, and lets nothing go wrong any more.
func (r *queueRun) placeAll() {
	for len(r.flying) > 0 {
		r.end()
	}
	r.line.wait(10 * time.Minute)
	r.q.flush()
	for len(r.line.line) > 0 {
		r.pop()
	}
	for _, entry := range r.flying {
		r.q.done(entry)
	}
}
