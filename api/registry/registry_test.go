package registry

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/scheme"
)

func TestEveryKindOfTheSchemeThatCanBeListedIsRegisteredInOneVersion(t *testing.T) {
	known := scheme.Scheme.AllKnownTypes()
	registered := map[schema.GroupKind][]string{}
	for gvk := range builtin().byKind {
		registered[gvk.GroupKind()] = append(registered[gvk.GroupKind()], gvk.Version)
	}
	for gvk := range known {
		list, ok := known[gvk.GroupVersion().WithKind(gvk.Kind+"List")]
		obj, err := scheme.Scheme.New(gvk)
		require.NoError(t, err)
		if _, hasMeta := obj.(metav1.Object); !ok || !hasMeta || gvk.Version == runtime.APIVersionInternal {
			continue
		}
		if gvk.Group == "extensions" { // these kinds are in other groups now
			continue
		}
		versions := registered[gvk.GroupKind()]
		require.NotEmpty(t, versions, "%s is missing in the table of kinds", gvk)
		if gvk.Kind != "HorizontalPodAutoscaler" {
			require.Len(t, versions, 1, "%s", gvk)
		}
		if k, ok := builtin().byKind[gvk]; ok {
			require.Equal(t, list, k.listType)
		}
	}
}

func TestRulesOfEveryKindTakeAnEmptyObject(t *testing.T) {
	now := metav1.Unix(1_700_000_000, 0)
	for _, k := range builtin().kinds {
		obj := k.NewObject()
		k.SetDefaults(obj, false)
		if prepare := k.Strategy.Create; prepare != nil {
			prepare(obj, now)
		}
		if prepare := k.Strategy.Update; prepare != nil {
			prepare(obj, obj.DeepCopyObject())
		}
		if prepare := k.Strategy.UpdateStatus; prepare != nil {
			prepare(obj, obj.DeepCopyObject(), now)
		}
		for _, field := range k.Fields {
			field(obj)
		}
		require.NotEmpty(t, k.Validation.ValidateCreate(obj, k.Namespaced), "%s without a name", k.GVK)
		k.Validation.ValidateUpdate(obj, obj.DeepCopyObject())
		k.Validation.ValidateUpdateStatus(obj, obj.DeepCopyObject())
	}
}

func TestNoTwoKindsHaveTheSameNameButThoseThatMoved(t *testing.T) {
	moved := []string{"events.k8s.io"}
	seen := map[string]string{}
	for _, k := range builtin().kinds {
		if k.Older || slices.Contains(moved, k.GVK.Group) {
			continue
		}
		names := slices.Concat([]string{k.GVR.Resource, k.Singular}, k.ShortNames, k.Nicknames)
		for _, name := range slices.Compact(names) { // endpoints have the same plural
			require.NotContains(t, seen, name, "%s", k.GVK)
			seen[name] = k.GVK.String()
		}
	}
}
