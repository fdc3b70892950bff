package garbagecollector

import (
	"context"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	v1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
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

// follow adds a kind whose objects may own others or be owned.
func follow[T control.Object](c *controller, group schema.GroupVersion, name, resource string, namespaced bool, in func(namespace string) client[T]) {
	cache := control.NewCache[T](c.env, group.WithResource(resource))
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

// followAll adds all kinds that the storage plane knows. No two have the same name.
func followAll(c *controller) {
	core, apps, batch, storage := c.env.Client().CoreV1(), c.env.Client().AppsV1(), c.env.Client().BatchV1(), c.env.Client().StorageV1()
	const namespaced, clusterWide = true, false
	follow(c, v1.SchemeGroupVersion, "Pod", "pods", namespaced, func(ns string) client[*v1.Pod] { return core.Pods(ns) })
	follow(c, v1.SchemeGroupVersion, "PersistentVolumeClaim", "persistentvolumeclaims", namespaced, func(ns string) client[*v1.PersistentVolumeClaim] { return core.PersistentVolumeClaims(ns) })
	follow(c, v1.SchemeGroupVersion, "ConfigMap", "configmaps", namespaced, func(ns string) client[*v1.ConfigMap] { return core.ConfigMaps(ns) })
	follow(c, v1.SchemeGroupVersion, "Secret", "secrets", namespaced, func(ns string) client[*v1.Secret] { return core.Secrets(ns) })
	follow(c, v1.SchemeGroupVersion, "Service", "services", namespaced, func(ns string) client[*v1.Service] { return core.Services(ns) })
	follow(c, v1.SchemeGroupVersion, "ServiceAccount", "serviceaccounts", namespaced, func(ns string) client[*v1.ServiceAccount] { return core.ServiceAccounts(ns) })
	follow(c, v1.SchemeGroupVersion, "PersistentVolume", "persistentvolumes", clusterWide, func(string) client[*v1.PersistentVolume] { return core.PersistentVolumes() })
	follow(c, v1.SchemeGroupVersion, "Node", "nodes", clusterWide, func(string) client[*v1.Node] { return core.Nodes() })
	follow(c, appsv1.SchemeGroupVersion, "StatefulSet", "statefulsets", namespaced, func(ns string) client[*appsv1.StatefulSet] { return apps.StatefulSets(ns) })
	follow(c, appsv1.SchemeGroupVersion, "Deployment", "deployments", namespaced, func(ns string) client[*appsv1.Deployment] { return apps.Deployments(ns) })
	follow(c, appsv1.SchemeGroupVersion, "ReplicaSet", "replicasets", namespaced, func(ns string) client[*appsv1.ReplicaSet] { return apps.ReplicaSets(ns) })
	follow(c, appsv1.SchemeGroupVersion, "DaemonSet", "daemonsets", namespaced, func(ns string) client[*appsv1.DaemonSet] { return apps.DaemonSets(ns) })
	follow(c, batchv1.SchemeGroupVersion, "Job", "jobs", namespaced, func(ns string) client[*batchv1.Job] { return batch.Jobs(ns) })
	follow(c, storagev1.SchemeGroupVersion, "StorageClass", "storageclasses", clusterWide, func(string) client[*storagev1.StorageClass] { return storage.StorageClasses() })
	follow(c, storagev1.SchemeGroupVersion, "CSIDriver", "csidrivers", clusterWide, func(string) client[*storagev1.CSIDriver] { return storage.CSIDrivers() })
	follow(c, storagev1.SchemeGroupVersion, "CSINode", "csinodes", clusterWide, func(string) client[*storagev1.CSINode] { return storage.CSINodes() })
	follow(c, storagev1.SchemeGroupVersion, "CSIStorageCapacity", "csistoragecapacities", namespaced, func(ns string) client[*storagev1.CSIStorageCapacity] { return storage.CSIStorageCapacities(ns) })
	follow(c, storagev1.SchemeGroupVersion, "VolumeAttachment", "volumeattachments", clusterWide, func(string) client[*storagev1.VolumeAttachment] { return storage.VolumeAttachments() })
}
