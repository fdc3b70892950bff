package admission

import (
	"slices"

	v1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/storagesim/storagesim/api/internal/refusal"
)

// The finalizers that keep an object while it is in use.
const (
	pvcProtection = "kubernetes.io/pvc-protection"
	pvProtection  = "kubernetes.io/pv-protection"
	vacProtection = "kubernetes.io/vac-protection"
)

const (
	defaultClassAnnotation     = "storageclass.kubernetes.io/is-default-class"
	betaDefaultClassAnnotation = "storageclass.beta.kubernetes.io/is-default-class"
)

// addFinalizer adds a finalizer, unless the object has it.
// Upstream: plugin/pkg/admission/storage/storageobjectinuseprotection, v1.37.
func addFinalizer(m *metav1.ObjectMeta, finalizer string) {
	if !slices.Contains(m.Finalizers, finalizer) {
		m.Finalizers = append(m.Finalizers, finalizer)
	}
}

// claimHasClass reports whether the claim says which class it wants; an empty
// class is an answer, too.
func claimHasClass(claim *v1.PersistentVolumeClaim) bool {
	_, annotated := claim.Annotations[v1.BetaStorageClassAnnotation]
	return annotated || claim.Spec.StorageClassName != nil
}

func claimClass(claim *v1.PersistentVolumeClaim) string {
	if class, ok := claim.Annotations[v1.BetaStorageClassAnnotation]; ok {
		return class
	}
	if claim.Spec.StorageClassName != nil {
		return *claim.Spec.StorageClassName
	}
	return ""
}

// applyDefaultClass gives a claim the default class, if there is one.
// Upstream: plugin/pkg/admission/storage/storageclass/setdefault, v1.37.
func applyDefaultClass(claim *v1.PersistentVolumeClaim, classes []runtime.Object) {
	if class := defaultClass(classes); class != nil {
		name := class.Name
		claim.Spec.StorageClassName = &name
	}
}

// defaultClass picks among the classes marked as default the newest, and among
// equally old ones the first by name. Upstream: volume/util GetDefaultClass, v1.37.
func defaultClass(classes []runtime.Object) *storagev1.StorageClass {
	var best *storagev1.StorageClass
	for _, obj := range classes {
		class, ok := obj.(*storagev1.StorageClass)
		if !ok || class.Annotations[defaultClassAnnotation] != "true" && class.Annotations[betaDefaultClassAnnotation] != "true" {
			continue
		}
		if best == nil || best.CreationTimestamp.Before(&class.CreationTimestamp) ||
			best.CreationTimestamp.Equal(&class.CreationTimestamp) && class.Name < best.Name {
			best = class
		}
	}
	return best
}

// admitResize lets a claim grow only when it is bound and its class allows that.
// Upstream: plugin/pkg/admission/storage/persistentvolume/resize, v1.37.
func admitResize(r Reader, claim, old *v1.PersistentVolumeClaim) error {
	size, oldSize := claim.Spec.Resources.Requests[v1.ResourceStorage], old.Spec.Resources.Requests[v1.ResourceStorage]
	if size.Cmp(oldSize) <= 0 {
		return nil
	}
	resource := v1.Resource("persistentvolumeclaims")
	if old.Status.Phase != v1.ClaimBound {
		return refusal.Forbidden(resource, claim.Name, "Only bound persistent volume claims can be expanded")
	}
	// The old claim counts: the class must not change together with the size.
	if name := claimClass(old); name != "" {
		if c := get[*storagev1.StorageClass](r, storageClasses, name); c != nil && c.AllowVolumeExpansion != nil && *c.AllowVolumeExpansion {
			return nil
		}
	}
	return refusal.Forbidden(resource, claim.Name,
		"only dynamically provisioned pvc can be resized and the storageclass that provisions the pvc must support resize")
}
