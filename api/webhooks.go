package api

import (
	"cmp"
	"strconv"
	"strings"

	jsonpatch "gopkg.in/evanphx/json-patch.v4"
	admissionv1 "k8s.io/api/admission/v1"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	"github.com/storagesim/storagesim/api/admission"
	"github.com/storagesim/storagesim/api/internal/call"
	"github.com/storagesim/storagesim/api/internal/refusal"
	"github.com/storagesim/storagesim/api/registry"
	"github.com/storagesim/storagesim/api/views"
)

// AskWebhooks has the server ask those webhooks that a program serves, about the writes that their configurations select. Where two programs serve one, the
// first that was given is asked. Other webhooks are stored and not asked.
func (s *Server) AskWebhooks(a admission.Asker) {
	asks := admission.Webhooks{Versions: s.tables.versions}
	for {
		before := s.writes.prepare.webhooks.Load()
		if before != nil {
			asks.Askers = before.Askers
		}
		asks.Askers = append(asks.Askers[:len(asks.Askers):len(asks.Askers)], a)
		if s.writes.prepare.webhooks.CompareAndSwap(before, &asks) {
			return
		}
	}
}

// Asks reports whether the server asks all webhooks of a configuration; false for other objects.
func (s *Server) Asks(configuration runtime.Object) bool { return s.writes.prepare.asks(configuration) }

func (p *preparer) asks(obj runtime.Object) bool {
	asks := p.webhooks.Load()
	switch obj.(type) {
	case *admissionregistrationv1.MutatingWebhookConfiguration, *admissionregistrationv1.ValidatingWebhookConfiguration:
		return asks != nil && asks.Asks(obj)
	}
	return false
}

// warnUnasked warns of a configuration with webhooks that are not asked.
func (p *preparer) warnUnasked(r request, obj call.Object) {
	if strings.HasSuffix(r.Kind.GVK.Kind, "WebhookConfiguration") && r.warn != nil && !p.asks(obj) {
		r.warn(registry.UnaskedMessage)
	}
}

// versions returns the entries of a kind in all its versions.
func (t *tables) versions(k *registry.Entry) (list []*registry.Entry) {
	for _, other := range t.registry.Entries() {
		if other.GVK.GroupKind() == k.GVK.GroupKind() {
			list = append(list, other)
		}
	}
	return list
}

// askToChange asks webhooks to change an object that is to be stored.
func (p *preparer) askToChange(d *draft) error {
	asks := p.webhooks.Load()
	if asks == nil {
		return nil
	}
	obj, err := asks.Change(reader{p.tables}, p.attempt(d.request, cmp.Or(d.named, d.obj.GetName()), d.obj, d.old))
	if err != nil {
		return refusal.AsStatus(err)
	}
	if obj != d.obj {
		d.Kind.UnknownFields(obj) // which drops them
	}
	d.obj = obj
	return nil
}

// askToCheck asks webhooks whether an object may be stored as it is.
func (p *preparer) askToCheck(d *draft) error {
	asks := p.webhooks.Load()
	if asks == nil {
		return nil
	}
	return refusal.AsStatus(asks.Check(reader{p.tables}, p.attempt(d.request, cmp.Or(d.named, d.obj.GetName()), d.obj, d.old)))
}

// askToDelete asks webhooks whether a stored object may be deleted.
// Upstream: apiserver registry/rest AdmissionToValidateObjectDeleteFunc, v1.37.2.
func (p *preparer) askToDelete(r request, old call.Object, opts metav1.DeleteOptions) error {
	asks := p.webhooks.Load()
	if asks == nil {
		return nil
	}
	attempt := p.attempt(r, r.Name, nil, old)
	opts.TypeMeta = metav1.TypeMeta{APIVersion: optionsVersion, Kind: "DeleteOptions"}
	attempt.Operation, attempt.Options = admissionv1.Delete, &opts
	if r.Verb == "deletecollection" {
		attempt.Name = ""
	}
	if _, err := asks.Change(reader{p.tables}, attempt); err != nil {
		return refusal.AsStatus(err)
	}
	return refusal.AsStatus(asks.Check(reader{p.tables}, attempt))
}

// optionsVersion is the apiVersion of the options of a request.
const optionsVersion = "meta.k8s.io/v1"

// attempt says what webhooks are asked about. obj is nil for a deletion, old for a new object.
func (p *preparer) attempt(r request, name string, obj, old call.Object) admission.Attempt {
	a := admission.Attempt{
		Kind: r.Kind, Sub: r.Sub, Namespace: r.Namespace, Name: name, Operation: admissionv1.Update, Obj: obj, Old: r.asShown(old), DryRun: r.DryRun,
		Options: r.options(old == nil), User: views.User(), Warn: r.warn,
		Patch: func(k *registry.Entry, obj call.Object, patch jsonpatch.Patch) (call.Object, error) {
			target, in := r.target(), r.Address
			target.Kind, target.Strict, target.Warn, in.Kind = k, false, nil, k
			patched, err := target.Mutated(obj, patch)
			if err != nil {
				return nil, err
			}
			return in.Accept(patched, nil)
		},
		UID: func(webhook string) types.UID {
			about := admissionv1.SchemeGroupVersion.WithResource("admissionreviews").GroupResource()
			return p.names.UID(about, webhook+" "+r.Kind.GVR.String()+" "+r.Namespace+"/"+r.Name+" "+strconv.FormatUint(p.tables.version(), 10), 0)
		},
	}
	if old == nil {
		a.Operation = admissionv1.Create
	}
	return a
}

// version returns the version of the latest write.
func (t *tables) version() uint64 {
	t.objects.RLock()
	defer t.objects.RUnlock()
	return t.objects.Version()
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
	switch {
	case isNew:
		return &metav1.CreateOptions{TypeMeta: kind("CreateOptions"), DryRun: dryRun, FieldManager: r.manager, FieldValidation: validation}
	}
	return &metav1.UpdateOptions{TypeMeta: kind("UpdateOptions"), DryRun: dryRun, FieldManager: r.manager, FieldValidation: validation}
}
