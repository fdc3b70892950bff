package typed

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/rest"

	"github.com/storagesim/storagesim/api/internal/call"
)

// Requester carries out the requests of typed clients.
type Requester interface {
	// Do carries out a request, except a watch.
	Do(ctx context.Context, req call.Request) (runtime.Object, error)
	// Watch begins a watch.
	Watch(ctx context.Context, req call.Request) (watch.Interface, error)
	// Listens reports whether something other than the server may answer. A list may then
	// have more items than the request selects.
	Listens() bool
	// Logs returns the request for a pod's logs.
	Logs(namespace, name string, opts *corev1.PodLogOptions) *rest.Request
	// Proxy returns the request to a pod or service through the server.
	Proxy(resource schema.GroupVersionResource, namespace, scheme, name, port, path string, params map[string]string) rest.ResponseWrapper
}
