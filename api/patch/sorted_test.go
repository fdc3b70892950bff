package patch

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"

	"github.com/storagesim/storagesim/api/registry"
)

// The library would name any of the fields, and the parts in any order: the same seed would not give the same text twice.
func TestAnApplyWithSeveralErrorsNamesTheSameEachTime(t *testing.T) {
	kind, ok := registry.New().Lookup(v1.SchemeGroupVersion.WithResource("persistentvolumeclaims"))
	require.True(t, ok)
	target := &Target{Kind: kind, Namespace: "default", Name: "data"}
	for range 60 {
		config, err := target.Configuration([]byte(`{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: data, zone: a, area: 1},
			spec: {sise: 1, klass: x, accessModes: {a: b}, resources: {requests: [1]}, selector: {matchExpressions: [{key: a, op: In}, {values: 1, keys: b}]}}}`))
		require.NoError(t, err)
		_, err = target.Applied(nil, config, "me", false)
		assert.EqualError(t, err, "failed to create typed patch object (/data; /v1, Kind=PersistentVolumeClaim): errors:\n"+
			"  .metadata.area: field not declared in schema\n"+
			"  .spec.accessModes: expected list, got &{map[a:b]}\n"+
			"  .spec.klass: field not declared in schema")
	}
}
