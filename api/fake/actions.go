package fake

import (
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/testing"

	"github.com/storagesim/storagesim/api"
)

// requestOf returns an action in the server's words.
func requestOf(actor string, action testing.Action) api.Request {
	req := api.Request{
		Actor: actor, Verb: action.GetVerb(), Resource: action.GetResource(),
		Subresource: action.GetSubresource(), Namespace: action.GetNamespace(),
	}
	switch a := action.(type) {
	case testing.GetActionImpl:
		req.Name, req.Get = a.Name, a.GetOptions
	case testing.ListActionImpl:
		req.List = a.ListOptions
	case testing.WatchActionImpl:
		req.List = a.ListOptions
	case testing.CreateActionImpl:
		req.Name, req.Object, req.Write = a.Name, a.Object, writeOptions(a.CreateOptions.DryRun, a.CreateOptions.FieldManager, a.CreateOptions.FieldValidation)
	case testing.UpdateActionImpl:
		req.Object, req.Write = a.Object, writeOptions(a.UpdateOptions.DryRun, a.UpdateOptions.FieldManager, a.UpdateOptions.FieldValidation)
	case testing.PatchActionImpl:
		req.Name, req.PatchType, req.Patch, req.Write = a.Name, a.PatchType, a.Patch, a.PatchOptions
	case testing.DeleteActionImpl:
		req.Name, req.Delete = a.Name, a.DeleteOptions
	case testing.DeleteCollectionActionImpl:
		req.Verb, req.List, req.Delete = "deletecollection", a.ListOptions, a.DeleteOptions // as an audit log has it
	}
	return req
}

// actionOf returns a request as an action, with a copy of its object: see hasAction.
func actionOf(req *api.Request) testing.Action {
	gvr, ns, w := req.Resource, req.Namespace, req.Write
	switch req.Verb {
	case "get":
		return testing.NewGetSubresourceActionWithOptions(gvr, ns, req.Subresource, req.Name, req.Get)
	case "list":
		return testing.NewListActionWithOptions(gvr, schema.GroupVersionKind{}, ns, req.List)
	case "create":
		return testing.NewCreateSubresourceActionWithOptions(gvr, req.Name, req.Subresource, ns, copyOf(req.Object),
			metav1.CreateOptions{DryRun: w.DryRun, FieldManager: w.FieldManager, FieldValidation: w.FieldValidation})
	case "update":
		return testing.NewUpdateSubresourceActionWithOptions(gvr, req.Subresource, ns, copyOf(req.Object),
			metav1.UpdateOptions{DryRun: w.DryRun, FieldManager: w.FieldManager, FieldValidation: w.FieldValidation})
	case "patch":
		return testing.NewPatchSubresourceActionWithOptions(gvr, ns, req.Name, req.PatchType, req.Patch, w, req.Subresource)
	case "delete":
		return testing.NewDeleteSubresourceActionWithOptions(gvr, req.Subresource, ns, req.Name, req.Delete)
	case "deletecollection":
		return testing.NewDeleteCollectionActionWithOptions(gvr, ns, req.Delete, req.List)
	}
	return testing.GenericActionImpl{ActionImpl: testing.ActionImpl{Verb: req.Verb, Resource: gvr, Subresource: req.Subresource, Namespace: ns}}
}

func writeOptions(dryRun []string, manager, validation string) metav1.PatchOptions {
	return metav1.PatchOptions{DryRun: dryRun, FieldManager: manager, FieldValidation: validation}
}

// hasAction reports whether client-go has an action for the request: its actions panic
// without an object, and where a selector cannot be parsed. The server refuses either.
func hasAction(req *api.Request) bool {
	if req.Object == nil && (req.Verb == "create" || req.Verb == "update") {
		return false
	}
	_, err := labels.Parse(req.List.LabelSelector)
	if err == nil {
		_, err = fields.ParseSelector(req.List.FieldSelector)
	}
	return err == nil
}

// whatIsRead returns a copy of what the server reads of a request's object: an update of the
// kinds that are written most need not copy the part that it does not change.
func whatIsRead(req *api.Request) runtime.Object {
	if req.Verb != "update" {
		return copyOf(req.Object)
	}
	status := req.Subresource == "status"
	switch o := req.Object.(type) {
	case *v1.PersistentVolume:
		part := *o
		if status {
			part.Spec = v1.PersistentVolumeSpec{}
		} else {
			part.Status = v1.PersistentVolumeStatus{}
		}
		return part.DeepCopy()
	case *v1.PersistentVolumeClaim:
		part := *o
		if status {
			part.Spec = v1.PersistentVolumeClaimSpec{}
		} else {
			part.Status = v1.PersistentVolumeClaimStatus{}
		}
		return part.DeepCopy()
	case *v1.Pod:
		part := *o
		if status {
			part.Spec = v1.PodSpec{}
		} else {
			part.Status = v1.PodStatus{}
		}
		return part.DeepCopy()
	}
	return copyOf(req.Object)
}

func copyOf(obj runtime.Object) runtime.Object {
	if obj == nil {
		return nil
	}
	return obj.DeepCopyObject()
}
