package views

import (
	"cmp"
	"slices"
	"strings"

	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/storagesim/storagesim/api/internal/call"
)

// user is the user of every client. It may do everything.
var user = authenticationv1.UserInfo{Username: "kubernetes-admin", Groups: []string{"system:masters", "system:authenticated"}}

// User returns the user of every client.
func User() authenticationv1.UserInfo { return user }

// reviews are the kinds that are never stored: a client sends a question and gets it back
// with the answer. Every client may do everything.
var reviews = map[schema.GroupVersionResource]func(obj runtime.Object){
	authorizationv1.SchemeGroupVersion.WithResource("selfsubjectaccessreviews"): func(obj runtime.Object) {
		obj.(*authorizationv1.SelfSubjectAccessReview).Status.Allowed = true
	},
	authorizationv1.SchemeGroupVersion.WithResource("subjectaccessreviews"): func(obj runtime.Object) {
		obj.(*authorizationv1.SubjectAccessReview).Status.Allowed = true
	},
	authorizationv1.SchemeGroupVersion.WithResource("localsubjectaccessreviews"): func(obj runtime.Object) {
		obj.(*authorizationv1.LocalSubjectAccessReview).Status.Allowed = true
	},
	authorizationv1.SchemeGroupVersion.WithResource("selfsubjectrulesreviews"): func(obj runtime.Object) {
		all := []string{"*"}
		obj.(*authorizationv1.SelfSubjectRulesReview).Status = authorizationv1.SubjectRulesReviewStatus{
			ResourceRules:    []authorizationv1.ResourceRule{{Verbs: all, APIGroups: all, Resources: all}},
			NonResourceRules: []authorizationv1.NonResourceRule{{Verbs: all, NonResourceURLs: all}},
		}
	},
	authenticationv1.SchemeGroupVersion.WithResource("selfsubjectreviews"): func(obj runtime.Object) {
		obj.(*authenticationv1.SelfSubjectReview).Status.UserInfo = user
	},
	authenticationv1.SchemeGroupVersion.WithResource("tokenreviews"): func(obj runtime.Object) {
		review := obj.(*authenticationv1.TokenReview)
		review.Status = authenticationv1.TokenReviewStatus{Error: "invalid bearer token"}
		if isToken(review.Spec.Token) {
			review.Status = authenticationv1.TokenReviewStatus{Authenticated: true, User: user}
		}
	},
}

// kindsOfReviews holds the kinds by the resource that they are sent to.
var kindsOfReviews = map[string]string{
	"selfsubjectaccessreviews": "SelfSubjectAccessReview", "subjectaccessreviews": "SubjectAccessReview",
	"localsubjectaccessreviews": "LocalSubjectAccessReview", "selfsubjectrulesreviews": "SelfSubjectRulesReview",
	"selfsubjectreviews": "SelfSubjectReview", "tokenreviews": "TokenReview",
}

// Review returns the kind of a question to the server that is never stored, such as a
// SelfSubjectAccessReview; ok reports whether the resource is one.
func Review(resource schema.GroupVersionResource) (kind schema.GroupVersionKind, ok bool) {
	if _, ok = reviews[resource]; !ok {
		return kind, false
	}
	return resource.GroupVersion().WithKind(kindsOfReviews[resource.Resource]), true
}

// Unstored returns the resources to which objects are sent that are never stored, as discovery shows them.
func Unstored() []metav1.APIResource {
	list := []metav1.APIResource{{Version: v1.SchemeGroupVersion.Version, Name: "bindings", Kind: "Binding"}}
	for resource := range reviews {
		list = append(list, metav1.APIResource{Group: resource.Group, Version: resource.Version, Name: resource.Resource, Kind: kindsOfReviews[resource.Resource]})
	}
	slices.SortFunc(list, func(a, b metav1.APIResource) int {
		return cmp.Or(cmp.Compare(a.Group, b.Group), cmp.Compare(a.Name, b.Name))
	})
	for i := range list {
		r := &list[i]
		r.SingularName, r.Verbs = strings.ToLower(r.Kind), metav1.Verbs{"create"}
		r.Namespaced = r.Name == "bindings" || r.Name == "localsubjectaccessreviews"
	}
	return list
}

// Answer answers a question. Like a dry run it changes nothing. now is the time of an answer that has one.
func Answer(req call.Request, now metav1.Time) (runtime.Object, error) {
	if req.Verb != "create" || req.Subresource != "" || req.Object == nil {
		return nil, apierrors.NewMethodNotSupported(req.Resource.GroupResource(), req.Verb)
	}
	obj := req.Object.DeepCopyObject()
	reviews[req.Resource](obj)
	if self, ok := obj.(*authenticationv1.SelfSubjectReview); ok {
		self.ObjectMeta = metav1.ObjectMeta{CreationTimestamp: now}
	}
	return obj, nil
}
