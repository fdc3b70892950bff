package api

import (
	"fmt"
	"slices"

	v1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	policyv1beta1 "k8s.io/api/policy/v1beta1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// budgets is the resource of PodDisruptionBudgets.
var budgets = policyv1.SchemeGroupVersion.WithResource("poddisruptionbudgets")

// evictPod deletes a pod if the PodDisruptionBudget of the pod, if there is one, allows that.
// Upstream: pkg/registry/core/pod/storage EvictionREST.Create, v1.37.
func (s *Server) evictPod(r *request, in runtime.Object) (runtime.Object, error) {
	name, opts, err := evictionOf(in)
	if err == nil && name != "" && name != r.name {
		err = apierrors.NewBadRequest("name in URL does not match name in Eviction object")
	}
	if err != nil {
		return nil, s.refuse(r, err)
	}
	r.dryRun = r.dryRun || len(opts.DryRun) > 0
	if err := s.beforeEviction(r, opts.Preconditions); err != nil {
		return nil, s.refuse(r, err)
	}
	if _, err := s.delete(r, opts); err != nil {
		return nil, err
	}
	return success(), nil
}

// evictionOf returns the name of the pod in an Eviction, and the options of the deletion.
func evictionOf(in runtime.Object) (name string, opts metav1.DeleteOptions, err error) {
	var given *metav1.DeleteOptions
	switch eviction := in.(type) {
	case *policyv1.Eviction:
		name, given = eviction.Name, eviction.DeleteOptions
	case *policyv1beta1.Eviction:
		name, given = eviction.Name, eviction.DeleteOptions
	default:
		return "", opts, apierrors.NewBadRequest("an Eviction is expected")
	}
	if given != nil {
		opts = *given
	}
	return name, opts, nil
}

// beforeEviction does what an eviction does before the deletion. It reports no write: it is a part of the request.
func (s *Server) beforeEviction(r *request, preconditions *metav1.Preconditions) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	st, err := s.store(r.kind.gvr)
	if err != nil {
		return err
	}
	return s.disrupt(r, st, preconditions)
}

// disrupt asks the budget of a pod, and sets the pod's condition DisruptionTarget.
func (s *Server) disrupt(r *request, st *store, preconditions *metav1.Preconditions) error {
	found, ok := st.items[keyOf(r.namespace, r.name)]
	if !ok {
		return r.notFound()
	}
	pod := found.(*v1.Pod)
	if !ignoresBudgets(pod) {
		if err := s.askBudget(r, pod); err != nil {
			return err
		}
	}
	if err := r.checkPreconditions(pod, preconditions); err != nil || r.dryRun {
		return err
	}
	target := pod.DeepCopy()
	setPodCondition(target, v1.PodCondition{
		Type: v1.DisruptionTarget, Status: v1.ConditionTrue, LastTransitionTime: s.now(),
		Reason: "EvictionByEvictionAPI", Message: "Eviction API: evicting",
	})
	if !semanticEqual(pod, target) {
		s.put(st, pod, target)
	}
	return nil
}

// ignoresBudgets reports whether the end of a pod disrupts nothing.
// Upstream: pkg/registry/core/pod/storage canIgnorePDB, v1.37.
func ignoresBudgets(pod *v1.Pod) bool {
	return pod.Status.Phase == v1.PodSucceeded || pod.Status.Phase == v1.PodFailed || pod.Status.Phase == v1.PodPending || pod.DeletionTimestamp != nil
}

// askBudget counts the disruption of a pod in the budget that selects it, or refuses it.
func (s *Server) askBudget(r *request, pod *v1.Pod) error {
	var matching []*policyv1.PodDisruptionBudget
	for _, budget := range inNamespace[*policyv1.PodDisruptionBudget](s, budgets, pod.Namespace) {
		selector, err := metav1.LabelSelectorAsSelector(budget.Spec.Selector)
		if err == nil && selector.Matches(labels.Set(pod.Labels)) {
			matching = append(matching, budget)
		}
	}
	switch {
	case len(matching) == 0:
		return nil
	case len(matching) > 1:
		return internalError("This pod has more than one PodDisruptionBudget, which the eviction subresource does not support.")
	case !isReady(pod) && sparesUnhealthy(matching[0]):
		return nil
	}
	return s.spend(r, pod, matching[0])
}

// isReady reports whether a pod has the condition Ready.
func isReady(pod *v1.Pod) bool {
	return slices.ContainsFunc(pod.Status.Conditions, func(c v1.PodCondition) bool { return c.Type == v1.PodReady && c.Status == v1.ConditionTrue })
}

// sparesUnhealthy reports whether a budget lets pods go that are not ready, without counting them.
func sparesUnhealthy(b *policyv1.PodDisruptionBudget) bool {
	always := b.Spec.UnhealthyPodEvictionPolicy != nil && *b.Spec.UnhealthyPodEvictionPolicy == policyv1.AlwaysAllow
	return always || b.Status.CurrentHealthy >= b.Status.DesiredHealthy && b.Status.DesiredHealthy > 0
}

// maxDisruptedPods is the number of evictions that may wait for the controller of budgets.
const maxDisruptedPods = 2000

// spend takes one disruption from a budget, or refuses it.
// Upstream: pkg/registry/core/pod/storage checkAndDecrement, v1.37.
func (s *Server) spend(r *request, pod *v1.Pod, budget *policyv1.PodDisruptionBudget) error {
	status := &budget.Status
	switch {
	case status.ObservedGeneration < budget.Generation:
		return overBudget(10, fmt.Sprintf("The disruption budget %s is still being processed by the server.", budget.Name))
	case status.DisruptionsAllowed < 0:
		return budgetForbids(budget, "pdb disruptions allowed is negative")
	case len(status.DisruptedPods) > maxDisruptedPods:
		return budgetForbids(budget, "DisruptedPods map too big - too many evictions not confirmed by PDB controller")
	case status.DisruptionsAllowed == 0:
		return overBudget(0, fmt.Sprintf("The disruption budget %s needs %d healthy pods and has %d currently",
			budget.Name, status.DesiredHealthy, status.CurrentHealthy))
	case r.dryRun:
		return nil
	}
	st, err := s.store(budgets)
	if err != nil {
		return err
	}
	spent := budget.DeepCopy()
	spent.Status.DisruptionsAllowed--
	if spent.Status.DisruptedPods == nil {
		spent.Status.DisruptedPods = map[string]metav1.Time{}
	}
	spent.Status.DisruptedPods[pod.Name] = s.now()
	s.put(st, budget, spent)
	return nil
}

// overBudget refuses an eviction for now. seconds is the time after which the client may ask again; 0 says nothing of it.
func overBudget(seconds int, why string) error {
	err := apierrors.NewTooManyRequests("Cannot evict pod as it would violate the pod's disruption budget.", seconds)
	err.ErrStatus.Details.Causes = append(err.ErrStatus.Details.Causes, metav1.StatusCause{Type: policyv1.DisruptionBudgetCause, Message: why})
	return err
}

// budgetForbids refuses an eviction because of a status that no controller writes.
func budgetForbids(budget *policyv1.PodDisruptionBudget, why string) error {
	err := apierrors.NewForbidden(schema.GroupResource{Group: policyv1.GroupName, Resource: "poddisruptionbudget"}, budget.Name, fmt.Errorf("%s", why))
	err.ErrStatus.Details.Causes = append(err.ErrStatus.Details.Causes, metav1.StatusCause{Type: policyv1.DisruptionBudgetCause, Message: why})
	return err
}
