package rest

import (
	"fmt"
	"net/http"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// answer sends an object or a list in the form that the client asked for.
// Upstream: apiserver handlers transformResponseObject, v1.36.
func (c *call) answer(code int, obj runtime.Object) error {
	table, err := c.tableOptions()
	if err != nil {
		return err
	}
	if obj, err = c.convert(obj, table); err != nil {
		return err
	}
	c.out.send(c.w, c.r, code, obj)
	return nil
}

// tableOptions are those of a request for a table, nil for another request.
func (c *call) tableOptions() (*metav1.TableOptions, error) {
	if c.out.as.Kind != "Table" {
		return nil, nil
	}
	opts := &metav1.TableOptions{}
	if include := c.r.URL.Query().Get("includeObject"); include != "" {
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
	if err := c.identify(obj); err != nil {
		return nil, err
	}
	gv := c.out.as.GroupVersion()
	switch c.out.as.Kind {
	case "Table":
		return c.table(obj, gv, table)
	case "PartialObjectMetadata":
		if meta.IsListType(obj) {
			return nil, notAcceptable("you requested PartialObjectMetadata, but the requested object is a list (%T)", obj)
		}
		return partial(obj, gv)
	case "PartialObjectMetadataList":
		return partialList(obj, gv)
	}
	return obj, nil
}

// identify sets the apiVersion and the kind of an object or a list.
func (c *call) identify(obj runtime.Object) error {
	gvk := c.bodyOf()
	if !meta.IsListType(obj) {
		obj.GetObjectKind().SetGroupVersionKind(gvk)
		return nil
	}
	if k, ok := c.h.registry.Kind(c.kind.gvk); ok && k.ListKind != "" {
		gvk.Kind = k.ListKind
	} else {
		gvk.Kind += "List"
	}
	obj.GetObjectKind().SetGroupVersionKind(gvk)
	if meta.LenList(obj) > 0 {
		return nil
	}
	return meta.SetList(obj, []runtime.Object{}) // an empty list, not null
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
	if !meta.IsListType(list) {
		return nil, notAcceptable("you requested PartialObjectMetadataList, but the requested object is not a list (%T)", list)
	}
	m, err := meta.ListAccessor(list)
	if err != nil {
		return nil, apierrors.NewInternalError(err)
	}
	out := &metav1.PartialObjectMetadataList{Items: []metav1.PartialObjectMetadata{}}
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
