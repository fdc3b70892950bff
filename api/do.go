package api

import (
	"context"
	"fmt"

	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/storagesim/storagesim/api/address"
	"github.com/storagesim/storagesim/api/internal/call"
	"github.com/storagesim/storagesim/api/patch"
	"github.com/storagesim/storagesim/api/registry"
	"github.com/storagesim/storagesim/api/store"
	"github.com/storagesim/storagesim/api/views"
)

// Do carries out a request, except a watch, as a real API server would: it defaults, admits,
// validates, stores and reports. It returns an object, a list, or a Status if an object is
// gone or was bound; the caller may modify it, unless req.Shared is set. Errors are
// *apierrors.StatusError with the code, reason and words of a real server. If ctx is done, Do
// returns ctx.Err() and does not process the request. Do is safe for concurrent use.
func (s *Server) Do(ctx context.Context, req Request) (runtime.Object, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if isEventsV1(s.tables, &req) {
		return doEventsV1(ctx, s, req)
	}
	k, ok := s.tables.registry.Lookup(req.Resource)
	if _, asked := views.Review(req.Resource); asked && !ok {
		return views.Answer(req, s.writes.clock.Now())
	}
	if !ok {
		return nil, unknownResource(req.Resource)
	}
	return serve(ctx, s, req, k, nil)
}

// serve carries out a request about objects of a kind. form is the kind in which a patch is written, nil if that is the same.
func serve(ctx context.Context, s *Server, req Request, k, form *registry.Entry) (runtime.Object, error) {
	r := request{
		Address: address.Address{Verb: req.Verb, Kind: k, Sub: req.Subresource, Namespace: req.Namespace, Name: req.ObjectName()},
		form:    form, ended: ctx.Err, actor: req.Actor,
		created: req.Created, warn: req.Warn, warnFields: req.Warn, shared: req.Shared, manager: req.Write.FieldManager, tracks: req.Track,
		strict: req.Write.FieldValidation == metav1.FieldValidationStrict,
	}
	if !k.Namespaced {
		r.Namespace = ""
	}
	if req.Write.FieldValidation == metav1.FieldValidationIgnore {
		r.ignore, r.warnFields = true, nil
	}
	switch req.Verb {
	case "get":
		if err := r.Address.Check(); err != nil {
			return nil, err
		}
		obj, err := get(s.tables, r, req.Get)
		if view := k.Subresources[r.Sub].View; view != nil && err == nil {
			return view.Show(obj.(call.Object))
		}
		return obj, err
	case "list":
		return list(s.tables, r, req.List)
	case "create":
		return serveCreate(s, r, req)
	case "update", "patch":
		return serveUpdate(s.writes, r, req)
	case "delete":
		if err := r.Address.Check(); err != nil {
			return nil, s.reports.refuse(r, err)
		}
		if r.Sub != "" {
			return nil, s.reports.refuse(r, apierrors.NewMethodNotSupported(k.GVR.GroupResource(), req.Verb))
		}
		r.warnOfDeletion(req.Delete)
		return s.deletes.delete(r, req.Delete)
	case "deletecollection":
		return s.deletes.deleteCollection(r, req.Delete, req.List)
	}
	return nil, apierrors.NewBadRequest(fmt.Sprintf("verb %q is not supported for %s", req.Verb, req.Resource.Resource))
}

// Watch begins a watch, which ends with ctx or when it is stopped. Errors of a
// well-formed request, such as a version that is too old, come as an event, as with a
// real API server.
func (s *Server) Watch(ctx context.Context, req Request) (watch.Interface, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if isEventsV1(s.tables, &req) {
		return watchEventsV1(ctx, s, req)
	}
	k, ok := s.tables.registry.Lookup(req.Resource)
	if !ok {
		return nil, unknownResource(req.Resource)
	}
	if !k.Namespaced {
		req.Namespace = ""
	}
	s.tables.objects.Lock()
	st, err := s.tables.of(k.GVR)
	s.tables.objects.Unlock()
	if err != nil {
		return nil, err
	}
	return st.Watch(ctx, store.Form{Fields: k.Fields, Given: k.Given, New: k.NewBookmark}, req.Namespace, req.List,
		req.Shared)
}

func serveCreate(s *Server, r request, req Request) (runtime.Object, error) {
	r.DryRun = len(req.Write.DryRun) > 0
	if err := call.CheckWriteOptions(&req); err != nil {
		return nil, s.reports.refuse(r, err)
	}
	if r.Kind.Namespaced && r.Namespace == "" {
		return nil, s.reports.refuse(r, apierrors.NewBadRequest("an empty namespace may not be set during creation"))
	}
	if r.Sub == "" {
		return create(s.writes, r, req.Object)
	}
	if post := post(s.deletes, r); post != nil {
		return post(r, req.Object)
	}
	return nil, s.reports.refuse(r, r.NoSubresource())
}

// post returns the function that answers requests for a subresource which is no form of its object, nil for other subresources.
func post(d *deleter, r request) func(r request, obj runtime.Object) (runtime.Object, error) {
	if r.Kind.GVR.Group != v1.GroupName {
		return nil
	}
	switch r.Kind.GVR.Resource + "/" + r.Sub {
	case "pods/binding":
		return with(bindPod, d.writes)
	case "pods/eviction":
		return with(evictPod, d)
	case "namespaces/finalize":
		return with(finalizeNamespace, d.writes)
	case "serviceaccounts/token":
		return with(requestToken, d.writes)
	}
	return nil
}

// with returns a function with its first argument, the struct that does its writes.
func with[D any](do func(by D, r request, obj runtime.Object) (runtime.Object, error), by D) func(r request, obj runtime.Object) (runtime.Object, error) {
	return func(r request, obj runtime.Object) (runtime.Object, error) { return do(by, r, obj) }
}

// serveUpdate updates or patches.
func serveUpdate(w *writer, r request, req Request) (runtime.Object, error) {
	err := checkBody(req.Patch)
	if err != nil {
		return nil, w.reports.refuse(r, err)
	}
	r.DryRun = len(req.Write.DryRun) > 0
	if err := call.CheckWriteOptions(&req); err != nil {
		return nil, w.reports.refuse(r, err)
	}
	if err := patch.CheckJSON(req.PatchType, req.Patch); err != nil && req.Verb == "patch" && req.Values == nil {
		return nil, w.reports.refuse(r, err)
	}
	if err := r.Address.Check(); err != nil {
		return nil, w.reports.refuse(r, err)
	}
	if view := r.Kind.Subresources[r.Sub].View; view != nil {
		return writeView(w, r, view, req)
	}
	if req.Verb == "patch" {
		return patched(w, r, req)
	}
	return update(w, r, req.Object)
}
