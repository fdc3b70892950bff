package api_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/storagesim/storagesim/api"
	"github.com/storagesim/storagesim/api/fake"
)

func newClaim(name string) *v1.PersistentVolumeClaim {
	return &v1.PersistentVolumeClaim{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: v1.PersistentVolumeClaimSpec{
			AccessModes: []v1.PersistentVolumeAccessMode{v1.ReadWriteOnce},
			Resources: v1.VolumeResourceRequirements{
				Requests: v1.ResourceList{v1.ResourceStorage: resource.MustParse("5Gi")},
			},
		},
	}
}

func defaultClassNamed(name string) *storagev1.StorageClass {
	return &storagev1.StorageClass{
		ObjectMeta:  metav1.ObjectMeta{Name: name, Annotations: map[string]string{"storageclass.kubernetes.io/is-default-class": "true"}},
		Provisioner: "example.com/ext",
	}
}

// boundClaim returns a claim that the control plane has bound, as far as the API
// server can tell.
func boundClaim(t *testing.T, client kubernetes.Interface, name string) *v1.PersistentVolumeClaim {
	t.Helper()
	claims := client.CoreV1().PersistentVolumeClaims("default")
	claim, err := claims.Create(context.Background(), newClaim(name), metav1.CreateOptions{})
	require.NoError(t, err)
	claim.Spec.VolumeName = "pv"
	claim, err = claims.Update(context.Background(), claim, metav1.UpdateOptions{})
	require.NoError(t, err)
	claim.Status.Phase = v1.ClaimBound
	claim.Status.Capacity = claim.Spec.Resources.Requests
	claim, err = claims.UpdateStatus(context.Background(), claim, metav1.UpdateOptions{})
	require.NoError(t, err)
	return claim
}

// semantics 8 must 13.
func TestAClaimGetsTheDefaultClassWhenItIsCreatedAndNotLater(t *testing.T) {
	ctx, client := context.Background(), fake.New(api.NewServer(api.Config{}), "user")
	claims := client.CoreV1().PersistentVolumeClaims("default")

	early, err := claims.Create(ctx, newClaim("early"), metav1.CreateOptions{})
	require.NoError(t, err)
	_, err = client.StorageV1().StorageClasses().Create(ctx, defaultClassNamed("std"), metav1.CreateOptions{})
	require.NoError(t, err)
	late, err := claims.Create(ctx, newClaim("late"), metav1.CreateOptions{})
	require.NoError(t, err)
	explicit := newClaim("explicit")
	explicit.Spec.StorageClassName = new(string)
	explicit, err = claims.Create(ctx, explicit, metav1.CreateOptions{})
	require.NoError(t, err)

	require.Nil(t, early.Spec.StorageClassName)
	require.Equal(t, "std", *late.Spec.StorageClassName)
	require.Equal(t, "", *explicit.Spec.StorageClassName)
	require.Equal(t, []string{"kubernetes.io/pvc-protection"}, late.Finalizers)
}

// semantics 8 must 7.
func TestAClaimThatMayNotGrowIs403WhenBoundAnd422WhenPending(t *testing.T) {
	ctx, client := context.Background(), fake.New(api.NewServer(api.Config{}), "user")
	claims := client.CoreV1().PersistentVolumeClaims("default")
	grow := func(claim *v1.PersistentVolumeClaim) error {
		claim = claim.DeepCopy()
		claim.Spec.Resources.Requests = v1.ResourceList{v1.ResourceStorage: resource.MustParse("6Gi")}
		_, err := claims.Update(ctx, claim, metav1.UpdateOptions{})
		return err
	}

	pending, err := claims.Create(ctx, newClaim("pending"), metav1.CreateOptions{})
	require.NoError(t, err)
	err = grow(pending)
	require.True(t, apierrors.IsInvalid(err), "%v", err)
	require.EqualError(t, err, `PersistentVolumeClaim "pending" is invalid: spec: Forbidden: spec is immutable after creation `+
		`except resources.requests and volumeAttributesClassName for bound claims
@@ -6,7 +6,7 @@
  "Resources": {
   "Limits": null,
   "Requests": {
-   "storage": "5Gi"
+   "storage": "6Gi"
   }
  },
  "VolumeName": "",
`)

	err = grow(boundClaim(t, client, "bound"))
	require.True(t, apierrors.IsForbidden(err), "%v", err)
	require.EqualError(t, err, `persistentvolumeclaims "bound" is forbidden: only dynamically provisioned pvc can be resized `+
		`and the storageclass that provisions the pvc must support resize`)

	class := defaultClassNamed("std")
	class.AllowVolumeExpansion = new(bool)
	*class.AllowVolumeExpansion = true
	_, err = client.StorageV1().StorageClasses().Create(ctx, class, metav1.CreateOptions{})
	require.NoError(t, err)
	require.NoError(t, grow(boundClaim(t, client, "growing")))
}

func TestAPodOfAnUnknownPriorityIsForbidden(t *testing.T) {
	pod := &v1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: "web"},
		Spec:       v1.PodSpec{Containers: []v1.Container{{Name: "c", Image: "busybox"}}, PriorityClassName: "gone"},
	}
	client := fake.New(api.NewServer(api.Config{}), "user")
	_, err := client.CoreV1().Pods("default").Create(context.Background(), pod, metav1.CreateOptions{})
	require.True(t, apierrors.IsForbidden(err), "%v", err)

	pod.Spec.PriorityClassName = ""
	pod, err = client.CoreV1().Pods("default").Create(context.Background(), pod, metav1.CreateOptions{})
	require.NoError(t, err)
	require.Equal(t, int32(0), *pod.Spec.Priority)
	require.Len(t, pod.Spec.Tolerations, 2)
}

func TestAPodWhoseServiceAccountIsMissingIsRefusedWhereAccountsAreRequired(t *testing.T) {
	of := func(account string) *v1.Pod {
		p := pod("x")
		p.Spec.ServiceAccountName = account
		return p
	}
	generated, mirror := of("nonesuch"), of("default")
	generated.Name, generated.GenerateName = "", "y-"
	mirror.Annotations = map[string]string{v1.MirrorPodAnnotationKey: "a"}
	client := fake.New(api.NewServer(api.Config{DefaultAccounts: true, RequireAccounts: true}), "user")
	pods := client.CoreV1().Pods("default")
	const missing = `error looking up service account default/nonesuch: serviceaccount "nonesuch" not found`
	for _, refused := range []struct {
		pod  *v1.Pod
		want string
	}{
		{of("nonesuch"), `pods "x" is forbidden: ` + missing},
		{generated, `pods "y-" is forbidden: ` + missing},
		{mirror, `pods "x" is forbidden: a mirror pod may not reference service accounts`},
	} {
		_, err := pods.Create(t.Context(), refused.pod, metav1.CreateOptions{})
		require.EqualError(t, err, refused.want)
		require.True(t, apierrors.IsForbidden(err))
	}
	for _, account := range []string{"", "default"} {
		created, err := pods.Create(t.Context(), of(account), metav1.CreateOptions{})
		require.NoError(t, err)
		require.Equal(t, account, created.Spec.ServiceAccountName)
		require.NoError(t, pods.Delete(t.Context(), "x", metav1.DeleteOptions{}))
	}

	_, err := fake.New(api.NewServer(api.Config{}), "user").CoreV1().Pods("default").Create(t.Context(), of("nonesuch"), metav1.CreateOptions{})
	require.NoError(t, err, "on a server without the plugin")
}
