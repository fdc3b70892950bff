package api

import (
	"maps"
	"slices"

	coordinationv1 "k8s.io/api/coordination/v1"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/storagesim/storagesim/api/admission"
	"github.com/storagesim/storagesim/api/internal/call"
	"github.com/storagesim/storagesim/api/internal/deletion"
	"github.com/storagesim/storagesim/api/internal/metadata"
	"github.com/storagesim/storagesim/api/internal/refusal"
	"github.com/storagesim/storagesim/api/patch"
	"github.com/storagesim/storagesim/internal/semantic"
)

// forUpdate does the second half of every update and patch: it defaults, admits and validates
// the object that the client wants.
func (p *preparer) forUpdate(d *draft) error {
	old, obj := d.old, d.obj
	if err := d.CheckVersion(old, obj); err != nil {
		return err
	}
	d.Kind.SetDefaults(obj, d.applied)
	p.trackFields(d.request, old, obj)
	if err := p.webhooks.change(d); err != nil {
		return err
	}
	obj = d.obj
	metadata.KeepSystemFields(obj, old)
	if service, ok := obj.(*v1.Service); ok && d.Sub == "" {
		var err error
		if d.reserved, err = p.tables.services.Allocate(service, old.(*v1.Service), d.DryRun); err != nil {
			return err
		}
	}
	if errs := p.update(d, d.asShown(old), obj); len(errs) > 0 {
		return d.Invalid(errs)
	}
	switch d.Sub {
	case "":
		d.warnOf(d.Kind.Warnings.Write, obj, old)
		p.webhooks.warn(d.request, obj)
	case "status":
		d.warnOf(d.Kind.Warnings.Status, obj, old)
	}
	if d.Sub == "" {
		if err := admission.Update(reader{p.tables}, obj, old); err != nil {
			return refusal.AsStatus(err)
		}
	}
	if d.Sub == "ephemeralcontainers" {
		if err := admission.EphemeralContainers(reader{p.tables}, obj, p.plugins); err != nil {
			return refusal.AsStatus(err)
		}
	}
	if d.Sub != "status" {
		if err := p.checkSecurity(d.request, obj, old); err != nil {
			return err
		}
	}
	if pod, ok := obj.(*v1.Pod); ok && d.Sub == "resize" {
		if err := admission.Resize(reader{p.tables}, pod, old.(*v1.Pod)); err != nil {
			return refusal.AsStatus(err)
		}
	}
	if err := p.webhooks.check(d); err != nil {
		return err
	}
	d.Kind.Storable(obj)
	if !d.DryRun { // Upstream: apiserver storage APIObjectVersioner.PrepareObjectForStorage, v1.37.2
		obj.SetSelfLink("")
	}
	if d.ends = deletion.DuringUpdate(obj, old); d.ends {
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
	part := d.Kind.Subresources[d.Sub].Part
	switch {
	case part != nil:
		part.Keep(obj, old, p.clock.Now())
		d.Kind.CountGeneration(obj, old)
		return append(part.Validate(obj, old), p.privilegeErrors(obj)...)
	case d.Sub == "status" && d.Kind.Status.Exists():
		if d.Kind.Spec.Exists() {
			d.Kind.Spec.Keep(obj, old)
		}
		metadata.KeepForStatus(obj, old, d.Kind.StatusKeeps)
		if prepare := d.Kind.Strategy.UpdateStatus; prepare != nil {
			prepare(obj, old, p.clock.Now())
		}
		return d.Kind.Validation.ValidateUpdateStatus(obj, old)
	}
	if d.Kind.Status.Exists() {
		d.Kind.Status.Keep(obj, old)
	}
	if prepare := d.Kind.Strategy.Update; prepare != nil {
		prepare(obj, old)
	}
	d.Kind.CountGeneration(obj, old)
	return append(d.Kind.Validation.ValidateUpdate(obj, old), p.privilegeErrors(obj)...)
}

// owner returns the field manager of what a request writes.
func (p *preparer) owner(r request) string {
	if r.manager != "" {
		return r.manager
	}
	return p.managerOf(r.actor)
}

// trackFields notes which manager set which field in an update of an object whose fields are tracked, or are to be: a client may send
// managedFields. It does so before the server changes the object.
// Upstream: apiserver endpoints/handlers UpdateResource and patcher.applyPatchToCurrentObject, v1.37.2.
func (p *preparer) trackFields(r request, old, obj call.Object) {
	switch {
	case r.tracked: // by an apply
	case len(old.GetManagedFields()) > 0, r.tracks && len(obj.GetManagedFields()) > 0:
		r.target().Track(old, obj, p.owner(r), p.clock.Now())
	default:
		obj.SetManagedFields(nil)
	}
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
	if r.Sub == "status" && r.Kind.Status.Exists() && !r.Kind.Status.Same(old, obj) {
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
