package daemonset

import (
	"cmp"
	"context"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/storagesim/storagesim/binding"
	"github.com/storagesim/storagesim/control"
	"github.com/storagesim/storagesim/internal/workload"
)

// shouldRunOn reports whether the DaemonSet should have a pod on the node, and whether a pod that is there may stay: it may stay
// beside a taint that only keeps new pods off.
// Upstream: daemon_controller.go nodeShouldRunDaemonPod, v1.37.
func shouldRunOn(node *v1.Node, set *appsv1.DaemonSet, tolerations []v1.Toleration) (shouldRun, shouldContinue bool) {
	spec := &set.Spec.Template.Spec
	if spec.NodeName != "" && spec.NodeName != node.Name || !fitsAffinity(spec, node) {
		return false, false
	}
	shouldRun, shouldContinue = true, true
	for i := range node.Spec.Taints {
		taint := &node.Spec.Taints[i]
		if taint.Effect == v1.TaintEffectPreferNoSchedule || slices.ContainsFunc(tolerations, func(t v1.Toleration) bool { return workload.Tolerates(t, taint) }) {
			continue
		}
		shouldRun = false
		shouldContinue = shouldContinue && taint.Effect != v1.TaintEffectNoExecute
	}
	return shouldRun, shouldContinue
}

// fitsAffinity reports whether the node has the labels of the nodeSelector and matches the required node affinity.
// Upstream: component-helpers nodeaffinity GetRequiredNodeAffinity, v1.37.
func fitsAffinity(spec *v1.PodSpec, node *v1.Node) bool {
	for label, value := range spec.NodeSelector { // all must hold: the order does not matter
		if has, found := node.Labels[label]; !found || has != value {
			return false
		}
	}
	if spec.Affinity == nil || spec.Affinity.NodeAffinity == nil {
		return true
	}
	fits, _ := binding.MatchNodeSelector(spec.Affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution, node)
	return fits
}

// podTolerations returns the tolerations of the DaemonSet's pods: the template's, and those that each such pod has, so that it stays on a node in trouble
// and comes to a node that is cordoned.
// Upstream: daemonset_util.go AddOrUpdateDaemonPodTolerations, v1.37.
func podTolerations(set *appsv1.DaemonSet) []v1.Toleration {
	tolerations := slices.Clone(set.Spec.Template.Spec.Tolerations)
	add := func(taint string, effect v1.TaintEffect) {
		added := v1.Toleration{Key: taint, Operator: v1.TolerationOpExists, Effect: effect}
		if at := slices.IndexFunc(tolerations, func(t v1.Toleration) bool { return t.MatchToleration(&added) }); at >= 0 {
			tolerations[at] = added // without an end
		} else {
			tolerations = append(tolerations, added)
		}
	}
	for _, taint := range []string{v1.TaintNodeNotReady, v1.TaintNodeUnreachable} {
		add(taint, v1.TaintEffectNoExecute)
	}
	for _, taint := range []string{v1.TaintNodeDiskPressure, v1.TaintNodeMemoryPressure, v1.TaintNodePIDPressure, v1.TaintNodeUnschedulable} {
		add(taint, v1.TaintEffectNoSchedule)
	}
	if set.Spec.Template.Spec.HostNetwork {
		add(v1.TaintNodeNetworkUnavailable, v1.TaintEffectNoSchedule)
	}
	return tolerations
}

// withNodeName returns the affinity with the node's name in place of the required node affinity, which the node fits.
// Upstream: daemonset_util.go ReplaceDaemonSetPodNodeNameNodeAffinity, v1.37.
func withNodeName(affinity *v1.Affinity, name string) *v1.Affinity {
	if affinity = affinity.DeepCopy(); affinity == nil {
		affinity = &v1.Affinity{}
	}
	if affinity.NodeAffinity == nil {
		affinity.NodeAffinity = &v1.NodeAffinity{}
	}
	isNode := v1.NodeSelectorRequirement{Key: metav1.ObjectNameField, Operator: v1.NodeSelectorOpIn, Values: []string{name}}
	affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution = &v1.NodeSelector{
		NodeSelectorTerms: []v1.NodeSelectorTerm{{MatchFields: []v1.NodeSelectorRequirement{isNode}}},
	}
	return affinity
}

// targetNode returns the node of a pod, or the one that its affinity names, if there is one.
// Upstream: daemonset_util.go GetTargetNodeName, v1.37.
func targetNode(pod *v1.Pod) (name string, ok bool) {
	if pod.Spec.NodeName != "" {
		return pod.Spec.NodeName, true
	}
	affinity := pod.Spec.Affinity
	if affinity == nil || affinity.NodeAffinity == nil || affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution == nil {
		return "", false
	}
	for _, term := range affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution.NodeSelectorTerms {
		for _, field := range term.MatchFields {
			if field.Key == metav1.ObjectNameField && field.Operator == v1.NodeSelectorOpIn {
				return field.Values[0], len(field.Values) == 1
			}
		}
	}
	return "", false
}

// daemonPods returns the pods of the DaemonSet, which adopts and releases pods.
// Upstream: daemon_controller.go getDaemonPods, v1.37.
func (l *look) daemonPods(ctx context.Context) ([]*v1.Pod, error) {
	owner, err := l.owner()
	if err != nil {
		return nil, err
	}
	owner.Resource, owner.What = control.Pods(), "Pod"
	return workload.Claim(ctx, owner, l.pods)
}

// owner returns the DaemonSet as the owner of what it claims.
func (l *look) owner() (workload.Owner, error) {
	selector, err := metav1.LabelSelectorAsSelector(l.set.Spec.Selector)
	return workload.Owner{
		Env: l.env, Object: l.set, Kind: controllerKind(), Selector: selector,
		Fresh: func(ctx context.Context) (control.Object, error) {
			return l.client.AppsV1().DaemonSets(l.set.Namespace).Get(ctx, l.set.Name, metav1.GetOptions{})
		},
	}, err
}

// podsByNode returns the pods of the DaemonSet by the node on which they are or which they are for, the oldest first. Those that
// have ended and are being deleted are left out, unless ended is set: there is nothing more to do for them.
// Upstream: daemon_controller.go getNodesToDaemonPods, v1.37.
func (l *look) podsByNode(ctx context.Context, ended bool) (map[string][]*v1.Pod, error) {
	pods, err := l.daemonPods(ctx)
	if err != nil {
		return nil, err
	}
	on := map[string][]*v1.Pod{}
	for _, pod := range pods {
		name, known := targetNode(pod)
		if known && (ended || !workload.HasEnded(pod) || pod.DeletionTimestamp == nil) {
			on[name] = append(on[name], pod)
		}
	}
	for _, pods := range on {
		slices.SortFunc(pods, byPlaceAndAge)
	}
	return on, nil
}

// byPlaceAndAge orders pods: those that have a node first, then the oldest.
// Upstream: daemon_controller.go podByCreationTimestampAndPhase, v1.37.
func byPlaceAndAge(a, b *v1.Pod) int {
	if placed := a.Spec.NodeName != ""; placed != (b.Spec.NodeName != "") {
		if placed {
			return -1
		}
		return 1
	}
	return cmp.Or(a.CreationTimestamp.Compare(b.CreationTimestamp.Time), strings.Compare(a.Name, b.Name))
}
