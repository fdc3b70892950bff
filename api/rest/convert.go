package rest

import (
	"fmt"
	"maps"
	"net/http"
	"reflect"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
)

// answer sends an object or a list in the form that the client asked for.
// Upstream: apiserver handlers transformResponseObject, v1.37.
func (c *call) answer(code int, obj runtime.Object) error {
	table, err := c.tableOptions()
	if err != nil {
		return err
	}
	body, err := c.encode("", obj, func() ([]byte, error) {
		shown, err := c.convert(obj, table)
		if err != nil {
			return nil, err
		}
		return c.out.encode(shown)
	})
	if err != nil {
		return err
	}
	sendBody(c.w, c.r, code, c.out.info.MediaType, body)
	return nil
}

// encode returns an object as do encodes it, or as it did before for another request. Tables,
// metadata and lists are not kept.
func (c *call) encode(event watch.EventType, obj runtime.Object, do func() ([]byte, error)) ([]byte, error) {
	if _, ok := obj.(metav1.Object); !ok || c.out.as.Kind != "" || event == watch.Bookmark {
		return do()
	}
	return c.h.encodings.get(encoding{obj, event, c.out.info.MediaType, c.out.pretty}, do)
}

// tableOptions returns the options of a request for a table, nil for another request.
func (c *call) tableOptions() (*metav1.TableOptions, error) {
	if c.out.as.Kind != "Table" {
		return nil, nil
	}
	opts := &metav1.TableOptions{}
	if include := parameter(c.r, "includeObject"); include != "" {
		opts.IncludeObject = metav1.IncludeObjectPolicy(include)
	}
	if errs := validation.ValidateTableOptions(opts); len(errs) > 0 {
		return nil, badRequest("Unable to convert to Table as requested: %v", errs.ToAggregate())
	}
	return opts, nil
}

// convert gives an object its kind, and turns it into what the client asked for.
func (c *call) convert(obj runtime.Object, table *metav1.TableOptions) (runtime.Object, error) {
	if status, ok := obj.(*metav1.Status); ok {
		status.SetGroupVersionKind(v1.WithKind("Status"))
		return status, nil
	}
	obj, err := c.identify(obj)
	if err != nil {
		return nil, err
	}
	gv := c.out.as.GroupVersion()
	switch c.out.as.Kind {
	case "Table":
		return c.table(obj, gv, table)
	case "PartialObjectMetadata":
		if meta.IsListType(obj) {
			return nil, notAcceptable("you requested PartialObjectMetadata, but the requested object is a list (%s)", c.internalType(obj))
		}
		return partial(obj, gv)
	case "PartialObjectMetadataList":
		if _, ok := obj.(*unstructured.Unstructured); ok && !meta.IsListType(obj) { // upstream takes it for a list that has no items
			return nil, &apierrors.StatusError{ErrStatus: metav1.Status{
				Status: metav1.StatusFailure, Code: http.StatusInternalServerError, Message: "content is not a list",
			}}
		}
		if !meta.IsListType(obj) {
			return nil, notAcceptable("you requested PartialObjectMetadataList, but the requested object is not a list (%s)", c.internalType(obj))
		}
		return partialList(obj, gv)
	}
	return obj, nil
}

// internalType returns the Go type that an object of the kind has inside a real server.
func (c *call) internalType(obj runtime.Object) string {
	if !c.kind.typed {
		return fmt.Sprintf("%T", obj)
	}
	return "*" + internalName(obj.GetObjectKind().GroupVersionKind())
}

// identify returns an object or a list with its apiVersion and kind.
func (c *call) identify(obj runtime.Object) (runtime.Object, error) {
	gvk := c.bodyOf()
	if !meta.IsListType(obj) {
		return labelled(obj, gvk), nil
	}
	if k, ok := c.h.registry.Kind(c.kind.gvk); ok && k.ListKind != "" {
		gvk.Kind = k.ListKind
	} else {
		gvk.Kind += "List"
	}
	obj.GetObjectKind().SetGroupVersionKind(gvk)
	if meta.LenList(obj) > 0 {
		return obj, nil
	}
	return obj, meta.SetList(obj, []runtime.Object{}) // an empty list, not null
}

// labelled returns an object that says its kind. The object itself is shared and stays as it is:
// what says the kind is a copy of its top level.
func labelled(obj runtime.Object, gvk schema.GroupVersionKind) runtime.Object {
	if obj.GetObjectKind().GroupVersionKind() == gvk {
		return obj
	}
	if u, ok := obj.(*unstructured.Unstructured); ok {
		own := &unstructured.Unstructured{Object: maps.Clone(u.Object)}
		own.SetGroupVersionKind(gvk)
		return own
	}
	own := reflect.New(reflect.TypeOf(obj).Elem())
	own.Elem().Set(reflect.ValueOf(obj).Elem())
	typed := own.Interface().(runtime.Object)
	typed.GetObjectKind().SetGroupVersionKind(gvk)
	return typed
}

func notAcceptable(format string, args ...any) error {
	return statusError(http.StatusNotAcceptable, metav1.StatusReasonNotAcceptable, fmt.Sprintf(format, args...))
}

func partial(obj runtime.Object, gv schema.GroupVersion) (*metav1.PartialObjectMetadata, error) {
	m, err := meta.Accessor(obj)
	if err != nil {
		return nil, apierrors.NewInternalError(err)
	}
	p := meta.AsPartialObjectMetadata(m)
	p.SetGroupVersionKind(gv.WithKind("PartialObjectMetadata"))
	return p, nil
}

func partialList(list runtime.Object, gv schema.GroupVersion) (runtime.Object, error) {
	m, err := meta.ListAccessor(list)
	if err != nil {
		return nil, apierrors.NewInternalError(err)
	}
	out := &metav1.PartialObjectMetadataList{} // whose items are null if there are none
	out.SetGroupVersionKind(gv.WithKind("PartialObjectMetadataList"))
	out.ListMeta = metav1.ListMeta{ResourceVersion: m.GetResourceVersion(), Continue: m.GetContinue(), RemainingItemCount: m.GetRemainingItemCount()}
	err = meta.EachListItem(list, func(item runtime.Object) error {
		p, err := partial(item, gv)
		if err == nil {
			out.Items = append(out.Items, *p)
		}
		return err
	})
	return out, err
}
