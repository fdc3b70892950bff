package typed

import (
	"cmp"
	"context"
	"errors"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	policyv1beta1 "k8s.io/api/policy/v1beta1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	applycorev1 "k8s.io/client-go/applyconfigurations/core/v1"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
	typedpolicyv1 "k8s.io/client-go/kubernetes/typed/policy/v1"
	typedpolicyv1beta1 "k8s.io/client-go/kubernetes/typed/policy/v1beta1"
	"k8s.io/client-go/rest"
)

type pods struct {
	*listed[*corev1.Pod, *corev1.PodList, *applycorev1.PodApplyConfiguration]
}

func newPods(g Groups, namespace string) *pods {
	return &pods{newListed[*corev1.Pod, *corev1.PodList, *applycorev1.PodApplyConfiguration](g, corev1.SchemeGroupVersion, "pods", namespace)}
}

func (g coreV1) Pods(namespace string) typedcorev1.PodInterface { return newPods(g.of, namespace) }

func (c *pods) UpdateEphemeralContainers(ctx context.Context, name string, pod *corev1.Pod, opts metav1.UpdateOptions) (*corev1.Pod, error) {
	return c.update(ctx, "ephemeralcontainers", name, pod, opts)
}

func (c *pods) UpdateResize(ctx context.Context, name string, pod *corev1.Pod, opts metav1.UpdateOptions) (*corev1.Pod, error) {
	return c.update(ctx, "resize", name, pod, opts)
}

func (c *pods) Bind(ctx context.Context, binding *corev1.Binding, opts metav1.CreateOptions) error {
	if binding == nil {
		return errors.New("there is no Binding")
	}
	req := c.request("create", "binding", "")
	req.Namespace = cmp.Or(c.namespace, binding.Namespace)
	req.Object, req.Write = binding, writeOptions(opts.DryRun, opts.FieldManager, opts.FieldValidation)
	_, err := c.client.Do(ctx, req)
	return err
}

func (c *pods) Evict(ctx context.Context, eviction *policyv1beta1.Eviction) error {
	return c.evict(ctx, eviction)
}

func (c *pods) EvictV1beta1(ctx context.Context, eviction *policyv1beta1.Eviction) error {
	return c.evict(ctx, eviction)
}

func (c *pods) EvictV1(ctx context.Context, eviction *policyv1.Eviction) error {
	return c.evict(ctx, eviction)
}

func (c *pods) evict(ctx context.Context, eviction object) error {
	if isNil(eviction) {
		return errors.New("there is no Eviction")
	}
	return c.evictIn(ctx, c.namespace, eviction)
}

type evictions struct{ *pods }

func (g policyV1) Evictions(namespace string) typedpolicyv1.EvictionInterface {
	return &evictions{newPods(g.of, namespace)}
}

func (c *evictions) Evict(ctx context.Context, eviction *policyv1.Eviction) error {
	return c.evictIts(ctx, eviction)
}

type evictionsV1beta1 struct{ *pods }

func (g policyV1beta1) Evictions(namespace string) typedpolicyv1beta1.EvictionInterface {
	return &evictionsV1beta1{newPods(g.of, namespace)}
}

func (c *evictionsV1beta1) Evict(ctx context.Context, eviction *policyv1beta1.Eviction) error {
	return c.evictIts(ctx, eviction)
}

// evictIts evicts the pod in the namespace that the eviction names, whichever the client's is; it is refused if that names none.
//
// Upstream: client-go kubernetes/typed/policy/v1/eviction_expansion.go Evict and rest/request.go requestPreflightCheck, v0.37.
func (c *pods) evictIts(ctx context.Context, eviction object) error {
	if isNil(eviction) {
		return errors.New("there is no Eviction")
	}
	return c.evictIn(ctx, eviction.GetNamespace(), eviction)
}

func (c *pods) evictIn(ctx context.Context, namespace string, eviction object) error {
	req := c.request("create", "eviction", "")
	req.Namespace, req.Object = namespace, eviction
	_, err := c.client.Do(ctx, req)
	return err
}

func (c *pods) ProxyGet(scheme, name, port, path string, params map[string]string) rest.ResponseWrapper {
	return c.client.Proxy(c.resource, c.namespace, scheme, name, port, path, params)
}

type services struct {
	*listed[*corev1.Service, *corev1.ServiceList, *applycorev1.ServiceApplyConfiguration]
}

func (g coreV1) Services(namespace string) typedcorev1.ServiceInterface {
	return &services{newListed[*corev1.Service, *corev1.ServiceList, *applycorev1.ServiceApplyConfiguration](
		g.of, corev1.SchemeGroupVersion, "services", namespace)}
}

func (c *services) ProxyGet(scheme, name, port, path string, params map[string]string) rest.ResponseWrapper {
	return c.client.Proxy(c.resource, c.namespace, scheme, name, port, path, params)
}

func (c *pods) GetLogs(name string, opts *corev1.PodLogOptions) *rest.Request {
	return c.client.Logs(c.namespace, name, opts)
}
