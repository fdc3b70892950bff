package fake

import (
	"context"
	"encoding/json"
	"fmt"
	"reflect"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/testing"

	"github.com/storagesim/storagesim/api"
)

// Tracker returns the server as the object tracker of client-go's fakes, for tests
// that seed a clientset through it. What is added goes through the server like
// any other write, and gets its status by a second one. No reactor is called.
func (c *Clientset) Tracker() testing.ObjectTracker { return tracker{c} }

type tracker struct{ client *Clientset }

var _ testing.ObjectTracker = tracker{}

func (t tracker) Add(obj runtime.Object) error {
	if meta.IsListType(obj) {
		return meta.EachListItem(obj, t.Add)
	}
	gvks, _, err := scheme.Scheme.ObjectKinds(obj)
	if err != nil {
		return err
	}
	gvr, _ := meta.UnsafeGuessKindToResource(gvks[0])
	m, err := meta.Accessor(obj)
	if err != nil {
		return err
	}
	return t.Create(gvr, obj, m.GetNamespace())
}

func (t tracker) Get(gvr schema.GroupVersionResource, ns, name string, opts ...metav1.GetOptions) (runtime.Object, error) {
	return t.do(api.Request{Verb: "get", Resource: gvr, Namespace: ns, Name: name, Get: one(opts)})
}

func (t tracker) Create(gvr schema.GroupVersionResource, obj runtime.Object, ns string, opts ...metav1.CreateOptions) error {
	o := one(opts)
	created, err := t.write(api.Request{Verb: "create", Resource: gvr, Namespace: ns, Object: obj,
		Write: writeOptions(o.DryRun, o.FieldManager, o.FieldValidation)})
	if err != nil {
		return err
	}
	status := statusOf(obj)
	if !status.IsValid() || status.IsZero() || !t.client.serves(gvr, "status") {
		return nil
	}
	statusOf(created).Set(status)
	_, err = t.write(api.Request{Verb: "update", Resource: gvr, Subresource: "status", Namespace: ns, Object: created})
	return err
}

// statusOf returns the field Status of an object; it is not valid if there is none.
func statusOf(obj runtime.Object) reflect.Value {
	return reflect.ValueOf(obj).Elem().FieldByName("Status")
}

func (t tracker) Update(gvr schema.GroupVersionResource, obj runtime.Object, ns string, opts ...metav1.UpdateOptions) error {
	o := one(opts)
	_, err := t.write(api.Request{Verb: "update", Resource: gvr, Namespace: ns, Object: obj, Write: writeOptions(o.DryRun, o.FieldManager, o.FieldValidation)})
	return err
}

// Patch gets the patched object.
func (t tracker) Patch(gvr schema.GroupVersionResource, obj runtime.Object, ns string, _ ...metav1.PatchOptions) error {
	return t.Update(gvr, obj, ns)
}

func (t tracker) Apply(gvr schema.GroupVersionResource, config runtime.Object, ns string, opts ...metav1.PatchOptions) error {
	data, err := json.Marshal(config)
	if err != nil {
		return err
	}
	m, err := meta.Accessor(config)
	if err != nil {
		return err
	}
	_, err = t.do(api.Request{
		Verb: "patch", Resource: gvr, Namespace: ns, Name: m.GetName(), PatchType: types.ApplyPatchType, Patch: data, Write: one(opts),
	})
	return err
}

func (t tracker) List(gvr schema.GroupVersionResource, _ schema.GroupVersionKind, ns string, opts ...metav1.ListOptions) (runtime.Object, error) {
	return t.do(api.Request{Verb: "list", Resource: gvr, Namespace: ns, List: one(opts)})
}

func (t tracker) Delete(gvr schema.GroupVersionResource, ns, name string, opts ...metav1.DeleteOptions) error {
	_, err := t.do(api.Request{Verb: "delete", Resource: gvr, Namespace: ns, Name: name, Delete: one(opts)})
	return err
}

func (t tracker) Watch(gvr schema.GroupVersionResource, ns string, opts ...metav1.ListOptions) (watch.Interface, error) {
	return t.client.server.Watch(context.Background(), api.Request{Actor: t.client.actor, Verb: "watch", Resource: gvr, Namespace: ns, List: one(opts)})
}

func (t tracker) write(req api.Request) (runtime.Object, error) {
	if isNil(req.Object) {
		return nil, apierrors.NewBadRequest(fmt.Sprintf("there is no object to %s", req.Verb))
	}
	req.Object = req.Object.DeepCopyObject()
	return t.do(req)
}

func (t tracker) do(req api.Request) (runtime.Object, error) {
	req.Actor = t.client.actor
	return t.client.server.Do(context.Background(), req)
}

func one[T any](opts []T) T {
	if len(opts) > 0 {
		return opts[0]
	}
	var zero T
	return zero
}
