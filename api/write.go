package api

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	metavalidation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/storagesim/storagesim/internal/bounded"
	"github.com/storagesim/storagesim/trace"
)

// request is one write request on its way through the server.
type request struct {
	actor, verb          string
	kind                 *kind
	sub, namespace, name string
	ended                func() error // the error of the request's context
	dryRun               bool
	dropped              []string          // fields that the server left out, for the trace
	manager              string            // field manager; the actor if empty
	generated            bool              // the name is made by the server
	tracked              bool              // obj comes with its managedFields: an apply
	strict               bool              // unknown fields in a patch are refused
	created              *bool             // Request.Created
	warn                 func(text string) // Request.Warn; nil where nothing is to be warned of
	warnFields           func(text string) // the same for fields that the kind does not have; nil if they are to be ignored
	shared               bool              // Request.Shared
	reserved             *v1.Service       // addresses and ports that allocate has reserved
	size                 int               // of the object that is stored, in bytes; 0 if it was not measured
}

// outcome holds what a request did to one object: see Write.
type outcome struct{ old, new, last object }

// answer returns the object for the caller.
func (o outcome) answer() object {
	if o.new != nil {
		return o.new
	}
	return o.last
}

// write runs do under the lock, and reports its outcome to the hooks.
func (s *Server) write(r *request, do func(st *store) (outcome, error)) (runtime.Object, error) {
	out, err := s.writeLocked(r, do)
	if err != nil {
		return nil, err
	}
	if r.created != nil {
		*r.created = out.old == nil
	}
	return r.kind.given(out.answer(), r.shared), nil
}

// writeLocked does what write does, without the answer.
func (s *Server) writeLocked(r *request, do func(st *store) (outcome, error)) (outcome, error) {
	out, err := s.writeOnce(r, do)
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

func (s *Server) writeOnce(r *request, do func(st *store) (outcome, error)) (outcome, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	st, err := s.store(r.kind.gvr)
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
	s.report(r, out, err)
	return out, err
}

// report calls the hooks.
func (s *Server) report(r *request, out outcome, err error) {
	if len(s.hooks) == 0 || r.dryRun {
		return
	}
	w := trace.Write{
		RV: s.rv, Time: s.cfg.Now(), Actor: r.actor, Verb: r.verb, Resource: r.kind.gvr, Subresource: r.sub,
		Namespace: r.namespace, Name: r.name, Kind: r.kind.gvk.Kind, Code: codeOf(r, out, err), Err: err,
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
	for _, hook := range s.hooks {
		hook(w)
	}
}

func codeOf(r *request, out outcome, err error) int {
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

// checkWriteOptions refuses options of a create, update or patch that mean nothing, and
// reads dryRun.
// Upstream: endpoints/handlers createHandler, UpdateResource and PatchResource, v1.37.
func (r *request) checkWriteOptions(req *Request) error {
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
	r.dryRun = len(o.DryRun) > 0
	if len(errs) > 0 {
		return apierrors.NewInvalid(metav1.SchemeGroupVersion.WithKind(kind).GroupKind(), "", errs)
	}
	return nil
}

func (r *request) notFound() error {
	return apierrors.NewNotFound(r.kind.gvr.GroupResource(), r.name)
}

func (r *request) conflict(err error) error {
	return apierrors.NewConflict(r.kind.gvr.GroupResource(), r.name, err)
}

func (r *request) invalid(errs field.ErrorList) error {
	return apierrors.NewInvalid(r.kind.gvk.GroupKind(), r.name, foremost(errs))
}

// maxRefusal is the number of bytes of a refusal that are told.
const maxRefusal = 64 << 10

// foremost returns the errors that fit into a refusal, and at the end how many more there are. A
// text that is too long is cut.
func foremost(errs field.ErrorList) field.ErrorList {
	left := maxRefusal
	for i, err := range errs {
		text := err.ErrorBody()
		if left -= len(text); left >= 0 {
			continue
		}
		kept := slices.Clone(errs[:i])
		if i == 0 {
			kept = append(kept, &field.Error{Type: err.Type, Field: err.Field, BadValue: field.OmitValueType{}, Detail: bounded.Text(strings.TrimPrefix(text, err.Type.String()+": "), maxRefusal)})
			i++
		}
		if more := len(errs) - i; more > 0 {
			kept = append(kept, &field.Error{Type: field.ErrorTypeInvalid, Field: errs[len(errs)-1].Field, BadValue: field.OmitValueType{}, Detail: fmt.Sprintf("... %d more errors; the last is: %s", more, bounded.Text(errs[len(errs)-1].Detail, 1024))})
		}
		return kept
	}
	return errs
}

// internalError returns the status for an error without a code of its own.
func internalError(message string) error {
	return &apierrors.StatusError{ErrStatus: metav1.Status{
		Status: metav1.StatusFailure, Code: http.StatusInternalServerError, Message: message,
	}}
}

// asStatus returns an error of a library as one that an API server answers with.
func asStatus(err error) error {
	var status apierrors.APIStatus
	if err == nil || errors.As(err, &status) {
		return err
	}
	return internalError(err.Error())
}

func semanticEqual(a, b any) bool { return equality.Semantic.DeepEqual(a, b) }
