package fakeclient

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	policyv1beta1 "k8s.io/api/policy/v1beta1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	applycorev1 "k8s.io/client-go/applyconfigurations/core/v1"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
	typedpolicyv1 "k8s.io/client-go/kubernetes/typed/policy/v1"
	typedpolicyv1beta1 "k8s.io/client-go/kubernetes/typed/policy/v1beta1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/testing"
)

type pods struct {
	listed[*corev1.Pod, *corev1.PodList, *applycorev1.PodApplyConfiguration]
}

func newPods(g groups, namespace string) pods {
	return pods{newListed[*corev1.Pod, *corev1.PodList, *applycorev1.PodApplyConfiguration](g, corev1.SchemeGroupVersion, "pods", namespace)}
}

func (g coreV1) Pods(namespace string) typedcorev1.PodInterface { return newPods(g.groups, namespace) }

func (c pods) UpdateEphemeralContainers(ctx context.Context, name string, pod *corev1.Pod, opts metav1.UpdateOptions) (*corev1.Pod, error) {
	return c.update(ctx, "ephemeralcontainers", name, pod, opts)
}

func (c pods) UpdateResize(ctx context.Context, name string, pod *corev1.Pod, opts metav1.UpdateOptions) (*corev1.Pod, error) {
	return c.update(ctx, "resize", name, pod, opts)
}

func (c pods) Bind(ctx context.Context, binding *corev1.Binding, opts metav1.CreateOptions) error {
	if binding == nil {
		return errors.New("there is no Binding")
	}
	req := c.request("create", "binding", "")
	req.Namespace = cmp.Or(c.namespace, binding.Namespace)
	req.Object, req.Write = binding, writeOptions(opts.DryRun, opts.FieldManager, opts.FieldValidation)
	_, err := c.client.Do(ctx, req)
	return err
}

func (c pods) Evict(ctx context.Context, eviction *policyv1beta1.Eviction) error {
	return c.evict(ctx, eviction)
}

func (c pods) EvictV1beta1(ctx context.Context, eviction *policyv1beta1.Eviction) error {
	return c.evict(ctx, eviction)
}

func (c pods) EvictV1(ctx context.Context, eviction *policyv1.Eviction) error {
	return c.evict(ctx, eviction)
}

func (c pods) evict(ctx context.Context, eviction object) error {
	if isNil(eviction) {
		return errors.New("there is no Eviction")
	}
	req := c.request("create", "eviction", "")
	req.Object = eviction
	_, err := c.client.Do(ctx, req)
	return err
}

type evictions struct{ pods }

func (g policyV1) Evictions(namespace string) typedpolicyv1.EvictionInterface {
	return evictions{newPods(g.groups, namespace)}
}

func (c evictions) Evict(ctx context.Context, eviction *policyv1.Eviction) error {
	return c.evict(ctx, eviction)
}

func (g policyV1beta1) Evictions(namespace string) typedpolicyv1beta1.EvictionInterface {
	return newPods(g.groups, namespace)
}

func (c pods) ProxyGet(scheme, name, port, path string, params map[string]string) rest.ResponseWrapper {
	return c.client.InvokesProxy(testing.NewProxyGetAction(c.resource, c.namespace, scheme, name, port, path, params))
}

type services struct {
	listed[*corev1.Service, *corev1.ServiceList, *applycorev1.ServiceApplyConfiguration]
}

func (g coreV1) Services(namespace string) typedcorev1.ServiceInterface {
	return services{newListed[*corev1.Service, *corev1.ServiceList, *applycorev1.ServiceApplyConfiguration](
		g.groups, corev1.SchemeGroupVersion, "services", namespace)}
}

func (c services) ProxyGet(scheme, name, port, path string, params map[string]string) rest.ResponseWrapper {
	return c.client.InvokesProxy(testing.NewProxyGetAction(c.resource, c.namespace, scheme, name, port, path, params))
}

// GetLogs answers as client-go's fake does: with what a reactor says, or "fake logs". Of a
// pod that does not exist there are no logs, as with a real server.
func (c pods) GetLogs(name string, opts *corev1.PodLogOptions) *rest.Request {
	action := testing.GenericActionImpl{Value: opts}
	action.Verb, action.Namespace, action.Resource, action.Subresource = "get", c.namespace, c.resource, "log"
	standard := &runtime.Unknown{Raw: []byte("fake logs")}
	obj, err := c.client.Invokes(action, standard)
	logs, ok := obj.(*runtime.Unknown)
	if logs == standard {
		req := c.request("get", "", name)
		req.Actor = c.client.actor
		_, err = c.client.server.Do(context.Background(), req)
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
	at := fmt.Sprintf("/api/v1/namespaces/%s/pods/%s/log", c.namespace, name)
	return rest.NewRequestWithClient(&url.URL{Scheme: "https", Host: "localhost"}, at, rest.ClientContentConfig{}, &http.Client{Transport: answer}).Verb(http.MethodGet)
}

// roundTrip is an http.RoundTripper made of a function.
type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(req *http.Request) (*http.Response, error) { return f(req) }
