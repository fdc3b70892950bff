package warnings

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation"
)

// Custom returns the warnings for the objects of custom kinds: of finalizers that come to them.
// Upstream: apiextensions-apiserver registry/customresource generateWarningsFromObj and validateKubeFinalizerName, v1.37.2.
func Custom() Kind {
	return Kind{Write: func(obj, old runtime.Object) (list []string) {
		added := finalizersOf(obj)
		slices.Sort(added)
		before := finalizersOf(old)
		for _, name := range slices.Compact(added) {
			if !slices.Contains(before, name) {
				list = append(list, unqualified(name)...)
			}
		}
		return list
	}}
}

// finalizersOf returns a copy of those of an object, none if there is no object.
func finalizersOf(obj runtime.Object) []string {
	if obj == nil {
		return nil
	}
	m, err := meta.Accessor(obj)
	if err != nil {
		return nil
	}
	return slices.Clone(m.GetFinalizers())
}

// unqualified warns of a finalizer that is no good name, or has no domain.
func unqualified(name string) (list []string) {
	warn := func(text string) { list = append(list, fmt.Sprintf("metadata.finalizers: %q: %s", name, text)) }
	for _, text := range validation.IsQualifiedName(name) {
		warn(text)
	}
	switch name {
	case metav1.FinalizerOrphanDependents, metav1.FinalizerDeleteDependents, "kubernetes":
		return list
	}
	const prefer = "prefer a domain-qualified finalizer name"
	const avoid = " to avoid accidental conflicts with other finalizer writers"
	switch {
	case strings.Contains(name, "/"):
	case strings.Contains(name, "."):
		warn(prefer + " including a path (/)" + avoid)
	default:
		warn(prefer + avoid)
	}
	return list
}
