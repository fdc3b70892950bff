package kubelet

import (
	"context"
	"fmt"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/storagesim/storagesim/control"
	"github.com/storagesim/storagesim/kubelet/internal/containerref"
	"github.com/storagesim/storagesim/kubelet/runtime"
)

// crashLoopBackOff is why a container waits that keeps ending.
//
// Upstream: pkg/kubelet/container/sync_result.go ErrCrashLoopBackOff, v1.37.
const crashLoopBackOff = "CrashLoopBackOff"

// imageLookPeriod is the time after which the kubelet looks again at an image that could not be
// pulled.
//
// Upstream: kubelet.go backOffPeriod, v1.37, and up to half as long again.
const imageLookPeriod = 10 * time.Second

// backOff is the time that something waits before it is tried again: twice as long each time.
//
// Upstream: client-go util/flowcontrol Backoff, v1.37.
type backOff struct {
	delay   time.Duration
	updated time.Time
	message string // what failed, of an image
}

// backOffs holds the backoffs of one pod, by the operation.
type backOffs map[string]backOff

// get returns what holds for something that happened at that moment. After twice the longest
// delay without failures nothing holds any more.
func (b backOffs) get(key string, event time.Time) (backOff, bool) {
	entry, ok := b[key]
	return entry, ok && event.Sub(entry.updated) <= 2*maxRestartBackoff
}

// next makes the delay longer.
func (b backOffs) next(key string, event, now time.Time, message string) {
	delay := initialRestartBackoff
	if entry, ok := b.get(key, event); ok {
		delay = min(2*entry.delay, maxRestartBackoff)
	}
	b[key] = backOff{delay, now, message}
}

// backOffsOf returns the pod's.
func (k *kubelet) backOffsOf(pod types.UID) backOffs {
	w := k.workers[pod]
	if w == nil {
		return backOffs{}
	}
	if w.backOffs == nil {
		w.backOffs = backOffs{}
	}
	return w.backOffs
}

// podName returns a pod's name as messages have it.
//
// Upstream: pkg/kubelet/util/format/pod.go Pod, v1.37.2.
func podName(pod *v1.Pod) string { return fmt.Sprintf("%s_%s(%s)", pod.Name, pod.Namespace, pod.UID) }

// doBackOff reports whether a container that has ended must wait before it is started again:
// the first time it need not. last is the container before it.
//
// Upstream: kuberuntime_manager.go doBackOff, v1.37.
func (k *kubelet) doBackOff(pod *v1.Pod, c *v1.Container, last *runtime.ContainerStatus) *containerWaiting {
	if last == nil || last.State != runtime.ContainerExited {
		return nil
	}
	tries, event, now := k.backOffsOf(pod.UID), timeOf(last.FinishedAt).Time, k.env.Now()
	entry, ok := tries.get(c.Name, event)
	if !ok || now.Sub(event) >= entry.delay {
		tries.next(c.Name, event, now, "")
		return nil
	}
	name := podName(pod)
	k.recorder.Eventf(containerref.GenerateContainerRef(pod, c.Name), v1.EventTypeWarning, "BackOff",
		"Back-off restarting failed container %s in pod %s", c.Name, name)
	return &containerWaiting{crashLoopBackOff, fmt.Sprintf("back-off %s restarting failed container=%s pod=%s", entry.delay, c.Name, name)}
}

// nextStart returns the earliest moment at which a container that has ended is started again,
// or the kubelet looks at an image again that could not be pulled.
func (k *kubelet) nextStart(w *podWorker, s *podStatus) (at time.Time, found bool) {
	consider := func(t time.Time) {
		if !found || t.Before(at) {
			at, found = t, true
		}
	}
	check := func(spec *v1.Container, c *containerState, again bool) {
		switch {
		case !again || !c.tried():
		case c.waiting == nil || c.waiting.Reason == postStartHookError || c.notStarted():
			consider(k.env.Now())
		case c.waiting.Reason == crashLoopBackOff && c.ended():
			consider(timeOf(c.last.FinishedAt).Add(w.backOffs[spec.Name].delay))
		case c.waiting.Reason == errImagePull || c.waiting.Reason == errImagePullBackOff:
			for _, name := range imagesOf(w.pod, spec) {
				image, failed := w.backOffs[imageKey(name)]
				switch {
				case !failed:
				case c.waiting.Reason == errImagePull:
					consider(image.updated.Add(imageLookPeriod))
				default:
					consider(image.updated.Add(image.delay))
				}
			}
		}
	}
	inits, initialized := s.initToStart(w.pod)
	for _, i := range inits {
		check(&w.pod.Spec.InitContainers[i], &s.Init[i], true)
	}
	for i := range s.Containers {
		spec := &w.pod.Spec.Containers[i]
		check(spec, &s.Containers[i], initialized && shouldContainerBeRestarted(w.pod, spec, &s.Containers[i]))
	}
	ephemeral := ephemeralContainers(w.pod)
	for i := range s.Ephemeral {
		check(&ephemeral[i], &s.Ephemeral[i], shouldEphemeralContainerBeStarted(w.pod, &s.Ephemeral[i]))
	}
	return at, found
}

// restartAt queues a pod in the restarts queue for that time. Settle does not wait
// for a time that is more than a minute away: the pod is stuck, not busy.
func (k *kubelet) restartAt(w *podWorker, at time.Time) {
	if !w.nextStart.IsZero() && !at.Before(w.nextStart) {
		return
	}
	w.nextStart = at
	delay := max(0, at.Sub(k.env.Now()))
	k.env.Go("restart "+string(w.uid), func(ctx context.Context) {
		if delay > time.Minute {
			ctx = control.InBackground(ctx)
		}
		if k.env.Sleep(ctx, delay) == nil && w.nextStart.Equal(at) {
			w.nextStart = time.Time{}
			k.restartQueue.Add(string(w.uid))
		}
	})
}
