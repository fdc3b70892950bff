package ctrlruntime_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	"github.com/storagesim/storagesim"
	"github.com/storagesim/storagesim/explore"
	"github.com/storagesim/storagesim/live/ctrlruntime"
	"github.com/storagesim/storagesim/storagesimtest"
)

// Scratch asks for a claim. It is the custom kind of the operator of these tests, as kubebuilder would make it.
type Scratch struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata"`
	Spec              ScratchSpec   `json:"spec"`
	Status            ScratchStatus `json:"status"`
}

// ScratchSpec asks for a size.
type ScratchSpec struct {
	Resources v1.VolumeResourceRequirements `json:"resources"`
}

// ScratchStatus says how far the operator is.
type ScratchStatus struct {
	Phase string `json:"phase,omitempty"`
	Claim string `json:"claim,omitempty"`
}

// DeepCopyObject implements runtime.Object.
func (s *Scratch) DeepCopyObject() runtime.Object {
	c := *s
	c.ObjectMeta = *s.ObjectMeta.DeepCopy()
	c.Spec.Resources = *s.Spec.Resources.DeepCopy()
	return &c
}

// ScratchList is a list of them.
type ScratchList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata"`
	Items           []Scratch `json:"items"`
}

// DeepCopyObject implements runtime.Object.
func (l *ScratchList) DeepCopyObject() runtime.Object {
	c := *l
	c.Items = nil
	for _, item := range l.Items {
		c.Items = append(c.Items, *item.DeepCopyObject().(*Scratch))
	}
	return &c
}

func schemeOf() *runtime.Scheme {
	s, gv := runtime.NewScheme(), schema.GroupVersion{Group: "example.com", Version: "v1"}
	_ = clientgoscheme.AddToScheme(s)
	s.AddKnownTypes(gv, &Scratch{}, &ScratchList{})
	metav1.AddToGroupVersion(s, gv)
	return s
}

// reconciler makes the claim of a Scratch, and says when it is bound.
type reconciler struct {
	client.Client
	// forgetful has the name of the claim chosen by the server, and kept in the status afterwards: a crash between the two makes
	// a second claim.
	forgetful bool
}

func (r *reconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	var s Scratch
	if err := r.Get(ctx, req.NamespacedName, &s); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	if r.forgetful {
		return ctrl.Result{}, r.remember(ctx, &s)
	}
	var claims v1.PersistentVolumeClaimList
	if err := r.List(ctx, &claims, client.InNamespace(s.Namespace), client.MatchingFields{"owner": s.Name}); err != nil {
		return ctrl.Result{}, err
	}
	if len(claims.Items) == 0 {
		claim := r.claimOf(&s)
		claim.Name = s.Name
		if err := r.Create(ctx, claim); err != nil && !apierrors.IsAlreadyExists(err) {
			return ctrl.Result{}, err
		}
		return ctrl.Result{}, nil
	}
	if phase := string(claims.Items[0].Status.Phase); s.Status.Phase != phase {
		s.Status.Phase = phase
		return ctrl.Result{}, r.Status().Update(ctx, &s)
	}
	return ctrl.Result{}, nil
}

func (r *reconciler) claimOf(s *Scratch) *v1.PersistentVolumeClaim {
	claim := &v1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Namespace: s.Namespace}, Spec: v1.PersistentVolumeClaimSpec{
		AccessModes: []v1.PersistentVolumeAccessMode{v1.ReadWriteOnce}, Resources: s.Spec.Resources,
	}}
	_ = controllerutil.SetControllerReference(s, claim, r.Scheme())
	return claim
}

func (r *reconciler) remember(ctx context.Context, s *Scratch) error {
	if s.Status.Claim != "" {
		return nil
	}
	claim := r.claimOf(s)
	claim.GenerateName = s.Name + "-"
	if err := r.Create(ctx, claim); err != nil {
		return err
	}
	s.Status.Claim = claim.Name
	return r.Status().Update(ctx, s)
}

func (r *reconciler) setup(mgr manager.Manager) error {
	r.Client = mgr.GetClient()
	if err := mgr.GetFieldIndexer().IndexField(context.Background(), &v1.PersistentVolumeClaim{}, "owner", func(obj client.Object) []string {
		if owner := metav1.GetControllerOf(obj); owner != nil && owner.Kind == "Scratch" {
			return []string{owner.Name}
		}
		return nil
	}); err != nil {
		return err
	}
	return ctrl.NewControllerManagedBy(mgr).For(&Scratch{}).Owns(&v1.PersistentVolumeClaim{}).Complete(r)
}

func operatorOf(r func() *reconciler) ctrlruntime.Operator {
	return ctrlruntime.Operator{
		Name: "scratch-operator", Options: manager.Options{Scheme: schemeOf()},
		Setup: func(mgr manager.Manager) error { return r().setup(mgr) },
	}
}

const kinds = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: scratches.example.com}
spec:
  group: example.com
  scope: Namespaced
  names: {plural: scratches, singular: scratch, kind: Scratch}
  versions:
  - name: v1
    served: true
    storage: true
    subresources: {status: {}}
    schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}
`

const asked = `
apiVersion: example.com/v1
kind: Scratch
metadata: {name: build}
spec: {resources: {requests: {storage: 1Gi}}}
---
apiVersion: v1
kind: PersistentVolume
metadata: {name: pv-1}
spec: {capacity: {storage: 1Gi}, accessModes: [ReadWriteOnce], hostPath: {path: /data}}
`

// One seed, one story: the process crashes, and what the operator does is the same again.
func TestAnOperatorIsAnActor(t *testing.T) {
	story := func(t testing.TB, seed uint64) string {
		c := storagesimtest.New(t, storagesim.Config{Seed: seed})
		c.Apply(kinds)
		require.NoError(t, ctrlruntime.Add(c, operatorOf(func() *reconciler { return &reconciler{} })))
		c.Apply(asked)
		c.Settle()
		c.RequireBound("build")
		c.Crash("scratch-operator")
		c.Apply("{apiVersion: example.com/v1, kind: Scratch, metadata: {name: second}, spec: {resources: {requests: {storage: 1Gi}}}}")
		c.Settle()
		return c.Story()
	}
	for seed := range uint64(10) {
		assert.Equal(t, story(t, seed), story(t, seed))
	}
	told := story(t, 0)
	assert.Contains(t, told, "scratch-operator           creates pvc default/build")
	assert.Contains(t, told, `scratch-operator           updates scratch default/build status: status = {"phase":"Bound"}`)
	assert.Contains(t, told, "scratch-operator           creates pvc default/second")
}

// The process crashes at each of its calls, its calls fail and are late, and so are its caches. Only the operator that forgets fails.
func TestAnOperatorIsExplored(t *testing.T) {
	explored := func(r reconciler) error {
		report, err := explore.Run(t.Context(), explore.Config{Runs: 300}, explore.Scenario(func(c *explore.Cluster) {
			c.Apply(kinds)
			c.Must(ctrlruntime.Add(c, operatorOf(func() *reconciler { mine := r; return &mine })))
			c.Apply(asked)
			c.Settle()
			list, err := c.Client().CoreV1().PersistentVolumeClaims("default").List(t.Context(), metav1.ListOptions{})
			c.Must(err)
			if len(list.Items) > 1 {
				c.Must(errors.New("there are two claims"))
			}
		}))
		if err == nil {
			assert.Equal(t, 300, report.Runs)
		}
		return err
	}
	require.NoError(t, explored(reconciler{}))
	failure, ok := errors.AsType[*explore.Failure](explored(reconciler{forgetful: true}))
	require.True(t, ok)
	assert.Contains(t, failure.Error(), "there are two claims")
	assert.Contains(t, failure.Error(), "scratch-operator:create:persistentvolumeclaims:crash-after")
}

// In a bubble of testing/synctest time.Now stands still: what a reconciler does with it is the same in each run.
func TestTimeStandsStillInABubble(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		_, err := explore.Run(t.Context(), explore.Config{Runs: 30}, explore.Scenario(func(c *explore.Cluster) {
			c.Apply(kinds)
			c.Must(ctrlruntime.Add(c, operatorOf(func() *reconciler { return &reconciler{} })))
			c.Apply(asked)
			c.Settle()
		}))
		require.NoError(t, err)
		assert.Equal(t, began, time.Now())
	})
}
