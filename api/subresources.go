package api

import (
	authenticationv1 "k8s.io/api/authentication/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/storagesim/storagesim/api/internal/call"
	"github.com/storagesim/storagesim/api/patch"
	"github.com/storagesim/storagesim/api/views"
)

// writeView updates or patches the form of an object that a view is.
func writeView(w *writer, r request, v *views.View, req Request) (runtime.Object, error) {
	answer, err := w.change(r, func(r request, old call.Object) (call.Object, error) {
		if old = r.asShown(old); old == nil {
			return nil, r.notFound()
		}
		form := req.Object
		if req.Verb == "patch" {
			before := v.Show
			if v.Base != nil {
				before = v.Base
			}
			is, err := before(old)
			if err != nil {
				return nil, err
			}
			if form, err = patch.Form(is, req.PatchType, req.Patch); err != nil {
				return nil, err
			}
		}
		obj := old.DeepCopyObject().(call.Object)
		m, ok := form.(metav1.Object)
		if !ok || form.GetObjectKind() == nil {
			return nil, apierrors.NewBadRequest("there is no object in the request")
		}
		if version := m.GetResourceVersion(); version != "" {
			obj.SetResourceVersion(version)
		}
		if uid := m.GetUID(); uid != "" {
			obj.SetUID(uid)
		}
		return obj, v.Set(obj, form)
	})
	if err != nil {
		return nil, err
	}
	return v.Show(answer.(call.Object))
}

// requestToken answers with a token for a service account. Nothing here accepts it: who
// gets in is the business of what listens on a port.
// Upstream: pkg/registry/core/serviceaccount/storage TokenREST.Create, v1.37.
func requestToken(w *writer, r request, in runtime.Object) (runtime.Object, error) {
	tr, ok := in.(*authenticationv1.TokenRequest)
	if !ok {
		return nil, w.reports.refuse(r, apierrors.NewBadRequest("a TokenRequest is expected"))
	}
	account := w.tables.stored(r)
	if account == nil {
		return nil, w.reports.refuse(r, r.notFound())
	}
	life, err := views.LifeOfToken(tr, r.name)
	if err != nil {
		return nil, w.reports.refuse(r, err)
	}
	now := w.clock.now()
	ends := metav1.NewTime(now.Add(life))
	sum := w.names.digest(uint64(ends.Unix()), "token", string(account.GetUID()))
	return views.Token(tr, account, now, ends, sum), nil
}
