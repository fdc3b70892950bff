package rest

import (
	"net/http"

	corev1 "k8s.io/api/core/v1"
)

// isOldBinding reports whether a request binds a pod that only the body names.
func (t *target) isOldBinding(r *http.Request) bool {
	return t.gvr() == corev1.SchemeGroupVersion.WithResource("bindings") && t.name == "" && r.Method == http.MethodPost
}

// serveOldBinding serves POST to /bindings as one to the subresource binding of the pod that the body names.
// Upstream: pkg/registry/core/pod/storage LegacyBindingREST, v1.37.
func (h *Handler) serveOldBinding(w http.ResponseWriter, r *http.Request, t target) error {
	t.resource, t.sub = "pods", "binding"
	pods, ok := h.kind(t.gvr())
	if !ok {
		return unknownPath()
	}
	c := call{h: h, w: w, r: r, t: t, kind: pods}
	err := checkAccept(r, pods.mediaTypes(), false)
	if err != nil {
		return err
	}
	if c.out, err = negotiateOutput(r, mediaTypesOfKubernetes(), allowsNothing); err != nil {
		return err
	}
	req := c.request("create")
	if err := c.receive(&req); err != nil {
		return err
	}
	binding, ok := req.Object.(*corev1.Binding)
	if !ok {
		return badRequest("a Binding is expected")
	}
	if err := c.checkNamespace(binding); err != nil {
		return err
	}
	req.Name = binding.Name
	// as of each new object, so that it is no precondition. Upstream: apiserver registry/rest WipeObjectMetaSystemFields, v1.37.2
	binding.UID = ""
	if binding.Target.Kind == "Node" { // the default: the pod gets the labels of its node only by the subresource
		binding.Target.Kind = ""
	}
	return c.do(req)
}
