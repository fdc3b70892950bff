package main

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/storagesim/storagesim/internal/public"
)

// docs/public-manifests.md names these shapes; its manifests are not here.
func TestEachShapeOfPublicManifestsEndsAsItDoesOnACluster(t *testing.T) {
	shapes, err := public.Shapes()
	require.NoError(t, err)
	for i, shape := range shapes {
		if testing.Short() && i%3 > 0 { // they differ in the objects, and not in how they are played
			continue
		}
		t.Run(shape.Name, func(t *testing.T) {
			path := file(t, "all.yaml", shape.Manifest+shape.Objects())
			args := append([]string{"run", "--width", "0", "-f", path}, shape.Flags...)
			o := &public.Outcome{}
			var out string
			o.Exit, out, o.Output = command(t, "", append(args, "--output", "json")...)
			if out != "" {
				var list struct{ Items []unstructured.Unstructured }
				require.NoError(t, json.Unmarshal([]byte(out), &list))
				o.Objects = list.Items
			}
			_, records, _ := command(t, "", append(args, "--output", "trace")...)
			require.NoError(t, o.ReadTrace([]byte(records)))
			require.Empty(t, shape.Check(o))
		})
	}
}
