package fake

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"reflect"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/testing"

	"github.com/storagesim/storagesim/api"
	"github.com/storagesim/storagesim/api/internal/typed"
)

// requester is the Clientset with the methods that its typed clients need.
type requester Clientset

var _ typed.Requester = (*requester)(nil)

func (r *requester) Do(ctx context.Context, req api.Request) (runtime.Object, error) {
	return (*Clientset)(r).Do(ctx, req)
}

func (r *requester) Watch(ctx context.Context, req api.Request) (watch.Interface, error) {
	return (*Clientset)(r).Watch(ctx, req)
}

func (r *requester) Listens() bool { return (*Clientset)(r).listens() }

func (r *requester) Proxy(resource schema.GroupVersionResource, namespace, scheme, name, port, path string, params map[string]string) rest.ResponseWrapper {
	return (*Clientset)(r).InvokesProxy(testing.NewProxyGetAction(resource, namespace, scheme, name, port, path, params))
}

// Logs answers as client-go's fake does: with what a reactor says, or "fake logs". Of a
// pod that does not exist there are no logs, as with a real server.
func (r *requester) Logs(namespace, name string, opts *corev1.PodLogOptions) *rest.Request {
	c := (*Clientset)(r)
	action := testing.GenericActionImpl{Value: opts}
	action.Verb, action.Namespace, action.Resource, action.Subresource = "get", namespace, corev1.SchemeGroupVersion.WithResource("pods"), "log"
	standard := &runtime.Unknown{Raw: []byte("fake logs")}
	obj, err := c.Invokes(action, standard)
	logs, ok := obj.(*runtime.Unknown)
	if logs == standard {
		_, err = c.server.Do(context.Background(), api.Request{Actor: c.actor, Verb: "get", Resource: action.Resource, Namespace: namespace, Name: name})
	}
	if err == nil && (!ok || logs == nil) {
		err = fmt.Errorf("logs of pod %s: a reactor answers with a %T where a *runtime.Unknown is expected", name, obj)
	}
	answer := roundTrip(func(*http.Request) (*http.Response, error) {
		if err != nil {
			return nil, err
		}
		return &http.Response{StatusCode: http.StatusOK, Body: io.NopCloser(bytes.NewReader(logs.Raw))}, nil
	})
	at := fmt.Sprintf("/api/v1/namespaces/%s/pods/%s/log", namespace, name)
	return rest.NewRequestWithClient(&url.URL{Scheme: "https", Host: "localhost"}, at, rest.ClientContentConfig{},
		&http.Client{Transport: answer}).Verb(http.MethodGet)
}

// roundTrip implements http.RoundTripper by a function.
type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(req *http.Request) (*http.Response, error) { return f(req) }

// isNil: client-go's callers pass typed nil pointers, too.
func isNil(obj runtime.Object) bool {
	return obj == nil || reflect.ValueOf(obj).Kind() == reflect.Pointer && reflect.ValueOf(obj).IsNil()
}
