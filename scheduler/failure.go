package scheduler

import (
	"context"
	"fmt"
	"iter"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/storagesim/storagesim/control"
	"github.com/storagesim/storagesim/internal/podstatus"
	"github.com/storagesim/storagesim/internal/semantic"
	"github.com/storagesim/storagesim/internal/typedpatch"
)

// maxMessage is the longest message of an event. Upstream: truncateMessage.
const maxMessage = 1024

// nodeVerdict is why a node was passed over.
type nodeVerdict struct {
	node   string
	status *status
}

// diagnosis is why no node, or not every node, fitted.
// Upstream: framework.Diagnosis, v1.37.
type diagnosis struct {
	total     int
	preFilter *status // refused before any node was looked at
	nodes     []nodeVerdict
	excluded  int // nodes that PreFilter has excluded
	// postFilter says how the search for pods to evict ended.
	postFilter string
}

// fitError counts the nodes by reason.
// Upstream: framework.FitError, v1.37.
func (d *diagnosis) fitError() *status {
	head := fmt.Sprintf("0/%d nodes are available:", d.total)
	if d.preFilter != nil {
		if d.preFilter.is(failed) {
			return d.preFilter
		}
		// The message ends as upstream's PostFilter ends it, which lacks the
		// state that PreFilter of DynamicResources would have left.
		return refuse(unschedulable, fmt.Sprintf("%s %s. not found", head, d.preFilter.message()))
	}
	return refuse(unschedulable, fmt.Sprintf("%s %s. %s", head, d.count(), d.postFilter))
}

// runs walks the verdicts on nodes in order, and of each that many nodes in a row
// have how many: plugins give thousands of nodes the same one.
func (d *diagnosis) runs() iter.Seq2[*status, int] {
	return func(yield func(*status, int) bool) {
		for rest := d.nodes; len(rest) > 0; {
			st, n := rest[0].status, 1
			for n < len(rest) && rest[n].status == st {
				n++
			}
			if !yield(st, n) {
				return
			}
			rest = rest[n:]
		}
		if d.excluded > 0 {
			yield(excludedVerdict(), d.excluded)
		}
	}
}

// count returns the histogram of reasons, sorted as text.
func (d *diagnosis) count() string {
	return histogram(func(add func(string, int)) {
		for st, n := range d.runs() {
			for _, reason := range st.reasons {
				add(reason, n)
			}
		}
	})
}

const (
	preemptionNoHelp    = "Preemption is not helpful for scheduling"
	preemptionNoVictims = "No preemption victims found for incoming pod"
)

// countWithoutVictims returns the histogram of what the search for victims says of each node if no pod has a lower priority.
func (d *diagnosis) countWithoutVictims() string {
	return histogram(func(add func(string, int)) {
		for st, n := range d.runs() {
			if st.is(unschedulable) {
				add(preemptionNoVictims, n)
			} else {
				add(preemptionNoHelp, n)
			}
		}
	})
}

// countPreemption returns the histogram of what the search for victims says of each node. verdicts hold it for those that were tried.
// Upstream: preemption.go evaluate, v1.37.
func (d *diagnosis) countPreemption(verdicts map[string]*status) string {
	return histogram(func(add func(string, int)) {
		tried := 0
		for _, st := range verdicts { // counts, in whatever order
			tried++
			for _, reason := range st.reasons {
				add(reason, 1)
			}
		}
		add(preemptionNoHelp, d.total-tried)
	})
}

func preemptsNever(pod *v1.Pod) bool {
	return pod.Spec.PreemptionPolicy != nil && *pod.Spec.PreemptionPolicy == v1.PreemptNever
}

// keepsNomination: upstream takes the nominated node off where preemption has looked for
// a node and found none, and after an error. PreFilter's refusal is before that.
// Upstream: runtime/framework.go RunPostFilterPlugins, preemption.go Preempt, v1.37.
func (c *cycle) keepsNomination(st *status) bool {
	return st.rejected() && c.diagnosis.total > 0 && (c.diagnosis.preFilter != nil || c.preemption.keeps)
}

func histogram(each func(add func(string, int))) string {
	counts := map[string]int{}
	each(func(s string, n int) { counts[s] += n })
	var lines []string
	for s, n := range counts { // sorted below
		if n > 0 {
			lines = append(lines, fmt.Sprintf("%d %s", n, s))
		}
	}
	slices.Sort(lines)
	return strings.Join(lines, ", ")
}

// rejectedBy returns the plugins that turned the pod down, each once.
func (s *scheduler) rejectedBy(d *diagnosis) []plugin {
	judges := map[string]bool{}
	if d.preFilter != nil {
		judges[d.preFilter.plugin] = true
	}
	for st := range d.runs() {
		judges[st.plugin] = true
	}
	var list []plugin
	for _, p := range s.plugins.all {
		if judges[p.Name()] {
			list = append(list, p)
		}
	}
	return list
}

// handleSchedulingFailure puts the pod back in the queue and says why: an event,
// and the condition PodScheduled. A pod that has gone meanwhile is not put back;
// its failure is still recorded, unless there is another pod of its name without a node. If that
// one has a node, the failure is written into its status: the patch names no UID.
// Upstream: schedule_one.go handleSchedulingFailure, v1.37.
func (s *scheduler) handleSchedulingFailure(ctx context.Context, c *cycle, st *status) {
	reason, message := v1.PodReasonSchedulerError, st.message()
	if st.rejected() {
		reason = v1.PodReasonUnschedulable
		s.traceRefusal(c)
	}
	if c.preemption.chosen != nil && st.rejected() {
		s.tellVictims(c)
		s.prepareCandidate(c)
	}
	pod := s.putBack(c, st)
	if s.replaced(c.pod) {
		return
	}
	s.recorder.Eventf(pod, nil, v1.EventTypeWarning, "FailedScheduling", "Scheduling", "%s", truncate(message))
	nominated := ""
	switch {
	case c.preemption.chosen != nil && st.rejected():
		nominated = c.preemption.chosen.node.name
	case c.keepsNomination(st):
		nominated = s.nominatedNode(pod)
	}
	if s.podOf(c.entry) != nil {
		s.nominator.nominate(pod, nominated)
	}
	// A failed patch is not retried: the next attempt writes its own condition.
	_ = s.updatePod(ctx, pod, &v1.PodCondition{
		Type: v1.PodScheduled, Status: v1.ConditionFalse, Reason: reason, Message: message, ObservedGeneration: pod.Generation,
	}, nominated)
}

// replaced reports whether the pod has been deleted and made anew under its name, as a StatefulSet
// does, and still has no node. With Config.WaitByUID it may have one.
func (s *scheduler) replaced(pod *v1.Pod) bool {
	known, ok := knownPod(s.caches.pods, control.Key(pod))
	return ok && known.UID != pod.UID && (s.cfg.WaitByUID || known.Spec.NodeName == "")
}

// putBack puts the pod back in the queue, unless it has gone or got a node
// meanwhile, and returns what is last known of it.
func (s *scheduler) putBack(c *cycle, st *status) *v1.Pod {
	pod := s.podOf(c.entry)
	if pod == nil {
		return c.pod
	}
	switch rejectedBy := s.rejectedBy(&c.diagnosis); {
	case !s.queue.current(c.entry): // nothing to schedule, or put in the queue anew
	case st.rejected() && len(rejectedBy) > 0:
		s.queue.putBackUnschedulable(c.entry, rejectedBy)
	default: // an error, or no nodes
		s.queue.putBackError(c.entry)
	}
	if c.nominated != "" { // written by this cycle; the cache may not know yet
		pod = pod.DeepCopy()
		pod.Status.NominatedNodeName = c.nominated
	}
	return pod
}

func truncate(message string) string {
	if len(message) <= maxMessage {
		return message
	}
	const suffix = " ..."
	return strings.ToValidUTF8(message[:maxMessage-len(suffix)], "") + suffix
}

// updatePod patches the pod's status with the condition, if any, and the
// nominated node. What is so already is not written.
// Upstream: schedule_one.go updatePod, util.PatchPodStatus, v1.37.
func (s *scheduler) updatePod(ctx context.Context, pod *v1.Pod, condition *v1.PodCondition, nominated string) error {
	if condition == nil {
		if pod.Status.NominatedNodeName == nominated {
			return nil
		}
		return s.patchPodStatus(ctx, pod, map[string]any{"nominatedNodeName": nominated})
	}
	status := new(pod.Status)
	status.Conditions = slices.Clone(status.Conditions)
	status.NominatedNodeName = nominated
	condition.LastTransitionTime = metav1.NewTime(s.env.Now())
	updatePodCondition(status, *condition)
	if semantic.Equal(pod.Status, *status) {
		return nil
	}
	return s.patchPodStatus(ctx, pod, changedStatus(&pod.Status, status, *condition))
}

// changedStatus returns what a strategic merge patch says of a status of which the nominated
// node or one condition differ.
func changedStatus(old, want *v1.PodStatus, condition v1.PodCondition) map[string]any {
	changes := map[string]any{}
	if old.NominatedNodeName != want.NominatedNodeName {
		changes["nominatedNodeName"] = nil
		if want.NominatedNodeName != "" {
			changes["nominatedNodeName"] = want.NominatedNodeName
		}
	}
	at := slices.IndexFunc(want.Conditions, func(c v1.PodCondition) bool { return c.Type == condition.Type })
	if at < len(old.Conditions) && semantic.Equal(old.Conditions[at], want.Conditions[at]) {
		return changes
	}
	changes["conditions"] = []any{podstatus.ConditionPatch(want.Conditions[at])}
	if at == len(old.Conditions) {
		changes["$setElementOrder/conditions"] = podstatus.ConditionOrder(want.Conditions)
	}
	return changes
}

func (s *scheduler) patchPodStatus(ctx context.Context, pod *v1.Pod, changes map[string]any) error {
	ctx = typedpatch.In(ctx, typedpatch.Values{"status": changes})
	_, err := s.env.Client().CoreV1().Pods(pod.Namespace).Patch(ctx, pod.Name, types.StrategicMergePatchType, nil, metav1.PatchOptions{}, "status")
	return err
}

// updatePodCondition sets the condition; the time of transition stays if its
// status does.
// Upstream: pkg/api/v1/pod UpdatePodCondition, v1.37.
func updatePodCondition(status *v1.PodStatus, condition v1.PodCondition) {
	for i, old := range status.Conditions {
		if old.Type != condition.Type {
			continue
		}
		if old.Status == condition.Status {
			condition.LastTransitionTime = old.LastTransitionTime
		}
		condition.LastProbeTime = old.LastProbeTime
		status.Conditions[i] = condition
		return
	}
	status.Conditions = append(status.Conditions, condition)
}
