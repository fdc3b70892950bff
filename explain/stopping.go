package explain

import (
	"fmt"
	"slices"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/duration"

	"github.com/storagesim/storagesim/kubelet"
	"github.com/storagesim/storagesim/trace"
)

// The reasons of events and pods about the end of containers.
//
// Upstream: pkg/kubelet/events/event.go, pkg/kubelet/eviction/helpers.go Reason and pkg/kubelet/active_deadline.go reason, v1.37.2.
const (
	killing             = "Killing"
	failedPostStartHook = "FailedPostStartHook"
	evicted             = "Evicted"
	deadlineExceeded    = "DeadlineExceeded"
)

// course holds the starts and stops of a pod's containers that the trace tells of. Their status does not show them before they are over.
type course struct {
	// hook is the postStart hook that was begun last, nil if none runs; then nothing else becomes of the pod.
	hook *hookRun
	// kills are the stops of containers that have begun, by container.
	kills map[string]*kill
	// failedHooks are when postStart hooks have failed, by container.
	failedHooks map[string][]time.Time
	// ends is why the kubelet ends the pod: the reason of an event and its message. They are empty if the pod is deleted.
	ends, because string
}

// hookRun is a hook that runs.
type hookRun struct {
	container string
	since     time.Time
	// id is the container's id in the pod's status when the hook began: it changes when that is written again.
	id string
}

// kill is the stop of a container.
type kill struct {
	// message is that of the Killing event.
	message string
	at      time.Time
	// pod is the version of the pod that the kubelet may have had, and id the container's id in its status.
	pod *v1.Pod
	id  string
	// preStop says that its preStop hook runs.
	preStop bool
}

// courseOf reads the trace of a pod.
func (x *explainer) courseOf(pod *v1.Pod) *course {
	c := &course{kills: map[string]*kill{}, failedHooks: map[string][]time.Time{}}
	about, version := trace.RefOf("Pod", pod), pod
	for _, entry := range x.Log.Entries() {
		if entry.Time.Before(pod.CreationTimestamp.Time) {
			continue
		}
		if _, refused := statusWrite(entry, pod); refused != nil { // it comes when they are over, which the status does not tell then
			c.hook, c.kills = nil, map[string]*kill{}
		}
		switch r := entry.Record.(type) {
		case trace.Write:
			if written, ok := r.New.(*v1.Pod); ok && written.UID == pod.UID {
				version = written
			}
		case trace.Crashed:
			if entry.Actor == "kubelet/"+pod.Spec.NodeName { // its next life begins with what runs
				c.hook, c.kills = nil, map[string]*kill{}
			}
		case trace.Decision:
			if r.About == about {
				c.decided(r.Text, entry.Time, version)
			}
		case trace.Event:
			if r.About == about {
				c.said(r, entry.Time, version)
			}
		}
	}
	c.keepWhatGoesOn(pod)
	return c
}

// decided takes in a decision of the kubelet or of the container runtime.
func (c *course) decided(text string, at time.Time, pod *v1.Pod) {
	container, hook, ok := kubelet.HookOf(text)
	switch {
	case ok && hook == "postStart":
		c.hook = &hookRun{container, at, containerIDIn(pod, container)}
		delete(c.kills, container)
		return
	case ok:
		if k := c.kills[container]; k != nil {
			k.preStop = true
		}
		return
	}
	for name, k := range c.kills {
		if strings.HasPrefix(text, "container "+name+" gets SIGTERM") {
			k.preStop = false
		}
	}
}

// said takes in an event.
func (c *course) said(e trace.Event, at time.Time, pod *v1.Pod) {
	switch e.Reason {
	case evicted, deadlineExceeded:
		c.ends, c.because = e.Reason, e.Message
	case failedPostStartHook:
		if c.hook != nil {
			c.failedHooks[c.hook.container] = append(c.failedHooks[c.hook.container], at)
		}
	case killing:
		name := killedContainer(e.Message)
		if e.Message == failedPostStartHook && c.hook != nil {
			name, c.hook = c.hook.container, nil
		}
		c.kills[name] = &kill{message: e.Message, at: at, pod: pod, id: containerIDIn(pod, name)}
	}
}

// keepWhatGoesOn forgets the hook and the stops that are over by the pod's status.
func (c *course) keepWhatGoesOn(pod *v1.Pod) {
	if c.hook != nil && c.hook.id != containerIDIn(pod, c.hook.container) {
		c.hook = nil
	}
	for name, k := range c.kills {
		status := statusOf(pod, name)
		hooked := k.message == failedPostStartHook // of which nothing was written yet
		if status == nil || status.ContainerID != k.id || !hooked && status.State.Running == nil {
			delete(c.kills, name)
		}
	}
}

// killedContainer returns the container that the message of a Killing event names.
//
// Upstream: kuberuntime_manager.go computePodActions and kuberuntime_container.go killContainer, v1.37.2.
func killedContainer(message string) string {
	for _, prefix := range []string{"Stopping container ", "Container ", "Init container "} {
		if rest, ok := strings.CutPrefix(message, prefix); ok {
			name, _, _ := strings.Cut(rest, " ")
			return name
		}
	}
	return ""
}

// failedProbe returns which probe of a container the message of a Killing event names: liveness, startup, or "".
func failedProbe(message string) string {
	for _, kind := range []string{"liveness", "startup"} {
		if strings.Contains(message, " failed "+kind+" probe") {
			return kind
		}
	}
	return ""
}

// statusOf returns the status of a container by its name, nil if there is none.
func statusOf(pod *v1.Pod, name string) *v1.ContainerStatus {
	for _, list := range [][]v1.ContainerStatus{pod.Status.ContainerStatuses, pod.Status.InitContainerStatuses, pod.Status.EphemeralContainerStatuses} {
		for i := range list {
			if list[i].Name == name {
				return &list[i]
			}
		}
	}
	return nil
}

func containerIDIn(pod *v1.Pod, name string) string {
	if s := statusOf(pod, name); s != nil {
		return s.ContainerID
	}
	return ""
}

// until returns when the container has been killed at the latest.
func (k *kill) until(c *course, container string) time.Time {
	var probe *v1.Probe
	if spec := containerOf(k.pod, container); spec != nil {
		switch failedProbe(k.message) {
		case "liveness":
			probe = spec.LivenessProbe
		case "startup":
			probe = spec.StartupProbe
		}
	}
	return k.at.Add(kubelet.GracePeriod(k.pod, probe, c.ends == evicted && k.ofPod()))
}

// ofPod reports whether the container is stopped because its pod is to end, or because the others have ended.
func (k *kill) ofPod() bool { return strings.HasPrefix(k.message, "Stopping container ") }

// containerOf returns a container of a pod by its name, nil if there is none.
func containerOf(pod *v1.Pod, name string) *v1.Container {
	for _, list := range [][]v1.Container{pod.Spec.Containers, pod.Spec.InitContainers} {
		for i := range list {
			if list[i].Name == name {
				return &list[i]
			}
		}
	}
	return nil
}

// names returns the containers that are being stopped, in order.
func (c *course) names() []string {
	var names []string
	for name := range c.kills {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// underWayNow says what becomes of a pod's containers: the hook that one waits for, and the stops that take their grace periods.
func (x *explainer) underWayNow(pod *v1.Pod, c *course) {
	if c.hook != nil {
		x.waitsForHook(pod, c.hook)
	}
	for _, name := range c.names() {
		if k := c.kills[name]; !k.ofPod() {
			x.killed(pod, c, name, k)
		}
	}
	if pod.DeletionTimestamp == nil {
		x.ending(pod, c)
	}
}

// waitsForHook says that a container waits for its postStart hook.
func (x *explainer) waitsForHook(pod *v1.Pod, h *hookRun) {
	field, word := fieldOfContainer(pod, h.container)
	v := Verdict{
		Class: UnderWay, Code: HookRuns, Field: field + ".lifecycle.postStart", Do: "mend the hook if it does not end",
		Cause: fmt.Sprintf("%s waits for its postStart hook, which has run for %s; until it ends nothing else becomes of the pod",
			word, duration.HumanDuration(x.Now.Sub(h.since))),
	}
	if pod.DeletionTimestamp != nil {
		v.Cause = fmt.Sprintf("the postStart hook of %s has run for %s, and the kubelet stops nothing of the pod until it ends",
			word, duration.HumanDuration(x.Now.Sub(h.since)))
	}
	x.blame(v)
}

// killed blames why the kubelet stops a container, and says how long that has.
func (x *explainer) killed(pod *v1.Pod, c *course, name string, k *kill) {
	field, word := fieldOfContainer(pod, name)
	left := x.timeLeft(c, name, k)
	probe := failedProbe(k.message)
	if probe == "" {
		x.blame(Verdict{
			Class: Ill, Code: ContainerFailed, Field: field + ".lifecycle.postStart", Do: "mend the hook, or what it asks the container for",
			Cause: fmt.Sprintf("the kubelet stops %s, since its postStart hook failed (%s)%s", word, failedPostStartHook, left),
		})
		return
	}
	then := ""
	if pod.DeletionTimestamp != nil && strings.Contains(k.message, "will be restarted") {
		then = "; then it is started once more, and stopped since the pod is being deleted"
	}
	x.blame(x.ofProbe(Verdict{
		Class: Ill, Code: ProbeFailed, Field: fmt.Sprintf("%s.%sProbe", field, probe),
		Cause: fmt.Sprintf("the kubelet stops %s, since its %s probe failed%s%s%s", word, probe, because(x.lastProbe(pod, probe)), left, then),
	}, pod, name))
}

// timeLeft says how long a container has that is being stopped: "; it has 20s to end".
func (x *explainer) timeLeft(c *course, name string, k *kill) string {
	left := k.until(c, name).Sub(x.Now)
	hook := ""
	if k.preStop {
		hook = ", and runs its preStop hook"
	}
	if left <= 0 {
		return hook
	}
	return fmt.Sprintf("; it has %s to end%s", left.Round(time.Second), hook)
}

// ending says that a pod which is not deleted is being ended, and why.
func (x *explainer) ending(pod *v1.Pod, c *course) {
	names := slices.DeleteFunc(c.names(), func(name string) bool { return !c.kills[name].ofPod() })
	if len(names) == 0 {
		return
	}
	for _, name := range names {
		_, word := fieldOfContainer(pod, name)
		left := x.timeLeft(c, name, c.kills[name])
		switch {
		case c.ends != "":
			x.ill(PodFailed, "", "see why, then delete it", "the kubelet ends it (%s), and stops %s%s", reasonAnd(c.ends, c.because), word, left)
		default:
			x.underWay(Stopping, "", "its containers have done their work, and the kubelet stops %s%s", word, left)
		}
	}
}

// stopping says how long the containers of a pod have that is being deleted. It reports whether any of them is being stopped.
func (x *explainer) stopping(pod *v1.Pod, c *course) (found bool) {
	var last *kill
	var until time.Time
	for _, name := range c.names() {
		if k := c.kills[name]; k.ofPod() && (last == nil || k.until(c, name).After(until)) {
			last, until = k, k.until(c, name)
		}
	}
	if last == nil || !until.After(x.Now) {
		return false
	}
	more := ""
	if last.preStop {
		more = "; a preStop hook runs"
	}
	if pod.DeletionTimestamp.Time.Before(until.Truncate(time.Second)) {
		more += "; the shorter grace period of a later deletion changes nothing, since the kubelet has begun to stop them"
	}
	x.underWay(Stopping, "", "it is being deleted, and its containers have %s to end%s", until.Sub(x.Now).Round(time.Second), more)
	return true
}

// lastProbe returns what came of the last probe of that kind that failed.
func (x *explainer) lastProbe(pod *v1.Pod, kind string) string {
	failed := strings.ToUpper(kind[:1]) + kind[1:] + " probe failed: "
	for _, e := range slices.Backward(x.saidOf(pod)) {
		if why, ok := strings.CutPrefix(e.Message, failed); ok && e.Reason == "Unhealthy" {
			return why
		}
	}
	return ""
}

// saidOf returns the events of a pod in the trace, oldest first, with their seconds. Of a pod whose containers start again and again a recorder
// keeps most back, so that few are objects.
func (x *explainer) saidOf(pod *v1.Pod) (found []Event) {
	about := trace.RefOf("Pod", pod)
	for _, entry := range x.Log.Entries() {
		if e, ok := entry.Record.(trace.Event); ok && e.About == about && !entry.Time.Before(pod.CreationTimestamp.Time) {
			found = append(found, Event{Type: e.Type, Reason: e.Reason, Message: oneLine(e.Message), Last: entry.Time.Truncate(time.Second)})
		}
	}
	return found
}

// hookFailed reports whether a container was stopped for its postStart hook as it ended.
func (c *course) hookFailed(container string, ended *v1.ContainerStateTerminated) bool {
	return slices.ContainsFunc(c.failedHooks[container], func(at time.Time) bool {
		at = at.Truncate(time.Second)
		return !at.Before(ended.StartedAt.Time) && !at.After(ended.FinishedAt.Time)
	})
}

// unwritten blames what refuses the kubelet's writes of a pod's status: since then the status shows what was before.
func (x *explainer) unwritten(pod *v1.Pod) {
	for _, entry := range slices.Backward(x.Log.Entries()) {
		is, why := statusWrite(entry, pod)
		if !is || entry.Time.Before(pod.CreationTimestamp.Time) {
			continue
		}
		if why == nil {
			return
		}
		since := duration.HumanDuration(x.Now.Sub(entry.Time))
		x.ill(WriteRefused, "actor/"+entry.Actor, "remove the cause that the message names; the kubelet tries again",
			"its status shows what was before, since the kubelet's last write of it was refused %s ago: %s", since, oneLine(why.Error()))
		return
	}
}

// statusWrite reports whether an entry is about a write of a pod's status by its kubelet, and why that was refused; nil if it was not.
func statusWrite(entry trace.Entry, pod *v1.Pod) (is bool, refused error) {
	if entry.Actor != "kubelet/"+pod.Spec.NodeName {
		return false, nil
	}
	switch r := entry.Record.(type) {
	case trace.Write:
		is, refused = r.About() == trace.RefOf("Pod", pod) && r.Subresource == "status", r.Err
	case trace.Struck:
		is, refused = r.Call == "patch pods/status "+pod.Namespace+"/"+pod.Name && !r.After && r.Err != nil, r.Err
	}
	if !is {
		return false, nil
	}
	return true, refused
}
