package api

import (
	"errors"
	"net/http"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	metavalidation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/storagesim/storagesim/api/internal/call"
	"github.com/storagesim/storagesim/api/internal/refusal"
	"github.com/storagesim/storagesim/api/registry"
	"github.com/storagesim/storagesim/trace"
)

// request is one request on its way through the server. It is a value: a phase that learns more of it, such as the name of a
// new object, returns it in a draft.
type request struct {
	actor, verb          string
	kind                 *registry.Entry
	sub, namespace, name string
	ended                func() error // the error of the request's context
	dryRun               bool
	manager              string            // field manager; the actor if empty
	tracked              bool              // obj comes with its managedFields: an apply
	tracks               bool              // Request.Track
	strict               bool              // unknown fields in a patch are refused
	created              *bool             // Request.Created
	warn                 func(text string) // Request.Warn; nil where nothing is to be warned of
	warnFields           func(text string) // the same for fields that the kind does not have; nil if they are to be ignored
	shared               bool              // Request.Shared

	// What the preparer adds.
	generated bool     // the name is made by the server
	dropped   []string // fields that the server left out, for the trace
	size      int      // of the object that is stored, in bytes; 0 if it was not measured
}

// outcome holds what a request did to one object: see Write.
type outcome struct{ old, new, last call.Object }

// answer returns the object for the caller.
func (o outcome) answer() call.Object {
	if o.new != nil {
		return o.new
	}
	return o.last
}

// writer stores what the preparer made, and reports it.
type writer struct {
	tables   *tables
	prepare  *preparer
	reports  *reporter
	accounts *accounts
	names    namer
	clock    clock
}

// write runs do under the lock, and reports its outcome to the hooks.
func (w *writer) write(r request, do func(st *table) (outcome, error)) (runtime.Object, error) {
	out, err := w.writeLocked(r, do)
	if err != nil {
		return nil, err
	}
	if r.created != nil {
		*r.created = out.old == nil
	}
	return r.kind.Given(out.answer(), r.shared), nil
}

// writeLocked does what write does, without the answer.
func (w *writer) writeLocked(r request, do func(st *table) (outcome, error)) (outcome, error) {
	out, err := w.writeOnce(r, do)
	if err != nil || r.dryRun || r.kind.Written == nil || out.old == out.new {
		return out, err
	}
	var old, obj runtime.Object // nil interfaces where there is none
	if out.old != nil {
		old = out.old
	}
	if out.new != nil {
		obj = out.new
	}
	r.kind.Written(old, obj)
	return out, nil
}

func (w *writer) writeOnce(r request, do func(st *table) (outcome, error)) (outcome, error) {
	w.tables.objects.Lock()
	defer w.tables.objects.Unlock()
	st, err := w.tables.of(r.kind.GVR)
	if err != nil {
		return outcome{}, err
	}
	out, err := do(st)
	switch {
	case errors.Is(err, errStale): // it is prepared again
		return outcome{}, err
	case err != nil:
		out = outcome{}
	}
	w.reports.report(r, out, err)
	return out, err
}

// reporter tells the hooks of OnWrite of each write.
type reporter struct {
	tables *tables
	clock  clock
	hooks  []func(trace.Write)
}

// report calls the hooks.
func (p *reporter) report(r request, out outcome, err error) {
	if len(p.hooks) == 0 || r.dryRun {
		return
	}
	w := trace.Write{
		RV: p.tables.objects.Version(), Time: p.clock(), Actor: r.actor, Verb: r.verb, Resource: r.kind.GVR, Subresource: r.sub,
		Namespace: r.namespace, Name: r.name, Kind: r.kind.GVK.Kind, Code: codeOf(r, out, err), Err: err,
		Dropped: r.dropped,
	}
	if out.old != nil {
		w.Old = out.old
	}
	if out.new != nil {
		w.New, w.Size = out.new, r.size
	}
	if out.last != nil {
		w.Last = out.last
	}
	if obj := out.answer(); obj != nil {
		w.Name = obj.GetName() // generated
	}
	for _, hook := range p.hooks {
		hook(w)
	}
}

func codeOf(r request, out outcome, err error) int {
	switch {
	case err != nil:
		if status := apierrors.APIStatus(nil); errors.As(err, &status) {
			return int(status.Status().Code)
		}
		return http.StatusInternalServerError
	case r.verb == "create", out.old == nil:
		return http.StatusCreated
	}
	return http.StatusOK
}

// checkWriteOptions refuses options of a create, update or patch that mean nothing.
// Upstream: endpoints/handlers createHandler, UpdateResource and PatchResource, v1.37.
func checkWriteOptions(req *Request) error {
	o := req.Write
	if o.FieldManager == "" && o.FieldValidation == "" && o.Force == nil && len(o.DryRun) == 0 && req.PatchType != types.ApplyYAMLPatchType {
		return nil // as most
	}
	var errs field.ErrorList
	var kind string
	switch req.Verb {
	case "create":
		kind = "CreateOptions"
		errs = metavalidation.ValidateCreateOptions(&metav1.CreateOptions{DryRun: o.DryRun, FieldManager: o.FieldManager, FieldValidation: o.FieldValidation})
	case "update":
		kind = "UpdateOptions"
		errs = metavalidation.ValidateUpdateOptions(&metav1.UpdateOptions{DryRun: o.DryRun, FieldManager: o.FieldManager, FieldValidation: o.FieldValidation})
	default:
		kind = "PatchOptions"
		errs = metavalidation.ValidatePatchOptions(&o, req.PatchType)
	}
	if len(errs) > 0 {
		return apierrors.NewInvalid(metav1.SchemeGroupVersion.WithKind(kind).GroupKind(), "", errs)
	}
	return nil
}

func (r request) notFound() error {
	return apierrors.NewNotFound(r.kind.GVR.GroupResource(), r.name)
}

func (r request) conflict(err error) error {
	return apierrors.NewConflict(r.kind.GVR.GroupResource(), r.name, err)
}

func (r request) invalid(errs field.ErrorList) error {
	return refusal.Invalid(r.kind.GVK.GroupKind(), r.name, errs)
}
