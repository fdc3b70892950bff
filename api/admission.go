package api

import (
	"slices"

	v1 "k8s.io/api/core/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/storagesim/storagesim/api/internal/call"
	"github.com/storagesim/storagesim/api/internal/strategy"
)

var (
	storageClasses  = storagev1.SchemeGroupVersion.WithResource("storageclasses")
	priorityClasses = schedulingv1.SchemeGroupVersion.WithResource("priorityclasses")
)

// admitCreate runs the admission plugins that change new objects: protection
// finalizers and the default class on claims, default requests and limits, default tolerations, priority and
// runtime class on pods, and the taint of new nodes. It runs before validation, without the lock.
func admitCreate(s *Server, obj runtime.Object) error {
	switch o := obj.(type) {
	case *v1.PersistentVolumeClaim:
		addFinalizer(&o.ObjectMeta, pvcProtection)
		if !claimHasClass(o) {
			applyDefaultClass(o, s.lookupAll(storageClasses))
		}
	case *v1.PersistentVolume:
		addFinalizer(&o.ObjectMeta, pvProtection)
	case *storagev1.VolumeAttributesClass:
		addFinalizer(&o.ObjectMeta, vacProtection)
	case *v1.Node:
		if s.taintsNodes.Load() {
			addNotReadyTaint(o)
		}
	case *v1.Pod:
		applyLimits(o, s.limitsOf(o.Namespace))
		strategy.AddDefaultTolerations(&o.Spec)
		if err := admitPriority(o, func(name string) *schedulingv1.PriorityClass {
			found, _ := s.lookup(priorityClasses, name)
			class, _ := found.(*schedulingv1.PriorityClass)
			return class
		}, s.lookupAll(priorityClasses)); err != nil {
			return err
		}
		return s.admitRuntimeClass(o)
	}
	return nil
}

// admitNew runs the admission plugins that refuse valid new objects. It runs after
// validation, without the lock: quotas are charged when the object is stored.
func admitNew(s *Server, obj call.Object) error {
	if err := s.checkLimits(obj); err != nil {
		return err
	}
	if pod, ok := obj.(*v1.Pod); ok {
		return s.checkOverhead(pod)
	}
	return nil
}

// admitUpdate runs the admission plugins that refuse valid updates. It runs
// after validation, without the lock: quotas are charged when the object is stored.
func admitUpdate(s *Server, r *request, obj, old call.Object) error {
	if claim, ok := obj.(*v1.PersistentVolumeClaim); ok && r.sub == "" {
		return s.admitClaimUpdate(claim, old.(*v1.PersistentVolumeClaim))
	}
	return nil
}

// admitClaimUpdate refuses sizes that a claim may not grow to.
func (s *Server) admitClaimUpdate(claim, old *v1.PersistentVolumeClaim) error {
	if old.DeletionTimestamp == nil {
		if err := s.checkLimits(claim); err != nil {
			return err
		}
	}
	return admitResize(claim, old, func(name string) *storagev1.StorageClass {
		found, _ := s.lookup(storageClasses, name)
		class, _ := found.(*storagev1.StorageClass)
		return class
	})
}

// addNotReadyTaint keeps pods away from a new node until the node lifecycle controller
// knows that it is ready.
// Upstream: plugin/pkg/admission/nodetaint addNotReadyTaint, v1.37.
func addNotReadyTaint(node *v1.Node) {
	taint := v1.Taint{Key: v1.TaintNodeNotReady, Effect: v1.TaintEffectNoSchedule}
	if !slices.ContainsFunc(node.Spec.Taints, func(t v1.Taint) bool { return t.MatchTaint(&taint) }) {
		node.Spec.Taints = append(node.Spec.Taints, taint)
	}
}
