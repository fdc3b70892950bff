package kubelet

import (
	"context"
	"fmt"
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/storagesim/storagesim/control"
	"github.com/storagesim/storagesim/kubelet/runtime"
	"github.com/storagesim/storagesim/kubelet/runtime/programs"
	"github.com/storagesim/storagesim/trace"
)

// awaitedFor is how long after its start a container's sleep is awaited when settling,
// if the container is to come to an end.
const awaitedFor = time.Minute

// runContainer runs a container's command until it waits or ends. One that cannot be
// carried out just runs; one that must end has ended then.
func (k *kubelet) runContainer(pod *v1.Pod, c *v1.Container, record *containerRecord, env map[string]string, mustEnd bool) {
	now := record.Started
	container := runtime.Container{
		Argv: expandCommand(c, env), Dir: c.WorkingDir, Env: env, Hostname: k.hostname(pod), Mounts: record.Mounts,
	}
	if k.cfg.Runtime == FakeRuntime || !k.containers.CanRun(container) {
		if mustEnd {
			record.Finished = &now
		}
		if len(c.Command) > 0 && k.cfg.Runtime != FakeRuntime {
			k.note(trace.RefOf("Pod", pod), fmt.Sprintf("container %s: %s is a program of its image, of which nothing is known here; it %s",
				c.Name, container.Argv[0], map[bool]string{true: "ends at once", false: "just runs"}[mustEnd]))
		}
		return
	}
	id := runtime.ID{Pod: pod.UID, Name: c.Name, Attempt: record.Restarts}
	status := k.containers.StartContainer(id, container, k.env)
	main := status.Main
	k.traceCommand(pod, main)
	k.traceReports(pod, c.Name, status.Reports)
	if status.Ended {
		record.Finished, record.ExitCode, record.Message = &now, status.ExitCode, status.Message
		k.tellNotFound(pod, c.Name, status)
		return
	}
	k.letGoOn(id, now.Time, mustEnd || meantToEnd(pod))
}

// hostname is the pod's name on its network.
//
// Upstream: kubelet_pods.go GeneratePodHostNameAndDomain, v1.36.
func (k *kubelet) hostname(pod *v1.Pod) string {
	switch {
	case pod.Spec.HostNetwork:
		return k.node.Name
	case pod.Spec.Hostname != "":
		return pod.Spec.Hostname
	}
	return pod.Name[:min(len(pod.Name), 63)]
}

// traceCommand tells what a container ran.
func (k *kubelet) traceCommand(pod *v1.Pod, r programs.Report) {
	about := trace.RefOf("Pod", pod)
	record := trace.Command{About: about, Argv: r.Argv, Node: k.node.Name, Paths: r.Paths}
	if r.Err != nil {
		record.Err = r.Err.Error()
	}
	k.env.Trace(record)
	for _, note := range r.Notes {
		k.note(about, note)
	}
}

// traceReports tells what a container's command ran.
func (k *kubelet) traceReports(pod *v1.Pod, container string, reports []programs.Report) {
	for _, r := range reports {
		if r.Argv != nil {
			k.traceCommand(pod, r)
			continue
		}
		for _, note := range r.Notes {
			k.note(trace.RefOf("Pod", pod), fmt.Sprintf("container %s %s", container, note))
		}
	}
}

// exitNotFound is the exit code of a shell that finds no program of a name.
const exitNotFound = 127

// tellNotFound tells the pod of a program that it lacks.
func (k *kubelet) tellNotFound(pod *v1.Pod, container string, s runtime.Status) {
	if s.ExitCode == exitNotFound {
		k.recorder.Eventf(pod, v1.EventTypeWarning, "Failed", "Error: container %s has ended with exit code %d: %s", container, exitNotFound, s.Message)
	}
}

// resumeContainers lets those of a pod's containers go on that an earlier life of the
// kubelet has started.
func (k *kubelet) resumeContainers(w *podWorker) {
	for _, id := range k.containers.Running(w.uid) {
		if !k.resumed[id] {
			k.letGoOn(id, k.env.Now(), false)
		}
	}
}

// letGoOn has a container go on whenever it has waited long enough. A sleep is like
// periodic work, which is not awaited when settling; that of one that is to come to an end
// is awaited for a minute from its start.
func (k *kubelet) letGoOn(id runtime.ID, started time.Time, ends bool) {
	k.resumed[id] = true
	k.env.Go("container "+id.Name, func(ctx context.Context) {
		defer delete(k.resumed, id)
		for {
			until := k.containers.Until(id)
			in := ctx
			if !ends || until.After(started.Add(awaitedFor)) {
				in = control.InBackground(ctx)
			}
			if err := k.env.Sleep(in, max(0, until.Sub(k.env.Now()))); err != nil {
				return
			}
			status, ok := k.containers.Resume(id, k.env)
			if !ok || !k.goesOn(id, status) {
				return
			}
		}
	})
}

// goesOn tells what a container did meanwhile, and whether it goes on.
func (k *kubelet) goesOn(id runtime.ID, status runtime.Status) bool {
	w := k.workers[id.Pod]
	if w == nil || w.pod == nil {
		return !status.Ended
	}
	k.traceReports(w.pod, id.Name, status.Reports)
	if !status.Ended {
		return true
	}
	if status.ExitCode != 0 {
		k.note(w.ref(), fmt.Sprintf("container %s has ended with exit code %d: %s", id.Name, status.ExitCode, status.Message))
	}
	k.tellNotFound(w.pod, id.Name, status)
	if err := k.containerEnded(w, id, status); err != nil {
		k.note(w.ref(), fmt.Sprintf("container %s has ended, and its record could not be written: %v", id.Name, err))
	}
	k.podQueue.Add(string(id.Pod))
	return false
}

// containerEnded writes into the pod's record that a container has ended.
func (k *kubelet) containerEnded(w *podWorker, id runtime.ID, status runtime.Status) error {
	r, err := k.loadRecord(w)
	if r == nil {
		return err
	}
	now := k.now()
	for _, list := range [][]containerRecord{r.Init, r.Containers} {
		at := slices.IndexFunc(list, func(c containerRecord) bool { return c.Name == id.Name && c.Restarts == id.Attempt })
		if at >= 0 && list[at].running() {
			list[at].Finished, list[at].ExitCode, list[at].Message = &now, status.ExitCode, status.Message
		}
	}
	return k.runtime.save(r)
}
