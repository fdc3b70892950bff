package explain

import (
	"fmt"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/storagesim/storagesim/trace"
)

// helperAttempt is one pod that a provisioner started for a claim. The next attempt has
// a pod of the same name with another UID.
type helperAttempt struct {
	pod  *v1.Pod // as it was last seen
	gone bool
}

// helperPods explains the pods that a provisioner started for a claim and that have not
// succeeded: of each name the last attempt that says what is wrong. They are known from
// the trace, since a provisioner deletes them; their names contain the claim's UID, as
// the volume's name does.
func (x *explainer) helperPods(claim types.UID) {
	var names []string
	attempts := map[string][]*helperAttempt{}
	for _, entry := range x.Log.Entries() {
		w, ok := entry.Record.(trace.Write)
		if !ok || w.Kind != "Pod" || w.Err != nil || !strings.Contains(w.Name, string(claim)) {
			continue
		}
		name := w.Namespace + "/" + w.Name
		if w.Old == nil && w.New != nil {
			if attempts[name] == nil {
				names = append(names, name)
			}
			attempts[name] = append(attempts[name], &helperAttempt{})
		}
		if known := attempts[name]; known != nil {
			known[len(known)-1].see(w)
		}
	}
	for _, name := range names {
		x.helperPod(name, attempts[name])
	}
}

// see takes over what a write says of the pod.
func (a *helperAttempt) see(w trace.Write) {
	a.gone = w.New == nil
	for _, version := range []any{w.New, w.Last, w.Old} {
		if pod, ok := version.(*v1.Pod); ok && pod != nil {
			a.pod = pod
			return
		}
	}
}

// helperPod explains the pods of one name.
func (x *explainer) helperPod(name string, attempts []*helperAttempt) {
	last := len(attempts) - 1
	if attempts[last].pod.Status.Phase == v1.PodSucceeded {
		return
	}
	if last > 0 && !attempts[last].gone && !x.hasTrouble(attempts[last].pod) {
		last-- // the next attempt has only begun
	}
	pod := attempts[last].pod
	is, attempt := "is", ""
	if attempts[last].gone {
		is = "is deleted; it was"
	}
	if len(attempts) > 1 {
		attempt = fmt.Sprintf(" (attempt %d)", last+1)
	}
	x.say("  helper pod %s%s %s %s%s", name, attempt, is, pod.Status.Phase, scheduledWhere(pod))
	x.indent = "  "
	defer func() { x.indent = "" }()
	ref := "pod/" + name
	_ = x.within(ref, func() error {
		x.containers(pod)
		x.silently(func() { // said above
			switch why := unscheduled(pod); {
			case why != "":
				x.ill(HelperPodFailed, ref, "make a node take it", "helper pod %s has no node: %s", name, why)
			case pod.Status.Phase == v1.PodFailed:
				x.ill(HelperPodFailed, ref, "mend its script, or what it works on", "helper pod %s has failed%s", name, because(pod.Status.Message))
			}
		})
		x.mountTrouble(pod)
		x.events(ref, "Pod", pod.UID, unscheduled(pod))
		return nil
	})
}

// hasTrouble reports whether there is a warning about a pod, or it has failed.
func (x *explainer) hasTrouble(pod *v1.Pod) bool {
	if pod.Status.Phase == v1.PodFailed || unscheduled(pod) != "" {
		return true
	}
	return slices.ContainsFunc(x.eventsOf("Pod", pod.UID), func(e Event) bool { return e.Type == v1.EventTypeWarning })
}

// containers says what keeps a pod's containers from running, or how they failed.
func (x *explainer) containers(pod *v1.Pod) {
	for _, c := range slices.Concat(pod.Status.InitContainerStatuses, pod.Status.ContainerStatuses) {
		if waiting := c.State.Waiting; waiting != nil && waiting.Message != "" {
			line := fmt.Sprintf("container %s waits: %s", c.Name, reasonAnd(waiting.Reason, waiting.Message))
			if waiting.Reason == "CrashLoopBackOff" {
				x.say("  %s", line) // how it ended is the cause
			} else {
				x.ill(ContainerFailed, "", "mend what it says", "%s", line)
			}
		}
		for _, ended := range []*v1.ContainerStateTerminated{c.State.Terminated, c.LastTerminationState.Terminated} {
			if ended == nil || ended.ExitCode == 0 {
				continue
			}
			if probe, why := x.stoppedBy(pod, c.Name, ended); probe != "" {
				x.blame(Verdict{
					Class: Ill, Code: ProbeFailed, Field: fmt.Sprintf("spec.containers[%s].%sProbe", c.Name, probe), Do: "mend the probe, or what it asks the container for",
					Cause: fmt.Sprintf("the kubelet stopped container %s, since its %s probe failed%s", c.Name, probe, because(why)),
				})
			} else {
				x.ill(ContainerFailed, "", "mend its script or its program", "container %s exited with %d: %s", c.Name, ended.ExitCode, reasonAnd(ended.Reason, ended.Message))
			}
			break
		}
	}
}

// stoppedBy returns which probe, liveness or startup, had the kubelet stop the container as it ended, and what came of it last; "" if none did.
func (x *explainer) stoppedBy(pod *v1.Pod, container string, ended *v1.ContainerStateTerminated) (probe, why string) {
	for _, e := range x.eventsOf("Pod", pod.UID) {
		for _, kind := range []string{"liveness", "startup"} {
			switch failed := strings.ToUpper(kind[:1]) + kind[1:] + " probe failed: "; {
			case e.Reason == "Killing" && strings.HasPrefix(e.Message, fmt.Sprintf("Container %s failed %s probe", container, kind)):
				if !e.Last.Before(ended.StartedAt.Time) && !e.Last.After(ended.FinishedAt.Time) {
					probe = kind
				}
			case e.Reason == "Unhealthy" && strings.HasPrefix(e.Message, failed):
				why = strings.TrimPrefix(e.Message, failed)
			}
		}
	}
	return probe, why
}

// because returns a message as the end of a sentence, if there is one.
func because(message string) string {
	if message == "" {
		return ""
	}
	return ": " + oneLine(message)
}

// reasonAnd returns a reason and its message, if there is one.
func reasonAnd(reason, message string) string {
	if message == "" {
		return reason
	}
	return reason + ": " + oneLine(message)
}

// oneLine joins the lines of a message.
func oneLine(text string) string { return strings.ReplaceAll(strings.TrimSpace(text), "\n", "; ") }
