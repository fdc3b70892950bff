package admission

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	storagev1 "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/storagesim/storagesim/api/internal/apitest"
	"github.com/storagesim/storagesim/api/internal/strategy"
	"github.com/storagesim/storagesim/api/internal/validation/pods"
)

// stored holds the objects that a test's plugin reads: all of one resource.
type stored []runtime.Object

func (s stored) Get(_ schema.GroupVersionResource, key string) (runtime.Object, bool) {
	for _, obj := range s {
		if obj.(metav1.Object).GetName() == key {
			return obj, true
		}
	}
	return nil, false
}

func (s stored) List(schema.GroupVersionResource, string) []runtime.Object { return s }

func classAt(name, annotation, value string, age time.Duration) *storagev1.StorageClass {
	return &storagev1.StorageClass{ObjectMeta: metav1.ObjectMeta{
		Name: name, Annotations: map[string]string{annotation: value}, CreationTimestamp: metav1.NewTime(apitest.Now.Add(-age)),
	}}
}

// semantics 8 must 13.
func TestTheNewestDefaultClassWinsAndTheSmallerNameBreaksTies(t *testing.T) {
	claim := func(classes ...runtime.Object) *string {
		c := apitest.Parse(t, apitest.GoodClaim, "spec: {storageClassName: null}").(*v1.PersistentVolumeClaim)
		applyDefaultClass(c, classes)
		return c.Spec.StorageClassName
	}
	older, newer := classAt("older", defaultClassAnnotation, "true", time.Hour), classAt("newer", defaultClassAnnotation, "true", 0)
	also := classAt("also-new", betaDefaultClassAnnotation, "true", 0)
	require.Nil(t, claim())
	require.Equal(t, "older", *claim(older))
	require.Equal(t, "newer", *claim(older, newer))
	require.Equal(t, "newer", *claim(newer, older))
	require.Equal(t, "also-new", *claim(newer, also), "the beta annotation counts, and the smaller name wins")
	require.Nil(t, claim(classAt("no", defaultClassAnnotation, "True", 0)), "the value must be exactly true")
}

func TestAClaimThatSaysAnythingOfItsClassKeepsIt(t *testing.T) {
	require.False(t, claimHasClass(apitest.Parse(t, apitest.GoodClaim, "spec: {storageClassName: null}").(*v1.PersistentVolumeClaim)))
	for _, patch := range []string{"spec: {storageClassName: ''}", "spec: {storageClassName: a}",
		"{metadata: {annotations: {volume.beta.kubernetes.io/storage-class: ''}}, spec: {storageClassName: null}}"} {
		require.True(t, claimHasClass(apitest.Parse(t, apitest.GoodClaim, patch).(*v1.PersistentVolumeClaim)), patch)
	}
}

// semantics 8 must 7.
func TestAClaimGrowsOnlyWhereItsClassAllows(t *testing.T) {
	class := func(allowed *bool) stored {
		return stored{&storagev1.StorageClass{ObjectMeta: metav1.ObjectMeta{Name: "manual"}, AllowVolumeExpansion: allowed}}
	}
	none := stored{}
	resize := func(phase v1.PersistentVolumeClaimPhase, size string, classes stored) error {
		old := apitest.Created(t, apitest.GoodClaim).(*v1.PersistentVolumeClaim)
		old.Status.Phase = phase
		claim := old.DeepCopy()
		claim.Spec.Resources.Requests[v1.ResourceStorage] = resource.MustParse(size)
		return admitResize(classes, claim, old)
	}
	require.NoError(t, resize(v1.ClaimBound, "6Gi", class(new(true))))
	require.NoError(t, resize(v1.ClaimBound, "5Gi", none), "nothing grows")
	require.NoError(t, resize(v1.ClaimBound, "4Gi", none), "shrinking is for validation to refuse")

	const recorded = `persistentvolumeclaims "data" is forbidden: only dynamically provisioned pvc can be resized ` +
		`and the storageclass that provisions the pvc must support resize`
	for name, class := range map[string]stored{
		"no class": none, "a silent class": class(nil), "a class against it": class(new(false))} {
		err := resize(v1.ClaimBound, "6Gi", class)
		require.True(t, apierrors.IsForbidden(err), name)
		require.EqualError(t, err, recorded, name)
	}
	require.EqualError(t, resize(v1.ClaimPending, "6Gi", none),
		`persistentvolumeclaims "data" is forbidden: Only bound persistent volume claims can be expanded`)
}

func TestAPodToleratesALostNodeForFiveMinutesUnlessItSaysOtherwise(t *testing.T) {
	keys := func(tolerations string) (keys []string) {
		pod := apitest.Parse(t, apitest.GoodPod, "spec: {tolerations: ["+tolerations+"]}").(*v1.Pod)
		strategy.AddDefaultTolerations(&pod.Spec)
		for _, toleration := range pod.Spec.Tolerations {
			keys = append(keys, toleration.Key)
		}
		return keys
	}
	const notReady, unreachable = "node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable"
	require.Equal(t, []string{notReady, unreachable}, keys(""))
	require.Equal(t, []string{notReady, unreachable}, keys("{key: "+notReady+", operator: Exists, effect: NoExecute, tolerationSeconds: 5}"))
	require.Equal(t, []string{""}, keys("{operator: Exists}"))
	require.Equal(t, []string{notReady, notReady, unreachable}, keys("{key: "+notReady+", operator: Exists, effect: NoSchedule}"))
}

func TestAPodsPriorityComesFromItsClass(t *testing.T) {
	class := &schedulingv1.PriorityClass{ObjectMeta: metav1.ObjectMeta{Name: "high"}, Value: 7, PreemptionPolicy: new(v1.PreemptNever)}
	normal := &schedulingv1.PriorityClass{ObjectMeta: metav1.ObjectMeta{Name: "normal"}, Value: 3, GlobalDefault: true}
	admit := func(patch string, classes ...runtime.Object) (*v1.Pod, error) {
		pod := apitest.Parse(t, apitest.GoodPod, patch).(*v1.Pod)
		return pod, admitPriority(stored(classes), pod)
	}
	for _, row := range []struct {
		patch    string
		classes  []runtime.Object
		priority int32
		policy   v1.PreemptionPolicy
		name     string
	}{
		{"", nil, 0, v1.PreemptLowerPriority, ""},
		{"", []runtime.Object{class, normal}, 3, v1.PreemptLowerPriority, "normal"},
		{"spec: {priorityClassName: high}", []runtime.Object{class}, 7, v1.PreemptNever, "high"},
		{"spec: {priorityClassName: high, priority: 7}", []runtime.Object{class}, 7, v1.PreemptNever, "high"},
		{"spec: {priorityClassName: system-node-critical}", nil, 2_000_001_000, v1.PreemptLowerPriority, "system-node-critical"},
	} {
		pod, err := admit(row.patch, row.classes...)
		require.NoError(t, err, row.patch)
		require.Equal(t, row.priority, *pod.Spec.Priority, row.patch)
		require.Equal(t, row.policy, *pod.Spec.PreemptionPolicy, row.patch)
		require.Equal(t, row.name, pod.Spec.PriorityClassName, row.patch)
	}
	_, err := admit("spec: {priorityClassName: gone}")
	require.True(t, apierrors.IsForbidden(err))
	require.EqualError(t, err, `pods "web" is forbidden: no PriorityClass with name gone was found`)
	_, err = admit("spec: {priority: 9}")
	require.EqualError(t, err, `pods "web" is forbidden: the integer value of priority (9) must not be provided in pod spec; `+
		`priority admission controller computed 0 from the given PriorityClass name`)
}

func TestAnUpdateFromTheOriginalManifestOfAPodKeepsWhatAdmissionWrote(t *testing.T) {
	old := apitest.Created(t, apitest.GoodPod).(*v1.Pod)
	strategy.AddDefaultTolerations(&old.Spec)
	require.NoError(t, admitPriority(stored{}, old))
	pod := apitest.Created(t, apitest.GoodPod, "metadata: {labels: {a: b}}")
	apitest.Updated(pod, old)
	rules := pods.Pods()
	require.Empty(t, apitest.Words(rules.ValidateUpdate(pod, old)))
}
