package api

import (
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/managedfields"

	"github.com/storagesim/storagesim/api/internal/call"
	"github.com/storagesim/storagesim/api/internal/refusal"
	"github.com/storagesim/storagesim/api/patch"
	"github.com/storagesim/storagesim/api/store"
	"github.com/storagesim/storagesim/api/views"
)

// writeView updates, patches or applies the form of an object that a view is.
// Upstream: pkg/registry/apps/deployment/storage ScaleREST.Update and scaleUpdatedObjectInfo.UpdatedObject, v1.37.2.
func writeView(w *writer, r request, v *views.View, req Request) (runtime.Object, error) {
	form, err := r.target().FormWrite(r.Kind.Subresources[r.Sub].GVK, req)
	if err != nil {
		return nil, w.reports.refuse(r, err)
	}
	show := v.Show
	if v.Base != nil {
		show = v.Base
	}
	r.tracked = true // by the form
	answer, err := w.change(r, func(r request, old call.Object) (call.Object, error) {
		if old = r.asShown(old); old == nil {
			return nil, r.NotFound()
		}
		fields := managedfields.NewScaleHandler(old.GetManagedFields(), r.Kind.GVK.GroupVersion(), w.tables.registry.ReplicasOf(r.Kind.GVK.GroupKind()))
		is, err := form.Before(show, old, fields)
		if err != nil {
			return nil, err
		}
		m, err := form.After(is, w.clock.Now())
		if err != nil {
			return nil, err
		}
		obj := old.DeepCopyObject().(call.Object)
		if version := m.GetResourceVersion(); version != "" {
			obj.SetResourceVersion(version)
		}
		switch uid := m.GetUID(); {
		case uid == "" || uid == old.GetUID():
		case r.Verb != "patch":
			return nil, r.WrongUID(uid, old.GetUID())
		case r.Kind.Scheme != nil: // what a patch makes of the UID of a custom resource is not looked at
			return nil, r.OtherOwner(uid, old.GetUID())
		}
		entries, err := fields.ToParent(m.GetManagedFields())
		if err != nil {
			return nil, refusal.AsStatus(err)
		}
		obj.SetManagedFields(entries)
		patch.Stamp(old, obj, w.clock.Now())
		return obj, v.Set(obj, m)
	})
	if err != nil {
		return nil, err
	}
	return v.Show(answer.(call.Object))
}

// requestToken answers with a token for a service account. The server does not check it: that is left to what listens on a port.
// Upstream: pkg/registry/core/serviceaccount/storage TokenREST.Create, v1.37.2.
func requestToken(w *writer, r request, in runtime.Object) (runtime.Object, error) {
	given, ok := in.(*authenticationv1.TokenRequest)
	if !ok {
		return nil, w.reports.refuse(r, apierrors.NewBadRequest("a TokenRequest is expected"))
	}
	given = given.DeepCopy()
	views.DefaultTokenLife(given)
	if r.tracks {
		r.target().Form(r.Kind.Subresources[r.Sub].GVK).Track(nil, given, w.prepare.owner(r), w.clock.Now())
	}
	now := w.clock.Now()
	account := w.tables.stored(r.Address)
	tr, err := views.TokenRequestFor(given, r.Namespace, r.Name, account, r.NotFound(), now)
	if err == nil {
		err = bindToken(w.tables, r, tr.Spec.BoundObjectRef)
	}
	if err != nil {
		return nil, w.reports.refuse(r, err)
	}
	ends := metav1.NewTime(now.Add(time.Duration(*tr.Spec.ExpirationSeconds) * time.Second))
	views.SetToken(tr, ends, w.names.Digest(uint64(ends.Unix()), "token", string(account.GetUID())))
	return tr, nil
}

// bindToken looks for the object to which a token is to be bound, if there is one.
func bindToken(t *tables, r request, ref *authenticationv1.BoundObjectReference) error {
	if ref == nil {
		return nil
	}
	resource, namespaced, err := views.BoundTo(ref)
	if err != nil {
		return err
	}
	key := ref.Name
	if namespaced {
		key = store.KeyOf(r.Namespace, ref.Name)
	}
	t.objects.RLock()
	defer t.objects.RUnlock()
	to, ok := held{t}.Get(resource, key)
	if !ok {
		return apierrors.NewNotFound(resource.GroupResource(), ref.Name)
	}
	return views.MayBindToken(r.Name, ref, to.(metav1.Object))
}
