package typed

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/rest"
)

// Call is a request to the server. Its fields are those of api.Request that a client has
// something to say in.
type Call struct {
	Verb        string
	Resource    schema.GroupVersionResource
	Subresource string
	Namespace   string
	Name        string
	Object      runtime.Object
	PatchType   types.PatchType
	Patch       []byte
	Get         metav1.GetOptions
	List        metav1.ListOptions
	Write       metav1.PatchOptions
	Delete      metav1.DeleteOptions
}

// Requester carries out what typed clients are asked.
type Requester interface {
	// Do carries out a call, and Watch one that watches.
	Do(ctx context.Context, call Call) (runtime.Object, error)
	Watch(ctx context.Context, call Call) (watch.Interface, error)
	// Listens says whether anything but the server may answer: a list may have more than
	// was asked for then.
	Listens() bool
	// Describe is a call in words.
	Describe(call Call) string
	// Logs is the request for a pod's logs, and Proxy one to a pod or service.
	Logs(namespace, name string, opts *corev1.PodLogOptions) *rest.Request
	Proxy(resource schema.GroupVersionResource, namespace, scheme, name, port, path string, params map[string]string) rest.ResponseWrapper
}
