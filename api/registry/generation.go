package registry

import (
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/storagesim/storagesim/api/internal/call"
	"github.com/storagesim/storagesim/internal/semantic"
)

// CountGeneration raises the generation with every change of the spec; of an unstructured
// object, with every change but of its metadata.
// Upstream for the latter: customresource strategy.PrepareForUpdate, v1.37.
func (k *Entry) CountGeneration(obj, old call.Object) {
	if u, ok := obj.(*unstructured.Unstructured); ok && k.Generations {
		if !sameContent(u.Object, old.(*unstructured.Unstructured).Object) {
			obj.SetGeneration(old.GetGeneration() + 1)
		}
		return
	}
	changed := false
	switch {
	case !k.Generations:
	case k.Spec.Exists():
		changed = !k.Spec.Same(obj, old)
	case k.AllCounts:
		changed = !k.SameButMetadata(obj, old)
	}
	changed = changed || k.AnnotationsCount && !maps.Equal(old.GetAnnotations(), obj.GetAnnotations()) || k.LabelsCount &&
		!maps.Equal(old.GetLabels(), obj.GetLabels())
	if changed {
		obj.SetGeneration(old.GetGeneration() + 1)
	}
}

// sameContent reports whether two objects are equal, except their metadata and versions.
func sameContent(a, b map[string]any) bool {
	for _, name := range slices.Sorted(maps.Keys(a)) {
		if value, ok := b[name]; !isMeta(name) && (!ok || !semantic.Equal(a[name], value)) {
			return false
		}
	}
	for name := range b {
		if _, ok := a[name]; !ok && !isMeta(name) {
			return false
		}
	}
	return true
}

func isMeta(field string) bool {
	return field == "metadata" || field == "apiVersion" || field == "kind"
}
