package api

import (
	v1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/storagesim/storagesim/api/patch"
	"github.com/storagesim/storagesim/api/store"
	"github.com/storagesim/storagesim/api/views"
	"github.com/storagesim/storagesim/internal/semantic"
)

// budgets is the resource of PodDisruptionBudgets.
var budgets = policyv1.SchemeGroupVersion.WithResource("poddisruptionbudgets")

// evictPod deletes a pod if the PodDisruptionBudget of the pod, if there is one, allows that.
// Upstream: pkg/registry/core/pod/storage EvictionREST.Create, v1.37.
func evictPod(d *deleter, r request, in runtime.Object) (runtime.Object, error) {
	var asked []string
	if r.DryRun {
		asked = []string{metav1.DryRunAll}
	}
	opts, err := views.EvictionOf(in, r.Name, asked)
	if err != nil {
		return nil, d.writes.reports.refuse(r, err)
	}
	r.DryRun = len(opts.DryRun) > 0
	version, err := beforeEviction(d, r, opts.Preconditions)
	if err != nil {
		return nil, d.writes.reports.refuse(r, err)
	}
	if p := opts.Preconditions; p != nil && p.ResourceVersion != nil { // which the condition has changed
		opts.Preconditions = &metav1.Preconditions{UID: p.UID, ResourceVersion: &version}
	}
	if _, err := d.delete(r, opts); err != nil {
		return nil, err
	}
	return success(), nil
}

// beforeEviction does what an eviction does before the deletion, and returns the version of the pod then. It reports no write: it is a part of the request.
func beforeEviction(d *deleter, r request, preconditions *metav1.Preconditions) (version string, err error) {
	d.writes.tables.objects.Lock()
	defer d.writes.tables.objects.Unlock()
	st, err := d.writes.tables.of(r.Kind.GVR)
	if err == nil {
		err = disrupt(d, r, st, preconditions)
	}
	if err != nil {
		return "", err
	}
	return st.Get(store.KeyOf(r.Namespace, r.Name)).GetResourceVersion(), nil
}

// disrupt asks the budget of a pod, and sets the pod's condition DisruptionTarget.
func disrupt(d *deleter, r request, st *table, preconditions *metav1.Preconditions) error {
	pod, ok := st.Get(store.KeyOf(r.Namespace, r.Name)).(*v1.Pod)
	if !ok {
		return r.NotFound()
	}
	budget, err := views.BudgetFor(pod, held{d.writes.tables}.List(budgets, pod.Namespace))
	if err != nil {
		return err
	}
	if budget != nil {
		spent, err := views.Spend(pod, budget, d.clock.Now())
		if err != nil {
			return err
		}
		if !r.DryRun {
			trackBudget(d, budget, spent)
			d.writes.tables.put(d.writes.tables.byHome[budgets], budget, spent)
		}
	}
	if err := r.CheckDeletion(pod, preconditions); err != nil || r.DryRun {
		return err
	}
	if target := views.Disrupted(pod, d.clock.Now()); !semantic.Equal(pod, target) {
		d.writes.tables.put(st, pod, target)
	}
	return nil
}

// trackBudget notes that the server itself has written the status of a budget, if its fields are tracked.
// Upstream: pkg/registry/core/pod/storage EvictionREST.checkAndDecrement, v1.37.2, writes it through the API, as kube-apiserver.
func trackBudget(d *deleter, budget, spent *policyv1.PodDisruptionBudget) {
	k, ok := d.writes.tables.registry.Lookup(budgets)
	if !ok || len(budget.ManagedFields) == 0 {
		return
	}
	target := patch.Target{Kind: k, Sub: "status", Namespace: budget.Namespace, Name: budget.Name}
	target.Track(budget, spent, serverActor, d.clock.Now())
}
