package validation_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	v1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/storagesim/storagesim/api/internal/apitest"
	"github.com/storagesim/storagesim/api/internal/strategy"
	"github.com/storagesim/storagesim/api/internal/validation"
	"github.com/storagesim/storagesim/api/internal/validation/cluster"
	"github.com/storagesim/storagesim/api/internal/validation/pods"
	"github.com/storagesim/storagesim/api/internal/validation/storage"
	"github.com/storagesim/storagesim/api/internal/validation/workloads"
)

// A refusal is a change of a good manifest and what is wrong with it then.
type refusal struct {
	name  string
	patch string
	want  []string // the problems, each as "field: type: message"
}

// kindOf returns the rules for an object of the tests.
func kindOf(obj runtime.Object) *validation.Kind {
	of := func(k validation.Kind) *validation.Kind { return &k }
	switch obj.(type) {
	case *v1.PersistentVolumeClaim:
		return of(storage.Claims())
	case *v1.PersistentVolume:
		return of(storage.Volumes())
	case *v1.Pod:
		return of(pods.Pods())
	case *v1.Event:
		return of(cluster.Events())
	case *v1.Node:
		return of(cluster.Nodes())
	case *v1.Namespace:
		return of(cluster.Namespaces())
	case *v1.ConfigMap:
		return of(cluster.ConfigMaps())
	case *v1.Secret:
		return of(cluster.Secrets())
	case *v1.ResourceQuota:
		return of(cluster.ResourceQuotas())
	case *v1.LimitRange:
		return of(cluster.LimitRanges())
	case *storagev1.StorageClass:
		return of(storage.StorageClasses())
	case *storagev1.VolumeAttributesClass:
		return of(storage.VolumeAttributesClasses())
	case *storagev1.VolumeAttachment:
		return of(storage.VolumeAttachments())
	case *storagev1.CSIDriver:
		return of(storage.CSIDrivers())
	case *storagev1.CSINode:
		return of(storage.CSINodes())
	case *storagev1.CSIStorageCapacity:
		return of(storage.CSIStorageCapacities())
	case *appsv1.StatefulSet:
		return of(workloads.StatefulSets())
	case *appsv1.Deployment:
		return of(workloads.Deployments())
	case *appsv1.DaemonSet:
		return of(workloads.DaemonSets())
	case *appsv1.ReplicaSet:
		return of(workloads.ReplicaSets())
	case *batchv1.Job:
		return of(workloads.Jobs())
	case *batchv1.CronJob:
		return of(workloads.CronJobs())
	case *policyv1.PodDisruptionBudget:
		return of(workloads.DisruptionBudgets())
	case *rbacv1.ClusterRole:
		return of(cluster.ClusterRoles())
	case *v1.Service:
		return of(cluster.Services())
	}
	return &validation.Kind{}
}

func create(obj runtime.Object) field.ErrorList {
	return kindOf(obj).ValidateCreate(obj, namespaced(obj))
}

func namespaced(obj runtime.Object) bool {
	switch obj.(type) {
	case *v1.PersistentVolume, *v1.Node, *v1.Namespace, *storagev1.StorageClass, *storagev1.VolumeAttributesClass, *storagev1.VolumeAttachment,
		*storagev1.CSIDriver, *storagev1.CSINode, *rbacv1.ClusterRole:
		return false
	}
	return true
}

func update(obj, old runtime.Object) field.ErrorList { return kindOf(obj).ValidateUpdate(obj, old) }

func updateStatus(obj, old runtime.Object) field.ErrorList {
	return kindOf(obj).ValidateUpdateStatus(obj, old)
}

// refusesNew checks that the manifest is good and that each change of it is refused.
func refusesNew(t *testing.T, manifest string, table []refusal) {
	t.Helper()
	require.Empty(t, apitest.Words(create(apitest.Created(t, manifest))), "the manifest itself is good")
	for _, row := range table {
		t.Run(row.name, func(t *testing.T) {
			require.Equal(t, row.want, apitest.Words(create(apitest.Created(t, manifest, row.patch))))
		})
	}
}

// refusesChange checks that each change of the stored object is answered as the
// row says; nothing wanted means the change is accepted.
func refusesChange(t *testing.T, manifest string, table []refusal) {
	t.Helper()
	for _, row := range table {
		t.Run(row.name, func(t *testing.T) {
			old := apitest.Created(t, manifest)
			obj := apitest.Created(t, manifest, row.patch)
			apitest.Updated(obj, old)
			require.Equal(t, row.want, apitest.Words(update(obj, old)))
		})
	}
}

func TestAKindWithoutRulesStillHasItsMetadataChecked(t *testing.T) {
	const role = "{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRole, metadata: {name: 'system:node'}}"
	require.Empty(t, apitest.Words(create(apitest.Created(t, role))), "the names of roles may have colons")

	const lease = "{apiVersion: coordination.k8s.io/v1, kind: Lease, metadata: {name: A, namespace: default}}"
	require.Contains(t, apitest.Words(create(apitest.Created(t, lease)))[0], `metadata.name: Invalid value: "A": a lowercase RFC 1123 subdomain`)
}

func TestCreatingAClaimAllocatesLittle(t *testing.T) {
	claim := apitest.Created(t, apitest.GoodClaim).(*v1.PersistentVolumeClaim)
	setDefaults, rules := strategy.Claims().Default, storage.Claims()
	allocs := testing.AllocsPerRun(100, func() {
		setDefaults(claim)
		if errs := rules.ValidateCreate(claim, true); len(errs) > 0 {
			t.Fatal(errs)
		}
	})
	require.LessOrEqual(t, allocs, 2.0, "good objects are recognised without building paths")
}

func BenchmarkValidateClaim(b *testing.B) { benchmarkValidate(b, apitest.GoodClaim) }

func BenchmarkValidateVolume(b *testing.B) { benchmarkValidate(b, apitest.GoodVolume) }

func BenchmarkValidatePod(b *testing.B) { benchmarkValidate(b, apitest.GoodPod) }

func benchmarkValidate(b *testing.B, manifest string) {
	obj := apitest.Created(b, manifest)
	setDefaults, rules := apitest.Strategy(obj).Default, kindOf(obj)
	b.Run("create", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			setDefaults(obj)
			rules.ValidateCreate(obj, namespaced(obj))
		}
	})
	old := obj.DeepCopyObject()
	b.Run("update", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			setDefaults(obj)
			rules.ValidateUpdate(obj, old)
		}
	})
}
