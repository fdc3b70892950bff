package api

import (
	"context"
	"fmt"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/validate/content"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"

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
		form: form, ended: ctx.Err, actor: req.Actor, verb: req.Verb, kind: k, sub: req.Subresource, namespace: req.Namespace, name: req.ObjectName(),
		created: req.Created, warn: req.Warn, warnFields: req.Warn, shared: req.Shared, manager: req.Write.FieldManager, tracks: req.Track,
		strict: req.Write.FieldValidation == metav1.FieldValidationStrict,
	}
	if !k.Namespaced {
		r.namespace = ""
	}
	if req.Write.FieldValidation == metav1.FieldValidationIgnore {
		r.warnFields = nil
	}
	switch req.Verb {
	case "get":
		if err := r.address(); err != nil {
			return nil, err
		}
		obj, err := get(s.tables, r, req.Get)
		if view := k.Subresources[r.sub].View; view != nil && err == nil {
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
		if err := r.address(); err != nil {
			return nil, s.reports.refuse(r, err)
		}
		if r.sub != "" {
			return nil, s.reports.refuse(r, apierrors.NewMethodNotSupported(k.GVR.GroupResource(), req.Verb))
		}
		r.warnOfOrphans(req.Delete)
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
	return st.Watch(ctx, store.Form{Fields: k.Fields, Given: k.Given, New: func() call.Object { return emptyBookmark(k) }}, req.Namespace, req.List,
		req.Shared)
}

// emptyBookmark returns the object of a bookmark. Inside a real server the replicas of these kinds are no pointer.
// Upstream: pkg/apis/apps types, v1.37.2.
func emptyBookmark(k *registry.Entry) call.Object {
	obj := k.NewObject()
	switch o := obj.(type) {
	case *appsv1.Deployment:
		o.Spec.Replicas = new(int32)
	case *appsv1.StatefulSet:
		o.Spec.Replicas = new(int32)
	case *appsv1.ReplicaSet:
		o.Spec.Replicas = new(int32)
	}
	return obj
}

func serveCreate(s *Server, r request, req Request) (runtime.Object, error) {
	r.dryRun = len(req.Write.DryRun) > 0
	if err := call.CheckWriteOptions(&req); err != nil {
		return nil, s.reports.refuse(r, err)
	}
	if r.kind.Namespaced && r.namespace == "" {
		return nil, s.reports.refuse(r, apierrors.NewBadRequest("an empty namespace may not be set during creation"))
	}
	if r.sub == "" {
		return create(s.writes, r, req.Object)
	}
	if post := post(s.deletes, r); post != nil {
		return post(r, req.Object)
	}
	return nil, s.reports.refuse(r, noSubresource(r))
}

// post returns the function that answers requests for a subresource which is no form of its object, nil for other subresources.
func post(d *deleter, r request) func(r request, obj runtime.Object) (runtime.Object, error) {
	if r.kind.GVR.Group != v1.GroupName {
		return nil
	}
	switch r.kind.GVR.Resource + "/" + r.sub {
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
	r.dryRun = len(req.Write.DryRun) > 0
	if err := call.CheckWriteOptions(&req); err != nil {
		return nil, w.reports.refuse(r, err)
	}
	if err := patch.CheckJSON(req.PatchType, req.Patch); err != nil && req.Verb == "patch" && req.Values == nil {
		return nil, w.reports.refuse(r, err)
	}
	if err := r.address(); err != nil {
		return nil, w.reports.refuse(r, err)
	}
	if view := r.kind.Subresources[r.sub].View; view != nil {
		return writeView(w, r, view, req)
	}
	if req.Verb == "patch" {
		return patched(w, r, req)
	}
	return update(w, r, req.Object)
}

// address checks that the request says which object it is about.
// Upstream: apiserver registry/generic/registry NamespaceKeyFunc, v1.37.2.
func (r request) address() error {
	switch wrong := content.IsPathSegmentName(r.name); {
	case r.kind.Namespaced && r.namespace == "":
		return apierrors.NewBadRequest("an empty namespace may not be set when a resource name is provided")
	case r.name == "":
		return apierrors.NewBadRequest("resource name may not be empty")
	case len(wrong) > 0:
		return apierrors.NewBadRequest(fmt.Sprintf("Name parameter invalid: %q: %s", r.name, strings.Join(wrong, ";")))
	case r.sub != "" && !r.kind.HasPart(r.sub):
		return noSubresource(r)
	}
	return nil
}

func noSubresource(r request) error {
	err := apierrors.NewNotFound(r.kind.GVR.GroupResource(), r.name)
	err.ErrStatus.Message = fmt.Sprintf("the server could not find the requested resource: %s has no %s here", r.kind.GVR.Resource, r.sub)
	return err
}
