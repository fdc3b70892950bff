package api

import (
	v1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/storagesim/storagesim/api/store"
	"github.com/storagesim/storagesim/api/views"
)

// budgets is the resource of PodDisruptionBudgets.
var budgets = policyv1.SchemeGroupVersion.WithResource("poddisruptionbudgets")

// evictPod deletes a pod if the PodDisruptionBudget of the pod, if there is one, allows that.
// Upstream: pkg/registry/core/pod/storage EvictionREST.Create, v1.37.
func (s *Server) evictPod(r *request, in runtime.Object) (runtime.Object, error) {
	opts, err := views.EvictionOf(in, r.name)
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

// beforeEviction does what an eviction does before the deletion. It reports no write: it is a part of the request.
func (s *Server) beforeEviction(r *request, preconditions *metav1.Preconditions) error {
	s.objects.Lock()
	defer s.objects.Unlock()
	st, err := s.table(r.kind.GVR)
	if err != nil {
		return err
	}
	return s.disrupt(r, st, preconditions)
}

// disrupt asks the budget of a pod, and sets the pod's condition DisruptionTarget.
func (s *Server) disrupt(r *request, st *table, preconditions *metav1.Preconditions) error {
	pod, ok := st.Get(store.KeyOf(r.namespace, r.name)).(*v1.Pod)
	if !ok {
		return r.notFound()
	}
	budget, err := views.BudgetFor(pod, held{s}.List(budgets, pod.Namespace))
	if err != nil {
		return err
	}
	if budget != nil {
		spent, err := views.Spend(pod, budget, s.now())
		if err != nil {
			return err
		}
		if !r.dryRun {
			s.put(s.tables[budgets], budget, spent)
		}
	}
	if err := r.checkPreconditions(pod, preconditions); err != nil || r.dryRun {
		return err
	}
	if target := views.Disrupted(pod, s.now()); !equality.Semantic.DeepEqual(pod, target) {
		s.put(st, pod, target)
	}
	return nil
}
