// Package unfinished tells the objects on which a controller has still to work from those that are as their users want
// them.
package unfinished

import (
	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	v1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/storagesim/storagesim/internal/podstatus"
)

// Object reports whether an object is not yet what its user asked for, or is being deleted. It is false for nil.
func Object(obj runtime.Object) bool {
	if obj == nil {
		return false
	}
	if m, err := meta.Accessor(obj); err == nil && m.GetDeletionTimestamp() != nil {
		return true
	}
	switch o := obj.(type) {
	case *v1.PersistentVolumeClaim:
		return o.Status.Phase != v1.ClaimBound || o.Spec.Resources.Requests.Storage().Cmp(*o.Status.Capacity.Storage()) > 0
	case *v1.PersistentVolume:
		return o.Status.Phase == v1.VolumeReleased && o.Spec.PersistentVolumeReclaimPolicy != v1.PersistentVolumeReclaimRetain
	case *v1.Pod:
		return o.Status.Phase != v1.PodSucceeded && o.Status.Phase != v1.PodFailed && !podstatus.IsReady(o)
	case *storagev1.VolumeAttachment:
		return !o.Status.Attached
	case *appsv1.StatefulSet:
		return o.Spec.Replicas != nil && o.Status.ReadyReplicas < *o.Spec.Replicas
	case *appsv1.Deployment:
		return o.Spec.Replicas != nil && o.Status.ReadyReplicas < *o.Spec.Replicas
	case *appsv1.DaemonSet:
		return o.Status.NumberReady < o.Status.DesiredNumberScheduled
	case *batchv1.Job:
		return o.Spec.Completions != nil && o.Status.Succeeded < *o.Spec.Completions
	}
	return false
}
