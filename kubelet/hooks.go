package kubelet

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/storagesim/storagesim/control"
	"github.com/storagesim/storagesim/internal/bounded"
	"github.com/storagesim/storagesim/kubelet/internal/containerref"
	"github.com/storagesim/storagesim/kubelet/internal/prober"
	"github.com/storagesim/storagesim/kubelet/runtime"
	"github.com/storagesim/storagesim/machine/shell"
	"github.com/storagesim/storagesim/trace"
)

// postStartHookError is why a container waits whose postStart hook has failed.
//
// Upstream: kuberuntime_container.go ErrPostStartHook, v1.37.2.
const postStartHookError = "PostStartHookError"

// Settle waits for a hook as long as that: for preStop the first hour of the grace period, as for the container itself.
const (
	awaitedPostStart = 10 * time.Minute
	awaitedPreStop   = time.Hour
)

// maxHookOutput is the number of bytes of each output of a hook that are kept.
const maxHookOutput = 16 << 20

// hook is one that runs.
type hook struct {
	container string
	// wake lets it go on, since its container may have ended; done is open when it has ended, and err says why it failed.
	wake func()
	done *gate
	err  error
}

// beginHook runs a hook of a container that runs, in a task of its own: it goes on when the stop that began it does not wait any longer.
func (k *kubelet) beginHook(pod *v1.Pod, spec *v1.Container, id, name string, handler *v1.LifecycleHandler, failed func(error)) *hook {
	k.note(trace.RefOf("Pod", pod), fmt.Sprintf(hookNote, spec.Name, name))
	h := &hook{container: id, wake: func() {}, done: newGate()}
	k.hooks = append(k.hooks, h)
	k.env.Go(name+" hook of container "+spec.Name, func(ctx context.Context) {
		if h.err = k.runHandler(control.InBackground(ctx), pod, spec, h, handler); h.err != nil {
			failed(h.err)
		}
		k.hooks = slices.DeleteFunc(k.hooks, func(other *hook) bool { return other == h })
		h.done.open()
	})
	return h
}

// hookNote tells, in the trace, of a container and its hook.
const hookNote = "container %s runs its %s hook"

// HookOf returns the container and the hook of a note, in the trace, that the hook runs; ok is false for any other text.
func HookOf(note string) (container, hook string, ok bool) {
	n, err := fmt.Sscanf(note, hookNote, &container, &hook)
	return container, hook, n == 2 && err == nil
}

// wakeHooks lets the commands of hooks end with their container.
func (k *kubelet) wakeHooks(container string) {
	for _, h := range slices.Clone(k.hooks) {
		if h.container == container {
			h.wake()
		}
	}
}

// runHandler carries out a hook. There is no network: httpGet succeeds if the port is one.
//
// Upstream: pkg/kubelet/lifecycle/handlers.go Run, v1.37.2.
func (k *kubelet) runHandler(ctx context.Context, pod *v1.Pod, spec *v1.Container, h *hook, handler *v1.LifecycleHandler) error {
	about := fmt.Sprintf("for Container %q in Pod %q failed - error: ", spec.Name, podName(pod))
	switch {
	case handler.Exec != nil:
		command := handler.Exec.Command
		if output, err := k.runInContainer(ctx, pod, h, command); err != nil {
			return fmt.Errorf("Exec lifecycle hook (%v) %s%w, message: %q", command, about, err, output)
		}
		return nil
	case handler.HTTPGet != nil:
		if _, err := prober.ResolveContainerPort(handler.HTTPGet.Port, spec); err != nil {
			return fmt.Errorf("HTTP lifecycle hook (%s) %s%w", handler.HTTPGet.Path, about, err)
		}
		return nil
	case handler.Sleep != nil:
		return k.env.Sleep(ctx, seconds(handler.Sleep.Seconds))
	}
	return fmt.Errorf("Cannot run handler: invalid handler: %v", handler)
}

// runInContainer runs a command in a container to its end, and returns what it has printed.
//
// Upstream: kuberuntime_container.go RunInContainer, and k8s.io/cri-client remote_runtime.go ExecSync, v1.37.2.
func (k *kubelet) runInContainer(ctx context.Context, pod *v1.Pod, h *hook, command []string) (output string, err error) {
	stdout, stderr := bounded.Buffer{Most: maxHookOutput}, bounded.Buffer{Most: maxHookOutput}
	process, err := k.runtime.Exec(h.container, runtime.ExecConfig{
		Command: command, Stdout: &stdout, Stderr: &stderr, Probe: true, Absent: k.absentInProbe(pod),
	})
	if err != nil {
		return "", err
	}
	for {
		wait, ended := process.Run()
		if ended {
			break
		}
		in, wake := control.WithCancelCause(ctx)
		h.wake = func() { wake(nil) }
		err := k.env.Sleep(in, wait)
		wake(nil)
		if err != nil && ctx.Err() != nil {
			process.Stop()
			return "", err
		}
	}
	if code := process.ExitCode(); code != 0 {
		err = fmt.Errorf("command '%s' exited with %d: %s", strings.Join(command, " "), code, stderr.String())
	}
	return stdout.String() + stderr.String(), err
}

// executePreStopHook runs a container's hook before it is stopped, and returns how many seconds that took: at most its grace period. A hook that takes
// longer goes on until the container has ended.
//
// Upstream: kuberuntime_container.go executePreStopHook, v1.37.2.
func (k *kubelet) executePreStopHook(ctx context.Context, pod *v1.Pod, spec *v1.Container, id string, grace int64) (took int64, err error) {
	start := k.env.Now()
	h := k.beginHook(pod, spec, id, "preStop", spec.Lifecycle.PreStop, func(error) {
		k.recorder.Event(containerref.GenerateContainerRef(pod, spec.Name), v1.EventTypeWarning, "FailedPreStopHook", "PreStopHook failed")
	})
	opened, err := awaited(ctx, k.env, h.done, seconds(grace), awaitedPreStop)
	if err == nil && !opened {
		k.note(trace.RefOf("Pod", pod), fmt.Sprintf("the preStop hook of container %s has not ended in the grace period", spec.Name))
	}
	return int64(k.env.Now().Sub(start) / time.Second), err
}

// runPostStartHook runs a container's hook after its start, to its end: until then nothing else becomes of the pod. If it fails the container is killed,
// and waits to be started again.
//
// Upstream: kuberuntime_container.go startContainer, v1.37.2.
func (k *kubelet) runPostStartHook(ctx context.Context, w *podWorker, spec *v1.Container, c *containerState) error {
	pod := w.pod
	return k.beside(ctx, w, []*containerState{c}, func(ctx context.Context, c *containerState) error {
		k.starting[c.last.ID] = true
		defer delete(k.starting, c.last.ID)
		h := k.beginHook(pod, spec, c.last.ID, "postStart", spec.Lifecycle.PostStart, func(error) {
			k.recorder.Event(containerref.GenerateContainerRef(pod, spec.Name), v1.EventTypeWarning, "FailedPostStartHook", "PostStartHook failed")
		})
		if _, err := awaited(ctx, k.env, h.done, shell.Forever, awaitedPostStart); err != nil || h.err == nil {
			return err
		}
		if err := k.killContainer(ctx, pod, c, "FailedPostStartHook", nil, nil, nil); err != nil {
			return err
		}
		status, err := k.runtime.ContainerStatus(c.last.ID)
		if err == nil && (isSidecar(spec) || shouldRestart(pod, spec, status.ExitCode)) {
			c.waiting = &containerWaiting{postStartHookError, h.err.Error()}
		}
		return err
	})
}

// awaited waits until a gate is open, at most for d. Settle waits for it, too, for the first part of that time.
func awaited(ctx context.Context, clock control.Clock, g *gate, d, part time.Duration) (opened bool, err error) {
	if opened, err = g.wait(ctx, clock, min(d, part)); !opened && err == nil && d > part {
		opened, err = g.wait(control.InBackground(ctx), clock, d-part)
	}
	return opened, err
}
