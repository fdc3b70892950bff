package api

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/testing"
)

// requestOf is what a fake clientset was asked, in the server's words.
func requestOf(actor string, action testing.Action) Request {
	req := Request{
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

// call describes the request as a gate sees it.
func (req *Request) call() Call {
	return Call{
		Actor: req.Actor, Verb: req.Verb, Resource: req.Resource,
		Subresource: req.Subresource, Namespace: req.Namespace, Name: req.about(),
	}
}
