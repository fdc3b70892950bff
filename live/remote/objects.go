package remote

import (
	"context"
	"errors"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/metadata"
	restclient "k8s.io/client-go/rest"

	"github.com/storagesim/storagesim/control"
)

// objects are calls for objects of any kind. Lists and what deletions answer have only their metadata.
type objects struct {
	client    metadata.Interface
	whole     dynamic.Interface
	discovery discovery.DiscoveryInterface
}

func newObjects(cfg *restclient.Config) (control.Objects, error) {
	client, err := metadata.NewForConfig(cfg)
	if err != nil {
		return nil, err
	}
	whole, err := dynamic.NewForConfig(cfg)
	if err != nil {
		return nil, err
	}
	found, err := discovery.NewDiscoveryClientForConfig(cfg)
	return objects{client, whole, found}, err
}

func (o objects) of(resource schema.GroupVersionResource, namespace string) metadata.ResourceInterface {
	if namespace == "" {
		return o.client.Resource(resource)
	}
	return o.client.Resource(resource).Namespace(namespace)
}

// wholly returns the client of a resource that answers with whole objects; the one that of returns answers with their metadata.
func (o objects) wholly(resource schema.GroupVersionResource, namespace string) dynamic.ResourceInterface {
	if namespace == "" {
		return o.whole.Resource(resource)
	}
	return o.whole.Resource(resource).Namespace(namespace)
}

func (o objects) Get(ctx context.Context, resource schema.GroupVersionResource, namespace, name string) (control.Object, error) {
	return answer(o.wholly(resource, namespace).Get(ctx, name, metav1.GetOptions{}))
}

func (o objects) Create(ctx context.Context, resource schema.GroupVersionResource, obj control.Object) (control.Object, error) {
	fields, err := unstructuredOf(obj)
	if err != nil {
		return nil, err
	}
	return answer(o.wholly(resource, obj.GetNamespace()).Create(ctx, fields, metav1.CreateOptions{}))
}

func (o objects) Update(ctx context.Context, resource schema.GroupVersionResource, obj control.Object, subresource string) (control.Object, error) {
	fields, err := unstructuredOf(obj)
	if err != nil {
		return nil, err
	}
	return answer(o.wholly(resource, obj.GetNamespace()).Update(ctx, fields, metav1.UpdateOptions{}, path(subresource)...))
}

func (o objects) Patch(ctx context.Context, resource schema.GroupVersionResource, namespace, name string, how types.PatchType, patch []byte,
	subresource string) (control.Object, error) {
	return answer(o.wholly(resource, namespace).Patch(ctx, name, how, patch, metav1.PatchOptions{}, path(subresource)...))
}

// path returns a subresource as the arguments that clients take: empty for "".
func path(subresource string) []string {
	if subresource == "" {
		return nil
	}
	return []string{subresource}
}

// answer returns a client's answer, with a nil object if there is an error.
func answer(obj *unstructured.Unstructured, err error) (control.Object, error) {
	if err != nil {
		return nil, err
	}
	return obj, nil
}

func unstructuredOf(obj control.Object) (*unstructured.Unstructured, error) {
	fields, err := runtime.DefaultUnstructuredConverter.ToUnstructured(obj)
	return &unstructured.Unstructured{Object: fields}, err
}

func (o objects) List(ctx context.Context, resource schema.GroupVersionResource, namespace string) ([]control.Object, error) {
	list, err := o.of(resource, namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, err
	}
	all := make([]control.Object, len(list.Items))
	for i := range list.Items {
		all[i] = &list.Items[i]
	}
	return all, nil
}

func (o objects) DeleteCollection(ctx context.Context, resource schema.GroupVersionResource, namespace string, options metav1.DeleteOptions) error {
	return o.of(resource, namespace).DeleteCollection(ctx, options, metav1.ListOptions{})
}

func (o objects) Resources(context.Context) ([]metav1.APIResource, error) {
	lists, err := o.discovery.ServerPreferredResources()
	var all []metav1.APIResource
	for _, list := range lists {
		group, parseErr := schema.ParseGroupVersion(list.GroupVersion)
		err = errors.Join(err, parseErr)
		for _, resource := range list.APIResources {
			resource.Group, resource.Version = group.Group, group.Version
			all = append(all, resource)
		}
	}
	return all, err
}

func (o objects) Delete(ctx context.Context, resource schema.GroupVersionResource, namespace, name string, options metav1.DeleteOptions) error {
	return o.of(resource, namespace).Delete(ctx, name, options)
}
