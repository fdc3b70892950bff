package remote

import (
	"context"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/metadata"
	restclient "k8s.io/client-go/rest"

	"github.com/storagesim/storagesim/control"
)

// objects are calls for objects of any kind, of which only the metadata is asked for.
type objects struct{ client metadata.Interface }

func newObjects(cfg *restclient.Config) (control.Objects, error) {
	client, err := metadata.NewForConfig(cfg)
	return objects{client}, err
}

func (o objects) of(resource schema.GroupVersionResource, namespace string) metadata.ResourceInterface {
	if namespace == "" {
		return o.client.Resource(resource)
	}
	return o.client.Resource(resource).Namespace(namespace)
}

func (o objects) Get(ctx context.Context, resource schema.GroupVersionResource, namespace, name string) (control.Object, error) {
	obj, err := o.of(resource, namespace).Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return nil, err
	}
	return obj, nil
}

func (o objects) Delete(ctx context.Context, resource schema.GroupVersionResource, namespace, name string, options metav1.DeleteOptions) error {
	return o.of(resource, namespace).Delete(ctx, name, options)
}

func (o objects) Patch(ctx context.Context, resource schema.GroupVersionResource, namespace, name string, how types.PatchType, patch []byte) error {
	_, err := o.of(resource, namespace).Patch(ctx, name, how, patch, metav1.PatchOptions{})
	return err
}
