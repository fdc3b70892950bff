package rest

import (
	"net/http"

	authenticationv1 "k8s.io/api/authentication/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/storagesim/storagesim/api/views"
)

// serveReview serves a question to the server.
func (h *Handler) serveReview(w http.ResponseWriter, r *http.Request, t target, gvk schema.GroupVersionKind) error {
	out, err := negotiateOutput(r, mediaTypesOfKubernetes(), allowsNothing)
	if err != nil {
		return err
	}
	c := call{h: h, w: w, r: r, t: t, kind: kind{APIResource: metav1.APIResource{Kind: gvk.Kind}, gvk: gvk, typed: true, protobuf: true}, out: out}
	req := c.request("create")
	if err := c.receive(&req); err != nil {
		return err
	}
	obj, err := h.server.Do(r.Context(), req)
	if err != nil {
		return err
	}
	if review, ok := obj.(*authenticationv1.TokenReview); ok && review.Spec.Token != "" && r.Header.Get("Authorization") == "Bearer "+review.Spec.Token {
		// the token that this request was admitted with
		review.Status = authenticationv1.TokenReviewStatus{Authenticated: true, User: views.User()}
	}
	return c.answer(http.StatusCreated, obj)
}
