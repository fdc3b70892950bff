// Package operator is a small operator built with controller-runtime in the usual way. Nothing in it knows of the simulation.
//
// A ConfigMap with the label storage.example.com/scratch asks for scratch space: the
// operator makes a claim of that size, owned by the ConfigMap, and writes into the
// ConfigMap's annotations how far it has come.
package operator

import (
	"context"
	"fmt"
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/config"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
)

// The label of a ConfigMap that asks for scratch space, and the annotation with the answer.
const (
	LabelScratch = "storage.example.com/scratch"
	AnnPhase     = "storage.example.com/phase"
)

// ConditionReady is set in the status of a claim that the operator has seen bound.
const ConditionReady v1.PersistentVolumeClaimConditionType = "storage.example.com/Ready"

// Run runs the operator: it returns when ctx ends, or with the error that made it end.
func Run(ctx context.Context, cfg *rest.Config) error {
	mgr, err := manager.New(cfg, manager.Options{
		LeaderElection:             true,
		LeaderElectionID:           "scratch-operator",
		LeaderElectionNamespace:    "default",
		Metrics:                    metricsserver.Options{BindAddress: "0"},
		GracefulShutdownTimeout:    new(time.Duration),
		Controller:                 config.Controller{SkipNameValidation: new(true)}, // it may be started again in one process
		LeaderElectionResourceLock: "leases",
	})
	if err != nil {
		return fmt.Errorf("manager: %w", err)
	}
	if err := Setup(mgr); err != nil {
		return fmt.Errorf("controller: %w", err)
	}
	return mgr.Start(ctx)
}

// Setup adds the operator's controller to a manager.
func Setup(mgr manager.Manager) error {
	return ctrl.NewControllerManagedBy(mgr).
		For(&v1.ConfigMap{}, builder.WithPredicates(predicate.NewPredicateFuncs(asksForScratch))).
		Owns(&v1.PersistentVolumeClaim{}).
		Complete(&Reconciler{mgr.GetClient()})
}

func asksForScratch(obj client.Object) bool { return obj.GetLabels()[LabelScratch] != "" }

// Reconciler makes the claims.
type Reconciler struct{ client.Client }

// Reconcile implements reconcile.Reconciler.
func (r *Reconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	var asks v1.ConfigMap
	if err := r.Get(ctx, req.NamespacedName, &asks); err != nil || !asks.DeletionTimestamp.IsZero() {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	size, err := resource.ParseQuantity(asks.Labels[LabelScratch])
	if err != nil {
		return ctrl.Result{}, r.say(ctx, &asks, "Invalid")
	}
	claim := &v1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Namespace: asks.Namespace, Name: asks.Name}}
	if err := r.Get(ctx, client.ObjectKeyFromObject(claim), claim); apierrors.IsNotFound(err) {
		claim.Spec.AccessModes = []v1.PersistentVolumeAccessMode{v1.ReadWriteOnce}
		claim.Spec.Resources.Requests = v1.ResourceList{v1.ResourceStorage: size}
		if err := controllerutil.SetControllerReference(&asks, claim, r.Scheme()); err != nil {
			return ctrl.Result{}, err
		}
		if err := r.Create(ctx, claim); err != nil {
			return ctrl.Result{}, err
		}
	} else if err != nil {
		return ctrl.Result{}, err
	}
	if claim.Status.Phase == v1.ClaimBound && !isReady(claim) {
		return ctrl.Result{}, r.setReady(ctx, claim) // Bound is said when the cache has it
	}
	return ctrl.Result{}, r.say(ctx, &asks, string(claim.Status.Phase))
}

// isReady reports whether the claim, as the manager's cache has it, is marked as ready.
func isReady(claim *v1.PersistentVolumeClaim) bool {
	return slices.ContainsFunc(claim.Status.Conditions, func(c v1.PersistentVolumeClaimCondition) bool {
		return c.Type == ConditionReady && c.Status == v1.ConditionTrue
	})
}

// setReady marks the claim in its status, which is a subresource.
func (r *Reconciler) setReady(ctx context.Context, claim *v1.PersistentVolumeClaim) error {
	claim.Status.Conditions = append(claim.Status.Conditions, v1.PersistentVolumeClaimCondition{
		Type: ConditionReady, Status: v1.ConditionTrue, Reason: "Bound", LastTransitionTime: metav1.Now(),
	})
	return r.Status().Update(ctx, claim)
}

// say writes the phase into the ConfigMap, by a merge patch that fails if another client
// has changed it meanwhile.
func (r *Reconciler) say(ctx context.Context, asks *v1.ConfigMap, phase string) error {
	if phase == "" || asks.Annotations[AnnPhase] == phase {
		return nil
	}
	before := asks.DeepCopy()
	metav1.SetMetaDataAnnotation(&asks.ObjectMeta, AnnPhase, phase)
	return r.Patch(ctx, asks, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{}))
}
