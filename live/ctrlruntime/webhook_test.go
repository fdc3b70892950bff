package ctrlruntime_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	"github.com/storagesim/storagesim"
	"github.com/storagesim/storagesim/live/ctrlruntime"
	"github.com/storagesim/storagesim/storagesimtest"
)

// sizes gives claims a size and refuses large ones, as the webhooks of an operator do. How large one may be stands in a ConfigMap, which no controller
// watches.
type sizes struct{ client client.Client }

// Default sets the size of a claim that has none, and notes how often it was asked.
func (s *sizes) Default(_ context.Context, claim *v1.PersistentVolumeClaim) error {
	if claim.Spec.Resources.Requests == nil {
		claim.Spec.Resources.Requests = v1.ResourceList{}
	}
	if _, ok := claim.Spec.Resources.Requests[v1.ResourceStorage]; !ok {
		claim.Spec.Resources.Requests[v1.ResourceStorage] = *storage("1Gi")
	}
	return nil
}

func (s *sizes) ValidateCreate(ctx context.Context, claim *v1.PersistentVolumeClaim) (admission.Warnings, error) {
	limit := &v1.ConfigMap{}
	if err := s.client.Get(ctx, types.NamespacedName{Namespace: "default", Name: "limit"}, limit); err != nil {
		return nil, err
	}
	most := storage(limit.Data["most"])
	if size := claim.Spec.Resources.Requests[v1.ResourceStorage]; size.Cmp(*most) > 0 {
		return nil, fmt.Errorf("%s is more than %s", size.String(), most)
	}
	return admission.Warnings{"looked at " + claim.Name}, nil
}

func (s *sizes) ValidateUpdate(_ context.Context, _, _ *v1.PersistentVolumeClaim) (admission.Warnings, error) {
	return nil, nil
}

func (s *sizes) ValidateDelete(_ context.Context, claim *v1.PersistentVolumeClaim) (admission.Warnings, error) {
	if claim.Labels["keep"] == "yes" {
		return nil, errors.New("it is to be kept")
	}
	return nil, nil
}

// sizeOperator has webhooks and no controller.
func sizeOperator() ctrlruntime.Operator {
	return ctrlruntime.Operator{Name: "sizes", WebhookService: "sizes-system/webhook", Setup: func(mgr manager.Manager) error {
		s := &sizes{mgr.GetClient()}
		return ctrl.NewWebhookManagedBy(mgr, &v1.PersistentVolumeClaim{}).WithDefaulter(s).WithValidator(s).Complete()
	}}
}

const sizeHooks = `
apiVersion: admissionregistration.k8s.io/v1
kind: MutatingWebhookConfiguration
metadata: {name: sizes}
webhooks:
  - name: default.sizes.example.com
    clientConfig: {service: {namespace: sizes-system, name: webhook, path: /mutate--v1-persistentvolumeclaim}}
    rules: [{apiGroups: [""], apiVersions: [v1], operations: [CREATE, UPDATE], resources: [persistentvolumeclaims]}]
    sideEffects: None
    admissionReviewVersions: [v1]
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingWebhookConfiguration
metadata: {name: sizes}
webhooks:
  - name: check.sizes.example.com
    clientConfig: {service: {namespace: sizes-system, name: webhook, path: /validate--v1-persistentvolumeclaim}}
    rules: [{apiGroups: [""], apiVersions: [v1], operations: [CREATE, UPDATE, DELETE], resources: [persistentvolumeclaims]}]
    matchConditions: [{name: not-exempt, expression: "!has(object.metadata.labels) || !('exempt' in object.metadata.labels) || request.operation == 'DELETE'"}]
    sideEffects: None
    admissionReviewVersions: [v1]
    failurePolicy: Fail
`

const limitOf10 = "{apiVersion: v1, kind: ConfigMap, metadata: {name: limit}, data: {most: 10Gi}}"

func claimOf(name, labels, resources string) string {
	return fmt.Sprintf("{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: %s, labels: {%s}}, spec: {accessModes: [ReadWriteOnce], resources: {%s}}}",
		name, labels, resources)
}

// The API server asks an operator's webhooks: one gives a claim its size, one refuses.
func TestWebhooksOfAnOperatorAreAsked(t *testing.T) {
	c := storagesimtest.New(t, storagesim.Config{})
	require.NoError(t, ctrlruntime.Add(c, sizeOperator()))
	c.Apply(sizeHooks, limitOf10)
	lab := c.Cluster.Lab()
	var warned []string
	lab.OnWarning(func(text string) { warned = append(warned, text) })
	c.Apply(claimOf("small", "", ""))
	assert.Equal(t, []string{"looked at small"}, warned)
	claims := c.Client().CoreV1().PersistentVolumeClaims("default")
	small, err := claims.Get(t.Context(), "small", metav1.GetOptions{})
	require.NoError(t, err)
	assert.Equal(t, "1Gi", small.Spec.Resources.Requests.Storage().String())

	err = c.Cluster.Apply(claimOf("large", "", "requests: {storage: 11Gi}"))
	require.ErrorContains(t, err, `admission webhook "check.sizes.example.com" denied the request: 11Gi is more than 10Gi`)
	assert.True(t, apierrors.IsForbidden(err))
	require.NoError(t, c.Cluster.Apply(claimOf("exempt", "exempt: 'yes'", "requests: {storage: 11Gi}")), "a match condition does not hold")

	c.Apply(claimOf("kept", "keep: 'yes'", ""))
	require.ErrorContains(t, claims.Delete(t.Context(), "kept", metav1.DeleteOptions{}),
		`admission webhook "check.sizes.example.com" denied the request: it is to be kept`)
	require.NoError(t, claims.Delete(t.Context(), "exempt", metav1.DeleteOptions{}))
	assert.Contains(t, c.Story(), "sizes  pvc default/small: webhook default.sizes.example.com changes what is to be stored: add /spec/resources/requests")
	assert.NotContains(t, c.Story(), "does not model")
}

// While the process is down, its webhooks are not there; the failure policy says what that means.
func TestWebhooksOfAProcessThatIsDown(t *testing.T) {
	c := storagesimtest.New(t, storagesim.Config{})
	c.Apply(sizeHooks, limitOf10)
	require.NoError(t, ctrlruntime.Add(c, sizeOperator()))
	c.Settle()
	c.Stop("sizes")
	err := c.Cluster.Apply(claimOf("a", "", ""))
	require.ErrorContains(t, err, `failed calling webhook "default.sizes.example.com": failed to call webhook: Post `+
		`"https://webhook.sizes-system.svc:443/mutate--v1-persistentvolumeclaim?timeout=10s": dial tcp: connect: connection refused`)
	assert.True(t, apierrors.IsInternalError(err))
	c.Start("sizes")
	c.Settle()
	c.Apply(claimOf("a", "", ""))
}

func storage(text string) *resource.Quantity { return new(resource.MustParse(text)) }
