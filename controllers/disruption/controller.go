package disruption

import (
	"context"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	v1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/kubernetes"

	"github.com/storagesim/storagesim/control"
	"github.com/storagesim/storagesim/internal/podstatus"
	"github.com/storagesim/storagesim/internal/semantic"
)

// ActorName is the name of this controller in upstream's controller manager.
const ActorName = "disruption-controller"

// component is the source of its events.
const component = "controllermanager"

// deletionTimeout is the time after which an evicted pod that is not being deleted counts as healthy again.
// Upstream: disruption.go DeletionTimeout, v1.37.
const deletionTimeout = 2 * time.Minute

// New returns the factory of the controller.
// Upstream: disruption.go NewDisruptionController, v1.37.
func New() control.Factory {
	return func(env control.Env) error {
		control.WithFirst(env, policyv1.SchemeGroupVersion.WithResource("poddisruptionbudgets"),
			func(budgets *control.Cache[*policyv1.PodDisruptionBudget]) control.Handler[*policyv1.PodDisruptionBudget] {
				c := &controller{
					env: env, client: env.Client(), recorder: env.Recorder(component), budgets: budgets,
					pods:        control.NewCache[*v1.Pod](env, control.Pods()),
					controllers: control.NewCache[*v1.ReplicationController](env, v1.SchemeGroupVersion.WithResource("replicationcontrollers")),
					replicaSets: control.NewCache[*appsv1.ReplicaSet](env, appsv1.SchemeGroupVersion.WithResource("replicasets")),
					deployments: control.NewCache[*appsv1.Deployment](env, appsv1.SchemeGroupVersion.WithResource("deployments")),
					sets:        control.NewCache[*appsv1.StatefulSet](env, appsv1.SchemeGroupVersion.WithResource("statefulsets")),
				}
				c.pods.AddIndex(podsByNamespace, func(pod *v1.Pod) []string { return []string{pod.Namespace} })
				c.budgets.AddIndex(podsByNamespace, func(budget *policyv1.PodDisruptionBudget) []string { return []string{budget.Namespace} })
				c.queue = env.Queue(control.QueueConfig{Name: "disruption", About: control.KeysOf("PodDisruptionBudget"), Reconcile: c.sync})
				c.stale = env.Queue(control.QueueConfig{Name: "stale_pod_disruption", About: control.KeysOf("Pod"), Reconcile: c.syncStalePodDisruption})
				c.pods.Handle(control.Handler[*v1.Pod]{
					Add:    c.podChanged,
					Update: func(_, pod *v1.Pod) { c.podChanged(pod) },
					Delete: c.enqueueBudgetOf,
				})
				return control.Enqueue[*policyv1.PodDisruptionBudget](c.queue.Add)
			})
		return nil
	}
}

type controller struct {
	env         control.Env
	client      kubernetes.Interface
	recorder    control.Recorder
	budgets     *control.Cache[*policyv1.PodDisruptionBudget]
	pods        *control.Cache[*v1.Pod]
	controllers *control.Cache[*v1.ReplicationController]
	replicaSets *control.Cache[*appsv1.ReplicaSet]
	deployments *control.Cache[*appsv1.Deployment]
	sets        *control.Cache[*appsv1.StatefulSet]
	queue       control.Queue
	// stale holds the pods whose condition DisruptionTarget is to be taken back if they are still there.
	stale control.Queue
}

// podsByNamespace is the index of pods and of budgets by their namespace.
const podsByNamespace = "namespace"

// podChanged queues the budget of the pod, and the pod itself if it was to be evicted.
// Upstream: disruption.go addPod, updatePod, v1.37.
func (c *controller) podChanged(pod *v1.Pod) {
	c.enqueueBudgetOf(pod)
	if after, stale := c.staleAfter(pod); stale {
		c.addAfter(c.stale, control.Key(pod), after)
	}
}

// addAfter queues a key once d has passed. Settling does not wait for that: it is a look at whether something went wrong.
func (c *controller) addAfter(queue control.Queue, key string, d time.Duration) {
	c.env.Go("look at "+key+" later", func(ctx context.Context) {
		if c.env.Sleep(control.InBackground(ctx), d) == nil {
			queue.Add(key)
		}
	})
}

// enqueueBudgetOf queues the budget that selects the pod. If there are several, the first is queued and an event says so.
// Upstream: disruption.go getPdbForPod, v1.37.
func (c *controller) enqueueBudgetOf(pod *v1.Pod) {
	var selecting []*policyv1.PodDisruptionBudget
	for _, budget := range c.budgets.ByIndex(podsByNamespace, pod.Namespace) {
		selector, err := metav1.LabelSelectorAsSelector(budget.Spec.Selector)
		if err == nil && selector.Matches(labels.Set(pod.Labels)) {
			selecting = append(selecting, budget)
		}
	}
	if len(selecting) == 0 {
		return
	}
	if len(selecting) > 1 {
		c.recorder.Eventf(pod, v1.EventTypeWarning, "MultiplePodDisruptionBudgets", "Pod %q/%q matches multiple PodDisruptionBudgets.  Chose %q arbitrarily.",
			pod.Namespace, pod.Name, selecting[0].Name)
	}
	c.queue.Add(control.Key(selecting[0]))
}

// sync writes the status of one budget. If its pods cannot be counted, it allows no disruption and says why.
// Upstream: disruption.go sync, v1.37.
func (c *controller) sync(ctx context.Context, key string) error {
	budget, found := c.budgets.Get(key)
	if !found {
		return nil
	}
	err := c.trySync(ctx, budget)
	if err == nil || apierrors.IsConflict(err) {
		return err
	}
	return c.failSafe(ctx, budget, err)
}

// trySync counts, and writes the status.
// Upstream: disruption.go trySync, v1.37.
func (c *controller) trySync(ctx context.Context, budget *policyv1.PodDisruptionBudget) error {
	selector, err := metav1.LabelSelectorAsSelector(budget.Spec.Selector)
	if err != nil {
		c.recorder.Eventf(budget, v1.EventTypeWarning, "NoPods", "Failed to get pods: %v", err)
		return err
	}
	var pods []*v1.Pod
	for _, pod := range c.pods.ByIndex(podsByNamespace, budget.Namespace) {
		if selector.Matches(labels.Set(pod.Labels)) {
			pods = append(pods, pod)
		}
	}
	if len(pods) == 0 {
		c.recorder.Eventf(budget, v1.EventTypeNormal, "NoPods", "No matching pods found")
	}
	expected, desired, unmanaged, err := c.expectedPodCount(budget, pods)
	if err != nil {
		c.recorder.Eventf(budget, v1.EventTypeWarning, "CalculateExpectedPodCountFailed", "Failed to calculate the number of expected pods: %v", err)
		return err
	}
	if unmanaged {
		c.recorder.Eventf(budget, v1.EventTypeWarning, "UnmanagedPods", "Pods selected by this PodDisruptionBudget (selector: %v) were found to be unmanaged. "+
			"As a result, the status of the PDB cannot be calculated correctly, which may result in undefined behavior. "+
			"To account for these pods please set \".spec.minAvailable\" field of the PDB to an integer value.", budget.Spec.Selector)
	}
	now := c.env.Now()
	disrupted, recheck := c.buildDisruptedPodMap(budget, pods, now)
	if err := c.updateStatus(ctx, budget, newStatus(budget, countHealthyPods(pods, disrupted), desired, expected, disrupted, now)); err != nil {
		return err
	}
	if !recheck.IsZero() {
		c.addAfter(c.queue, control.Key(budget), recheck.Sub(now))
	}
	return nil
}

// countHealthyPods returns the number of pods that are ready and neither being deleted nor about to be.
// Upstream: disruption.go countHealthyPods, v1.37.
func countHealthyPods(pods []*v1.Pod, disrupted map[string]metav1.Time) (n int32) {
	for _, pod := range pods {
		if _, soon := disrupted[pod.Name]; pod.DeletionTimestamp == nil && !soon && podstatus.IsReady(pod) {
			n++
		}
	}
	return n
}

// condition returns a condition of the pod, nil if it has none, and whether it is True.
func condition(pod *v1.Pod, kind v1.PodConditionType) (found *v1.PodCondition, isTrue bool) {
	for i := range pod.Status.Conditions {
		if c := &pod.Status.Conditions[i]; c.Type == kind {
			return c, c.Status == v1.ConditionTrue
		}
	}
	return nil, false
}

// buildDisruptedPodMap returns the evicted pods whose deletion the API server has yet to begin, and when the first of them is late: the zero
// time if there is none. One that is late counts again.
// Upstream: disruption.go buildDisruptedPodMap, v1.37.
func (c *controller) buildDisruptedPodMap(budget *policyv1.PodDisruptionBudget, pods []*v1.Pod, now time.Time) (left map[string]metav1.Time,
	recheck time.Time) {
	for _, pod := range pods {
		evicted, found := budget.Status.DisruptedPods[pod.Name]
		if !found || pod.DeletionTimestamp != nil {
			continue
		}
		late := evicted.Add(deletionTimeout)
		if !late.After(now) { // upstream keeps one that is late this very moment, and counts it
			c.recorder.Eventf(pod, v1.EventTypeWarning, "NotDeleted", "Pod was expected by PDB %s/%s to be deleted but it wasn't", budget.Namespace, budget.Namespace)
			continue
		}
		if left == nil {
			left = map[string]metav1.Time{}
		}
		left[pod.Name] = evicted
		if recheck.IsZero() || late.Before(recheck) {
			recheck = late
		}
	}
	return left, recheck
}

// newStatus returns the status of a budget. Without a pod that is expected it allows no disruption: the first pods may come before this controller
// has heard of them.
// Upstream: disruption.go updatePdbStatus, and policy/poddisruptionbudget UpdateDisruptionAllowedCondition, v1.37.
func newStatus(budget *policyv1.PodDisruptionBudget, healthy, desired, expected int32, disrupted map[string]metav1.Time,
	now time.Time) *policyv1.PodDisruptionBudgetStatus {
	status := &policyv1.PodDisruptionBudgetStatus{
		CurrentHealthy: healthy, DesiredHealthy: desired, ExpectedPods: expected, DisruptedPods: disrupted,
		ObservedGeneration: budget.Generation, Conditions: budget.DeepCopy().Status.Conditions,
	}
	allowed := metav1.Condition{
		Type: policyv1.DisruptionAllowedCondition, Status: metav1.ConditionFalse, Reason: policyv1.InsufficientPodsReason,
		ObservedGeneration: status.ObservedGeneration, LastTransitionTime: metav1.NewTime(now),
	}
	if expected > 0 && healthy > desired {
		status.DisruptionsAllowed = healthy - desired
		allowed.Status, allowed.Reason = metav1.ConditionTrue, policyv1.SufficientPodsReason
	}
	meta.SetStatusCondition(&status.Conditions, allowed)
	return status
}

// failSafe allows no disruption of a budget whose pods cannot be counted.
// Upstream: disruption.go failSafe, v1.37.
func (c *controller) failSafe(ctx context.Context, budget *policyv1.PodDisruptionBudget, why error) error {
	status := budget.Status.DeepCopy()
	status.DisruptionsAllowed = 0
	meta.SetStatusCondition(&status.Conditions, metav1.Condition{
		Type: policyv1.DisruptionAllowedCondition, Status: metav1.ConditionFalse, Reason: policyv1.SyncFailedReason, Message: why.Error(),
		ObservedGeneration: status.ObservedGeneration, LastTransitionTime: metav1.NewTime(c.env.Now()),
	})
	return c.updateStatus(ctx, budget, status)
}

// updateStatus writes the status if it has changed.
// Upstream: disruption.go writePdbStatus, v1.37.
func (c *controller) updateStatus(ctx context.Context, budget *policyv1.PodDisruptionBudget, status *policyv1.PodDisruptionBudgetStatus) error {
	if semantic.Equal(&budget.Status, status) {
		return nil
	}
	next := budget.DeepCopy()
	next.Status = *status
	_, err := c.client.PolicyV1().PodDisruptionBudgets(budget.Namespace).UpdateStatus(ctx, next, metav1.UpdateOptions{})
	return err
}
