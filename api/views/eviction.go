package views

import (
	"fmt"
	"slices"

	v1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	policyv1beta1 "k8s.io/api/policy/v1beta1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/storagesim/storagesim/api/internal/refusal"
	"github.com/storagesim/storagesim/internal/podstatus"
)

// EvictionOf returns the options of the deletion in an Eviction of the pod of that name. dryRun are the dry runs of the request.
// Upstream: pkg/registry/core/pod/storage EvictionREST.Create and propagateDryRun, v1.37.2.
func EvictionOf(in runtime.Object, pod string, dryRun []string) (opts metav1.DeleteOptions, err error) {
	var name string
	var given *metav1.DeleteOptions
	switch eviction := in.(type) {
	case *policyv1.Eviction:
		name, given = eviction.Name, eviction.DeleteOptions
	case *policyv1beta1.Eviction:
		name, given = eviction.Name, eviction.DeleteOptions
	default:
		return opts, apierrors.NewBadRequest("an Eviction is expected")
	}
	if name != pod {
		return opts, apierrors.NewBadRequest("name in URL does not match name in Eviction object")
	}
	if given != nil {
		opts = *given
	}
	if unsafely := opts.IgnoreStoreReadErrorWithClusterBreakingPotential; unsafely != nil && *unsafely {
		return opts, apierrors.NewInvalid(policyv1.SchemeGroupVersion.WithKind("Eviction").GroupKind(), pod, field.ErrorList{
			field.Invalid(field.NewPath("deleteOptions", "ignoreStoreReadErrorWithClusterBreakingPotential"), true,
				"can not be set for pod eviction, try after removing the option"),
		})
	}
	switch {
	case len(opts.DryRun) == 0:
		opts.DryRun = dryRun
	case len(dryRun) > 0 && !slices.Equal(dryRun, opts.DryRun):
		return opts, refusal.Internal(fmt.Sprintf("Non-matching dry-run options in request and content: %v and %v", dryRun, opts.DryRun))
	}
	return opts, nil
}

// Disrupted returns the pod with the condition that says why it will be deleted.
func Disrupted(pod *v1.Pod, now metav1.Time) *v1.Pod {
	target := pod.DeepCopy()
	setPodCondition(target, v1.PodCondition{
		Type: v1.DisruptionTarget, Status: v1.ConditionTrue, LastTransitionTime: now,
		Reason: "EvictionByEvictionAPI", Message: "Eviction API: evicting",
	})
	return target
}

// ignoresBudgets reports whether the end of a pod disrupts nothing.
// Upstream: pkg/registry/core/pod/storage canIgnorePDB, v1.37.
func ignoresBudgets(pod *v1.Pod) bool {
	return pod.Status.Phase == v1.PodSucceeded || pod.Status.Phase == v1.PodFailed || pod.Status.Phase == v1.PodPending || pod.DeletionTimestamp != nil
}

// BudgetFor returns the one of the budgets of a namespace in which the disruption of a pod counts, nil if it counts in none.
func BudgetFor(pod *v1.Pod, budgets []runtime.Object) (*policyv1.PodDisruptionBudget, error) {
	if ignoresBudgets(pod) {
		return nil, nil
	}
	var matching []*policyv1.PodDisruptionBudget
	for _, obj := range budgets {
		budget := obj.(*policyv1.PodDisruptionBudget)
		selector, err := metav1.LabelSelectorAsSelector(budget.Spec.Selector)
		if err == nil && selector.Matches(labels.Set(pod.Labels)) {
			matching = append(matching, budget)
		}
	}
	switch {
	case len(matching) == 0:
		return nil, nil
	case len(matching) > 1:
		return nil, refusal.Internal("This pod has more than one PodDisruptionBudget, which the eviction subresource does not support.")
	case !podstatus.IsReady(pod) && sparesUnhealthy(matching[0]):
		return nil, nil
	}
	return matching[0], nil
}

// sparesUnhealthy reports whether a budget lets pods go that are not ready, without counting them.
func sparesUnhealthy(b *policyv1.PodDisruptionBudget) bool {
	always := b.Spec.UnhealthyPodEvictionPolicy != nil && *b.Spec.UnhealthyPodEvictionPolicy == policyv1.AlwaysAllow
	return always || b.Status.CurrentHealthy >= b.Status.DesiredHealthy && b.Status.DesiredHealthy > 0
}

// maxDisruptedPods is the number of evictions that may wait for the controller of budgets.
const maxDisruptedPods = 2000

// Spend returns the budget with one disruption less, or refuses it.
// Upstream: pkg/registry/core/pod/storage checkAndDecrement, v1.37.
func Spend(pod *v1.Pod, budget *policyv1.PodDisruptionBudget, now metav1.Time) (*policyv1.PodDisruptionBudget, error) {
	status := &budget.Status
	switch {
	case status.ObservedGeneration < budget.Generation:
		return nil, overBudget(10, fmt.Sprintf("The disruption budget %s is still being processed by the server.", budget.Name))
	case status.DisruptionsAllowed < 0:
		return nil, budgetForbids(budget, "pdb disruptions allowed is negative", "pdb disruptions allowed is negative")
	case len(status.DisruptedPods) > maxDisruptedPods:
		return nil, budgetForbids(budget, "DisruptedPods map too big - too many evictions not confirmed by PDB controller",
			"too many pending evictions not confirmed by PDB controller")
	case status.DisruptionsAllowed == 0:
		return nil, overBudget(0, whyNone(budget))
	}
	spent := budget.DeepCopy()
	if spent.Status.DisruptionsAllowed--; spent.Status.DisruptionsAllowed == 0 {
		setInsufficient(&spent.Status, now)
	}
	if spent.Status.DisruptedPods == nil {
		spent.Status.DisruptedPods = map[string]metav1.Time{}
	}
	spent.Status.DisruptedPods[pod.Name] = now
	return spent, nil
}

// whyNone says why a budget allows no disruption.
func whyNone(budget *policyv1.PodDisruptionBudget) string {
	status := &budget.Status
	condition := meta.FindStatusCondition(status.Conditions, policyv1.DisruptionAllowedCondition)
	refuses := condition != nil && condition.Status == metav1.ConditionFalse && condition.Message != ""
	switch {
	case refuses && condition.Reason == policyv1.SyncFailedReason: // then the numbers say nothing
		return fmt.Sprintf("The disruption budget %s does not allow evicting pods currently because it failed sync: %s", budget.Name, condition.Message)
	case status.CurrentHealthy <= status.DesiredHealthy:
		return fmt.Sprintf("The disruption budget %s needs %d healthy pods and has %d currently", budget.Name, status.DesiredHealthy, status.CurrentHealthy)
	case refuses:
		return fmt.Sprintf("The disruption budget %s does not allow evicting pods currently (%s): %s", budget.Name, condition.Reason, condition.Message)
	}
	return fmt.Sprintf("The disruption budget %s does not allow evicting pods currently", budget.Name)
}

// setInsufficient says in the condition of a budget that its last disruption is spent.
// Upstream: component-helpers apps/poddisruptionbudget UpdateDisruptionAllowedCondition, v0.37.2.
func setInsufficient(status *policyv1.PodDisruptionBudgetStatus, now metav1.Time) {
	meta.SetStatusCondition(&status.Conditions, metav1.Condition{
		Type: policyv1.DisruptionAllowedCondition, Status: metav1.ConditionFalse, Reason: policyv1.InsufficientPodsReason,
		ObservedGeneration: status.ObservedGeneration, LastTransitionTime: now,
	})
}

// overBudget refuses an eviction for now. seconds is the time after which the client may ask again; 0 says nothing of it.
func overBudget(seconds int, why string) error {
	err := apierrors.NewTooManyRequests("Cannot evict pod as it would violate the pod's disruption budget.", seconds)
	err.ErrStatus.Details.Causes = append(err.ErrStatus.Details.Causes, metav1.StatusCause{Type: policyv1.DisruptionBudgetCause, Message: why})
	return err
}

// budgetForbids refuses an eviction because of a status that no controller writes.
func budgetForbids(budget *policyv1.PodDisruptionBudget, why, cause string) error {
	err := apierrors.NewForbidden(schema.GroupResource{Group: policyv1.GroupName, Resource: "poddisruptionbudget"}, budget.Name, fmt.Errorf("%s", why))
	err.ErrStatus.Details.Causes = append(err.ErrStatus.Details.Causes, metav1.StatusCause{
		Type: policyv1.DisruptionBudgetCause, Message: fmt.Sprintf("The disruption budget %s does not allow evicting pods currently: %s", budget.Name,
			cause),
	})
	return err
}
