package quota

import (
	"slices"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// classSuffix follows the name of a class in entries of spec.hard: gold.storageclass.storage.k8s.io/requests.storage.
const classSuffix = ".storageclass.storage.k8s.io/"

// claimNames are the entries of spec.hard that may be preceded by a class.
var claimNames = []v1.ResourceName{v1.ResourcePersistentVolumeClaims, v1.ResourceRequestsStorage}

// claims returns the evaluator of claims.
// Upstream: quota/v1/evaluator/core persistent_volume_claims.go, v1.37.
func claims() Evaluator {
	count := CountName(schema.GroupResource{Resource: "persistentvolumeclaims"})
	return Evaluator{
		counts: func(name v1.ResourceName) bool {
			return name == count || slices.Contains(claimNames, name) || slices.ContainsFunc(claimNames, func(of v1.ResourceName) bool {
				return strings.HasSuffix(string(name), classSuffix+string(of))
			})
		},
		usage: func(obj runtime.Object, _ time.Time) v1.ResourceList {
			return claimUsage(count, obj.(*v1.PersistentVolumeClaim))
		},
		inScope: func(scope v1.ScopedResourceSelectorRequirement, obj runtime.Object) bool {
			return scope.ScopeName == v1.ResourceQuotaScopeVolumeAttributesClass && among(scope, attributesClasses(obj.(*v1.PersistentVolumeClaim)))
		},
		concerns: func(sub string, _, _ runtime.Object) bool { return sub == "" || sub == "status" },
	}
}

func claimUsage(count v1.ResourceName, claim *v1.PersistentVolumeClaim) v1.ResourceList {
	list := v1.ResourceList{v1.ResourcePersistentVolumeClaims: one(), count: one()}
	if size, asks := requestedStorage(claim); asks {
		list[v1.ResourceRequestsStorage] = size
	}
	if class := classOf(claim); class != "" {
		for _, name := range claimNames {
			if q, found := list[name]; found {
				list[v1.ResourceName(class+classSuffix+string(name))] = q
			}
		}
	}
	return list
}

// classOf returns the name of the claim's class.
// Upstream: component-helpers storage/volume GetPersistentVolumeClaimClass, v1.37.
func classOf(claim *v1.PersistentVolumeClaim) string {
	if class, found := claim.Annotations[v1.BetaStorageClassAnnotation]; found {
		return class
	}
	if claim.Spec.StorageClassName != nil {
		return *claim.Spec.StorageClassName
	}
	return ""
}

// requestedStorage returns the bytes that a claim asks for, or that are being made for it if these are more.
// Upstream: quota/v1/evaluator/core getStorageUsage, v1.37.
func requestedStorage(claim *v1.PersistentVolumeClaim) (size resource.Quantity, asks bool) {
	size, asks = claim.Spec.Resources.Requests[v1.ResourceStorage]
	if !asks {
		return size, false
	}
	if allocated, found := claim.Status.AllocatedResources[v1.ResourceStorage]; found && allocated.Cmp(size) > 0 {
		size = allocated
	}
	size = size.DeepCopy()
	size.RoundUp(0)
	return size, true
}

// attributesClasses returns the VolumeAttributesClasses that a claim has, asks for, or is being changed to.
// Upstream: quota/v1/evaluator/core getReferencedVolumeAttributesClassNames, v1.37.
func attributesClasses(claim *v1.PersistentVolumeClaim) []string {
	var names []string
	for _, name := range []*string{claim.Spec.VolumeAttributesClassName, claim.Status.CurrentVolumeAttributesClassName} {
		if name != nil && *name != "" {
			names = append(names, *name)
		}
	}
	if modify := claim.Status.ModifyVolumeStatus; modify != nil && modify.TargetVolumeAttributesClassName != "" {
		names = append(names, modify.TargetVolumeAttributesClassName)
	}
	return names
}
