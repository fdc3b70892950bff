package api

import (
	"context"
	"fmt"
	"slices"

	policyv1 "k8s.io/api/policy/v1"
	policyv1beta1 "k8s.io/api/policy/v1beta1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
)

// Request is one request to the server, in the words of an audit log.
type Request struct {
	// Actor is who asks. It is the field manager of what it writes, unless Write says
	// otherwise, and the trace names it.
	Actor string
	// Verb is get, list, watch, create, update, patch, delete or deletecollection.
	Verb string
	// Resource is what the request is about, for example persistentvolumes in v1.
	Resource schema.GroupVersionResource
	// Subresource is "" for the object itself, or for example "status".
	Subresource string
	// Namespace is "" for what has none, and for a list of all namespaces.
	Namespace string
	// Name is the object's; to create or update an object it may be left out, but not to
	// create a subresource, such as an eviction.
	Name string
	// Object is what to create or update. It becomes the server's own: nobody may change
	// it afterwards.
	Object runtime.Object
	// PatchType and Patch are the patch.
	PatchType types.PatchType
	Patch     []byte

	// Get are the options of get.
	Get metav1.GetOptions
	// List are those of list and watch, and select what deletecollection deletes.
	List metav1.ListOptions
	// Write are those of create, update and patch. Force is for an apply.
	Write metav1.PatchOptions
	// Delete are those of delete and deletecollection.
	Delete metav1.DeleteOptions

	// Shared: the caller only reads the answer. It may then be an object of the server itself,
	// or a list of such, which saves a copy, and nothing in it may be changed. (Quantities keep
	// the text that they are first asked for: those of stored objects have been asked, when
	// the object was measured.) The events of a watch are meant too.
	Shared bool

	// Created, if it is not nil, is set to whether the request has stored a new object: an
	// apply may have.
	Created *bool
}

// Do carries out a request, everything but a watch, as a real API server would: it
// defaults, admits, validates, stores and reports. The answer is the caller's own: an
// object, a list, or a Status if an object is gone or was bound. Errors are *apierrors.StatusError with the
// code, reason and words of a real server, but that of a context which has ended: then
// the server never hears of the request. Do is safe for concurrent use.
func (s *Server) Do(ctx context.Context, req Request) (runtime.Object, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if s.isEventsV1(&req) {
		return s.doEventsV1(ctx, req)
	}
	k, ok := s.cfg.Registry.at(req.Resource)
	if answer, asked := reviews[req.Resource]; asked && !ok {
		return s.review(req, answer)
	}
	if !ok {
		return nil, unknownResource(req.Resource)
	}
	r := &request{
		actor: req.Actor, verb: req.Verb, kind: k, sub: req.Subresource, namespace: req.Namespace, name: req.ObjectName(),
		created: req.Created, shared: req.Shared, manager: req.Write.FieldManager, strict: req.Write.FieldValidation == metav1.FieldValidationStrict,
	}
	if !k.namespaced {
		r.namespace = ""
	}
	switch req.Verb {
	case "get":
		if err := r.address(); err != nil {
			return nil, err
		}
		obj, err := s.get(r, req.Get)
		if view := k.subresources[r.sub].view; view != nil && err == nil {
			return view.show(obj.(object))
		}
		return obj, err
	case "list":
		return s.list(r, req.List)
	case "create":
		return s.serveCreate(r, req)
	case "update", "patch":
		return s.serveUpdate(r, req)
	case "delete":
		if err := r.address(); err != nil {
			return nil, s.refuse(r, err)
		}
		if r.sub != "" {
			return nil, s.refuse(r, apierrors.NewMethodNotSupported(k.gvr.GroupResource(), req.Verb))
		}
		return s.delete(r, req.Delete)
	case "deletecollection":
		return s.deleteCollection(r, req.Delete, req.List)
	}
	return nil, apierrors.NewBadRequest(fmt.Sprintf("%s %s is nothing this server does", req.Verb, req.Resource.Resource))
}

// Watch begins a watch, which ends with ctx or when it is stopped. Errors of a
// well-formed request, such as a version that is too old, come as an event, as with a
// real API server.
func (s *Server) Watch(ctx context.Context, req Request) (watch.Interface, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if s.isEventsV1(&req) {
		return s.watchEventsV1(ctx, req)
	}
	k, ok := s.cfg.Registry.at(req.Resource)
	if !ok {
		return nil, unknownResource(req.Resource)
	}
	if !k.namespaced {
		req.Namespace = ""
	}
	return s.watch(ctx, k, req)
}

func (s *Server) serveCreate(r *request, req Request) (runtime.Object, error) {
	if err := r.checkWriteOptions(&req); err != nil {
		return nil, s.refuse(r, err)
	}
	if r.kind.namespaced && r.namespace == "" {
		return nil, s.refuse(r, apierrors.NewBadRequest("an empty namespace may not be set during creation"))
	}
	if r.sub == "" {
		return s.create(r, req.Object)
	}
	if post := r.kind.subresources[r.sub].post; post != nil {
		return post(s, r, req.Object)
	}
	return nil, s.refuse(r, noSubresource(r))
}

// evictPod deletes the pod. There are no disruption budgets.
func (s *Server) evictPod(r *request, in runtime.Object) (runtime.Object, error) {
	var opts *metav1.DeleteOptions
	switch eviction := in.(type) {
	case *policyv1.Eviction:
		opts = eviction.DeleteOptions
	case *policyv1beta1.Eviction:
		opts = eviction.DeleteOptions
	default:
		return nil, s.refuse(r, apierrors.NewBadRequest("an Eviction is expected"))
	}
	if opts == nil {
		opts = &metav1.DeleteOptions{}
	}
	if _, err := s.delete(r, *opts); err != nil {
		return nil, err
	}
	return success(), nil
}

// serveUpdate updates or patches.
func (s *Server) serveUpdate(r *request, req Request) (runtime.Object, error) {
	err := r.receiveBody(req.Patch)
	if err != nil {
		return nil, s.refuse(r, err)
	}
	if err := r.checkWriteOptions(&req); err != nil {
		return nil, s.refuse(r, err)
	}
	if post := r.kind.subresources[r.sub].post; post != nil && req.Verb == "update" && slices.Contains(r.kind.subresources[r.sub].verbs, "update") {
		return post(s, r, req.Object)
	}
	if err := r.address(); err != nil {
		return nil, s.refuse(r, err)
	}
	if view := r.kind.subresources[r.sub].view; view != nil {
		return s.writeView(r, view, req)
	}
	if req.Verb == "patch" {
		return s.patch(r, req.PatchType, req.Patch, req.Write)
	}
	return s.update(r, req.Object)
}

// address checks that the request says which object it is about.
func (r *request) address() error {
	switch {
	case r.kind.namespaced && r.namespace == "":
		return apierrors.NewBadRequest("an empty namespace may not be set when a resource name is provided")
	case r.name == "":
		return apierrors.NewBadRequest("resource name may not be empty")
	case r.sub != "" && !r.kind.hasPart(r.sub):
		return noSubresource(r)
	}
	return nil
}

func noSubresource(r *request) error {
	err := apierrors.NewNotFound(r.kind.gvr.GroupResource(), r.name)
	err.ErrStatus.Message = fmt.Sprintf("the server could not find the requested resource: %s has no %s here", r.kind.gvr.Resource, r.sub)
	return err
}
