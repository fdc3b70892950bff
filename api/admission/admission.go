package admission

import (
	"slices"

	v1 "k8s.io/api/core/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/storagesim/storagesim/api/internal/call"
	"github.com/storagesim/storagesim/api/internal/strategy"
)

var (
	storageClasses  = storagev1.SchemeGroupVersion.WithResource("storageclasses")
	priorityClasses = schedulingv1.SchemeGroupVersion.WithResource("priorityclasses")
)

// Reader reads what is stored. The objects are shared: do not modify them.
type Reader interface {
	// Get returns the object of that key ("namespace/name"), false if there is none.
	Get(resource schema.GroupVersionResource, key string) (runtime.Object, bool)
	// List returns the objects in a namespace, all of them for "", in order of key.
	List(resource schema.GroupVersionResource, namespace string) []runtime.Object
}

// get returns the object of that key, nil if there is none.
func get[T runtime.Object](r Reader, resource schema.GroupVersionResource, key string) T {
	found, _ := r.Get(resource, key)
	obj, _ := found.(T)
	return obj
}

// list returns the objects in a namespace, in order of name.
func list[T runtime.Object](r Reader, resource schema.GroupVersionResource, namespace string) (list []T) {
	for _, obj := range r.List(resource, namespace) {
		if obj, ok := obj.(T); ok {
			list = append(list, obj)
		}
	}
	return list
}

// Plugins says which of the plugins run that a server may be without.
type Plugins struct {
	// TaintNodes is TaintNodesByCondition: new nodes have the taint not-ready.
	TaintNodes bool
	// ServiceAccount refuses pods whose service account is missing or does not list their secrets, and gives pods its imagePullSecrets.
	ServiceAccount bool
}

// Change runs the admission plugins that change new objects: protection
// finalizers and the default class on claims, default requests and limits, default tolerations, priority and
// runtime class on pods, and the taint of new nodes; some of them refuse pods. It runs before validation.
func Change(r Reader, obj runtime.Object, on Plugins) error {
	switch o := obj.(type) {
	case *v1.PersistentVolumeClaim:
		addFinalizer(&o.ObjectMeta, pvcProtection)
		if !claimHasClass(o) {
			applyDefaultClass(o, r.List(storageClasses, ""))
		}
	case *v1.PersistentVolume:
		addFinalizer(&o.ObjectMeta, pvProtection)
	case *storagev1.VolumeAttributesClass:
		addFinalizer(&o.ObjectMeta, vacProtection)
	case *v1.Node:
		if on.TaintNodes {
			addNotReadyTaint(o)
		}
	case *v1.Pod:
		applyLimits(o, list[*v1.LimitRange](r, limitRanges, o.Namespace))
		if on.ServiceAccount {
			if err := admitAccount(r, o); err != nil {
				return err
			}
		}
		strategy.AddDefaultTolerations(&o.Spec)
		if err := admitPriority(r, o); err != nil {
			return err
		}
		return admitRuntimeClass(r, o)
	}
	return nil
}

// Create runs the admission plugins that refuse valid new objects. It runs after
// validation; quotas are charged when the object is stored.
func Create(r Reader, obj call.Object) error {
	if err := checkLimits(r, obj); err != nil {
		return err
	}
	if pod, ok := obj.(*v1.Pod); ok {
		return checkOverhead(r, pod)
	}
	return nil
}

// Update runs the admission plugins that refuse valid updates of an object (not of a subresource).
// It runs after validation; quotas are charged when the object is stored.
func Update(r Reader, obj, old call.Object) error {
	if claim, ok := obj.(*v1.PersistentVolumeClaim); ok {
		return admitClaimUpdate(r, claim, old.(*v1.PersistentVolumeClaim))
	}
	return nil
}

// admitClaimUpdate refuses sizes that a claim may not grow to.
func admitClaimUpdate(r Reader, claim, old *v1.PersistentVolumeClaim) error {
	if old.DeletionTimestamp == nil {
		if err := checkLimits(r, claim); err != nil {
			return err
		}
	}
	return admitResize(r, claim, old)
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
