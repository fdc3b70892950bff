package api

import (
	"reflect"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/storagesim/storagesim/api/store"
)

// get returns one object.
func get(t *tables, r request, opts metav1.GetOptions) (runtime.Object, error) {
	rv, err := store.ParseVersion(opts.ResourceVersion)
	if err != nil {
		return nil, err
	}
	t.objects.RLock()
	err = t.objects.CheckNotInFuture(rv)
	obj, ok := held{t}.Get(r.Kind.Home, store.KeyOf(r.Namespace, r.Name))
	t.objects.RUnlock()
	switch {
	case err != nil:
		return nil, err
	case !ok:
		return nil, r.NotFound()
	}
	return r.Kind.Given(obj, r.shared), nil
}

// list returns the selected objects, in order of key.
func list(t *tables, r request, opts metav1.ListOptions) (runtime.Object, error) {
	k := r.Kind
	sel, err := store.SelectorOf(k.Fields, k.Namespaced, r.Namespace, opts, false)
	if err != nil {
		return nil, err
	}
	items, listMeta, err := t.toRead(k).Page(k.Fields, sel, opts)
	if err != nil {
		return nil, err
	}
	list := k.NewList()
	slot := reflect.ValueOf(list).Elem().FieldByName("Items")
	slot.Set(reflect.MakeSlice(slot.Type(), len(items), len(items)))
	for i, obj := range items {
		slot.Index(i).Set(reflect.ValueOf(k.Given(obj, r.shared)).Elem())
	}
	acc, err := meta.ListAccessor(list)
	if err != nil {
		return nil, apierrors.NewInternalError(err)
	}
	acc.SetResourceVersion(listMeta.ResourceVersion)
	acc.SetContinue(listMeta.Continue)
	acc.SetRemainingItemCount(listMeta.RemainingItemCount)
	return list, nil
}
