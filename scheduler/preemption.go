package scheduler

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/storagesim/storagesim/control"
	"github.com/storagesim/storagesim/trace"
)

// preemptionPlugin is the name of the plugin that looks for victims.
const preemptionPlugin = "DefaultPreemption"

// candidate is a node on which a pod fits once its victims are gone, the most important victim first.
// Upstream: preemption/types.go Candidate, v1.37.
type candidate struct {
	node       *nodeInfo
	victims    []*placement
	violations int // victims that a PodDisruptionBudget does not allow to go
}

// preemption is the result of a search for victims.
type preemption struct {
	message string
	chosen  *candidate // nil if there is none
	// keeps says that the pod keeps the node that was nominated for it.
	keeps bool
	err   error
}

// followBudgets begins to follow PodDisruptionBudgets when the first pod with a priority comes: in a cluster without one nothing depends on them.
func (c *caches) followBudgets(env control.Env, pod *v1.Pod) {
	if c.budgets == nil && priority(pod) != 0 {
		c.budgets = control.NewCacheAtOnce[*policyv1.PodDisruptionBudget](env, policyv1.SchemeGroupVersion.WithResource("poddisruptionbudgets"))
	}
}

// preempt looks for pods of lower priority whose end would let the pod fit on a node. It is called when the pod fits on none.
// Upstream: preemption/preemption.go Preempt and evaluate, v1.37.
func (s *scheduler) preempt(c *cycle) preemption {
	if why := s.notEligible(c); why != "" {
		return preemption{message: why, keeps: true}
	}
	if !s.cluster.hasBelow(c.pod) { // as in most clusters
		return preemption{message: fmt.Sprintf("0/%d nodes are available: %s.", c.diagnosis.total, c.diagnosis.countWithoutVictims())}
	}
	candidates, verdicts, err := s.findCandidates(c)
	switch {
	case err != nil && len(candidates) == 0:
		return preemption{keeps: true, err: err, message: err.Error()}
	case len(candidates) == 0:
		return preemption{message: fmt.Sprintf("0/%d nodes are available: %s.", c.diagnosis.total, c.diagnosis.countPreemption(verdicts))}
	}
	chosen := s.pickOneNode(candidates)
	return preemption{
		message: fmt.Sprintf("found a potential placement for pod on node %s, preempting %d victims", chosen.node.name, len(chosen.victims)), chosen: chosen,
	}
}

// notEligible says why a pod may not preempt others; "" if it may. A pod whose victims are ending waits for them.
// Upstream: defaultpreemption PodEligibleToPreemptOthers, v1.37.
func (s *scheduler) notEligible(c *cycle) string {
	if preemptsNever(c.pod) {
		return "not eligible due to preemptionPolicy=Never."
	}
	name := s.nominatedNode(c.pod)
	node, ok := s.cluster.node(name)
	if !ok || slices.ContainsFunc(c.diagnosis.nodes, func(v nodeVerdict) bool { return v.node == name && v.status.is(unresolvable) }) {
		return ""
	}
	if slices.ContainsFunc(node.placed, func(p *placement) bool { return priority(p.pod) < priority(c.pod) && isTerminatingByPreemption(p.pod) }) {
		return "not eligible due to a terminating pod on the nominated node."
	}
	return ""
}

// nominatedNode returns the node that is nominated for a pod, also if that is not written yet.
func (s *scheduler) nominatedNode(pod *v1.Pod) string {
	for _, n := range s.nominator.list {
		if n.pod.UID == pod.UID {
			return n.node
		}
	}
	return pod.Status.NominatedNodeName
}

// isTerminatingByPreemption reports whether a pod ends since a scheduler has preempted it.
// Upstream: preemption/util.go PodTerminatingByPreemption, v1.37.
func isTerminatingByPreemption(pod *v1.Pod) bool {
	i := slices.IndexFunc(pod.Status.Conditions, func(c v1.PodCondition) bool { return c.Type == v1.DisruptionTarget })
	return pod.DeletionTimestamp != nil && i >= 0 && pod.Status.Conditions[i].Status == v1.ConditionTrue &&
		pod.Status.Conditions[i].Reason == v1.PodReasonPreemptionByScheduler
}

// Upstream: apis/config/v1 defaults DefaultPreemptionArgs, v1.37.
const (
	minCandidateNodesPercentage = 10
	minCandidateNodesAbsolute   = 100
)

// findCandidates tries, beginning at a node that is left to chance, the nodes that refused the pod for a reason which may end. It ends when
// there are enough candidates, one of them without a violation. verdicts say why others are none.
// Upstream: preemption.go findCandidates and DryRunPreemption, defaultpreemption GetOffsetAndNumCandidates, v1.37.
func (s *scheduler) findCandidates(c *cycle) (candidates []*candidate, verdicts map[string]*status, err error) {
	var nodes []*nodeInfo
	for _, v := range c.diagnosis.nodes {
		if node, ok := s.cluster.node(v.node); ok && v.status.is(unschedulable) {
			nodes = append(nodes, node)
		}
	}
	verdicts = map[string]*status{}
	if len(nodes) == 0 {
		return nil, verdicts, nil
	}
	enough := min(max(len(nodes)*minCandidateNodesPercentage/100, minCandidateNodesAbsolute), len(nodes))
	offset, clean := s.env.Choose(len(nodes)), 0
	var violating []*candidate
	for i := range nodes {
		node := nodes[(offset+i)%len(nodes)]
		found, st := s.selectVictimsOnNode(c, node)
		switch {
		case found == nil:
			verdicts[node.name] = st
			if st.is(failed) && err == nil {
				err = st.err
			}
			continue
		case found.violations == 0:
			candidates = append(candidates, found)
			clean++
		default:
			violating = append(violating, found)
		}
		if clean > 0 && clean+len(violating) >= enough {
			break
		}
	}
	return append(candidates, violating...), verdicts, err
}

// selectVictimsOnNode returns the fewest pods of lower priority without which the pod fits on a node; nil, and why, if that does not help. All are
// taken off, and then, the most important first, those put back with which it fits still: before all others those that a budget protects.
// Upstream: defaultpreemption SelectVictimsOnNode, v1.37.
func (s *scheduler) selectVictimsOnNode(c *cycle, node *nodeInfo) (*candidate, *status) {
	var potential []*placement
	for _, p := range node.placed {
		if priority(p.pod) < priority(c.pod) {
			potential = append(potential, p)
		}
	}
	if len(potential) == 0 {
		return nil, refuse(unresolvable, preemptionNoVictims)
	}
	fits := func(without []*placement) *status {
		return s.fitsWithAndWithoutNominated(c, node, without)
	}
	if st := fits(potential); st.stops() {
		return nil, st
	}
	slices.SortStableFunc(potential, s.byImportance)
	violating, others := s.violatingBudgets(potential)
	found := &candidate{node: node}
	gone := slices.Clone(potential)
	reprieve := func(p *placement) bool {
		without := slices.DeleteFunc(slices.Clone(gone), func(other *placement) bool { return other == p })
		if fits(without).stops() {
			found.victims = append(found.victims, p)
			return false
		}
		gone = without
		return true
	}
	for _, p := range violating {
		if !reprieve(p) {
			found.violations++
		}
	}
	for _, p := range others {
		reprieve(p)
	}
	if len(found.victims) == 0 {
		return nil, asStatus(fmt.Errorf("expected at least one victim pod on node %q", node.name))
	}
	slices.SortStableFunc(found.victims, s.byImportance)
	return found, nil
}

// fitsWithAndWithoutNominated answers as fits does, without some pods of the node.
func (s *scheduler) fitsWithAndWithoutNominated(c *cycle, node *nodeInfo, without []*placement) *status {
	if nominated := s.nominator.on(node.name, c.pod); len(nominated) > 0 {
		if st := s.fitsWith(c, node, nominated, without); st.stops() {
			return st
		}
	}
	return s.fitsWith(c, node, nil, without)
}

// byImportance puts the pod first that is less likely to be a victim: of higher priority, or else running for longer.
// Upstream: preemption/util.go MoreImportantVictim, v1.37.
func (s *scheduler) byImportance(a, b *placement) int {
	if pa, pb := priority(a.pod), priority(b.pod); pa != pb {
		return int(pb>>1) - int(pa>>1) + int(pb&1) - int(pa&1)
	}
	return s.startOf(a.pod).Compare(s.startOf(b.pod))
}

// startOf returns when a pod has started; now if it has not.
// Upstream: scheduler/util GetPodStartTime, v1.37.
func (s *scheduler) startOf(pod *v1.Pod) time.Time {
	if pod.Status.StartTime != nil {
		return pod.Status.StartTime.Time
	}
	return s.env.Now()
}

// violatingBudgets splits victims into those that a PodDisruptionBudget does not allow to go, and the others.
// Upstream: preemption/util.go FilterVictimsWithPDBViolation, v1.37.
func (s *scheduler) violatingBudgets(victims []*placement) (violating, others []*placement) {
	var budgets []*policyv1.PodDisruptionBudget
	if s.caches.budgets != nil {
		budgets = s.caches.budgets.List()
	}
	allowed := make([]int32, len(budgets))
	for i, b := range budgets {
		allowed[i] = b.Status.DisruptionsAllowed
	}
	violates := func(pod *v1.Pod) bool {
		for i, b := range budgets {
			selector, err := metav1.LabelSelectorAsSelector(b.Spec.Selector)
			_, processed := b.Status.DisruptedPods[pod.Name]
			if b.Namespace != pod.Namespace || len(pod.Labels) == 0 || err != nil || selector.Empty() || !selector.Matches(labels.Set(pod.Labels)) || processed {
				continue
			}
			if allowed[i]--; allowed[i] < 0 {
				return true
			}
		}
		return false
	}
	for _, p := range victims {
		if violates(p.pod) {
			violating = append(violating, p)
		} else {
			others = append(others, p)
		}
	}
	return violating, others
}

// pickOneNode returns the candidate with the fewest violations; among equals the one whose first victim has the lowest priority, then the
// one with the lowest sum of priorities, the fewest victims, the victim of highest priority that started last. Which of those
// that are equal in all of this is left to chance.
// Upstream: preemption.go pickOneNodeForPreemption, v1.37.
func (s *scheduler) pickOneNode(candidates []*candidate) *candidate {
	scores := []func(*candidate) int64{
		func(c *candidate) int64 { return int64(c.violations) },
		func(c *candidate) int64 { return int64(priority(c.victims[0].pod)) },
		func(c *candidate) int64 {
			sum := int64(0)
			for _, v := range c.victims {
				sum += int64(priority(v.pod)) + math.MaxInt32 + 1
			}
			return sum
		},
		func(c *candidate) int64 { return int64(len(c.victims)) },
		func(c *candidate) int64 { return -s.earliestStart(c.victims).UnixNano() },
	}
	for _, score := range scores {
		best := int64(math.MaxInt64)
		for _, c := range candidates {
			best = min(best, score(c))
		}
		candidates = slices.DeleteFunc(slices.Clone(candidates), func(c *candidate) bool { return score(c) != best })
	}
	if len(candidates) == 1 {
		return candidates[0]
	}
	return candidates[s.env.Choose(len(candidates))]
}

// earliestStart returns when the first of the victims of the highest priority has started.
// Upstream: scheduler/util GetEarliestPodStartTime, v1.37.
func (s *scheduler) earliestStart(victims []*placement) time.Time {
	first := s.startOf(victims[0].pod)
	for _, v := range victims {
		if at := s.startOf(v.pod); priority(v.pod) == priority(victims[0].pod) && at.Before(first) {
			first = at
		}
	}
	return first
}

// prepareCandidate makes room: it removes the nomination of pods of lower priority to the node, and preempts the victims. The pod is
// not tried again until the deletion of the last victim has begun, or until its binding has ended, if it is not deleted.
// Upstream: preemption/executor.go prepareCandidateAsync, v1.37.
func (s *scheduler) prepareCandidate(c *cycle) {
	chosen := c.preemption.chosen
	var victims []*v1.Pod
	for _, v := range chosen.victims {
		if v.pod.DeletionTimestamp == nil {
			victims = append(victims, v.pod)
		}
	}
	if len(victims) == 0 {
		return
	}
	c.entry.waitsFor = &preempted{last: nil}
	nominated := s.nominator.below(chosen.node.name, c.pod)
	s.env.Go("preempt for "+c.entry.key, func(ctx context.Context) {
		for _, pod := range nominated {
			// A failure does no harm: the pod is refused the place.
			_ = s.updatePod(ctx, pod, nil, "")
		}
		for i, victim := range victims {
			isLast := i == len(victims)-1
			if isLast {
				c.entry.waitsFor.last = victim
			}
			if err := s.preemptPod(ctx, c, victim, isLast); err != nil && (isLast || !apierrors.IsNotFound(err)) { // also if the last one is gone: no event will come
				c.entry.waitsFor = nil
				s.queue.activate(c.entry)
				return
			}
		}
		c.entry.waitsFor = nil
	})
}

// tellVictims tells which pods go for the pod.
func (s *scheduler) tellVictims(c *cycle) {
	chosen := c.preemption.chosen
	names := make([]string, len(chosen.victims))
	for i, v := range chosen.victims {
		names[i] = fmt.Sprintf("%s (priority %d)", control.Key(v.pod), priority(v.pod))
	}
	s.env.Trace(trace.Decision{
		About: trace.RefOf("Pod", c.pod),
		Text:  fmt.Sprintf("has priority %d and would fit on %s without %s", priority(c.pod), chosen.node.name, strings.Join(names, ", ")),
	})
}

// preempted makes a pod wait before it is tried again: until last is set, and then until the deletion of last has begun.
type preempted struct{ last *v1.Pod }

// isPreempting reports whether the scheduler is about to make room for a pod.
// Upstream: preemption/executor.go isRunningPreemption, v1.37.
func (s *scheduler) isPreempting(entry *queuedPod) bool {
	w := entry.waitsFor
	if w == nil || w.last == nil {
		return w != nil
	}
	victim, ok := knownPod(s.caches.pods, control.Key(w.last))
	return ok && victim.DeletionTimestamp == nil
}

// preemptPod makes a victim go. If its volumes are still being bound, the binding ends; the victim stays and is tried again later. If it has its node, or
// is about to be told, it is deleted, for a reason that a condition of its status gives. Upstream tries the other pod again while the binding ends. If
// that pod is faster, it finds the victim in its place still, and deletes it; here it waits.
// Upstream: preemption/executor.go PreemptPod, v1.37.
func (s *scheduler) preemptPod(ctx context.Context, c *cycle, victim *v1.Pod, isLast bool) error {
	where := ""
	if p := s.inPreBind[victim.UID]; p != nil && p.cancelPod("preempted by "+preemptionPlugin) {
		where = " (in kube-scheduler memory)."
		if isLast { // or else a deletion follows, for which the pod waits
			p.preemptors = append(p.preemptors, c.entry)
		}
	} else if err := s.deleteVictim(ctx, victim); err != nil {
		return err
	}
	s.recorder.Eventf(victim, c.pod, v1.EventTypeNormal, "Preempted", "Preempting", "Preempted by pod %s on node %s%s",
		c.pod.UID, c.preemption.chosen.node.name, where)
	return nil
}

func (s *scheduler) deleteVictim(ctx context.Context, victim *v1.Pod) error {
	condition := &v1.PodCondition{
		Type: v1.DisruptionTarget, Status: v1.ConditionTrue, Reason: v1.PodReasonPreemptionByScheduler, ObservedGeneration: victim.Generation,
		Message: s.cfg.SchedulerName + ": preempting to accommodate a higher priority pod",
	}
	if err := s.updatePod(ctx, victim, condition, victim.Status.NominatedNodeName); err != nil {
		return err
	}
	return s.env.Client().CoreV1().Pods(victim.Namespace).Delete(ctx, victim.Name, metav1.DeleteOptions{})
}
