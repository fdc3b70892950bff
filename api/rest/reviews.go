package rest

import (
	"net/http"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// serveReview serves a question to the server.
func (h *Handler) serveReview(w http.ResponseWriter, r *http.Request, t target, gvk schema.GroupVersionKind) error {
	out, err := negotiateOutput(r, mediaTypesOfKubernetes(), allowsNothing)
	if err != nil {
		return err
	}
	c := call{h: h, w: w, r: r, t: t, kind: kind{APIResource: metav1.APIResource{Kind: gvk.Kind}, gvk: gvk, typed: true, protobuf: true}, out: out}
	obj, err := c.decode(r.URL.Query().Get("fieldValidation"))
	if err != nil {
		return err
	}
	req := c.request("create")
	req.Object = obj
	if obj, err = h.server.Do(r.Context(), req); err != nil {
		return err
	}
	return c.answer(http.StatusCreated, obj)
}
