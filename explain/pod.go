package explain

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/storagesim/storagesim/binding"
	"github.com/storagesim/storagesim/controllers/attachdetach"
	"github.com/storagesim/storagesim/scheduler"
)

// pod explains a pod: what the scheduler thinks of each node for it, or whether
// it runs, its events and its claims.
func (x *explainer) pod(ns, name string) error {
	pod, err := x.Client.CoreV1().Pods(ns).Get(x.ctx, name, metav1.GetOptions{})
	if err != nil {
		return err
	}
	x.of = name
	x.found.Objects = append(x.found.Objects, "pod/"+ns+"/"+name)
	x.say("pod %s/%s is %s%s", ns, name, pod.Status.Phase, scheduledWhere(pod))
	x.notModelled("Pod", pod)
	if err := x.nobodyRuns(pod); err != nil {
		return err
	}
	if pod.Spec.NodeName == "" {
		if err := x.unplaced(pod); err != nil {
			return err
		}
	}
	if pod.Status.Phase == v1.PodPending {
		x.unattached(pod)
	}
	x.containers(pod)
	x.events("Pod", pod.UID, unscheduled(pod))
	x.missing(pod)
	claims := claimNames(pod)
	for i, claim := range claims {
		if slices.Contains(claims[:i], claim) {
			continue // two of the pod's volumes name it
		}
		switch err := x.claim(ns, claim); {
		case apierrors.IsNotFound(err):
			x.say("it uses pvc %s/%s, which does not exist", ns, claim)
		case err != nil:
			return err
		}
	}
	return nil
}

// unattached says which volumes of a pod wait to be attached to its node, and why.
func (x *explainer) unattached(pod *v1.Pod) {
	var cfg attachdetach.Config
	if x.AttachDetach != nil {
		cfg = *x.AttachDetach
	}
	said := attachdetach.Explain(cfg, pod.Namespace+"/"+pod.Name, x.Objects(), x.attacherWaits)
	for _, line := range said {
		x.say("  %s", line)
	}
	restart, down := x.Down[attachdetach.ActorName]
	switch {
	case len(said) == 0:
	case x.AttachDetach == nil:
		x.say("  no attach/detach controller runs here, so nothing is attached")
	case down && restart.IsZero():
		x.say("  the attach/detach controller is down")
	case down:
		x.say("  the attach/detach controller is down until %s", x.offset(restart))
	}
}

// attacherWaits says why the attacher of a CSI driver works on nothing at all, or "".
func (x *explainer) attacherWaits(driver string) string {
	if waits := x.AttacherWaits[driver]; waits != nil {
		return waits(x.Log)
	}
	return ""
}

// nobodyRuns says so if the pod is on a node that does not exist, or that is only
// an object: such a pod waits for ever.
func (x *explainer) nobodyRuns(pod *v1.Pod) error {
	node := pod.Spec.NodeName
	if _, runs := x.Kubelets[node]; node == "" || runs {
		return nil
	}
	_, err := x.Client.CoreV1().Nodes().Get(x.ctx, node, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err):
		x.say("  there is no node %s, so its containers are never started", node)
	case err != nil:
		return err
	default:
		x.say("  no kubelet runs on node %s, so its containers are never started", node)
	}
	return nil
}

// bypassed names the pods that use a claim which waits for the scheduler to place a
// pod, and that have a node already: the scheduler does not look at them.
func (x *explainer) bypassed(claim *v1.PersistentVolumeClaim) error {
	pods, err := x.Client.CoreV1().Pods(claim.Namespace).List(x.ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	for i := range pods.Items {
		pod := &pods.Items[i]
		if pod.Spec.NodeName != "" && slices.Contains(claimNames(pod), claim.Name) {
			x.say("  pod %s/%s is on node %s already (spec.nodeName), so the scheduler does not look at it and selects no node for the claim", pod.Namespace, pod.Name, pod.Spec.NodeName)
		}
	}
	return nil
}

// nodes says which nodes could take a pod, and why the others could not.
func (x *explainer) nodes(cfg scheduler.Config, pod string) error {
	why, err := scheduler.Explain(cfg, pod, x.Objects())
	if err != nil {
		return err
	}
	if why.PreFilter != "" {
		x.say("  no node is looked at: %s", why.PreFilter)
	}
	if why.Failure != "" {
		x.say("  an attempt ends with an error: %s", why.Failure)
	}
	for _, note := range why.Notes {
		x.say("    %s", note)
	}
	x.verdicts(why.Nodes)
	return nil
}

// maxAlike is the number of nodes with the same verdict that are listed one by one.
const maxAlike = 4

// verdicts lists the verdict on each node; of many with the same verdict, only their number.
func (x *explainer) verdicts(nodes []scheduler.NodeVerdict) {
	// What is said names the node, and often its hostname label; it may name others, too,
	// whose names begin with this one's.
	name := regexp.MustCompile(`\w([-.\w]*\w)?`)
	kind := func(v scheduler.NodeVerdict) string {
		return name.ReplaceAllStringFunc(fmt.Sprint(v, v.Claims), func(word string) string {
			if word == v.Node {
				return "*"
			}
			return word
		})
	}
	alike, told := map[string]int{}, map[string]int{}
	for _, verdict := range nodes {
		alike[kind(verdict)]++
	}
	for _, verdict := range nodes {
		k := kind(verdict)
		if told[k]++; told[k] > maxAlike {
			continue
		}
		x.say("  node %s", verdict)
		for _, claim := range verdict.Claims {
			x.claimOnNode(claim)
		}
		if more := alike[k] - maxAlike; told[k] == maxAlike && more > 0 {
			x.say("  the same is true of %d more nodes", more)
		}
	}
}

// claimOnNode says what a claim would get on the node of the line before.
func (x *explainer) claimOnNode(claim scheduler.ClaimVerdict) {
	if claim.Text != "" {
		x.say("    pvc %s: %s", claim.Claim, claim.Text)
	}
	for _, volume := range claim.Volumes {
		x.say("      volume %s", volume)
	}
}

// unplaced says why a pod has no node: what keeps the scheduler from looking at
// it, or what it thinks of each node.
func (x *explainer) unplaced(pod *v1.Pod) error {
	switch {
	case pod.DeletionTimestamp != nil:
		x.say("  it is being deleted, so it gets no node")
		return nil
	case len(pod.Spec.SchedulingGates) > 0:
		x.say("  it is not scheduled before its scheduling gates are removed: %s", gates(pod))
		return nil
	}
	cfg, ok := x.schedulerOf(pod)
	if !ok {
		return nil
	}
	if node := pod.Status.NominatedNodeName; node != "" {
		x.say("  node %s is nominated while its volumes are bound", node)
	}
	nodes, err := x.Client.CoreV1().Nodes().List(x.ctx, metav1.ListOptions{Limit: 1})
	switch {
	case err != nil:
		return err
	case len(nodes.Items) == 0:
		x.say("  there are no nodes")
	}
	return x.nodes(cfg, pod.Namespace+"/"+pod.Name)
}

// schedulerOf returns the configuration of the scheduler that the pod is for; false, and it is
// said, if that does not run.
func (x *explainer) schedulerOf(pod *v1.Pod) (scheduler.Config, bool) {
	var names []string
	for _, cfg := range x.Schedulers {
		if cfg.Name() == pod.Spec.SchedulerName {
			return cfg, true
		}
		names = append(names, cfg.Name())
	}
	others := "no scheduler runs here"
	switch len(names) {
	case 0:
	case 1:
		others = "only " + names[0] + " runs here"
	default:
		others = "only " + strings.Join(names, " and ") + " run here"
	}
	x.say("  it is left to scheduler %q (spec.schedulerName), and %s", pod.Spec.SchedulerName, others)
	return scheduler.Config{}, false
}

func gates(pod *v1.Pod) string {
	names := make([]string, len(pod.Spec.SchedulingGates))
	for i, gate := range pod.Spec.SchedulingGates {
		names[i] = gate.Name
	}
	return strings.Join(names, ", ")
}

func scheduledWhere(pod *v1.Pod) string {
	if pod.Spec.NodeName != "" {
		return " on node " + pod.Spec.NodeName
	}
	if why := unscheduled(pod); why != "" {
		return ": " + why
	}
	return " and has no node yet"
}

// unscheduled returns the reason in the pod's status why it has no node.
func unscheduled(pod *v1.Pod) string {
	for _, cond := range pod.Status.Conditions {
		if cond.Type == v1.PodScheduled && cond.Status == v1.ConditionFalse {
			return cond.Message
		}
	}
	return ""
}

// claimNames returns the claims a pod uses, generic ephemeral volumes included.
func claimNames(pod *v1.Pod) []string {
	var names []string
	for i := range pod.Spec.Volumes {
		if name := binding.ClaimOfVolume(pod, &pod.Spec.Volumes[i]); name != "" {
			names = append(names, name)
		}
	}
	return names
}
