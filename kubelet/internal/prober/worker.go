package prober

import (
	"context"
	"fmt"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/storagesim/storagesim/control"
	"github.com/storagesim/storagesim/kubelet/runtime"
)

// worker is one probe of one container of a pod, through all of the container's restarts.
//
// Upstream: pkg/kubelet/prober/worker.go worker, v1.37.
type worker struct {
	manager   *Manager
	key       probeKey
	container *v1.Container
	spec      *v1.Probe
	// name is that of its tasks.
	name string

	// began is when it began to probe.
	began time.Time
	// due is the last tick of its ticker; next is when it runs next, if it waits for that.
	due, next time.Time
	// busy says that a probe is under way, again that another is to follow at once.
	busy, again bool
	// stopped says that it probes no more.
	stopped bool

	// containerID is the run of the container that it knows of, and result what counts for it; "" if nothing does.
	containerID string
	result      Result
	// last is the last probe's result, and row how many probes in a row had it.
	last Result
	row  int
	// onHold says that it waits for a new run of the container.
	onHold bool
}

// portions is the number of parts of a period of which a probe waits some when its kubelet has just started.
const portions = 10

// run begins to probe.
//
// Upstream: worker.go run, v1.37, which waits for any part of a period if the kubelet has started less than a period ago.
func (w *worker) run(pod *v1.Pod) {
	m := w.manager
	w.name = fmt.Sprintf("%s probe of container %s of pod %s/%s", w.key.of, w.container.Name, pod.Namespace, pod.Name)
	w.began = m.cfg.Env.Now()
	w.due = w.began
	if w.period() > w.due.Sub(m.start) {
		w.due = w.due.Add(w.period() * time.Duration(m.cfg.Env.Choose(portions)) / portions)
	}
	w.probeAt(w.due)
}

func (w *worker) period() time.Duration { return time.Duration(w.spec.PeriodSeconds) * time.Second }

// probeAt runs the probe at a time, unless it runs before.
func (w *worker) probeAt(at time.Time) {
	env := w.manager.cfg.Env
	w.next = at
	env.Go(w.name, func(ctx context.Context) {
		if delay := at.Sub(env.Now()); delay > 0 {
			in := ctx
			if !w.isAwaited(at) {
				in = control.InBackground(ctx)
			}
			if env.Sleep(in, delay) != nil {
				return
			}
		}
		if !w.stopped && !w.busy && w.next.Equal(at) {
			w.turn(ctx)
		}
	})
}

// Settle waits for the first success of a probe as long as the probe could have had it, and for settleFor more; for restarted
// containers, too, but not for longer than settleMost.
const (
	settleFor  = time.Minute
	settleMost = 10 * time.Minute
)

// isAwaited reports whether Settle waits for a probe at a time: it may be the one with which the container is ready or has started,
// and the container is young. A liveness probe is periodic work.
func (w *worker) isAwaited(at time.Time) bool {
	if w.key.of == liveness || w.result == Success {
		return false
	}
	started := w.began
	if c := w.status(); c != nil && c.State == runtime.ContainerRunning {
		started = c.StartedAt
	}
	first := time.Duration(w.spec.InitialDelaySeconds)*time.Second + time.Duration(w.spec.SuccessThreshold)*w.period()
	if s := w.container.StartupProbe; s != nil && w.key.of == readiness {
		first += time.Duration(s.InitialDelaySeconds+s.PeriodSeconds) * time.Second
	}
	return !at.After(started.Add(first+settleFor)) && !at.After(w.began.Add(first+settleMost))
}

// trigger runs the probe at once, and its ticker begins anew.
func (w *worker) trigger() {
	switch {
	case w.stopped:
	case w.busy:
		w.again = true
	default:
		w.due = w.manager.cfg.Env.Now()
		w.probeAt(w.due)
	}
}

// turn probes, and waits for the next tick. A tick that came meanwhile counts, but only once.
func (w *worker) turn(ctx context.Context) {
	env := w.manager.cfg.Env
	w.busy = true
	goesOn := w.doProbe(ctx)
	w.busy = false
	if !goesOn || w.stopped {
		w.stopped = true
		return
	}
	now := env.Now()
	if w.again {
		w.again, w.due = false, now
		w.probeAt(now)
		return
	}
	w.due = w.due.Add(w.period())
	for !w.due.Add(w.period()).After(now) {
		w.due = w.due.Add(w.period())
	}
	w.probeAt(maxTime(w.due, now))
}

func maxTime(a, b time.Time) time.Time {
	if a.Before(b) {
		return b
	}
	return a
}

// status returns the container as the runtime has it, nil if it was never started.
func (w *worker) status() *runtime.ContainerStatus {
	sandbox, err := w.manager.cfg.Runtime.PodSandboxStatus(w.key.pod)
	if sandbox == nil || err != nil {
		return nil
	}
	last, _ := sandbox.Latest(w.container.Name)
	return last
}

// doProbe probes the container once and notes the result. It reports whether the worker is to go on.
//
// Upstream: worker.go doProbe, v1.37.
func (w *worker) doProbe(ctx context.Context) (keepGoing bool) {
	m := w.manager
	pod, status := m.cfg.Pod(w.key.pod)
	if pod == nil {
		return false
	}
	c := w.status()
	if c == nil || m.cfg.Starting(c.ID) {
		return true
	}
	old := statusOf(status, c.Name)
	if w.containerID != c.ID {
		w.newContainer(pod, c, old)
	}
	if w.onHold {
		return true
	}
	if c.State != runtime.ContainerRunning {
		w.set(Failure)
		return true // the pod is gone for the worker when it is not started again
	}
	if pod.DeletionTimestamp != nil && w.key.of != readiness {
		w.result = ""
		return false
	}
	now := m.cfg.Env.Now()
	if int32(now.Sub(c.StartedAt).Seconds()) < w.spec.InitialDelaySeconds {
		return true
	}
	started := m.IsContainerStarted(pod, c, old)
	if old != nil && old.Started != nil && strings.HasSuffix(old.ContainerID, c.ID) {
		started = *old.Started
	}
	if started == (w.key.of == startup) {
		return true // other probes begin when the startup probe has succeeded, which then ends
	}
	result, err := w.probe(ctx, pod, c)
	if err == nil && !w.stopped && w.containerID == c.ID {
		w.count(result)
	}
	return true
}

// newContainer begins anew with another run of the container. One that was there before the kubelet keeps what the API says of it.
func (w *worker) newContainer(pod *v1.Pod, c *runtime.ContainerStatus, old *v1.ContainerStatus) {
	w.containerID, w.result, w.onHold = c.ID, "", false
	isRestart := c.State == runtime.ContainerRunning && w.manager.isOfEarlierLife(c.StartedAt)
	switch {
	case w.key.of == startup && isRestartable(w.container) && old != nil && old.Started != nil && *old.Started && isRestart:
		w.result = Success
	case isRestart:
	case w.key.of == readiness:
		w.result = Failure
	case w.key.of == liveness:
		w.result = Success
	default:
		w.result = Unknown
		w.manager.cfg.Wake(pod.UID)
	}
}

// count notes the result of a probe: as often in a row as the threshold says, it counts.
func (w *worker) count(result Result) {
	if w.last == result {
		w.row++
	} else {
		w.last, w.row = result, 1
	}
	if result == Failure && w.row < int(w.spec.FailureThreshold) || result == Success && w.row < int(w.spec.SuccessThreshold) {
		return
	}
	w.set(result)
	if w.key.of == liveness && result == Failure || w.key.of == startup {
		w.onHold, w.row = true, 0
	}
}

// set has a result count, and the pod synced if it is another.
//
// Upstream: results/results_manager.go Set, v1.37.
func (w *worker) set(result Result) {
	if w.result == result {
		return
	}
	w.result = result
	if w.key.of != liveness || result == Failure {
		w.manager.cfg.Wake(w.key.pod)
	}
}

// statusOf returns the status of a container in that of its pod, nil if it has none.
func statusOf(pod *v1.PodStatus, name string) *v1.ContainerStatus {
	for _, list := range [][]v1.ContainerStatus{pod.ContainerStatuses, pod.InitContainerStatuses} {
		for i := range list {
			if list[i].Name == name {
				return &list[i]
			}
		}
	}
	return nil
}
