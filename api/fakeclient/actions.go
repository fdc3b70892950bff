package fakeclient

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/testing"

	"github.com/storagesim/storagesim/api"
)

// requestOf is what a fake clientset was asked, in the server's words.
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
		req.Name, req.Object, req.Write = a.Name, a.Object, metav1.PatchOptions{
			DryRun: a.CreateOptions.DryRun, FieldManager: a.CreateOptions.FieldManager, FieldValidation: a.CreateOptions.FieldValidation,
		}
	case testing.UpdateActionImpl:
		req.Object, req.Write = a.Object, metav1.PatchOptions{
			DryRun: a.UpdateOptions.DryRun, FieldManager: a.UpdateOptions.FieldManager, FieldValidation: a.UpdateOptions.FieldValidation,
		}
	case testing.PatchActionImpl:
		req.Name, req.PatchType, req.Patch, req.Write = a.Name, a.PatchType, a.Patch, a.PatchOptions
	case testing.DeleteActionImpl:
		req.Name, req.Delete = a.Name, a.DeleteOptions
	case testing.DeleteCollectionActionImpl:
		req.Verb, req.List, req.Delete = "deletecollection", a.ListOptions, a.DeleteOptions // as an audit log has it
	}
	return req
}

// actionOf is a request in client-go's words, with a copy of its object. The selectors of
// a list are well-formed.
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
	return testing.ActionImpl{Verb: req.Verb, Resource: gvr, Subresource: req.Subresource, Namespace: ns}
}
