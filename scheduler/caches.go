package scheduler

import (
	appsv1 "k8s.io/api/apps/v1"
	v1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	storagev1 "k8s.io/api/storage/v1"

	"github.com/storagesim/storagesim/binding"
	"github.com/storagesim/storagesim/control"
)

// caches are the scheduler's views of the API.
type caches struct {
	pods       *control.Cache[*v1.Pod]
	nodes      *control.Cache[*v1.Node]
	volumes    *control.Cache[*v1.PersistentVolume]
	claims     *control.Cache[*v1.PersistentVolumeClaim]
	classes    *control.Cache[*storagev1.StorageClass]
	drivers    *control.Cache[*storagev1.CSIDriver]
	capacities *control.Cache[*storagev1.CSIStorageCapacity]
	// csiNodes and attachments are NodeVolumeLimits'.
	csiNodes    *control.Cache[*storagev1.CSINode]
	attachments *control.Cache[*storagev1.VolumeAttachment]
	// The others are PodTopologySpread's.
	services               *control.Cache[*v1.Service]
	replicationControllers *control.Cache[*v1.ReplicationController]
	replicaSets            *control.Cache[*appsv1.ReplicaSet]
	statefulSets           *control.Cache[*appsv1.StatefulSet]
	// namespaces is InterPodAffinity's; nil until a pod needs it (followNamespaces).
	namespaces *control.Cache[*v1.Namespace]
	// budgets is preemption's; nil until a pod has a priority (followBudgets).
	budgets *control.Cache[*policyv1.PodDisruptionBudget]
}

// newCaches follows nodes and storage before pods, so that in order the first
// pod finds everything there.
func newCaches(env control.Env) *caches {
	c := &caches{
		nodes:                  control.NewCache[*v1.Node](env, control.Nodes()),
		classes:                control.NewCache[*storagev1.StorageClass](env, control.StorageClasses()),
		drivers:                control.NewCache[*storagev1.CSIDriver](env, control.CSIDrivers()),
		capacities:             control.NewCache[*storagev1.CSIStorageCapacity](env, control.CSIStorageCapacities()),
		csiNodes:               control.NewCache[*storagev1.CSINode](env, control.CSINodes()),
		attachments:            control.NewCache[*storagev1.VolumeAttachment](env, control.VolumeAttachments()),
		services:               control.NewCache[*v1.Service](env, v1.SchemeGroupVersion.WithResource("services")),
		replicationControllers: control.NewCache[*v1.ReplicationController](env, v1.SchemeGroupVersion.WithResource("replicationcontrollers")),
		replicaSets:            control.NewCache[*appsv1.ReplicaSet](env, appsv1.SchemeGroupVersion.WithResource("replicasets")),
		statefulSets:           control.NewCache[*appsv1.StatefulSet](env, appsv1.SchemeGroupVersion.WithResource("statefulsets")),
		volumes:                control.NewCache[*v1.PersistentVolume](env, control.PersistentVolumes()),
		claims:                 control.NewCache[*v1.PersistentVolumeClaim](env, control.PersistentVolumeClaims()),
		pods:                   control.NewCache[*v1.Pod](env, control.Pods()),
	}
	c.volumes.AddIndex(byClass, func(pv *v1.PersistentVolume) []string {
		return []string{binding.GetPersistentVolumeClass(pv)}
	})
	c.csiNodes.AddIndex(byLimitedDriver, limitedDrivers)
	c.attachments.AddIndex(byNode, func(a *storagev1.VolumeAttachment) []string { return []string{a.Spec.NodeName} })
	c.services.AddIndex(byNamespace, namespaceOf[*v1.Service])
	return c
}

func (c *caches) handleStorage(s *scheduler) {
	c.classes.Handle(forward[*storagev1.StorageClass](s))
	c.drivers.Handle(forward[*storagev1.CSIDriver](s))
	c.capacities.Handle(forward[*storagev1.CSIStorageCapacity](s))
	c.csiNodes.Handle(forward[*storagev1.CSINode](s))
	c.attachments.Handle(forward[*storagev1.VolumeAttachment](s))
}
