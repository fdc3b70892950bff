// Package drain empties a node of its pods, as kubectl drain does. Stories, explorations and
// tests call it.
package drain

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	utilerrors "k8s.io/apimachinery/pkg/util/errors"
	"k8s.io/client-go/kubernetes"
)

// Options say which pods Node may evict, and how. The zero value is right if each pod has a
// controller that creates another one.
type Options struct {
	// Force also evicts pods without a controller; no new pod replaces them.
	Force bool
	// IgnoreDaemonSets leaves pods of DaemonSets where they are.
	IgnoreDaemonSets bool
	// DeleteEmptyDirData evicts pods with emptyDir volumes, whose data is lost.
	DeleteEmptyDirData bool
	// GracePeriod, in seconds, replaces that of the pods unless it is nil.
	GracePeriod *int64
}

// Done says what Node did.
type Done struct {
	// Evicted are the evicted pods, "namespace/name". Each has its grace period to stop.
	Evicted []string
	// Warnings are kubectl's warnings, one for each reason.
	Warnings []string
	// Refused are the pods that a PodDisruptionBudget keeps for now. kubectl asks again every RetryDelay.
	Refused []Refused
}

// RetryDelay is the time after which kubectl asks again to evict a pod that a budget keeps.
// Upstream: kubectl pkg/drain drain.go evictPods, v0.37.
const RetryDelay = 5 * time.Second

// Refused is a pod that a PodDisruptionBudget keeps for now, and the API server's answer.
type Refused struct {
	Pod v1.Pod
	Err error
}

// Error says what kubectl says of the pod, except that it tries again.
func (r Refused) Error() string {
	return fmt.Sprintf("error when evicting pods/%q -n %q: %v", r.Pod.Name, r.Pod.Namespace, r.Err)
}

// Err returns an error that names the pods that budgets keep, nil if there are none.
func (d Done) Err() error {
	var errs []error
	for _, refused := range d.Refused {
		errs = append(errs, refused)
	}
	return utilerrors.NewAggregate(errs)
}

// Node cordons a node and evicts its pods. If it may not evict one of them it evicts none, and
// the error names each such pod and the option that allows it. Pods that a PodDisruptionBudget keeps are no
// error, see Done.Err. It does not wait until the pods are gone.
func Node(ctx context.Context, client kubernetes.Interface, node string, o Options) (done Done, err error) {
	patch := []byte(`{"spec":{"unschedulable":true}}`)
	if _, err := client.CoreV1().Nodes().Patch(ctx, node, types.MergePatchType, patch, metav1.PatchOptions{}); err != nil {
		return done, err
	}
	pods, err := client.CoreV1().Pods(metav1.NamespaceAll).List(ctx, metav1.ListOptions{FieldSelector: "spec.nodeName=" + node})
	if err != nil {
		return done, err
	}
	evict, notes := o.choose(pods.Items)
	done.Warnings = notes.sentences(false)
	var refused []error
	for _, sentence := range notes.sentences(true) {
		refused = append(refused, errors.New("cannot delete "+sentence))
	}
	if err := utilerrors.NewAggregate(refused); err != nil {
		return done, err
	}
	evicted, err := o.Evict(ctx, client, evict...)
	done.Evicted, done.Refused = evicted.Evicted, evicted.Refused
	return done, err
}

// Evict evicts pods. One that is gone is no error.
func (o Options) Evict(ctx context.Context, client kubernetes.Interface, pods ...v1.Pod) (done Done, err error) {
	var errs []error
	for _, pod := range pods {
		eviction := &policyv1.Eviction{ObjectMeta: metav1.ObjectMeta{Namespace: pod.Namespace, Name: pod.Name},
			DeleteOptions: &metav1.DeleteOptions{GracePeriodSeconds: o.GracePeriod}}
		switch err := client.CoreV1().Pods(pod.Namespace).EvictV1(ctx, eviction); {
		case err == nil:
			done.Evicted = append(done.Evicted, pod.Namespace+"/"+pod.Name)
		case apierrors.IsTooManyRequests(err):
			done.Refused = append(done.Refused, Refused{pod, err})
		case !apierrors.IsNotFound(err):
			errs = append(errs, fmt.Errorf("error when evicting pods/%q -n %q: %w", pod.Name, pod.Namespace, err))
		}
	}
	return done, utilerrors.NewAggregate(errs)
}

// refusal says why a pod may not be evicted, or, if it is not fatal, what kubectl warns of.
type refusal struct {
	reason string
	fatal  bool
}

// refusals are the pods of each refusal.
type refusals map[refusal][]string

func (v refusals) sentences(fatal bool) (list []string) {
	for why, pods := range v {
		if why.fatal == fatal {
			list = append(list, why.reason+": "+strings.Join(pods, ", "))
		}
	}
	return slices.Sorted(slices.Values(list))
}

// choose says which pods to evict, and what is to be said of them. Of several notes on a
// pod the last one is told.
//
// Upstream: kubectl pkg/drain filters.go makeFilters, drain.go GetPodsForDeletion, v1.37.
func (o Options) choose(pods []v1.Pod) (evict []v1.Pod, notes refusals) {
	notes = refusals{}
	for _, pod := range pods {
		if _, mirror := pod.Annotations[v1.MirrorPodAnnotationKey]; mirror {
			continue
		}
		stay, why := o.judge(&pod)
		if why.reason != "" {
			notes[why] = append(notes[why], pod.Namespace+"/"+pod.Name)
		}
		if !stay {
			evict = append(evict, pod)
		}
	}
	return evict, notes
}

// judge reports whether a pod stays on the node, and why.
func (o Options) judge(pod *v1.Pod) (stay bool, why refusal) {
	if pod.Status.Phase == v1.PodSucceeded || pod.Status.Phase == v1.PodFailed {
		return false, why
	}
	owner := metav1.GetControllerOf(pod)
	ofDaemonSet := owner != nil && owner.Kind == "DaemonSet" && owner.APIVersion == "apps/v1"
	local := slices.ContainsFunc(pod.Spec.Volumes, func(v v1.Volume) bool { return v.EmptyDir != nil })
	switch {
	case ofDaemonSet && o.IgnoreDaemonSets:
		return true, refusal{"ignoring DaemonSet-managed Pods", false}
	case ofDaemonSet:
		return true, refusal{"DaemonSet-managed Pods (use --ignore-daemonsets to ignore)", true}
	case local && !o.DeleteEmptyDirData:
		return true, refusal{"Pods with local storage (use --delete-emptydir-data to override)", true}
	case owner == nil && !o.Force:
		return true, refusal{"Pods that declare no controller (use --force to override)", true}
	case owner == nil:
		return false, refusal{"deleting Pods that declare no controller", false}
	case local:
		return false, refusal{"deleting Pods with local storage", false}
	}
	return false, why
}
