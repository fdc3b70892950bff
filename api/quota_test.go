package api_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"

	"github.com/storagesim/storagesim/api"
	"github.com/storagesim/storagesim/api/fake"
	"github.com/storagesim/storagesim/trace"
)

// amounts returns a list of quantities from pairs of a name and a quantity.
func amounts(pairs ...string) v1.ResourceList {
	list := v1.ResourceList{}
	for i := 0; i < len(pairs); i += 2 {
		list[v1.ResourceName(pairs[i])] = resource.MustParse(pairs[i+1])
	}
	return list
}

// counted makes a quota whose status says that nothing is used yet.
func counted(t *testing.T, client kubernetes.Interface, name string, spec v1.ResourceQuotaSpec) {
	t.Helper()
	quotas := client.CoreV1().ResourceQuotas("default")
	q, err := quotas.Create(context.Background(), &v1.ResourceQuota{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: spec}, metav1.CreateOptions{})
	require.NoError(t, err)
	q.Status.Hard, q.Status.Used = spec.Hard, v1.ResourceList{}
	for name := range spec.Hard {
		q.Status.Used[name] = resource.MustParse("0")
	}
	_, err = quotas.UpdateStatus(context.Background(), q, metav1.UpdateOptions{})
	require.NoError(t, err)
}

// used returns what the status of a quota says is used.
func used(t *testing.T, client kubernetes.Interface, name string) map[string]string {
	t.Helper()
	q, err := client.CoreV1().ResourceQuotas("default").Get(context.Background(), name, metav1.GetOptions{})
	require.NoError(t, err)
	list := map[string]string{}
	for name, quantity := range q.Status.Used {
		list[string(name)] = quantity.String()
	}
	return list
}

func ofClass(claim *v1.PersistentVolumeClaim, class, size string) *v1.PersistentVolumeClaim {
	claim.Spec.StorageClassName = &class
	claim.Spec.Resources.Requests = amounts("storage", size)
	return claim
}

func claimed(client kubernetes.Interface, claim *v1.PersistentVolumeClaim) error {
	_, err := client.CoreV1().PersistentVolumeClaims("default").Create(context.Background(), claim, metav1.CreateOptions{})
	return err
}

// semantics 8.3 (1), (2), (3).
func TestAClaimBeyondItsQuotaIsRefusedInUpstreamsWords(t *testing.T) {
	client := fake.New(api.NewServer(api.Config{}), "user")
	counted(t, client, "storage", v1.ResourceQuotaSpec{Hard: amounts("requests.storage", "10Gi", "persistentvolumeclaims", "3",
		"gold.storageclass.storage.k8s.io/requests.storage", "4Gi", "count/persistentvolumeclaims", "5")})

	require.NoError(t, claimed(client, ofClass(newClaim("a"), "gold", "3Gi")))
	require.Equal(t, map[string]string{"requests.storage": "3Gi", "persistentvolumeclaims": "1", "count/persistentvolumeclaims": "1",
		"gold.storageclass.storage.k8s.io/requests.storage": "3Gi"}, used(t, client, "storage"))

	err := claimed(client, ofClass(newClaim("b"), "gold", "2Gi"))
	require.True(t, apierrors.IsForbidden(err), "%v", err)
	require.EqualError(t, err, `persistentvolumeclaims "b" is forbidden: exceeded quota: storage, `+
		`requested: gold.storageclass.storage.k8s.io/requests.storage=2Gi, used: gold.storageclass.storage.k8s.io/requests.storage=3Gi, `+
		`limited: gold.storageclass.storage.k8s.io/requests.storage=4Gi`)

	require.NoError(t, claimed(client, ofClass(newClaim("b"), "silver", "6Gi")))
	require.EqualError(t, claimed(client, ofClass(newClaim("c"), "silver", "2Gi")), `persistentvolumeclaims "c" is forbidden: exceeded quota: storage, `+
		`requested: requests.storage=2Gi, used: requests.storage=9Gi, limited: requests.storage=10Gi`)
	require.NoError(t, claimed(client, ofClass(newClaim("c"), "silver", "1Gi")))
	require.EqualError(t, claimed(client, ofClass(newClaim("d"), "silver", "1Gi")), `persistentvolumeclaims "d" is forbidden: exceeded quota: storage, `+
		`requested: persistentvolumeclaims=1,requests.storage=1Gi, used: persistentvolumeclaims=3,requests.storage=10Gi, limited: persistentvolumeclaims=3,`+
		`requests.storage=10Gi`)
	require.Equal(t, "10Gi", used(t, client, "storage")["requests.storage"], "a refusal charges nothing")
}

// semantics 8.3 (4).
func TestAClaimThatGrowsIsChargedWhatItGrows(t *testing.T) {
	client := fake.New(api.NewServer(api.Config{}), "user")
	class := defaultClassNamed("std")
	class.AllowVolumeExpansion = new(true)
	_, err := client.StorageV1().StorageClasses().Create(context.Background(), class, metav1.CreateOptions{})
	require.NoError(t, err)
	counted(t, client, "storage", v1.ResourceQuotaSpec{Hard: amounts("requests.storage", "8Gi")})
	claim := boundClaim(t, client, "data")
	require.Equal(t, "5Gi", used(t, client, "storage")["requests.storage"])
	grow := func(size string) error {
		patch := []byte(`{"spec":{"resources":{"requests":{"storage":"` + size + `"}}}}`)
		_, err := client.CoreV1().PersistentVolumeClaims("default").Patch(context.Background(), claim.Name, types.MergePatchType, patch, metav1.PatchOptions{})
		return err
	}
	require.EqualError(t, grow("9Gi"), `persistentvolumeclaims "data" is forbidden: exceeded quota: storage, requested: requests.storage=4Gi, `+
		`used: requests.storage=5Gi, limited: requests.storage=8Gi`)
	require.NoError(t, grow("8Gi"))
	require.Equal(t, "8Gi", used(t, client, "storage")["requests.storage"])
}

// semantics 8.3 (5).
func TestAQuotaOfAnAttributesClassCountsTheClaimsThatHaveIt(t *testing.T) {
	client := fake.New(api.NewServer(api.Config{}), "user")
	counted(t, client, "fast", v1.ResourceQuotaSpec{Hard: amounts("persistentvolumeclaims", "1"), ScopeSelector: &v1.ScopeSelector{
		MatchExpressions: []v1.ScopedResourceSelectorRequirement{{ScopeName: v1.ResourceQuotaScopeVolumeAttributesClass, Operator: v1.ScopeSelectorOpIn,
			Values: []string{"fast"}}},
	}})
	of := func(name, class string) *v1.PersistentVolumeClaim {
		claim := newClaim(name)
		if class != "" {
			claim.Spec.VolumeAttributesClassName = &class
		}
		return claim
	}
	require.NoError(t, claimed(client, of("a", "fast")))
	require.EqualError(t, claimed(client, of("b", "fast")), `persistentvolumeclaims "b" is forbidden: exceeded quota: fast, `+
		`requested: persistentvolumeclaims=1, used: persistentvolumeclaims=1, limited: persistentvolumeclaims=1`)
	require.NoError(t, claimed(client, of("b", "slow")))
	require.NoError(t, claimed(client, of("c", "")))
}

// semantics 8.3 (6), (7).
func TestAPodUnderAQuotaOfComputeMustSayWhatItNeeds(t *testing.T) {
	client := fake.New(api.NewServer(api.Config{}), "user")
	counted(t, client, "compute", v1.ResourceQuotaSpec{Hard: amounts("requests.cpu", "1", "limits.memory", "1Gi", "pods", "5")})
	create := func(name string, containers ...v1.Container) error {
		pod := &v1.Pod{ObjectMeta: metav1.ObjectMeta{GenerateName: name + "-"}, Spec: v1.PodSpec{Containers: containers}}
		_, err := client.CoreV1().Pods("default").Create(context.Background(), pod, metav1.CreateOptions{})
		return err
	}
	container := func(name, cpu, memory string) v1.Container {
		return v1.Container{Name: name, Image: "busybox", Resources: v1.ResourceRequirements{Requests: amounts("cpu", cpu), Limits: amounts("memory", memory)}}
	}
	err := create("web", v1.Container{Name: "b", Image: "busybox"},
		v1.Container{Name: "a", Image: "busybox", Resources: v1.ResourceRequirements{Requests: amounts("cpu", "1")}})
	require.True(t, apierrors.IsForbidden(err), "%v", err)
	require.ErrorContains(t, err, ` is forbidden: failed quota: compute: must specify limits.memory for: a,b; requests.cpu for: b`)

	require.NoError(t, create("web", container("a", "250m", "200Mi"), container("b", "250m", "200Mi")))
	require.Equal(t, map[string]string{"requests.cpu": "500m", "limits.memory": "400Mi", "pods": "1"}, used(t, client, "compute"))
	require.ErrorContains(t, create("web", container("a", "600m", "1Mi")),
		` is forbidden: exceeded quota: compute, requested: requests.cpu=600m, used: requests.cpu=500m, limited: requests.cpu=1`)
}

// semantics 8.3 (8), (9).
func TestAQuotaIsAskedOnlyOnceItsStatusSaysWhatItLimits(t *testing.T) {
	ctx, client := context.Background(), fake.New(api.NewServer(api.Config{}), "user")
	quotas := client.CoreV1().ResourceQuotas("default")
	q, err := quotas.Create(ctx, &v1.ResourceQuota{ObjectMeta: metav1.ObjectMeta{Name: "few"}, Spec: v1.ResourceQuotaSpec{Hard: amounts("configmaps", "1")}},
		metav1.CreateOptions{})
	require.NoError(t, err)
	create := func(name string, options metav1.CreateOptions) error {
		_, err := client.CoreV1().ConfigMaps("default").Create(ctx, &v1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name}}, options)
		return err
	}
	require.NoError(t, create("a", metav1.CreateOptions{}), "the controller has not counted yet")
	q.Status.Hard = q.Spec.Hard
	q, err = quotas.UpdateStatus(ctx, q, metav1.UpdateOptions{})
	require.NoError(t, err)
	require.EqualError(t, create("b", metav1.CreateOptions{}), `configmaps "b" is forbidden: status unknown for quota: few, resources: configmaps`)

	q.Status.Used = amounts("configmaps", "0")
	_, err = quotas.UpdateStatus(ctx, q, metav1.UpdateOptions{})
	require.NoError(t, err)
	require.NoError(t, create("b", metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}}))
	require.Equal(t, map[string]string{"configmaps": "0"}, used(t, client, "few"), "a dry run charges nothing")
	require.True(t, apierrors.IsAlreadyExists(create("a", metav1.CreateOptions{})))
	require.Equal(t, map[string]string{"configmaps": "1"}, used(t, client, "few"), "what fails afterwards stays charged")
}

func TestChargingAQuotaIsAWriteOfTheServer(t *testing.T) {
	server := api.NewServer(api.Config{})
	client := fake.New(server, "user")
	counted(t, client, "few", v1.ResourceQuotaSpec{Hard: amounts("persistentvolumeclaims", "1")})
	var writes []string
	server.OnWrite(func(w trace.Write) {
		writes = append(writes, w.Actor+" "+w.Verb+" "+w.Resource.Resource+" "+w.Subresource)
	})
	require.NoError(t, claimed(client, newClaim("data")))
	require.Error(t, claimed(client, newClaim("more")))
	require.Equal(t, []string{"kube-apiserver update resourcequotas status", "user create persistentvolumeclaims ", "user create persistentvolumeclaims "}, writes)
}

// limited makes a LimitRange.
func limited(t *testing.T, client kubernetes.Interface, items ...v1.LimitRangeItem) {
	t.Helper()
	_, err := client.CoreV1().LimitRanges("default").Create(context.Background(),
		&v1.LimitRange{ObjectMeta: metav1.ObjectMeta{Name: "limits"}, Spec: v1.LimitRangeSpec{Limits: items}}, metav1.CreateOptions{})
	require.NoError(t, err)
}

// semantics 8.4 (1).
func TestAClaimOutsideOfTheLimitsIsRefused(t *testing.T) {
	client := fake.New(api.NewServer(api.Config{}), "user")
	limited(t, client, v1.LimitRangeItem{Type: v1.LimitTypePersistentVolumeClaim, Min: amounts("storage", "1Gi"), Max: amounts("storage", "10Gi")})
	err := claimed(client, ofClass(newClaim("large"), "std", "11Gi"))
	require.True(t, apierrors.IsForbidden(err), "%v", err)
	require.EqualError(t, err, `persistentvolumeclaims "large" is forbidden: maximum storage usage per PersistentVolumeClaim is 10Gi, but request is 11Gi`)
	require.EqualError(t, claimed(client, ofClass(newClaim("small"), "std", "1Mi")),
		`persistentvolumeclaims "small" is forbidden: minimum storage usage per PersistentVolumeClaim is 1Gi, but request is 1Mi`)
	require.NoError(t, claimed(client, ofClass(newClaim("right"), "std", "10Gi")))
}

// semantics 8.4 (2), (3).
func TestContainersGetTheLimitsOfTheirNamespace(t *testing.T) {
	client := fake.New(api.NewServer(api.Config{}), "user")
	limited(t, client,
		v1.LimitRangeItem{Type: v1.LimitTypeContainer, Max: amounts("cpu", "1"), DefaultRequest: amounts("memory", "64Mi"),
			MaxLimitRequestRatio: amounts("cpu", "4")},
		v1.LimitRangeItem{Type: v1.LimitTypePod, Max: amounts("cpu", "1500m")})
	create := func(resources ...v1.ResourceRequirements) (*v1.Pod, error) {
		pod := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "web"}}
		for i, r := range resources {
			pod.Spec.Containers = append(pod.Spec.Containers, v1.Container{Name: "c" + string(rune('0'+i)), Image: "busybox", Resources: r})
		}
		return client.CoreV1().Pods("default").Create(context.Background(), pod, metav1.CreateOptions{})
	}
	_, err := create(v1.ResourceRequirements{}, v1.ResourceRequirements{})
	require.EqualError(t, err, `pods "web" is forbidden: maximum cpu usage per Pod is 1500m, but limit is 2`)
	_, err = create(v1.ResourceRequirements{Requests: amounts("cpu", "100m"), Limits: amounts("cpu", "2")})
	require.EqualError(t, err, `pods "web" is forbidden: [maximum cpu usage per Container is 1, but limit is 2, `+
		`cpu max limit to request ratio per Container is 4, but provided ratio is 20.000000, maximum cpu usage per Pod is 1500m, but limit is 2]`)

	pod, err := create(v1.ResourceRequirements{})
	require.NoError(t, err)
	require.Equal(t, "LimitRanger plugin set: cpu, memory request for container c0; cpu limit for container c0", pod.Annotations["kubernetes.io/limit-ranger"])
	require.Equal(t, "1", pod.Spec.Containers[0].Resources.Requests.Cpu().String())
	require.Equal(t, "64Mi", pod.Spec.Containers[0].Resources.Requests.Memory().String())
	require.Equal(t, v1.PodQOSBurstable, pod.Status.QOSClass)
}
