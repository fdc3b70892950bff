package garbagecollector

import (
	"context"

	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	batchv1 "k8s.io/api/batch/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	v1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	networkingv1 "k8s.io/api/networking/v1"
	nodev1 "k8s.io/api/node/v1"
	policyv1 "k8s.io/api/policy/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/storagesim/storagesim/control"
)

// kind is one kind of object, with what is known of its objects and how to reach them.
type kind struct {
	name       string // "Pod"
	apiVersion string
	namespaced bool
	cached     func(key string) (control.Object, bool)

	get    func(ctx context.Context, namespace, name string) (control.Object, error)
	delete func(ctx context.Context, namespace, name string, options metav1.DeleteOptions) error
	patch  func(ctx context.Context, namespace, name string, how types.PatchType, patch []byte) error
}

// client is what a typed client offers for each kind.
type client[T control.Object] interface {
	Get(ctx context.Context, name string, options metav1.GetOptions) (T, error)
	Delete(ctx context.Context, name string, options metav1.DeleteOptions) error
	Patch(ctx context.Context, name string, how types.PatchType, patch []byte, options metav1.PatchOptions, subresources ...string) (T, error)
}

// follow adds a kind whose objects may own others or be owned, and live in a namespace.
func follow[T control.Object, C client[T]](c *controller, group schema.GroupVersion, name string, in func(namespace string) C) {
	followKind[T](c, group, name, true, in)
}

// followEverywhere adds a kind whose objects live in no namespace.
func followEverywhere[T control.Object, C client[T]](c *controller, group schema.GroupVersion, name string, all func() C) {
	followKind[T](c, group, name, false, func(string) C { return all() })
}

func followKind[T control.Object, C client[T]](c *controller, group schema.GroupVersion, name string, namespaced bool, in func(namespace string) C) {
	resource, _ := meta.UnsafeGuessKindToResource(group.WithKind(name))
	cache := control.NewCache[T](c.env, resource)
	k := &kind{
		name: name, apiVersion: group.String(), namespaced: namespaced,
		cached: func(key string) (control.Object, bool) { return cache.Get(key) },
		get: func(ctx context.Context, namespace, name string) (control.Object, error) {
			return in(namespace).Get(ctx, name, metav1.GetOptions{})
		},
		delete: func(ctx context.Context, namespace, name string, options metav1.DeleteOptions) error {
			return in(namespace).Delete(ctx, name, options)
		},
		patch: func(ctx context.Context, namespace, name string, how types.PatchType, patch []byte) error {
			_, err := in(namespace).Patch(ctx, name, how, patch, metav1.PatchOptions{})
			return err
		},
	}
	c.kinds[name] = k
	cache.Handle(control.Handler[T]{
		Add:    func(obj T) { c.added(k, obj) },
		Update: func(old, obj T) { c.updated(k, old, obj) },
		Delete: func(obj T) { c.deleted(k, obj) },
	})
}

// followAll adds all kinds that a manifest for the storage plane has. No two have the
// same name. Events are nobody's owner and nobody's dependent.
// Upstream: graph_builder.go DefaultIgnoredResources, v1.36.
func followAll(c *controller) {
	followCore(c)
	followWorkloads(c)
	followStorage(c)
	followRules(c)
}

func followCore(c *controller) {
	group, core := v1.SchemeGroupVersion, c.env.Client().CoreV1()
	follow(c, group, "Pod", core.Pods)
	follow(c, group, "PersistentVolumeClaim", core.PersistentVolumeClaims)
	follow(c, group, "ConfigMap", core.ConfigMaps)
	follow(c, group, "Secret", core.Secrets)
	follow(c, group, "Service", core.Services)
	follow(c, group, "Endpoints", core.Endpoints)
	follow(c, group, "ServiceAccount", core.ServiceAccounts)
	follow(c, group, "ReplicationController", core.ReplicationControllers)
	follow(c, group, "PodTemplate", core.PodTemplates)
	follow(c, group, "ResourceQuota", core.ResourceQuotas)
	follow(c, group, "LimitRange", core.LimitRanges)
	followEverywhere(c, group, "PersistentVolume", core.PersistentVolumes)
	followEverywhere(c, group, "Node", core.Nodes)
	followEverywhere(c, group, "Namespace", core.Namespaces)
}

func followWorkloads(c *controller) {
	apps, batch := c.env.Client().AppsV1(), c.env.Client().BatchV1()
	follow(c, appsv1.SchemeGroupVersion, "StatefulSet", apps.StatefulSets)
	follow(c, appsv1.SchemeGroupVersion, "Deployment", apps.Deployments)
	follow(c, appsv1.SchemeGroupVersion, "ReplicaSet", apps.ReplicaSets)
	follow(c, appsv1.SchemeGroupVersion, "DaemonSet", apps.DaemonSets)
	follow(c, appsv1.SchemeGroupVersion, "ControllerRevision", apps.ControllerRevisions)
	follow(c, batchv1.SchemeGroupVersion, "Job", batch.Jobs)
	follow(c, batchv1.SchemeGroupVersion, "CronJob", batch.CronJobs)
	follow(c, autoscalingv2.SchemeGroupVersion, "HorizontalPodAutoscaler", c.env.Client().AutoscalingV2().HorizontalPodAutoscalers)
	follow(c, policyv1.SchemeGroupVersion, "PodDisruptionBudget", c.env.Client().PolicyV1().PodDisruptionBudgets)
}

func followStorage(c *controller) {
	group, storage := storagev1.SchemeGroupVersion, c.env.Client().StorageV1()
	followEverywhere(c, group, "StorageClass", storage.StorageClasses)
	followEverywhere(c, group, "CSIDriver", storage.CSIDrivers)
	followEverywhere(c, group, "CSINode", storage.CSINodes)
	follow(c, group, "CSIStorageCapacity", storage.CSIStorageCapacities)
	followEverywhere(c, group, "VolumeAttachment", storage.VolumeAttachments)
	followEverywhere(c, group, "VolumeAttributesClass", storage.VolumeAttributesClasses)
}

// followRules adds what a driver's manifests have beside its workloads.
func followRules(c *controller) {
	rbac, networking := c.env.Client().RbacV1(), c.env.Client().NetworkingV1()
	follow(c, rbacv1.SchemeGroupVersion, "Role", rbac.Roles)
	follow(c, rbacv1.SchemeGroupVersion, "RoleBinding", rbac.RoleBindings)
	followEverywhere(c, rbacv1.SchemeGroupVersion, "ClusterRole", rbac.ClusterRoles)
	followEverywhere(c, rbacv1.SchemeGroupVersion, "ClusterRoleBinding", rbac.ClusterRoleBindings)
	follow(c, networkingv1.SchemeGroupVersion, "Ingress", networking.Ingresses)
	follow(c, networkingv1.SchemeGroupVersion, "NetworkPolicy", networking.NetworkPolicies)
	follow(c, discoveryv1.SchemeGroupVersion, "EndpointSlice", c.env.Client().DiscoveryV1().EndpointSlices)
	follow(c, coordinationv1.SchemeGroupVersion, "Lease", c.env.Client().CoordinationV1().Leases)
	followEverywhere(c, schedulingv1.SchemeGroupVersion, "PriorityClass", c.env.Client().SchedulingV1().PriorityClasses)
	followEverywhere(c, nodev1.SchemeGroupVersion, "RuntimeClass", c.env.Client().NodeV1().RuntimeClasses)
}
