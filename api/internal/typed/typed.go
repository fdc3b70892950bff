package typed

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"reflect"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/storagesim/storagesim/api/internal/call"
	"github.com/storagesim/storagesim/internal/readonly"
	"github.com/storagesim/storagesim/internal/typedpatch"
)

// object is a pointer to a typed API object.
type object interface {
	runtime.Object
	metav1.Object
}

// configuration is a pointer to an apply configuration. Like object it lists methods only: were it comparable, too, the
// compiler would make the code of a client anew for each kind.
type configuration interface {
	GetName() *string
}

// typed is the client of one kind in one namespace. client-go's typed fakes drop the
// context of a call and panic where a selector cannot be parsed; these do not.
type typed[T object] struct {
	client    Requester
	resource  schema.GroupVersionResource
	namespace string
}

func newTyped[T object](g Groups, gv schema.GroupVersion, resource, namespace string) *typed[T] {
	return &typed[T]{g.Client, gv.WithResource(resource), namespace}
}

// listed is the client of a kind that has lists and can be applied: all but reviews.
type listed[T object, L runtime.Object, A configuration] struct{ typed[T] }

func newListed[T object, L runtime.Object, A configuration](g Groups, gv schema.GroupVersion, resource, namespace string) *listed[T, L, A] {
	return &listed[T, L, A]{*newTyped[T](g, gv, resource, namespace)}
}

func (c *typed[T]) request(verb, sub, name string) call.Request {
	return call.Request{Verb: verb, Resource: c.resource, Subresource: sub, Namespace: c.namespace, Name: name}
}

// Create implements a typed client.
func (c *typed[T]) Create(ctx context.Context, obj T, opts metav1.CreateOptions) (T, error) {
	req := c.request("create", "", "")
	req.Object, req.Write = obj, writeOptions(opts.DryRun, opts.FieldManager, opts.FieldValidation)
	return do[T](ctx, c.client, req)
}

// Update implements a typed client.
func (c *typed[T]) Update(ctx context.Context, obj T, opts metav1.UpdateOptions) (T, error) {
	return c.update(ctx, "", "", obj, opts)
}

// UpdateStatus implements a typed client.
func (c *typed[T]) UpdateStatus(ctx context.Context, obj T, opts metav1.UpdateOptions) (T, error) {
	return c.update(ctx, "status", "", obj, opts)
}

func (c *typed[T]) update(ctx context.Context, sub, name string, obj T, opts metav1.UpdateOptions) (T, error) {
	req := c.request("update", sub, name)
	req.Object, req.Write = obj, writeOptions(opts.DryRun, opts.FieldManager, opts.FieldValidation)
	return do[T](ctx, c.client, req)
}

// Delete implements a typed client.
func (c *typed[T]) Delete(ctx context.Context, name string, opts metav1.DeleteOptions) error {
	req := c.request("delete", "", name)
	req.Delete = opts
	_, err := c.client.Do(ctx, req)
	return err
}

// DeleteCollection implements a typed client.
func (c *typed[T]) DeleteCollection(ctx context.Context, opts metav1.DeleteOptions, list metav1.ListOptions) error {
	req := c.request("deletecollection", "", "")
	req.Delete, req.List = opts, list
	_, err := c.client.Do(ctx, req)
	return err
}

// Get implements a typed client.
func (c *typed[T]) Get(ctx context.Context, name string, opts metav1.GetOptions) (T, error) {
	req := c.request("get", "", name)
	req.Get = opts
	return do[T](ctx, c.client, req)
}

// Watch implements a typed client.
func (c *typed[T]) Watch(ctx context.Context, opts metav1.ListOptions) (watch.Interface, error) {
	req := c.request("watch", "", "")
	req.List = opts
	return c.client.Watch(ctx, req)
}

// Patch implements a typed client.
func (c *typed[T]) Patch(ctx context.Context, name string, pt types.PatchType, data []byte, opts metav1.PatchOptions, subresources ...string) (T, error) {
	req := c.request("patch", path.Join(subresources...), name)
	req.PatchType, req.Patch, req.Values, req.Write = pt, data, typedpatch.Of(ctx), opts
	req.Shared = req.Values != nil
	return do[T](ctx, c.client, req)
}

// List implements a typed client.
func (c *listed[T, L, A]) List(ctx context.Context, opts metav1.ListOptions) (L, error) {
	req := c.request("list", "", "")
	req.List = opts
	list, err := do[L](ctx, c.client, req)
	if err != nil || opts.LabelSelector == "" || !c.client.Listens() {
		return list, err
	}
	return list, selectItems(list, opts.LabelSelector)
}

// selectItems leaves in a list only what a selector matches: a reactor may have answered
// with more. It is the rule of client-go's fakes, which look at labels only.
func selectItems(list runtime.Object, selector string) error {
	parsed, err := labels.Parse(selector)
	if err != nil {
		return err
	}
	items, err := meta.ExtractList(list)
	if err != nil {
		return err
	}
	kept := items[:0:0]
	for _, item := range items {
		if m, err := meta.Accessor(item); err == nil && parsed.Matches(labels.Set(m.GetLabels())) {
			kept = append(kept, item)
		}
	}
	if len(kept) == len(items) {
		return nil
	}
	return meta.SetList(list, kept)
}

// Apply implements a typed client.
func (c *listed[T, L, A]) Apply(ctx context.Context, config A, opts metav1.ApplyOptions) (T, error) {
	return c.apply(ctx, "", config, opts)
}

// ApplyStatus implements a typed client.
func (c *listed[T, L, A]) ApplyStatus(ctx context.Context, config A, opts metav1.ApplyOptions) (T, error) {
	return c.apply(ctx, "status", config, opts)
}

func (c *listed[T, L, A]) apply(ctx context.Context, sub string, config A, opts metav1.ApplyOptions) (T, error) {
	if isNil(config) {
		return *new(T), errors.New("there is nothing to apply: the configuration is nil")
	}
	if config.GetName() == nil {
		return *new(T), errors.New("metadata.name: Required value: what is applied needs a name")
	}
	return applyTo[T](ctx, c.client, c.request("patch", sub, *config.GetName()), config, opts)
}

// applyTo sends a configuration.
func applyTo[T runtime.Object](ctx context.Context, c Requester, req call.Request, config any, opts metav1.ApplyOptions) (T, error) {
	data, err := json.Marshal(config)
	if err != nil {
		return *new(T), err
	}
	req.PatchType, req.Patch, req.Write = types.ApplyPatchType, data, opts.ToPatchOptions()
	return do[T](ctx, c, req)
}

// do carries out a request that is answered with a T. Like a real client it returns an
// object, never nil, next to an error.
func do[T runtime.Object](ctx context.Context, c Requester, req call.Request) (T, error) {
	req.Shared = req.Shared || readonly.Wanted(ctx)
	obj, err := c.Do(ctx, req)
	if isNil(obj) {
		return newOf[T](), err
	}
	answer, ok := obj.(T)
	if !ok {
		return newOf[T](), errors.Join(err, fmt.Errorf("%s: a reactor answers with a %T where a %T is expected", req.String(), obj, answer))
	}
	return answer, err
}

func newOf[T any]() T { return reflect.New(reflect.TypeFor[T]().Elem()).Interface().(T) }

// isNil: client-go's callers pass typed nil pointers, too.
func isNil(obj any) bool {
	return obj == nil || reflect.ValueOf(obj).Kind() == reflect.Pointer && reflect.ValueOf(obj).IsNil()
}

func writeOptions(dryRun []string, manager, validation string) metav1.PatchOptions {
	return metav1.PatchOptions{DryRun: dryRun, FieldManager: manager, FieldValidation: validation}
}
