package storage

import (
	"maps"
	"slices"

	v1 "k8s.io/api/core/v1"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/util/diff"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/storagesim/storagesim/api/internal/validation"
	"github.com/storagesim/storagesim/internal/semantic"
)

const claimImmutable = "spec is immutable after creation except resources.requests and volumeAttributesClassName for bound claims"

// CheckClaimSpec validates the spec of a claim or claim template. old is the stored
// spec on an update, and nil otherwise.
// Upstream: core/validation ValidatePersistentVolumeClaimSpec, v1.37.
func CheckClaimSpec(p *validation.Problems, spec *v1.PersistentVolumeClaimSpec, path *field.Path, old *v1.PersistentVolumeClaimSpec) {
	if len(spec.AccessModes) == 0 {
		p.Required(path.Child("accessModes"), "at least 1 access mode is required")
	}
	if spec.Selector != nil && (old == nil || !semantic.Equal(spec.Selector, old.Selector)) {
		p.LabelSelector(spec.Selector, path.Child("selector"))
	}
	checkAccessModes(p, spec.AccessModes, path)

	// The odd path, without "requests", is upstream's.
	if size, ok := spec.Resources.Requests[v1.ResourceStorage]; !ok {
		p.Required(path.Child("resources").Key(string(v1.ResourceStorage)), "")
	} else {
		validation.CheckPositive(p, size, path.Child("resources"), string(v1.ResourceStorage))
	}

	if spec.StorageClassName != nil && *spec.StorageClassName != "" {
		checkClassName(p, *spec.StorageClassName, path, "storageClassName")
	}
	checkVolumeMode(p, spec.VolumeMode, path)
	checkDataSources(p, spec, old, path)
	if name := spec.VolumeAttributesClassName; name != nil && *name != "" {
		checkClassName(p, *name, path, "volumeAttributesClassName")
	}
}

// checkDataSources checks dataSource and dataSourceRef, which must agree.
func checkDataSources(p *validation.Problems, spec, old *v1.PersistentVolumeClaimSpec, path *field.Path) {
	// Where a group was named before, any other is allowed, too: what cannot change
	// is refused anyhow.
	hadGroup := old != nil && (old.DataSource != nil && old.DataSource.APIGroup != nil ||
		old.DataSourceRef != nil && old.DataSourceRef.APIGroup != nil)
	src, ref := spec.DataSource, spec.DataSourceRef
	if src != nil {
		checkDataSource(p, src.APIGroup, src.Kind, src.Name, hadGroup, path.Child("dataSource"))
	}
	if ref != nil {
		checkDataSource(p, ref.APIGroup, ref.Kind, ref.Name, hadGroup, path.Child("dataSourceRef"))
		if ref.Namespace != nil && *ref.Namespace != "" {
			p.Messages(path.Child("dataSourceRef", "namespace"), *ref.Namespace,
				apivalidation.ValidateNamespaceName(*ref.Namespace, false))
		}
	}
	switch {
	case src == nil || ref == nil:
	case ref.Namespace != nil && *ref.Namespace != "":
		p.Invalid(path, path.Child("dataSource"), "may not be specified when dataSourceRef.namespace is specified")
	case !validation.SamePtr(src.APIGroup, ref.APIGroup) || src.Kind != ref.Kind || src.Name != ref.Name:
		p.Invalid(path, path.Child("dataSource"), "must match dataSourceRef")
	}
}

func checkDataSource(p *validation.Problems, group *string, kind, name string, anyGroup bool, path *field.Path) {
	p.Need(path, "name", name)
	p.Need(path, "kind", kind)
	if group == nil || *group == "" {
		if kind != "PersistentVolumeClaim" {
			p.Invalid(path, kind, "must be 'PersistentVolumeClaim' when referencing the default apiGroup")
		}
		return
	}
	if !anyGroup {
		p.Subdomain(*group, path.Child("apiGroup"))
	}
}

// checkClaimUpdate lets a claim change what the control plane needs to change and
// nothing else: quotas and limits were checked when it was created.
// Upstream: core/validation ValidatePersistentVolumeClaimUpdate, v1.37.
func checkClaimUpdate(p *validation.Problems, claim, old *v1.PersistentVolumeClaim) {
	CheckClaimSpec(p, &claim.Spec, validation.SpecPath, &old.Spec)

	classMaySet := checkClaimClassUpdate(p, claim, old)
	if !sameClaimSpec(claim, old, classMaySet) {
		stored := old.DeepCopy()
		validation.ForgetEmpty(&stored.Spec)
		before, after := comparedSpecs(claim, stored, classMaySet)
		p.Forbidden(validation.SpecPath, claimImmutable+"\n"+diff.Diff(validation.InternalForm{Value: *before}, validation.InternalForm{Value: *after}))
	}

	size, oldSize := claim.Spec.Resources.Requests[v1.ResourceStorage], old.Spec.Resources.Requests[v1.ResourceStorage]
	capacity := old.Status.Capacity[v1.ResourceStorage]
	// A request may shrink, but not to the capacity or below: so a user can give up a failed
	// expansion.
	if size.Cmp(oldSize) < 0 && size.Cmp(capacity) <= 0 {
		p.Forbidden(validation.SpecPath.Child("resources", "requests", "storage"), "field can not be less than status.capacity")
	}
	if !validation.SamePtr(claim.Spec.VolumeMode, old.Spec.VolumeMode) {
		p.Immutable(claim.Spec.VolumeMode, old.Spec.VolumeMode, field.NewPath("volumeMode"))
	}
	if name := claim.Spec.VolumeAttributesClassName; old.Status.CurrentVolumeAttributesClassName != nil &&
		!validation.SamePtr(name, old.Spec.VolumeAttributesClassName) {
		switch {
		case name == nil:
			p.Forbidden(validation.SpecPath.Child("volumeAttributesClassName"),
				"update to nil is forbidden when status.currentVolumeAttributesClassName is not nil")
		case *name == "":
			p.Forbidden(validation.SpecPath.Child("volumeAttributesClassName"),
				"update to empty string is forbidden when status.currentVolumeAttributesClassName is not nil")
		}
	}
}

// checkClaimClassUpdate reports whether the class may go from unset to a value, and
// keeps the legacy class annotation fixed.
func checkClaimClassUpdate(p *validation.Problems, claim, old *v1.PersistentVolumeClaim) bool {
	annotation, annotated := claim.Annotations[v1.BetaStorageClassAnnotation]
	oldAnnotation, oldAnnotated := old.Annotations[v1.BetaStorageClassAnnotation]
	unset := old.Spec.StorageClassName == nil && claim.Spec.StorageClassName != nil

	// The move from the annotation to the field may drop the annotation.
	if unset && oldAnnotated && *claim.Spec.StorageClassName == oldAnnotation && (!annotated || annotation == oldAnnotation) {
		return true
	}
	if annotation != oldAnnotation {
		p.Invalid(validation.MetadataPath.Child("annotations", v1.BetaStorageClassAnnotation), annotation,
			apivalidation.FieldImmutableErrorMsg)
	}
	return unset && (!oldAnnotated || *claim.Spec.StorageClassName == oldAnnotation)
}

// comparedSpecs returns the specs as they are compared: what may change is the same in both.
func comparedSpecs(claim, old *v1.PersistentVolumeClaim, classMaySet bool) (before, after *v1.PersistentVolumeClaimSpec) {
	before, after = old.Spec.DeepCopy(), claim.Spec.DeepCopy()
	if before.VolumeName == "" {
		before.VolumeName = after.VolumeName
	}
	if classMaySet {
		after.StorageClassName = before.StorageClassName
	}
	if claim.Status.Phase == v1.ClaimBound {
		after.VolumeAttributesClassName = before.VolumeAttributesClassName
		if after.Resources.Requests != nil {
			after.Resources.Requests[v1.ResourceStorage] = before.Resources.Requests[v1.ResourceStorage]
		}
	}
	return before, after
}

// sameClaimSpec reports whether the specs are equal in what may not change.
func sameClaimSpec(claim, old *v1.PersistentVolumeClaim, classMaySet bool) bool {
	a, b := &claim.Spec, &old.Spec
	bound := claim.Status.Phase == v1.ClaimBound
	switch {
	case a.VolumeName != b.VolumeName && b.VolumeName != "":
		return false
	case !validation.SamePtr(a.StorageClassName, b.StorageClassName) && !classMaySet:
		return false
	case !validation.SamePtr(a.VolumeAttributesClassName, b.VolumeAttributesClassName) && !bound:
		return false
	case !validation.SamePtr(a.VolumeMode, b.VolumeMode) || !slices.Equal(a.AccessModes, b.AccessModes):
		return false
	case !sameResources(a.Resources.Requests, b.Resources.Requests, bound && a.Resources.Requests != nil):
		return false
	case !sameResources(a.Resources.Limits, b.Resources.Limits, false):
		return false
	}
	return sameDataSources(a, b) && (a.Selector == b.Selector || semantic.Equal(a.Selector, b.Selector))
}

func sameDataSources(a, b *v1.PersistentVolumeClaimSpec) bool {
	if a.DataSource == nil && b.DataSource == nil && a.DataSourceRef == nil && b.DataSourceRef == nil {
		return true
	}
	return semantic.Equal(a.DataSource, b.DataSource) &&
		semantic.Equal(a.DataSourceRef, b.DataSourceRef)
}

// sameResources compares two lists, ignoring storage if told so.
func sameResources(a, b v1.ResourceList, ignoreStorage bool) bool {
	if ignoreStorage {
		a, b = withoutStorage(a), withoutStorage(b)
	}
	if len(a) != len(b) {
		return false
	}
	for name, q := range a {
		if other, ok := b[name]; !ok || q.Cmp(other) != 0 {
			return false
		}
	}
	return true
}

func withoutStorage(list v1.ResourceList) v1.ResourceList {
	if _, ok := list[v1.ResourceStorage]; !ok {
		return list
	}
	if len(list) == 1 {
		return nil
	}
	list = maps.Clone(list)
	delete(list, v1.ResourceStorage)
	return list
}

// checkClaimStatus validates a status update.
// Upstream: core/validation ValidatePersistentVolumeClaimStatusUpdate, v1.37.
func checkClaimStatus(p *validation.Problems, claim *v1.PersistentVolumeClaim) {
	for _, name := range validation.ResourceNames(claim.Status.Capacity) {
		validation.CheckBasicResource(p, claim.Status.Capacity[name], validation.StatusPath.Child("capacity"), string(name))
	}
	for _, name := range validation.ResourceNames(claim.Status.AllocatedResources) {
		path := validation.StatusPath.Child("allocatedResources")
		if checkClaimResource(p, name, path) {
			validation.CheckBasicResource(p, claim.Status.AllocatedResources[name], path, string(name))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(claim.Status.AllocatedResourceStatuses)) {
		path := validation.StatusPath.Child("allocatedResourceStatuses")
		checkClaimResource(p, name, path)
		if !slices.Contains(resizeStatuses, claim.Status.AllocatedResourceStatuses[name]) {
			p.Add(field.NotSupported(path, name, resizeStatuses))
		}
	}
}

var resizeStatuses = []v1.ClaimResourceStatus{
	v1.PersistentVolumeClaimControllerResizeInProgress, v1.PersistentVolumeClaimControllerResizeInfeasible,
	v1.PersistentVolumeClaimNodeResizeInProgress, v1.PersistentVolumeClaimNodeResizeInfeasible,
	v1.PersistentVolumeClaimNodeResizePending,
}

// checkClaimResource checks that the resource is one a claim can have.
func checkClaimResource(p *validation.Problems, name v1.ResourceName, path *field.Path) bool {
	before := len(p.List)
	p.QualifiedName(string(name), path)
	if len(p.List) == before && validation.IsNativeResource(string(name)) && name != v1.ResourceStorage {
		p.Add(field.NotSupported(path, string(name), []v1.ResourceName{v1.ResourceStorage}))
	}
	return len(p.List) == before
}
