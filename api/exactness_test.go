package api_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	batchv1 "k8s.io/api/batch/v1"
	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// Upstream: registry/core/service strategy.AllowCreateOnUpdate, whose status has the same strategy, v1.37.2.
func TestAStatusOfAServiceThatIsNotThereMakesIt(t *testing.T) {
	_, c := newServer()
	service := &v1.Service{ObjectMeta: metav1.ObjectMeta{Name: "a", Namespace: "default"}, Spec: v1.ServiceSpec{Ports: []v1.ServicePort{{Port: 80}}}}
	service.Status.LoadBalancer.Ingress = []v1.LoadBalancerIngress{{IP: "10.1.1.1"}}
	got, err := c.CoreV1().Services("default").UpdateStatus(ctx, service, metav1.UpdateOptions{})
	require.NoError(t, err)
	assert.Empty(t, got.Status.LoadBalancer.Ingress, "a new object has no status")
	_, err = c.CoreV1().Services("default").Patch(ctx, "b", types.ApplyYAMLPatchType,
		[]byte(`{"apiVersion":"v1","kind":"Service","spec":{"ports":[{"port":80}]}}`), metav1.PatchOptions{FieldManager: "m"}, "status")
	require.NoError(t, err)

	_, err = c.CoreV1().PersistentVolumeClaims("default").UpdateStatus(ctx, claim("a"), metav1.UpdateOptions{})
	assert.True(t, apierrors.IsNotFound(err), err)
}

// Upstream: registry/generic/registry Store.updateForGracefulDeletionAndFinalizers, v1.37.2, which gives its update up and goes on with nothing.
func TestADeletionThatTakesTheFinalizersOfAnotherPolicyAwayRefusesItsOwnPrecondition(t *testing.T) {
	_, c := newServer()
	m := configMap("a")
	m.Finalizers = []string{metav1.FinalizerOrphanDependents}
	m = createMap(t, c, m)
	background := metav1.DeletePropagationBackground
	opts := metav1.DeleteOptions{PropagationPolicy: &background, Preconditions: &metav1.Preconditions{UID: &m.UID, ResourceVersion: &m.ResourceVersion}}
	dry := opts
	dry.DryRun = []string{metav1.DryRunAll}
	require.NoError(t, c.CoreV1().ConfigMaps("default").Delete(ctx, "a", dry))
	err := c.CoreV1().ConfigMaps("default").Delete(ctx, "a", opts)
	assert.True(t, apierrors.IsConflict(err), err)
	assert.ErrorContains(t, err, "Precondition failed: ResourceVersion in precondition: , ResourceVersion in object meta: "+m.ResourceVersion)
	opts.Preconditions.ResourceVersion = nil
	require.NoError(t, c.CoreV1().ConfigMaps("default").Delete(ctx, "a", opts))
	_, err = c.CoreV1().ConfigMaps("default").Get(ctx, "a", metav1.GetOptions{})
	assert.True(t, apierrors.IsNotFound(err), err)
}

// Upstream: apiserver storage/etcd3 store.GuaranteedUpdate, v1.37.2, compares what is stored: without the phase of a claim, and without the labels of a Job.
func TestTheFirstUpdateOfAClaimOrAJobStoresTheDefaultsThatItWasShownWith(t *testing.T) {
	_, c := newServer()
	made, err := c.CoreV1().PersistentVolumeClaims("default").Create(ctx, claim("a"), metav1.CreateOptions{})
	require.NoError(t, err)
	first, err := c.CoreV1().PersistentVolumeClaims("default").Update(ctx, made, metav1.UpdateOptions{})
	require.NoError(t, err)
	assert.NotEqual(t, made.ResourceVersion, first.ResourceVersion)
	second, err := c.CoreV1().PersistentVolumeClaims("default").Update(ctx, first, metav1.UpdateOptions{})
	require.NoError(t, err)
	assert.Equal(t, first.ResourceVersion, second.ResourceVersion)

	for name, labels := range map[string]map[string]string{"a": nil, "b": {"a": "b"}} {
		job := &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: labels}}
		job.Spec.Template.Spec = v1.PodSpec{RestartPolicy: v1.RestartPolicyNever, Containers: []v1.Container{{Name: "c", Image: "i"}}}
		job, err := c.BatchV1().Jobs("default").Create(ctx, job, metav1.CreateOptions{})
		require.NoError(t, err)
		version := job.ResourceVersion
		job, err = c.BatchV1().Jobs("default").Update(ctx, job, metav1.UpdateOptions{})
		require.NoError(t, err)
		assert.Equal(t, name == "a", version != job.ResourceVersion, name)
	}
}
