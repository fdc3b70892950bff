package patch

import (
	"encoding/json"
	"math/rand/v2"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/storagesim/storagesim/internal/seedtest"
)

// One seed is an object and a JSON patch of its metadata, of which some name what is not there, or something else.
func TestAJSONPatchOfTheMetadataGivesWhatThatOfTheWholeObjectGives(t *testing.T) {
	var alone, refused atomic.Int64
	tried := seedtest.Each(t, 300, func(t testing.TB, seed uint64) {
		g := &patchMaker{rand.New(rand.NewPCG(seed, 7))}
		kind := g.kind()
		old := unlabelled(g.object(kind))
		target := &Target{Kind: kind, Name: old.GetName()}
		old.SetFinalizers([]string{"a", "b"})
		old.SetLabels(map[string]string{"x": "1"})
		pick := func(words ...string) string { return words[g.IntN(len(words))] }
		var ops []map[string]any
		for range 1 + g.IntN(3) {
			op := map[string]any{"op": pick("add", "add", "remove", "replace", "test", "move", "copy", "add", "merge")}
			op["path"] = pick("/metadata/finalizers/-", "/metadata/finalizers/0", "/metadata/finalizers/1", "/metadata/finalizers", "/metadata/labels/x",
				"/metadata/labels/y", "/metadata/annotations", "/metadata/deletionTimestamp", "/metadata/finalizers/7", "/metadata/unknown")
			if g.chance(12) {
				op["path"] = pick("/metadata", "/spec", "/status/phase", "/metadataX/a", "")
			}
			if op["op"] == "move" || op["op"] == "copy" {
				op["from"] = pick("/metadata/labels/x", "/metadata/finalizers/0", "/metadata/name", "/metadata/labels", "/kind")
			}
			op["value"] = []any{"a", "b", nil, map[string]any{"k": "v"}, []any{"q"}, 5}[g.IntN(6)]
			ops = append(ops, op)
		}
		patch, err := json.Marshal(ops)
		require.NoError(t, err)
		before, err := json.Marshal(old)
		require.NoError(t, err)
		got, patched := target.patchMetadata(old, patch)
		unchanged, _ := json.Marshal(old)
		require.Equal(t, string(before), string(unchanged), "the stored object was changed")
		want, wantErr := target.patchJSON(old, patch, jsonPatch)
		if wantErr != nil {
			refused.Add(1)
			require.False(t, patched, "patched, though the whole object is refused with %v: %s", wantErr, patch)
			return
		}
		if !patched {
			return
		}
		require.False(t, strings.Contains(string(patch), `"/kind"`) || strings.Contains(string(patch), `"/spec"`), "more than the metadata: %s", patch)
		require.Equal(t, asJSON(target, old, unlabelled(want)), asJSON(target, old, unlabelled(got)), "%s", patch)
		alone.Add(1)
	})
	require.Greater(t, int(alone.Load()), tried/20, "many patches need no more than the metadata")
	require.Greater(t, int(refused.Load()), tried/10, "and many are refused")
}
