// Package sharing lets objects in a store use the same maps where they are equal. Stored objects are never modified, and maps are
// most of what objects take in memory.
package sharing

import (
	"maps"

	v1 "k8s.io/api/core/v1"

	"github.com/storagesim/storagesim/api/internal/call"
)

// Quantities has the list of quantities of the latest object of a table: volumes and claims of one size follow each other. The zero
// value is for an empty table.
type Quantities struct{ latest v1.ResourceList }

// Share lets obj use the maps of old, which is nil for a new object, and the lists of quantities of the latest object where they
// are equal.
func (q *Quantities) Share(old, obj call.Object) {
	if old != nil {
		if same := old.GetLabels(); len(same) > 0 && maps.Equal(same, obj.GetLabels()) {
			obj.SetLabels(same)
		}
		if same := old.GetAnnotations(); len(same) > 0 && maps.Equal(same, obj.GetAnnotations()) {
			obj.SetAnnotations(same)
		}
	}
	before := quantitiesOf(old)
	for i, list := range quantitiesOf(obj) {
		switch {
		case list == nil || len(*list) == 0:
		case before[i] != nil && maps.Equal(*before[i], *list):
			*list = *before[i]
		case maps.Equal(q.latest, *list):
			*list = q.latest
		default:
			q.latest = *list
		}
	}
}

// quantitiesOf returns the lists of quantities of volumes and claims, of which there are many.
func quantitiesOf(obj call.Object) (lists [3]*v1.ResourceList) {
	switch o := obj.(type) {
	case *v1.PersistentVolume:
		lists[0] = &o.Spec.Capacity
	case *v1.PersistentVolumeClaim:
		lists[0], lists[1], lists[2] = &o.Spec.Resources.Requests, &o.Status.Capacity, &o.Status.AllocatedResources
	}
	return lists
}
