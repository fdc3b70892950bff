package resourcequota

import (
	"context"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/storagesim/storagesim/control"
	"github.com/storagesim/storagesim/internal/quota"
)

// byNamespace is the index of the monitors' caches.
const byNamespace = "namespace"

// follow has caches for all resources that a quota counts, and reports whether one is new. A resource that does not exist is
// looked for again when the quota is counted again.
// Upstream: resource_quota_monitor.go SyncMonitors, v1.37, which follows all resources.
func (c *controller) follow(ctx context.Context, names []v1.ResourceName) (added bool) {
	for _, resource := range resourcesOf(names) {
		if c.monitors[resource] != nil {
			continue
		}
		if version, found := c.version(ctx, resource); found {
			c.monitors[resource] = c.monitor(resource, version)
			added = true
		}
	}
	return added
}

// resourcesOf returns the resources whose objects entries of spec.hard count, each once.
func resourcesOf(names []v1.ResourceName) (list []schema.GroupResource) {
	seen := map[schema.GroupResource]bool{}
	for _, name := range names {
		resource, counts := quota.Counted(name)
		if counts && !seen[resource] && !quota.Ignored(resource) {
			seen[resource] = true
			list = append(list, resource)
		}
	}
	return list
}

// version returns a resource of objects in namespaces, in its preferred version.
// Upstream: resource_quota_controller.go GetQuotableResources, v1.37.
func (c *controller) version(ctx context.Context, resource schema.GroupResource) (schema.GroupVersionResource, bool) {
	resources, _ := c.env.Objects().Resources(ctx) // with an error come those that could be found
	for _, r := range resources {
		if r.Name == resource.Resource && r.Group == resource.Group && r.Namespaced {
			return resource.WithVersion(r.Version), true
		}
	}
	return schema.GroupVersionResource{}, false
}

// monitor makes the cache of a resource. When an object is gone, or takes less, the quotas that count it are counted again.
// Upstream: resource_quota_monitor.go controllerFor, v1.37.
func (c *controller) monitor(resource schema.GroupResource, version schema.GroupVersionResource) *control.Cache[control.Object] {
	cache := control.NewCache[control.Object](c.env, version)
	cache.AddIndex(byNamespace, func(obj control.Object) []string { return []string{obj.GetNamespace()} })
	evaluator := quota.Of(resource)
	cache.Handle(control.Handler[control.Object]{
		Update: func(old, obj control.Object) {
			if evaluator.Replenishes(old, obj, c.env.Now()) {
				c.replenish(resource, obj.GetNamespace())
			}
		},
		Delete: func(obj control.Object) { c.replenish(resource, obj.GetNamespace()) },
	})
	return cache
}

// replenish queues the quotas of a namespace that count a resource.
// Upstream: resource_quota_controller.go replenishQuota, v1.37.
func (c *controller) replenish(resource schema.GroupResource, namespace string) {
	evaluator := quota.Of(resource)
	for q := range c.quotas.All() {
		if q.Namespace == namespace && len(evaluator.Matching(quota.Names(q.Status.Hard))) > 0 {
			c.enqueue(q)
		}
	}
}
