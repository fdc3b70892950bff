package trace

import (
	"slices"

	coordinationv1 "k8s.io/api/coordination/v1"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/storagesim/storagesim/internal/semantic"
)

// IsHeartbeat reports whether a change of an object says only that a node is alive: it
// changes a node's Lease, or the times of a Node's conditions. Either of old and new may
// be nil. Such changes never end, so stories leave them out, and Settle does not wait for them.
func IsHeartbeat(old, new runtime.Object) bool {
	obj := new
	if obj == nil {
		obj = old
	}
	switch o := obj.(type) {
	case *coordinationv1.Lease:
		return o.Namespace == v1.NamespaceNodeLease
	case *v1.Node:
		was, ok := old.(*v1.Node)
		is, same := new.(*v1.Node)
		return ok && same && onlyTimesDiffer(was, is)
	}
	return false
}

// onlyTimesDiffer reports whether two versions of a node differ only in the heartbeat times of
// its conditions.
func onlyTimesDiffer(was, is *v1.Node) bool {
	if len(was.Status.Conditions) != len(is.Status.Conditions) {
		return false
	}
	beat := false
	for i, c := range is.Status.Conditions {
		before := was.Status.Conditions[i]
		beat = beat || !before.LastHeartbeatTime.Equal(&c.LastHeartbeatTime)
		if before.LastHeartbeatTime = c.LastHeartbeatTime; before != c {
			return false
		}
	}
	if !beat {
		return false
	}
	a, b := *was, *is
	a.Status.Conditions, b.Status.Conditions = nil, nil
	a.ResourceVersion, b.ResourceVersion = "", ""
	a.ManagedFields, b.ManagedFields = nil, nil
	return slices.Equal(a.Status.VolumesInUse, b.Status.VolumesInUse) && semantic.Equal(a, b)
}
