package api

import (
	"reflect"
	"sync"

	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/scheme"
)

// object is what the server stores: a pointer to a typed API object.
type object interface {
	runtime.Object
	metav1.Object
}

// kind is what the server knows about one resource.
type kind struct {
	gvr        schema.GroupVersionResource
	gvk        schema.GroupVersionKind
	namespaced bool
	// typ is the Go struct of an object, listType that of a list.
	typ, listType reflect.Type
	// spec and status are the indexes of those fields in the struct, -1 if there
	// are none.
	spec, status int
	// generation: metadata.generation counts the changes of the spec.
	generation bool
	// conditional: an update must say which version it is based on.
	conditional bool
}

func (k *kind) newObject() object { return reflect.New(k.typ).Interface().(object) }

func (k *kind) newList() runtime.Object { return reflect.New(k.listType).Interface().(runtime.Object) }

// keep gives obj old's value of the field at index.
func keep(index int, obj, old runtime.Object) {
	reflect.ValueOf(obj).Elem().Field(index).Set(reflect.ValueOf(old).Elem().Field(index))
}

func sameField(index int, a, b runtime.Object) bool {
	x, y := reflect.ValueOf(a).Elem().Field(index), reflect.ValueOf(b).Elem().Field(index)
	return semanticEqual(x.Addr().Interface(), y.Addr().Interface())
}

// kinds is the table of all resources: every kind of client-go's scheme that has
// metadata and a list.
var kinds = sync.OnceValue(func() map[schema.GroupVersionResource]*kind {
	table := map[schema.GroupVersionResource]*kind{}
	for gvk, typ := range scheme.Scheme.AllKnownTypes() {
		listType, ok := scheme.Scheme.AllKnownTypes()[gvk.GroupVersion().WithKind(gvk.Kind+"List")]
		if !ok || gvk.Version == runtime.APIVersionInternal {
			continue
		}
		if _, ok := reflect.New(typ).Interface().(object); !ok {
			continue
		}
		gvr, _ := meta.UnsafeGuessKindToResource(gvk)
		table[gvr] = &kind{
			gvr: gvr, gvk: gvk, namespaced: !clusterScoped[gvk.Kind], typ: typ, listType: listType,
			spec: fieldIndex(typ, "Spec"), status: fieldIndex(typ, "Status"),
			generation: countsGenerations[gvk.Kind], conditional: conditionalUpdate[gvk.Kind],
		}
	}
	// The status of a CSINode came after release 1.36: what the library has of it is
	// dropped (see Canonicalize of package strategy).
	table[storagev1.SchemeGroupVersion.WithResource("csinodes")].status = -1
	return table
})

func fieldIndex(typ reflect.Type, name string) int {
	if f, ok := typ.FieldByName(name); ok && len(f.Index) == 1 && f.Type.Kind() == reflect.Struct {
		return f.Index[0]
	}
	return -1
}

// clusterScoped are the kinds without a namespace. No kind is cluster-scoped in
// one group or version and namespaced in another.
var clusterScoped = set(
	"ComponentStatus", "Namespace", "Node", "PersistentVolume",
	"MutatingAdmissionPolicy", "MutatingAdmissionPolicyBinding", "MutatingWebhookConfiguration",
	"ValidatingAdmissionPolicy", "ValidatingAdmissionPolicyBinding", "ValidatingWebhookConfiguration",
	"StorageVersion", "StorageVersionMigration",
	"CertificateSigningRequest", "ClusterTrustBundle",
	"FlowSchema", "PriorityLevelConfiguration",
	"IngressClass", "IPAddress", "ServiceCIDR",
	"RuntimeClass", "PriorityClass",
	"ClusterRole", "ClusterRoleBinding",
	"DeviceClass", "DeviceTaintRule", "ResourceSlice", "ResourcePoolStatusRequest",
	"CSIDriver", "CSINode", "StorageClass", "VolumeAttachment", "VolumeAttributesClass",
)

// countsGenerations are the kinds whose metadata.generation counts changes of
// the spec. Of the storage plane these are the pod and the CSIDriver.
var countsGenerations = set(
	"Pod", "ReplicationController", "Deployment", "ReplicaSet", "StatefulSet", "DaemonSet",
	"Job", "CronJob", "PodDisruptionBudget", "HorizontalPodAutoscaler",
	"Ingress", "IngressClass", "NetworkPolicy",
	"FlowSchema", "PriorityLevelConfiguration", "PriorityClass",
	"MutatingAdmissionPolicy", "MutatingAdmissionPolicyBinding", "MutatingWebhookConfiguration",
	"ValidatingAdmissionPolicy", "ValidatingAdmissionPolicyBinding", "ValidatingWebhookConfiguration",
	"DeviceClass", "DeviceTaintRule", "ResourceSlice",
	"CSIDriver",
)

// conditionalUpdate are the kinds of which an update without resourceVersion is
// refused. Upstream: AllowUnconditionalUpdate of each strategy, v1.36.
var conditionalUpdate = set(
	"VolumeAttachment", "CSIDriver", "CSINode", "CSIStorageCapacity",
	"Lease", "LeaseCandidate", "EndpointSlice", "PodDisruptionBudget", "RuntimeClass", "IngressClass",
	"FlowSchema", "PriorityLevelConfiguration", "StorageVersion", "ClusterTrustBundle",
	"MutatingAdmissionPolicy", "MutatingAdmissionPolicyBinding", "MutatingWebhookConfiguration",
	"ValidatingAdmissionPolicy", "ValidatingAdmissionPolicyBinding", "ValidatingWebhookConfiguration",
)

func set(names ...string) map[string]bool {
	m := make(map[string]bool, len(names))
	for _, name := range names {
		m[name] = true
	}
	return m
}
