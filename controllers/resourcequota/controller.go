package resourcequota

import (
	"context"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes"

	"github.com/storagesim/storagesim/control"
	"github.com/storagesim/storagesim/internal/quota"
	"github.com/storagesim/storagesim/internal/semantic"
)

// ActorName is the name of this controller in upstream's controller manager.
const ActorName = "resourcequota-controller"

// syncPeriod is the interval at which all quotas are counted.
// Upstream: pkg/controller/resourcequota/config/v1alpha1, v1.37.
const syncPeriod = 5 * time.Minute

// New returns the factory of the controller.
// Upstream: resource_quota_controller.go NewController, v1.37.
func New() control.Factory {
	return func(env control.Env) error {
		c := &controller{
			env: env, client: env.Client(), monitors: map[schema.GroupResource]*control.Cache[control.Object]{},
			quotas: control.NewCacheAtOnce[*v1.ResourceQuota](env, v1.SchemeGroupVersion.WithResource("resourcequotas")),
		}
		c.quotas.Handle(control.Handler[*v1.ResourceQuota]{Add: c.enqueue, Update: c.quotaUpdated})
		for q := range c.quotas.All() { // the cache of some drivers is full from the beginning
			c.enqueue(q)
		}
		return nil
	}
}

type controller struct {
	env    control.Env
	client kubernetes.Interface
	quotas *control.Cache[*v1.ResourceQuota]
	// queue is nil until there is a quota.
	queue control.Queue
	// monitors holds the caches of the resources that quotas count.
	monitors map[schema.GroupResource]*control.Cache[control.Object]
}

// enqueue queues a quota.
func (c *controller) enqueue(q *v1.ResourceQuota) {
	if c.queue == nil {
		c.queue = c.env.Queue(control.QueueConfig{Name: "resourcequota_primary", About: control.KeysOf("ResourceQuota"), Reconcile: c.syncResourceQuotaFromKey})
		c.env.Every("count all quotas", syncPeriod, func(context.Context) { c.enqueueAll() })
	}
	c.queue.Add(control.Key(q))
}

// enqueueAll queues all quotas.
// Upstream: resource_quota_controller.go enqueueAll, v1.37.
func (c *controller) enqueueAll() {
	for q := range c.quotas.All() {
		c.enqueue(q)
	}
}

// quotaUpdated queues a quota whose limits changed. A change of its status is this controller's own, or the API server's.
func (c *controller) quotaUpdated(old, q *v1.ResourceQuota) {
	if !quota.Equal(old.Spec.Hard, q.Spec.Hard) {
		c.enqueue(q)
	}
}

// syncResourceQuotaFromKey counts one quota.
// Upstream: resource_quota_controller.go syncResourceQuotaFromKey, v1.37.
func (c *controller) syncResourceQuotaFromKey(ctx context.Context, key string) error {
	q, found := c.quotas.Get(key)
	if !found {
		return nil
	}
	if added := c.follow(ctx, quota.Names(q.Spec.Hard)); added {
		// A task that begins now waits for the first lists of the new caches.
		c.env.Go("count quota "+key+" once its objects are listed", func(context.Context) { c.queue.Add(key) })
		return nil
	}
	return c.syncResourceQuota(ctx, q)
}

// syncResourceQuota writes what is used, unless the status says it already. What nothing counts keeps its value.
// Upstream: resource_quota_controller.go syncResourceQuota, v1.37.
func (c *controller) syncResourceQuota(ctx context.Context, q *v1.ResourceQuota) error {
	hard := quota.Add(q.Spec.Hard, nil)
	used := quota.Add(q.Status.Used, nil)
	for name, value := range c.usage(q) {
		used[name] = value
	}
	used = quota.Mask(used, quota.Names(hard))
	if q.Status.Hard != nil && q.Status.Used != nil && semantic.Equal(q.Spec.Hard, q.Status.Hard) && quota.Equal(used, q.Status.Used) {
		return nil
	}
	next := q.DeepCopy()
	next.Status = v1.ResourceQuotaStatus{Hard: hard, Used: used}
	_, err := c.client.CoreV1().ResourceQuotas(q.Namespace).UpdateStatus(ctx, next, metav1.UpdateOptions{})
	return err
}

// usage returns what the objects of the quota's namespace take.
// Upstream: apiserver quota/v1 CalculateUsage, v1.37.
func (c *controller) usage(q *v1.ResourceQuota) v1.ResourceList {
	names := quota.Names(q.Spec.Hard)
	used := v1.ResourceList{}
	for _, resource := range resourcesOf(names) {
		objects := c.monitors[resource]
		if objects == nil {
			continue
		}
		evaluator := quota.Of(resource)
		counted := evaluator.Matching(names)
		sum := quota.None(counted)
		for _, obj := range objects.ByIndex(byNamespace, q.Namespace) {
			if evaluator.Selects(&q.Spec, obj) {
				sum = quota.Add(sum, evaluator.Usage(obj, c.env.Now()))
			}
		}
		used = quota.Add(used, quota.Mask(sum, counted))
	}
	return used
}
