package api

import (
	"cmp"
	"fmt"
	"reflect"
	"strconv"
	"strings"

	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/storagesim/storagesim/api/admission"
	"github.com/storagesim/storagesim/api/internal/call"
	"github.com/storagesim/storagesim/api/internal/names"
	"github.com/storagesim/storagesim/api/internal/refusal"
	"github.com/storagesim/storagesim/api/registry"
	"github.com/storagesim/storagesim/api/store"
	"github.com/storagesim/storagesim/internal/quantity"
)

// preparer brings what clients send into the form that is stored, or refuses it. It writes nothing.
type preparer struct {
	tables *tables
	names  names.Namer
	clock  call.Clock
	// unprivileged: containers may not be privileged. taintsNodes: new nodes have the taint not-ready.
	unprivileged, taintsNodes bool
}

// forCreate brings a new object into the form that is stored, and refuses one that is not valid.
func (p *preparer) forCreate(d *draft) error {
	obj := d.obj
	if d.kind.Sealed != "" {
		return refusal.Forbidden(d.kind.GVR.GroupResource(), d.name, d.kind.Sealed)
	}
	if err := admission.Namespace(reader{p.tables}, d.kind, d.namespace, d.name); err != nil {
		return err
	}
	now := p.clock.Now()
	if d.kind.Status.Exists() && !d.kind.Strategy.KeepStatus {
		d.kind.Status.Drop(obj)
	}
	d.kind.SetDefaults(obj, d.applied)
	sent := sent(d.request, obj)
	if err := admission.Change(reader{p.tables}, obj, p.taintsNodes); err != nil {
		return refusal.AsStatus(err)
	}
	if err := p.fillSystemFields(d, now); err != nil {
		return err
	}
	if service, ok := obj.(*v1.Service); ok && d.sub == "" { // what is written to the status has no part in that
		var err error
		if d.reserved, err = p.tables.services.Allocate(service, nil, d.dryRun); err != nil {
			return err
		}
	}
	if prepare := d.kind.Strategy.Create; prepare != nil {
		across := hasSourceAcross(obj)
		prepare(obj, now)
		if across && !hasSourceAcross(obj) {
			d.dropped = []string{"spec.dataSourceRef"}
		}
		d.name = obj.GetName() // some kinds name what has no name
	}
	if errs := append(d.validateNew(obj), p.privilegeErrors(obj)...); len(errs) > 0 {
		return d.invalid(errs)
	}
	if sent != nil {
		d.target().Track(nil, sent, cmp.Or(d.manager, d.actor), now)
		obj.SetManagedFields(sent.GetManagedFields())
	}
	d.warnOf(d.kind.Warnings.Write, obj, nil)
	if err := admission.Create(reader{p.tables}, obj); err != nil {
		return refusal.AsStatus(err)
	}
	if err := d.measure(); err != nil {
		return err
	}
	if d.late = d.fits(); d.verb == "create" && !d.dryRun {
		d.late = cmp.Or(versionOnCreate(obj), d.late)
	}
	d.kind.Storable(obj)
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

// versionOnCreate refuses a new object with a resourceVersion. One that is no number is
// ignored, and a dry run does not look.
// Upstream: apiserver storage/etcd3 store.Create, v1.37: an error without a code of
// its own, which therefore is an internal one.
func versionOnCreate(obj call.Object) error {
	version, err := strconv.ParseUint(obj.GetResourceVersion(), 10, 64)
	if err == nil && version != 0 {
		return refusal.Internal("resourceVersion should not be set on objects to be created")
	}
	return nil
}

// fillSystemFields discards the fields of a new object that a client may not set, and sets
// those that the server sets. Upstream: rest.BeforeCreate, v1.37.
func (p *preparer) fillSystemFields(d *draft, now metav1.Time) error {
	obj := d.obj
	if err := p.identify(d); err != nil {
		return err
	}
	obj.SetCreationTimestamp(now)
	obj.SetDeletionTimestamp(nil)
	obj.SetDeletionGracePeriodSeconds(nil)
	obj.SetSelfLink("")
	if !d.tracked {
		obj.SetManagedFields(nil)
	}
	// A CSIDriver, and kinds that do not count, keep what they come with.
	if d.kind.Generations && d.kind.GVK.Kind != "CSIDriver" {
		obj.SetGeneration(1)
	}
	return nil
}

// identify gives a new object its name, if that is to be generated, and its UID.
func (p *preparer) identify(d *draft) error {
	p.tables.objects.Lock()
	defer p.tables.objects.Unlock()
	st, err := p.tables.of(d.kind.GVR)
	if err != nil {
		return err
	}
	if d.generated = d.obj.GetName() == "" && d.obj.GetGenerateName() != ""; d.generated {
		taken := func(name string) bool { return st.Get(store.KeyOf(d.namespace, name)) != nil }
		d.obj.SetName(p.names.Generate(d.kind.GVR.Resource, d.namespace, d.obj.GetGenerateName(), st.Created(), taken))
	}
	d.name = d.obj.GetName()
	d.obj.SetUID(st.uid(p.names, store.Key(d.obj)))
	d.deleted = st.Deleted()
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
	errs := r.kind.Validation.ValidateCreate(obj, r.kind.Namespaced)
	if len(errs) == 0 && obj.GetName() == "" {
		errs = append(errs, field.Required(field.NewPath("metadata", "name"), "name or generateName is required"))
	}
	return errs
}

// accept checks that what came with a request is an object of the resource, belongs to
// the namespace of the request and has no quantity that nothing can compute with.
func (r request) accept(in runtime.Object) (call.Object, error) {
	obj, ok := in.(call.Object)
	if !ok || reflect.TypeOf(in) != reflect.PointerTo(r.kind.Type) {
		return nil, apierrors.NewBadRequest(typeMismatch(r.kind, in))
	}
	if u, ok := in.(*unstructured.Unstructured); ok {
		if err := checkKind(r.kind.GVK, u); err != nil {
			return nil, err
		}
		if err := call.CanonicalMetadata(u); err != nil {
			gvk := r.kind.GVK
			return nil, apierrors.NewBadRequest(fmt.Sprintf("%s in version %q cannot be handled as a %s: %v", gvk.Kind, gvk.Version, gvk.Kind, err))
		}
	}
	r.kind.Label(obj)
	obj.SetOwnerReferences(r.distinctOwners(obj.GetOwnerReferences()))
	switch {
	case !r.kind.Namespaced:
		obj.SetNamespace("")
	case obj.GetNamespace() == "":
		obj.SetNamespace(r.namespace)
	case obj.GetNamespace() != r.namespace:
		return nil, refusal.Namespace()
	}
	if err := quantity.CheckObject(obj); err != nil {
		return nil, refusal.Quantity(r.kind.GVK.GroupKind(), r.name, err)
	}
	return obj, nil
}

// checkKind refuses an unstructured object that says it is of another kind.
// Upstream: apiextensions-apiserver registry/customresource customResourceValidator.ValidateTypeMeta, v1.37.2.
func checkKind(want schema.GroupVersionKind, u *unstructured.Unstructured) error {
	is := u.GroupVersionKind()
	if is.Empty() {
		return nil // a client in the process need not say it
	}
	var errs field.ErrorList
	if is.Kind != want.Kind {
		errs = append(errs, field.Invalid(field.NewPath("kind"), is.Kind, "must be "+want.Kind))
	}
	if is.GroupVersion() != want.GroupVersion() {
		errs = append(errs, field.Invalid(field.NewPath("apiVersion"), u.GetAPIVersion(), "must be "+want.GroupVersion().String()))
	}
	if len(errs) == 0 {
		return nil
	}
	return refusal.Invalid(is.GroupKind(), u.GetName(), errs)
}

// distinctOwners returns the owners without duplicates, and warns of these.
// Upstream: apiserver endpoints/handlers dedupOwnerReferencesAndAddWarning, v1.37.
func (r request) distinctOwners(owners []metav1.OwnerReference) []metav1.OwnerReference {
	kept, repeated := call.DistinctOwners(owners)
	if len(repeated) > 0 && r.warn != nil {
		when := ""
		if r.verb == "patch" {
			when = " after mutating admission happens"
		}
		r.warn(fmt.Sprintf(".metadata.ownerReferences contains duplicate entries%s; API server dedups owner references in 1.20+, and may reject such "+
			"requests as early as 1.24; please fix your requests; duplicate UID(s) observed: %s", when, strings.Join(repeated, ", ")))
	}
	return kept
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

func typeMismatch(k *registry.Entry, in runtime.Object) string {
	if in == nil || reflect.ValueOf(in).IsNil() {
		return "there is no object in the request: a " + k.GVK.Kind + " is expected"
	}
	return reflect.TypeOf(in).Elem().Name() + " cannot be handled as a " + k.GVK.Kind
}
