package api

import (
	"fmt"

	policyv1 "k8s.io/api/policy/v1"
	policyv1beta1 "k8s.io/api/policy/v1beta1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/testing"
)

// callOf describes an action as a gate sees it.
func callOf(actor string, action testing.Action) Call {
	call := Call{
		Actor: actor, Verb: verbOf(action), Resource: action.GetResource(),
		Subresource: action.GetSubresource(), Namespace: action.GetNamespace(),
	}
	switch a := action.(type) {
	case interface{ GetName() string }: // get, patch, delete
		call.Name = a.GetName()
	case interface{ GetObject() runtime.Object }: // create, update
		call.Name = nameIn(a.GetObject())
	}
	if a, ok := action.(testing.CreateActionImpl); ok && a.Name != "" {
		call.Name = a.Name // of the object that the subresource belongs to
	} else if ok {
		call.Name = nameIn(a.Object)
	}
	return call
}

// verbOf is the verb as an audit log has it.
func verbOf(action testing.Action) string {
	if action.GetVerb() == "delete-collection" {
		return "deletecollection"
	}
	return action.GetVerb()
}

func nameIn(obj runtime.Object) string {
	o, ok := obj.(object)
	switch {
	case !ok:
		return ""
	case o.GetName() == "":
		return o.GetGenerateName()
	}
	return o.GetName()
}

// serve carries out what a fake clientset was asked, everything but watches.
func (s *Server) serve(actor string, action testing.Action) (runtime.Object, error) {
	k, ok := kinds()[action.GetResource()]
	if !ok {
		return nil, unknownResource(action.GetResource())
	}
	r := &request{
		actor: actor, verb: verbOf(action), kind: k, sub: action.GetSubresource(), namespace: action.GetNamespace(),
	}
	if !k.namespaced {
		r.namespace = ""
	}
	switch a := action.(type) {
	case testing.GetActionImpl:
		r.name = a.GetName()
		if err := r.address(); err != nil {
			return nil, err
		}
		return s.get(k, r.namespace, r.name, a.GetOptions)
	case testing.ListActionImpl:
		return s.list(k, r.namespace, a.ListOptions)
	case testing.CreateActionImpl:
		return s.serveCreate(r, a)
	case testing.UpdateActionImpl:
		return s.serveUpdate(r, a)
	case testing.PatchActionImpl:
		return s.servePatch(r, a)
	case testing.DeleteActionImpl:
		return nil, s.serveDelete(r, a)
	case testing.DeleteCollectionActionImpl:
		return nil, s.deleteCollection(r, a.DeleteOptions, a.ListOptions)
	}
	return nil, apierrors.NewBadRequest(fmt.Sprintf("%s %s is nothing this server does", action.GetVerb(), action.GetResource().Resource))
}

func (s *Server) serveCreate(r *request, a testing.CreateActionImpl) (runtime.Object, error) {
	r.name = nameIn(a.Object)
	if a.Name != "" {
		r.name = a.Name
	}
	var err error
	if r.dryRun, err = dryRun(r.kind, r.name, a.CreateOptions.DryRun); err != nil {
		return nil, s.refuse(r, err)
	}
	if r.kind.namespaced && r.namespace == "" {
		return nil, s.refuse(r, apierrors.NewBadRequest("an empty namespace may not be set during creation"))
	}
	switch {
	case r.sub == "":
		return s.create(r, a.Object)
	case r.sub == "binding" && r.kind.gvr == pods:
		return a.Object, s.bind(r, a.Object)
	case r.sub == "eviction" && r.kind.gvr == pods:
		return a.Object, s.evict(r, a.Object)
	case r.sub == "finalize" && r.kind.gvr == namespaces:
		r.verb = "update" // as a real client puts it
		return s.finalizeNamespace(r, a.Object)
	}
	return nil, s.refuse(r, noSubresource(r))
}

// evict deletes the pod. There are no disruption budgets.
func (s *Server) evict(r *request, in runtime.Object) error {
	var opts *metav1.DeleteOptions
	switch eviction := in.(type) {
	case *policyv1.Eviction:
		opts = eviction.DeleteOptions
	case *policyv1beta1.Eviction:
		opts = eviction.DeleteOptions
	default:
		return s.refuse(r, apierrors.NewBadRequest("an Eviction is expected"))
	}
	if opts == nil {
		opts = &metav1.DeleteOptions{}
	}
	return s.delete(r, *opts)
}

func (s *Server) serveUpdate(r *request, a testing.UpdateActionImpl) (runtime.Object, error) {
	r.name, r.manager = nameIn(a.Object), a.UpdateOptions.FieldManager
	var err error
	if r.dryRun, err = dryRun(r.kind, r.name, a.UpdateOptions.DryRun); err != nil {
		return nil, s.refuse(r, err)
	}
	if err := r.address(); err != nil {
		return nil, s.refuse(r, err)
	}
	return s.update(r, a.Object)
}

func (s *Server) servePatch(r *request, a testing.PatchActionImpl) (runtime.Object, error) {
	r.name, r.manager, r.strict = a.Name, a.PatchOptions.FieldManager, a.PatchOptions.FieldValidation == metav1.FieldValidationStrict
	var err error
	if r.dryRun, err = dryRun(r.kind, r.name, a.PatchOptions.DryRun); err != nil {
		return nil, s.refuse(r, err)
	}
	if err := r.address(); err != nil {
		return nil, s.refuse(r, err)
	}
	return s.patch(r, a.PatchType, a.Patch, a.PatchOptions)
}

func (s *Server) serveDelete(r *request, a testing.DeleteActionImpl) error {
	r.name = a.Name
	if err := r.address(); err != nil {
		return s.refuse(r, err)
	}
	return s.delete(r, a.DeleteOptions)
}

// address checks that the request says which object it is about.
func (r *request) address() error {
	switch {
	case r.kind.namespaced && r.namespace == "":
		return apierrors.NewBadRequest("an empty namespace may not be set when a resource name is provided")
	case r.name == "":
		return apierrors.NewBadRequest("resource name may not be empty")
	case r.sub != "" && (r.sub != "status" || r.kind.status < 0):
		return noSubresource(r)
	}
	return nil
}

func noSubresource(r *request) error {
	err := apierrors.NewNotFound(r.kind.gvr.GroupResource(), r.name)
	err.ErrStatus.Message = fmt.Sprintf("the server could not find the requested resource: %s has no %s here", r.kind.gvr.Resource, r.sub)
	return err
}

func (s *Server) serveWatch(action testing.Action) (watch.Interface, error) {
	k, ok := kinds()[action.GetResource()]
	if !ok {
		return nil, unknownResource(action.GetResource())
	}
	a, ok := action.(testing.WatchActionImpl)
	if !ok {
		return nil, apierrors.NewBadRequest("a watch is expected")
	}
	namespace := a.GetNamespace()
	if !k.namespaced {
		namespace = ""
	}
	return s.watch(k, namespace, a.ListOptions)
}
