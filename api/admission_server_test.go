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
	"k8s.io/apimachinery/pkg/types"
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
	mirrors := func(p *v1.Pod) *v1.Pod { // none has an account
		p.Annotations = map[string]string{v1.MirrorPodAnnotationKey: "a"}
		return p
	}
	with := func(source v1.VolumeSource) *v1.Pod {
		p := mirrors(of(""))
		p.Spec.Volumes = []v1.Volume{{Name: "v", VolumeSource: source}}
		return p
	}
	token := v1.VolumeProjection{ServiceAccountToken: &v1.ServiceAccountTokenProjection{Path: "token"}}
	client := fake.New(api.NewServer(api.Config{DefaultAccounts: true, RequireAccounts: true}), "user")
	pods := client.CoreV1().Pods("default")
	const missing = `error looking up service account default/nonesuch: serviceaccount "nonesuch" not found`
	for _, refused := range []struct {
		pod  *v1.Pod
		want string
	}{
		{of("nonesuch"), `pods "x" is forbidden: ` + missing},
		{generated, `pods "y-" is forbidden: ` + missing},
		{mirrors(mirror), `pods "x" is forbidden: a mirror pod may not reference service accounts`},
		{with(v1.VolumeSource{Secret: &v1.SecretVolumeSource{SecretName: "s"}}), `pods "x" is forbidden: a mirror pod may not reference secrets`},
		{with(v1.VolumeSource{ISCSI: &v1.ISCSIVolumeSource{SecretRef: &v1.LocalObjectReference{Name: "s"}}}),
			`pods "x" is forbidden: a mirror pod may not reference secrets`},
		{with(v1.VolumeSource{Projected: &v1.ProjectedVolumeSource{Sources: []v1.VolumeProjection{token}}}),
			`pods "x" is forbidden: a mirror pod may not use ServiceAccountToken volume projections`},
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

func TestAPodGetsTheImagePullSecretsOfItsAccountUnlessItHasSome(t *testing.T) {
	client := fake.New(api.NewServer(api.Config{DefaultAccounts: true, RequireAccounts: true}), "user")
	pods, accounts := client.CoreV1().Pods("default"), client.CoreV1().ServiceAccounts("default")
	pull := func(names ...string) (refs []v1.LocalObjectReference) {
		for _, name := range names {
			refs = append(refs, v1.LocalObjectReference{Name: name})
		}
		return refs
	}
	robot := &v1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: "robot"}, ImagePullSecrets: pull("a", "b")}
	_, err := accounts.Create(t.Context(), robot, metav1.CreateOptions{})
	require.NoError(t, err)
	_, err = accounts.Patch(t.Context(), "default", types.MergePatchType, []byte(`{"imagePullSecrets": [{"name": "c"}]}`), metav1.PatchOptions{})
	require.NoError(t, err)
	for name, p := range map[string]struct {
		account   string
		has, want []v1.LocalObjectReference
	}{
		"its account's":        {"robot", nil, pull("a", "b")},
		"its own":              {"robot", pull("x"), pull("x")},
		"the default's":        {"default", nil, pull("c")},
		"without a name, that": {"", nil, pull("c")},
	} {
		made := pod("x")
		made.Spec.ServiceAccountName, made.Spec.ImagePullSecrets = p.account, p.has
		made, err := pods.Create(t.Context(), made, metav1.CreateOptions{})
		require.NoError(t, err, name)
		require.Equal(t, p.want, made.Spec.ImagePullSecrets, name)
		require.NoError(t, pods.Delete(t.Context(), "x", metav1.DeleteOptions{}))
	}
}

func TestAnAccountThatEnforcesMountableSecretsLimitsThoseOfItsPods(t *testing.T) {
	client := fake.New(api.NewServer(api.Config{DefaultAccounts: true, RequireAccounts: true}), "user")
	pods, accounts := client.CoreV1().Pods("default"), client.CoreV1().ServiceAccounts("default")
	_, err := accounts.Create(t.Context(), &v1.ServiceAccount{
		ObjectMeta: metav1.ObjectMeta{Name: "robot", Annotations: map[string]string{"kubernetes.io/enforce-mountable-secrets": "True"}},
		Secrets:    []v1.ObjectReference{{Name: "good"}}, ImagePullSecrets: []v1.LocalObjectReference{{Name: "pull"}},
	}, metav1.CreateOptions{})
	require.NoError(t, err)
	key := func(secret string) []v1.EnvVar {
		of := &v1.SecretKeySelector{LocalObjectReference: v1.LocalObjectReference{Name: secret}, Key: "k"}
		return []v1.EnvVar{{Name: "PLAIN", Value: "v"}, {Name: "E", ValueFrom: &v1.EnvVarSource{SecretKeyRef: of}}}
	}
	all := func(secret string) []v1.EnvFromSource {
		return []v1.EnvFromSource{{SecretRef: &v1.SecretEnvSource{LocalObjectReference: v1.LocalObjectReference{Name: secret}}}}
	}
	const unlisted = ` is not allowed because service account robot does not reference that `
	for want, change := range map[string]func(p *v1.Pod, secret string){
		`volume with secret.secretName="bad"` + unlisted + "secret": func(p *v1.Pod, secret string) {
			p.Spec.Volumes = []v1.Volume{{Name: "v", VolumeSource: v1.VolumeSource{Secret: &v1.SecretVolumeSource{SecretName: secret}}}}
		},
		`container c with envVar E referencing secret.secretName="bad"` + unlisted + "secret": func(p *v1.Pod, secret string) {
			p.Spec.Containers[0].Env = key(secret)
		},
		`container c with envFrom referencing secret.secretName="bad"` + unlisted + "secret": func(p *v1.Pod, secret string) {
			p.Spec.Containers[0].EnvFrom = all(secret)
		},
		`init container i with envFrom referencing secret.secretName="bad"` + unlisted + "secret": func(p *v1.Pod, secret string) {
			p.Spec.InitContainers = []v1.Container{{Name: "i", Image: "i", EnvFrom: all(secret)}}
		},
		`imagePullSecrets[0].name="bad"` + unlisted + "imagePullSecret": func(p *v1.Pod, secret string) {
			if secret == "bad" {
				p.Spec.ImagePullSecrets = []v1.LocalObjectReference{{Name: secret}}
			}
		},
	} {
		p := pod("x")
		change(p, "bad")
		other, err := pods.Create(t.Context(), p.DeepCopy(), metav1.CreateOptions{})
		require.NoError(t, err, "another account lets it")
		require.NoError(t, pods.Delete(t.Context(), other.Name, metav1.DeleteOptions{}))
		p.Spec.ServiceAccountName = "robot"
		_, err = pods.Create(t.Context(), p, metav1.CreateOptions{})
		require.EqualError(t, err, `pods "x" is forbidden: `+want)
		listed := pod("x")
		listed.Spec.ServiceAccountName = "robot"
		change(listed, "good")
		_, err = pods.Create(t.Context(), listed, metav1.CreateOptions{})
		require.NoError(t, err)
		require.NoError(t, pods.Delete(t.Context(), "x", metav1.DeleteOptions{}))
	}

	made := pod("x")
	made.Spec.ServiceAccountName = "robot"
	made, err = pods.Create(t.Context(), made, metav1.CreateOptions{})
	require.NoError(t, err)
	add := func(secret string) error {
		p := made.DeepCopy()
		common := v1.EphemeralContainerCommon{Name: "debug", Image: "i", Env: key(secret), ImagePullPolicy: "Always", TerminationMessagePolicy: "File"}
		p.Spec.EphemeralContainers = []v1.EphemeralContainer{{EphemeralContainerCommon: common}}
		_, err := pods.UpdateEphemeralContainers(t.Context(), "x", p, metav1.UpdateOptions{})
		return err
	}
	err = add("bad")
	require.EqualError(t, err, `ephemeral container debug with envVar E referencing secret.secretName="bad"`+unlisted+"secret")
	require.False(t, apierrors.IsForbidden(err), "upstream gives that refusal no code of its own")
	require.NoError(t, accounts.Delete(t.Context(), "robot", metav1.DeleteOptions{}))
	require.EqualError(t, add("good"), `pods "x" is forbidden: error looking up service account default/robot: serviceaccount "robot" not found`)
	_, err = accounts.Create(t.Context(), &v1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: "robot"}}, metav1.CreateOptions{})
	require.NoError(t, err)
	require.NoError(t, add("bad"), "an account without the annotation lets it")
}
