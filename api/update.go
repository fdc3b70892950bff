package api

import (
	"maps"
	"slices"

	coordinationv1 "k8s.io/api/coordination/v1"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/storagesim/storagesim/api/admission"
	"github.com/storagesim/storagesim/api/internal/call"
	"github.com/storagesim/storagesim/api/internal/refusal"
	"github.com/storagesim/storagesim/api/patch"
	"github.com/storagesim/storagesim/internal/semantic"
)

// forUpdate does the second half of every update and patch: it defaults, admits and validates
// the object that the client wants.
func (p *preparer) forUpdate(d *draft) error {
	old, obj := d.old, d.obj
	if err := d.checkVersion(old, obj); err != nil {
		return err
	}
	d.kind.SetDefaults(obj, d.applied)
	p.trackFields(d.request, old, obj)
	d.keepSystemFields(old, obj)
	if service, ok := obj.(*v1.Service); ok && d.sub == "" {
		var err error
		if d.reserved, err = p.tables.services.Allocate(service, old.(*v1.Service), d.dryRun); err != nil {
			return err
		}
	}
	if errs := p.update(d, d.asShown(old), obj); len(errs) > 0 {
		return d.invalid(errs)
	}
	switch d.sub {
	case "":
		d.warnOf(d.kind.Warnings.Write, obj, old)
	case "status":
		d.warnOf(d.kind.Warnings.Status, obj, old)
	}
	if d.sub == "" {
		if err := admission.Update(reader{p.tables}, obj, old); err != nil {
			return refusal.AsStatus(err)
		}
	}
	if pod, ok := obj.(*v1.Pod); ok && d.sub == "resize" {
		if err := admission.Resize(reader{p.tables}, pod, old.(*v1.Pod)); err != nil {
			return refusal.AsStatus(err)
		}
	}
	d.kind.Storable(obj)
	if !d.dryRun { // Upstream: apiserver storage APIObjectVersioner.PrepareObjectForStorage, v1.37.2
		obj.SetSelfLink("")
	}
	if d.ends = deletedByUpdate(old, obj); d.ends {
		return nil
	}
	if d.same = d.unchanged(old, obj); d.same {
		return nil
	}
	if err := d.measure(); err != nil {
		return err
	}
	d.late = d.fits()
	return nil
}

// update brings obj into the form that is stored, and returns what is wrong with it.
func (p *preparer) update(d *draft, old, obj call.Object) field.ErrorList {
	part := d.kind.Subresources[d.sub].Part
	switch {
	case part != nil:
		part.Keep(obj, old, p.clock.now())
		d.countGeneration(old, obj)
		return append(part.Validate(obj, old), p.privilegeErrors(obj)...)
	case d.sub == "status" && d.kind.Status.Exists():
		if d.kind.Spec.Exists() {
			d.kind.Spec.Keep(obj, old)
		}
		keepMetadata(obj, old, d.kind.StatusKeeps)
		if prepare := d.kind.Strategy.UpdateStatus; prepare != nil {
			prepare(obj, old, p.clock.now())
		}
		return d.kind.Validation.ValidateUpdateStatus(obj, old)
	}
	if d.kind.Status.Exists() {
		d.kind.Status.Keep(obj, old)
	}
	if prepare := d.kind.Strategy.Update; prepare != nil {
		prepare(obj, old)
	}
	d.countGeneration(old, obj)
	return append(d.kind.Validation.ValidateUpdate(obj, old), p.privilegeErrors(obj)...)
}

// unchanged reports whether nothing changed. It first compares what is likely to differ and cheap to
// compare: comparing whole objects is the most expensive part of an update.
func (r request) unchanged(old, obj call.Object) bool {
	if !maps.Equal(old.GetAnnotations(), obj.GetAnnotations()) || !slices.Equal(old.GetFinalizers(), obj.GetFinalizers()) {
		return false
	}
	switch o := obj.(type) {
	case *v1.Pod:
		if podStatusDiffers(&old.(*v1.Pod).Status, &o.Status) {
			return false
		}
	case *coordinationv1.Lease:
		if !old.(*coordinationv1.Lease).Spec.RenewTime.Equal(o.Spec.RenewTime) {
			return false
		}
	}
	if r.sub == "status" && r.kind.Status.Exists() && !r.kind.Status.Same(old, obj) {
		return false
	}
	return (semantic.Equal(old, obj) || patch.DifferInTimes(old, obj)) && semantic.SameTexts(old, obj)
}

// podStatusDiffers reports whether a part that often changes differs.
func podStatusDiffers(a, b *v1.PodStatus) bool {
	return a.Phase != b.Phase || a.PodIP != b.PodIP ||
		!slices.EqualFunc(a.Conditions, b.Conditions, func(x, y v1.PodCondition) bool {
			return x.Type == y.Type && x.Status == y.Status && x.Reason == y.Reason && x.Message == y.Message
		}) ||
		!slices.EqualFunc(a.ContainerStatuses, b.ContainerStatuses, func(x, y v1.ContainerStatus) bool {
			return x.Ready == y.Ready && x.ContainerID == y.ContainerID && x.RestartCount == y.RestartCount
		})
}

// keepSystemFields sets the fields that only the server may set. Some values of the
// client's that differ are ignored, others are left for validation to refuse.
// Upstream: rest.BeforeUpdate and ValidateObjectMetaUpdate, v1.37.
func (d *draft) keepSystemFields(old, obj call.Object) {
	if obj.GetUID() == "" {
		obj.SetUID(old.GetUID())
	}
	obj.SetResourceVersion(old.GetResourceVersion())
	obj.SetGeneration(old.GetGeneration())
	obj.SetCreationTimestamp(old.GetCreationTimestamp())
	if old.GetDeletionTimestamp() != nil {
		obj.SetDeletionTimestamp(old.GetDeletionTimestamp())
	}
	if obj.GetDeletionGracePeriodSeconds() == nil {
		obj.SetDeletionGracePeriodSeconds(old.GetDeletionGracePeriodSeconds())
	}
}

// keepMetadata gives obj the metadata of old that a write of the status leaves as it is.
// Upstream: apimachinery meta/v1 ResetObjectMetaForStatus, v0.37.
func keepMetadata(obj, old call.Object, fields []string) {
	keeps := func(field string) bool {
		return slices.Contains(fields, "metadata") || slices.Contains(fields, "metadata."+field)
	}
	if keeps("deletionTimestamp") {
		obj.SetDeletionTimestamp(old.GetDeletionTimestamp())
	}
	if keeps("labels") {
		obj.SetLabels(old.GetLabels())
	}
	if keeps("annotations") {
		obj.SetAnnotations(old.GetAnnotations())
	}
	if keeps("finalizers") {
		obj.SetFinalizers(old.GetFinalizers())
	}
	if keeps("ownerReferences") {
		obj.SetOwnerReferences(old.GetOwnerReferences())
	}
}

// countGeneration raises the generation with every change of the spec; of an unstructured
// object, with every change but of its metadata.
// Upstream for the latter: customresource strategy.PrepareForUpdate, v1.37.
func (r request) countGeneration(old, obj call.Object) {
	if u, ok := obj.(*unstructured.Unstructured); ok && r.kind.Generations {
		if !sameContent(u.Object, old.(*unstructured.Unstructured).Object) {
			obj.SetGeneration(old.GetGeneration() + 1)
		}
		return
	}
	changed := false
	switch {
	case !r.kind.Generations:
	case r.kind.Spec.Exists():
		changed = !r.kind.Spec.Same(obj, old)
	case r.kind.AllCounts:
		changed = !r.kind.SameButMetadata(obj, old)
	}
	changed = changed || r.kind.AnnotationsCount && !maps.Equal(old.GetAnnotations(), obj.GetAnnotations()) || r.kind.LabelsCount &&
		!maps.Equal(old.GetLabels(), obj.GetLabels())
	if changed {
		obj.SetGeneration(old.GetGeneration() + 1)
	}
}

// sameContent reports whether two objects are equal, except their metadata and versions.
func sameContent(a, b map[string]any) bool {
	for _, name := range slices.Sorted(maps.Keys(a)) {
		if value, ok := b[name]; !isMeta(name) && (!ok || !semantic.Equal(a[name], value)) {
			return false
		}
	}
	for name := range b {
		if _, ok := a[name]; !ok && !isMeta(name) {
			return false
		}
	}
	return true
}

func isMeta(field string) bool {
	return field == "metadata" || field == "apiVersion" || field == "kind"
}

// deletedByUpdate reports whether nothing, such as a finalizer, keeps an object that is being
// deleted any longer.
// Upstream: registry/generic/registry ShouldDeleteDuringUpdate, and core/namespace/storage ShouldDeleteNamespaceDuringUpdate, v1.37.2.
func deletedByUpdate(old, obj call.Object) bool {
	if ns, ok := obj.(*v1.Namespace); ok && len(ns.Spec.Finalizers) > 0 {
		return false
	}
	grace := old.GetDeletionGracePeriodSeconds()
	return old.GetDeletionTimestamp() != nil && len(obj.GetFinalizers()) == 0 && (grace == nil || *grace == 0)
}
