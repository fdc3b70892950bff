package storagesim

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	utilerrors "k8s.io/apimachinery/pkg/util/errors"
)

// DrainOptions say which pods Drain may evict, and how. The zero value is right where each
// pod belongs to a controller that makes another one.
type DrainOptions struct {
	// Force evicts pods without a controller, which nothing makes again.
	Force bool
	// IgnoreDaemonSets leaves pods of DaemonSets where they are.
	IgnoreDaemonSets bool
	// DeleteEmptyDirData evicts pods with emptyDir volumes, whose data is lost.
	DeleteEmptyDirData bool
	// GracePeriod, in seconds, replaces that of the pods unless it is nil.
	GracePeriod *int64
}

// Drained is what Drain has done.
type Drained struct {
	// Evicted are the pods that were evicted, "namespace/name". Their nodes have their grace
	// periods to stop them.
	Evicted []string
	// Warnings are what kubectl warns of, one for each reason.
	Warnings []string
}

// Drain cordons a node and evicts its pods, as kubectl drain does. If it may not evict one of
// them it evicts none, and the error names each pod and the option that allows it. It does
// not wait for the pods to be gone: Settle or RunFor lets that happen.
func (c *Cluster) Drain(node string, o DrainOptions) (done Drained, err error) {
	ctx := context.Background()
	patch := []byte(`{"spec":{"unschedulable":true}}`)
	if _, err := c.client.CoreV1().Nodes().Patch(ctx, node, types.MergePatchType, patch, metav1.PatchOptions{}); err != nil {
		return done, err
	}
	pods, err := c.client.CoreV1().Pods(metav1.NamespaceAll).List(ctx, metav1.ListOptions{FieldSelector: "spec.nodeName=" + node})
	if err != nil {
		return done, err
	}
	evict, verdicts := o.choose(pods.Items)
	done.Warnings = verdicts.sentences(false)
	var refused []error
	for _, sentence := range verdicts.sentences(true) {
		refused = append(refused, errors.New("cannot delete "+sentence))
	}
	if err := utilerrors.NewAggregate(refused); err != nil {
		return done, err
	}
	var errs []error
	for _, pod := range evict {
		eviction := &policyv1.Eviction{ObjectMeta: metav1.ObjectMeta{Namespace: pod.Namespace, Name: pod.Name}, DeleteOptions: &metav1.DeleteOptions{GracePeriodSeconds: o.GracePeriod}}
		switch err := c.client.CoreV1().Pods(pod.Namespace).EvictV1(ctx, eviction); {
		case err == nil:
			done.Evicted = append(done.Evicted, pod.Namespace+"/"+pod.Name)
		case !apierrors.IsNotFound(err):
			errs = append(errs, fmt.Errorf("error when evicting pods/%q -n %q: %w", pod.Name, pod.Namespace, err))
		}
	}
	return done, utilerrors.NewAggregate(errs)
}

// drainVerdict is why a pod may not be evicted, or what its owner is warned of.
type drainVerdict struct {
	reason string
	fatal  bool
}

// drainVerdicts are the pods of each verdict.
type drainVerdicts map[drainVerdict][]string

func (v drainVerdicts) sentences(fatal bool) (list []string) {
	for verdict, pods := range v {
		if verdict.fatal == fatal {
			list = append(list, verdict.reason+": "+strings.Join(pods, ", "))
		}
	}
	return slices.Sorted(slices.Values(list))
}

// choose says which pods to evict, and what is to be said of them. Of several verdicts on a
// pod the last one is told.
//
// Upstream: kubectl pkg/drain filters.go makeFilters, drain.go GetPodsForDeletion, v0.36.
func (o DrainOptions) choose(pods []v1.Pod) (evict []v1.Pod, verdicts drainVerdicts) {
	verdicts = drainVerdicts{}
	for _, pod := range pods {
		if _, mirror := pod.Annotations[v1.MirrorPodAnnotationKey]; mirror {
			continue
		}
		stay, verdict := o.judge(&pod)
		if verdict.reason != "" {
			verdicts[verdict] = append(verdicts[verdict], pod.Namespace+"/"+pod.Name)
		}
		if !stay {
			evict = append(evict, pod)
		}
	}
	return evict, verdicts
}

// judge says whether a pod stays, and why.
func (o DrainOptions) judge(pod *v1.Pod) (stay bool, verdict drainVerdict) {
	if pod.Status.Phase == v1.PodSucceeded || pod.Status.Phase == v1.PodFailed {
		return false, verdict
	}
	owner := metav1.GetControllerOf(pod)
	ofDaemonSet := owner != nil && owner.Kind == "DaemonSet" && owner.APIVersion == "apps/v1"
	local := slices.ContainsFunc(pod.Spec.Volumes, func(v v1.Volume) bool { return v.EmptyDir != nil })
	switch {
	case ofDaemonSet && o.IgnoreDaemonSets:
		return true, drainVerdict{"ignoring DaemonSet-managed Pods", false}
	case ofDaemonSet:
		return true, drainVerdict{"DaemonSet-managed Pods (use --ignore-daemonsets to ignore)", true}
	case local && !o.DeleteEmptyDirData:
		return true, drainVerdict{"Pods with local storage (use --delete-emptydir-data to override)", true}
	case owner == nil && !o.Force:
		return true, drainVerdict{"Pods that declare no controller (use --force to override)", true}
	case owner == nil:
		return false, drainVerdict{"deleting Pods that declare no controller", false}
	case local:
		return false, drainVerdict{"deleting Pods with local storage", false}
	}
	return false, verdict
}
