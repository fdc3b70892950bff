package api

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"

	jsonpatch "gopkg.in/evanphx/json-patch.v4"
	admissionv1 "k8s.io/api/admission/v1"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	"github.com/storagesim/storagesim/api/internal/call"
	"github.com/storagesim/storagesim/api/internal/names"
	"github.com/storagesim/storagesim/api/internal/refusal"
	"github.com/storagesim/storagesim/api/registry"
	"github.com/storagesim/storagesim/api/views"
	"github.com/storagesim/storagesim/api/webhook"
)

// asker asks webhooks about what is prepared. It writes nothing.
type asker struct {
	tables *tables
	names  names.Namer
	known  atomic.Pointer[webhook.Webhooks] // nil if none is asked
}

// add makes a program's webhooks known.
func (k *asker) add(program webhook.Asker) {
	for {
		next, before := webhook.Webhooks{Versions: k.tables.versions}, k.known.Load()
		if before != nil {
			next.Askers = slices.Clone(before.Askers)
		}
		next.Askers = append(next.Askers, program)
		if k.known.CompareAndSwap(before, &next) {
			return
		}
	}
}

// asks reports whether all webhooks of a configuration are asked; false for other objects.
func (k *asker) asks(obj runtime.Object) bool {
	known := k.known.Load()
	switch obj.(type) {
	case *admissionregistrationv1.MutatingWebhookConfiguration, *admissionregistrationv1.ValidatingWebhookConfiguration:
		return known != nil && known.Asks(obj)
	}
	return false
}

// warn warns of a configuration with webhooks that are not asked.
func (k *asker) warn(r request, obj call.Object) {
	if strings.HasSuffix(r.Kind.GVK.Kind, "WebhookConfiguration") && r.warn != nil && !k.asks(obj) {
		r.warn(registry.UnaskedMessage)
	}
}

// change asks webhooks to change an object that is to be stored.
func (k *asker) change(d *draft) error {
	known := k.known.Load()
	if known == nil {
		return nil
	}
	obj, err := known.Change(reader{k.tables}, k.attempt(d.request, cmp.Or(d.named, d.obj.GetName()), d.obj, d.old))
	if err != nil {
		return refusal.AsStatus(err)
	}
	if obj != d.obj {
		d.Kind.UnknownFields(obj) // which drops them
	}
	d.obj = obj
	return nil
}

// check asks webhooks whether an object may be stored as it is.
func (k *asker) check(d *draft) error {
	known := k.known.Load()
	if known == nil {
		return nil
	}
	return refusal.AsStatus(known.Check(reader{k.tables}, k.attempt(d.request, cmp.Or(d.named, d.obj.GetName()), d.obj, d.old)))
}

// delete asks webhooks whether a stored object may be deleted.
// Upstream: apiserver registry/rest AdmissionToValidateObjectDeleteFunc, v1.37.2.
func (k *asker) delete(r request, old call.Object, opts metav1.DeleteOptions) error {
	known := k.known.Load()
	if known == nil {
		return nil
	}
	attempt := k.attempt(r, r.Name, nil, old)
	opts.TypeMeta = metav1.TypeMeta{APIVersion: optionsVersion, Kind: "DeleteOptions"}
	attempt.Operation, attempt.Options = admissionv1.Delete, &opts
	if r.Verb == "deletecollection" {
		attempt.Name = ""
	}
	if _, err := known.Change(reader{k.tables}, attempt); err != nil {
		return refusal.AsStatus(err)
	}
	return refusal.AsStatus(known.Check(reader{k.tables}, attempt))
}

// optionsVersion is the apiVersion of the options of a request.
const optionsVersion = "meta.k8s.io/v1"

// attempt says what webhooks are asked about. obj is nil for a deletion, old for a new object.
func (k *asker) attempt(r request, name string, obj, old call.Object) webhook.Attempt {
	a := webhook.Attempt{
		Kind: r.Kind, Sub: r.Sub, Namespace: r.Namespace, Name: name, Operation: admissionv1.Update, Obj: obj, Old: r.asShown(old), DryRun: r.DryRun,
		Options: r.options(old == nil), User: views.User(), Warn: r.warn,
		Patch: func(version *registry.Entry, obj call.Object, patch jsonpatch.Patch) (call.Object, error) {
			target, in := r.target(), r.Address
			target.Kind, target.Strict, target.Warn, in.Kind = version, false, nil, version
			patched, err := target.Mutated(obj, patch)
			if err != nil {
				return nil, err
			}
			return in.Accept(patched, nil)
		},
		UID: func(hook string) types.UID {
			about := admissionv1.SchemeGroupVersion.WithResource("admissionreviews").GroupResource()
			return k.names.UID(about, hook+" "+r.Kind.GVR.String()+" "+r.Namespace+"/"+r.Name+" "+strconv.FormatUint(k.tables.version(), 10), 0)
		},
	}
	if old == nil {
		a.Operation = admissionv1.Create
	}
	return a
}

// options returns the options of a write, as a webhook is told of them.
func (r request) options(isNew bool) runtime.Object {
	var dryRun []string
	if r.DryRun {
		dryRun = []string{metav1.DryRunAll}
	}
	validation := ""
	switch {
	case r.strict:
		validation = metav1.FieldValidationStrict
	case r.ignore:
		validation = metav1.FieldValidationIgnore
	}
	kind := func(kind string) metav1.TypeMeta { return metav1.TypeMeta{APIVersion: optionsVersion, Kind: kind} }
	if isNew {
		return &metav1.CreateOptions{TypeMeta: kind("CreateOptions"), DryRun: dryRun, FieldManager: r.manager, FieldValidation: validation}
	}
	return &metav1.UpdateOptions{TypeMeta: kind("UpdateOptions"), DryRun: dryRun, FieldManager: r.manager, FieldValidation: validation}
}
