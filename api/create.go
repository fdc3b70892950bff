package api

import (
	"cmp"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/storagesim/storagesim/api/admission"
	"github.com/storagesim/storagesim/api/internal/call"
	"github.com/storagesim/storagesim/api/internal/metadata"
	"github.com/storagesim/storagesim/api/internal/names"
	"github.com/storagesim/storagesim/api/internal/refusal"
	"github.com/storagesim/storagesim/api/store"
)

// preparer brings what clients send into the form that is stored, or refuses it. It writes nothing.
type preparer struct {
	tables       *tables
	names        names.Namer
	clock        call.Clock
	unprivileged bool // containers may not be privileged
	plugins      admission.Plugins
	webhooks     *asker
	managerOf    func(actor string) string // Config.Manager
}

// forCreate brings a new object into the form that is stored, and refuses one that is not valid.
func (p *preparer) forCreate(d *draft) error {
	obj := d.obj
	if d.Kind.Sealed != "" {
		return refusal.Forbidden(d.Kind.GVR.GroupResource(), d.Name, d.Kind.Sealed)
	}
	if err := admission.Namespace(reader{p.tables}, d.Kind, d.Namespace, d.Name); err != nil {
		return err
	}
	now := p.clock.Now()
	if d.Kind.Status.Exists() && !d.Kind.Strategy.KeepStatus {
		d.Kind.Status.Drop(obj)
	}
	d.Kind.SetDefaults(obj, d.applied)
	sent := sent(d.request, obj)
	if err := admission.Change(reader{p.tables}, obj, p.plugins); err != nil {
		return refusal.AsStatus(err)
	}
	d.named = obj.GetName()
	if err := p.webhooks.change(d); err != nil {
		return err
	}
	obj = d.obj
	if err := p.identify(d); err != nil {
		return err
	}
	metadata.FillSystemFields(obj, now, d.Kind.Generations && !d.Kind.GenerationGiven)
	if !d.tracked {
		obj.SetManagedFields(nil)
	}
	if service, ok := obj.(*v1.Service); ok && d.Sub == "" { // what is written to the status has no part in that
		var err error
		if d.reserved, err = p.tables.services.Allocate(service, nil, d.DryRun); err != nil {
			return err
		}
	}
	if prepare := d.Kind.Strategy.Create; prepare != nil {
		across := hasSourceAcross(obj)
		prepare(obj, now)
		if across && !hasSourceAcross(obj) {
			d.dropped = []string{"spec.dataSourceRef"}
		}
		d.Name = obj.GetName() // some kinds name what has no name
	}
	if errs := append(d.validateNew(obj), p.privilegeErrors(obj)...); len(errs) > 0 {
		return d.Invalid(errs)
	}
	if sent != nil {
		d.target().Track(nil, sent, p.owner(d.request), now)
		obj.SetManagedFields(sent.GetManagedFields())
	}
	d.warnOf(d.Kind.Warnings.Write, obj, nil)
	p.webhooks.warn(d.request, obj)
	if err := admission.Create(reader{p.tables}, obj); err != nil {
		return refusal.AsStatus(err)
	}
	if err := p.checkSecurity(d.request, obj, nil); err != nil {
		return err
	}
	if err := p.webhooks.check(d); err != nil {
		return err
	}
	if err := d.measure(); err != nil {
		return err
	}
	if d.late = d.fits(); d.Verb == "create" && !d.DryRun {
		d.late = cmp.Or(metadata.CheckNewVersion(obj), d.late)
	}
	d.Kind.Storable(obj)
	return nil
}

// sent returns a copy of a new object whose fields are to be tracked: its manager owns what is set before admission changes the
// object. nil if nothing is tracked, or if it was applied, which tracks.
// Upstream: apiserver endpoints/handlers createHandler, v1.37.2.
func sent(r request, obj call.Object) call.Object {
	if r.tracked || !r.tracks {
		return nil
	}
	return obj.DeepCopyObject().(call.Object)
}

// hasSourceAcross reports whether an object is a claim whose data source is in another namespace. Such a source is dropped without a word
// unless a feature gate is on.
func hasSourceAcross(obj call.Object) bool {
	claim, ok := obj.(*v1.PersistentVolumeClaim)
	return ok && claim.Spec.DataSourceRef != nil && claim.Spec.DataSourceRef.Namespace != nil && *claim.Spec.DataSourceRef.Namespace != ""
}

// identify gives a new object its name, if that is to be generated, and its UID.
func (p *preparer) identify(d *draft) error {
	p.tables.objects.Lock()
	defer p.tables.objects.Unlock()
	st, err := p.tables.of(d.Kind.GVR)
	if err != nil {
		return err
	}
	if d.generated = d.obj.GetName() == "" && d.obj.GetGenerateName() != ""; d.generated {
		taken := func(name string) bool { return st.Get(store.KeyOf(d.Namespace, name)) != nil }
		d.obj.SetName(p.names.Generate(d.Kind.GVR.Resource, d.Namespace, d.obj.GetGenerateName(), st.Created(), taken))
	}
	d.Name = d.obj.GetName()
	d.obj.SetUID(st.uid(p.names, store.Key(d.obj)))
	d.deleted = st.Deleted()
	return nil
}

// checkSecurity refuses what the Pod Security Standards that a namespace asks for do not allow, and warns of what it warns of.
func (p *preparer) checkSecurity(r request, obj, old call.Object) error {
	warnings, err := admission.PodSecurity(reader{p.tables}, obj, old, r.Sub)
	if err != nil {
		return refusal.AsStatus(err)
	}
	r.warnOf(func(_, _ runtime.Object) []string { return warnings }, obj, old)
	return nil
}

// privilegeErrors returns the errors for privileged containers, if the server does not
// allow them.
func (p *preparer) privilegeErrors(obj call.Object) field.ErrorList {
	if !p.unprivileged {
		return nil
	}
	return admission.Privileged(obj)
}

// validateNew returns what is wrong with a new object. An object without a name is always
// refused.
func (r request) validateNew(obj call.Object) field.ErrorList {
	errs := r.Kind.Validation.ValidateCreate(obj, r.Kind.Namespaced)
	if len(errs) == 0 && obj.GetName() == "" {
		errs = append(errs, field.Required(field.NewPath("metadata", "name"), "name or generateName is required"))
	}
	return errs
}

// warnOf tells the client what a rule says of an object that is accepted. old is nil for a new one.
func (r request) warnOf(rule func(obj, old runtime.Object) []string, obj, old call.Object) {
	if rule == nil || r.warn == nil {
		return
	}
	var before runtime.Object // a nil interface where there is none
	if old != nil {
		before = old
	}
	for _, text := range rule(obj, before) {
		r.warn(text)
	}
}
