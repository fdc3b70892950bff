package explain

import (
	"cmp"
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"
	"time"

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
		x.containers(pod, x.courseOf(pod))
		x.silently(func() { // said above
			switch why := unscheduled(pod); {
			case why != "":
				x.ill(HelperPodFailed, ref, "make a node take it", "helper pod %s has no node: %s", name, why)
			case pod.Status.Phase == v1.PodFailed:
				x.ill(HelperPodFailed, ref, "mend its script, or what it works on", "helper pod %s has failed%s", name, because(pod.Status.Message))
			}
		})
		if !attempts[last].gone {
			x.placed(pod)
		}
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

// containersFail reports whether the status of a container says that it fails.
func (x *explainer) containersFail(pod *v1.Pod) bool {
	y := &explainer{World: x.World, ctx: x.ctx}
	y.containers(pod, y.courseOf(pod))
	return len(y.findings) > 0
}

// steady is the time after which a container that runs again counts as well: the kubelet forgets its backoff then.
// Upstream: pkg/kubelet/kubelet.go MaxCrashLoopBackOff, v1.37: backoffs are forgotten after twice as long.
const steady = 10 * time.Minute

// containers says what keeps a pod's containers from running or from being ready, or how they failed.
func (x *explainer) containers(pod *v1.Pod, course *course) {
	for _, c := range pod.Status.Conditions {
		if c.Type == v1.AllContainersRestarting && c.Status == v1.ConditionTrue && pod.DeletionTimestamp == nil {
			x.underWay(Stopping, "", "all its containers are stopped and start again, since one has ended as its restartPolicyRules say (%s)",
				v1.ContainerRestartRuleActionRestartAllContainers)
			return
		}
	}
	for _, c := range slices.Concat(pod.Status.InitContainerStatuses, pod.Status.ContainerStatuses) {
		field, _ := fieldOfContainer(pod, c.Name)
		if waiting := c.State.Waiting; waiting != nil && waiting.Message != "" {
			x.waiting(pod, c.Name, waiting)
		}
		x.ended(pod, field, &c, course)
		if course.kills[c.Name] == nil && course.hook == nil {
			x.unready(pod, field, &c)
		}
	}
	x.doneBeside(pod)
}

// fieldOfContainer returns the path of a container in a pod, and its word in a sentence.
func fieldOfContainer(pod *v1.Pod, name string) (field, word string) {
	if slices.ContainsFunc(pod.Spec.InitContainers, func(c v1.Container) bool { return c.Name == name }) {
		return "spec.initContainers[" + name + "]", "init container " + name
	}
	return "spec.containers[" + name + "]", "container " + name
}

// waiting blames what a container waits for.
func (x *explainer) waiting(pod *v1.Pod, name string, state *v1.ContainerStateWaiting) {
	field, word := fieldOfContainer(pod, name)
	line := fmt.Sprintf("%s waits: %s", word, reasonAnd(state.Reason, state.Message))
	switch state.Reason {
	case "CrashLoopBackOff", "PostStartHookError", "RunContainerError":
		x.say("  %s", line) // how it ended is the cause
	case restartingAllContainers: // which is said of how it ended
	case "InvalidImageName", "ErrImagePull", "ImagePullBackOff", "ErrImageNeverPull":
		image := ""
		for _, c := range slices.Concat(pod.Spec.InitContainers, pod.Spec.Containers) {
			if c.Name == name {
				image = c.Image
			}
		}
		x.blame(Verdict{Class: Ill, Code: ContainerFailed, Field: field + ".image", Value: image,
			Do: "name an image that the node can have, or mend its pull policy and secrets", Cause: line})
	default:
		x.blame(Verdict{Class: Ill, Code: ContainerFailed, Field: field, Do: "remove the cause that the message names", Cause: line})
	}
}

// ended blames how a container ended last, unless it has run for long since.
func (x *explainer) ended(pod *v1.Pod, field string, c *v1.ContainerStatus, course *course) {
	ended := cmp.Or(c.State.Terminated, c.LastTerminationState.Terminated)
	if ended == nil || c.Ready && c.State.Running != nil && x.Now.Sub(c.State.Running.StartedAt.Time) >= steady {
		return
	}
	_, word := fieldOfContainer(pod, c.Name)
	if probe, why := x.stoppedBy(pod, c.Name, ended); probe != "" {
		x.blame(x.ofProbe(Verdict{
			Class: Ill, Code: ProbeFailed, Field: fmt.Sprintf("%s.%sProbe", field, probe),
			Cause: fmt.Sprintf("the kubelet stopped %s, since its %s probe failed%s", word, probe, because(why)),
		}, pod, c.Name))
		return
	}
	switch {
	case ended.ExitCode == 0 && c.State.Waiting != nil && c.State.Waiting.Reason == "CrashLoopBackOff":
		x.blame(Verdict{
			Class: Ill, Code: ContainerFailed, Field: "spec.restartPolicy", Value: string(pod.Spec.RestartPolicy), Do: "let its program go on running, or use a Job",
			Cause: fmt.Sprintf("%s ends with 0, and is started again each time", word),
		})
		return
	case ended.ExitCode == 0:
		return
	}
	if ended.Reason == restartingAllContainers {
		is := "was restarted"
		if c.State.Running == nil {
			is = "starts again"
		}
		x.say("  %s %s with all others of the pod, as a rule of its restartPolicyRules says", word, is)
		return
	}
	if ended.Reason == "StartError" {
		v := Verdict{
			Class: Ill, Code: ContainerFailed, Field: field + ".command", Do: "name a program that its image has, and that its user may execute",
			Cause: fmt.Sprintf("%s could not be started: %s", word, reasonAnd(ended.Reason, ended.Message)),
		}
		if spec := containerOf(pod, c.Name); spec != nil && len(spec.Command) > 0 {
			v.Value = spec.Command[0]
		}
		if dir := workingDirOf(pod, c.Name); dir != "" && strings.Contains(ended.Message, ": mkdir "+dir+": ") {
			v.Field, v.Value, v.Do = field+".workingDir", dir, "name a directory that is there or can be made"
		}
		x.blame(v)
		return
	}
	if course.hookFailed(c.Name, ended) {
		why := ""
		if w := c.State.Waiting; w != nil && w.Reason == "PostStartHookError" {
			why = w.Message
		}
		x.blame(Verdict{
			Class: Ill, Code: ContainerFailed, Field: field + ".lifecycle.postStart", Do: "mend the hook, or what it asks the container for",
			Cause: fmt.Sprintf("the kubelet stopped %s, since its postStart hook failed (%s)%s", word, failedPostStartHook, because(why)),
		})
		return
	}
	said := reasonAnd(ended.Reason, x.lastWords(ended))
	if x.wasStopped(pod, c.Name, ended) {
		x.say("  the kubelet stopped %s, and it exited with %d: %s", word, ended.ExitCode, said)
		return
	}
	if v, ok := x.denied(pod, field, c.Name, x.lastWords(ended)); ok {
		v.Cause = fmt.Sprintf("%s exited with %d: %s; %s", word, ended.ExitCode, said, v.Cause)
		x.blame(v)
		return
	}
	do := "mend its script or its program"
	if file := fileOfImage(containerOf(pod, c.Name), said); file != "" {
		do += fmt.Sprintf(", unless %s is a file of image %s: the simulation has none of these", file, containerOf(pod, c.Name).Image)
	}
	x.ill(ContainerFailed, "", do, "%s exited with %d: %s", word, ended.ExitCode, said)
}

// fileOfImage returns the file that a container has not found, if its image may have it: it is in none of the volumes. Images of BusyBox have
// little besides programs that are here.
func fileOfImage(c *v1.Container, said string) string {
	found := regexp.MustCompile(`(/[^'":\s]+)['"]?: (?i:no such file or directory)`).FindStringSubmatch(said)
	if c == nil || found == nil {
		return ""
	}
	name, _, _ := strings.Cut(path.Base(c.Image), ":")
	if name == "busybox" || name == "alpine" || slices.ContainsFunc(c.VolumeMounts, func(m v1.VolumeMount) bool {
		return strings.HasPrefix(found[1]+"/", strings.TrimSuffix(m.MountPath, "/")+"/")
	}) {
		return ""
	}
	return found[1]
}

// restartingAllContainers is the reason of a container that was removed since all of its pod are restarted.
//
// Upstream: kubelet_pods.go RestartingAllContainers, v1.37.2.
const restartingAllContainers = "RestartingAllContainers"

func workingDirOf(pod *v1.Pod, container string) string {
	if spec := containerOf(pod, container); spec != nil {
		return spec.WorkingDir
	}
	return ""
}

// unready says what a container that runs and is not ready waits for.
func (x *explainer) unready(pod *v1.Pod, field string, c *v1.ContainerStatus) {
	_, word := fieldOfContainer(pod, c.Name)
	switch {
	case c.State.Running == nil || c.Ready || pod.DeletionTimestamp != nil:
	case strings.HasPrefix(field, "spec.initContainers") && !isSidecar(pod, c.Name):
		x.underWay(Unknown, "", "%s runs, and the next one starts when it has ended", word)
	case c.Started != nil && !*c.Started:
		x.underWay(Unknown, "", "%s runs, and its startup probe has not succeeded yet", word)
	default:
		v := Verdict{Class: UnderWay, Code: ProbeFailed, Field: field + ".readinessProbe", Cause: word + " runs, and its readiness probe has not succeeded yet"}
		const failed = "Readiness probe failed:"
		for _, e := range slices.Backward(x.saidOf(pod)) {
			if e.Reason == "Unhealthy" && strings.HasPrefix(e.Message, failed) {
				v.Class = Ill
				v.Cause = fmt.Sprintf("%s runs, and its readiness probe fails%s", word, because(strings.TrimSpace(strings.TrimPrefix(e.Message, failed))))
				v = x.ofProbe(v, pod, c.Name)
				break
			}
		}
		x.blame(v)
	}
}

// ofProbe completes a verdict on a probe that fails. A program that is not here cannot do what its probe asks for, and has no mistake.
func (x *explainer) ofProbe(v Verdict, pod *v1.Pod, container string) Verdict {
	v.Do = "mend the probe, or what it asks the container for"
	c := statusOf(pod, container)
	if c == nil || x.Taken == nil || !x.Taken(c.ContainerID) && !x.Taken(lastOf(c)) {
		return v
	}
	image := ""
	if spec := containerOf(pod, container); spec != nil {
		image = " " + spec.Image
	}
	v.Do = "have the image start with a script that does what the probe asks for (--entrypoint, or Config.Entrypoints in Go)"
	v.Cause += fmt.Sprintf("; here the program of the image%s does nothing, since the simulation does not have it", image)
	return v
}

// lastOf returns the ID of the container before this one; "" if there was none.
func lastOf(c *v1.ContainerStatus) string {
	if c.LastTerminationState.Terminated == nil {
		return ""
	}
	return c.LastTerminationState.Terminated.ContainerID
}

// isSidecar reports whether an init container goes on running beside the others.
func isSidecar(pod *v1.Pod, name string) bool {
	c := containerOf(pod, name)
	return c != nil && c.RestartPolicy != nil && *c.RestartPolicy == v1.ContainerRestartPolicyAlways
}

// doneBeside says which containers have ended for good with success, while others run: the pod is not ready then.
func (x *explainer) doneBeside(pod *v1.Pod) {
	list := pod.Status.ContainerStatuses
	if !slices.ContainsFunc(list, func(c v1.ContainerStatus) bool { return c.State.Running != nil }) {
		return
	}
	for _, c := range list {
		if ended := c.State.Terminated; ended != nil && ended.ExitCode == 0 && pod.DeletionTimestamp == nil {
			x.underWay(Unknown, "", "container %s has done its work and is not started again, and the others have not ended", c.Name)
		}
	}
}

// readinessGates names the conditions that a pod's readiness waits for and that others set.
func (x *explainer) readinessGates(pod *v1.Pod) {
	for _, gate := range pod.Spec.ReadinessGates {
		is := slices.ContainsFunc(pod.Status.Conditions, func(c v1.PodCondition) bool { return c.Type == gate.ConditionType && c.Status == v1.ConditionTrue })
		if !is && pod.Status.Phase == v1.PodRunning {
			x.blame(Verdict{
				Class: Waits, Code: Gated, Field: "spec.readinessGates", Value: string(gate.ConditionType), Do: "run the program that sets the condition",
				Cause: fmt.Sprintf("it is not ready before its condition %s is True, which another program sets", gate.ConditionType),
			})
		}
	}
}

// stoppedBy returns which probe, liveness or startup, had the kubelet stop the container as it ended, and what came of it last; "" if none did.
func (x *explainer) stoppedBy(pod *v1.Pod, container string, ended *v1.ContainerStateTerminated) (probe, why string) {
	for _, e := range x.saidOf(pod) {
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

// lastWords returns what the status says of a container's end, which its program may have written for that; else the end of what it has printed, as
// kubectl logs shows it.
func (x *explainer) lastWords(ended *v1.ContainerStateTerminated) string {
	if ended.Message == "" && x.LastWords != nil {
		return strings.TrimRight(x.LastWords(ended.ContainerID), "\n")
	}
	return ended.Message
}

// wasStopped reports whether the kubelet stopped a container because its pod was to end: that it exited is no cause of anything then.
func (x *explainer) wasStopped(pod *v1.Pod, container string, ended *v1.ContainerStateTerminated) bool {
	return slices.ContainsFunc(x.saidOf(pod), func(e Event) bool {
		return e.Reason == "Killing" && e.Message == "Stopping container "+container &&
			!e.Last.Before(ended.StartedAt.Time) && !e.Last.After(ended.FinishedAt.Time)
	})
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
