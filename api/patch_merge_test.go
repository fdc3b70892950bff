package api

import (
	"encoding/json"
	"maps"
	"math/rand/v2"
	"slices"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/storagesim/storagesim/internal/seedtest"
)

// One seed is an object and a merge patch, which is parts of another object of its kind, in
// half of the seeds with nulls, unknown fields and values of the wrong type.
func TestAMergePatchGivesWhatTheLibraryGivesForTheWholeObject(t *testing.T) {
	var refused atomic.Int64
	tried := seedtest.Each(t, 300, func(t testing.TB, seed uint64) {
		g := &patchMaker{rand.New(rand.NewPCG(seed, 6))}
		kind := g.kind()
		old, patch := g.object(kind), g.mergePatch(kind)
		old.GetObjectKind().SetGroupVersionKind(schema.GroupVersionKind{}) // as it is stored
		r := &request{kind: kind}
		if kind.status >= 0 && g.chance(2) {
			r.sub = "status"
		}
		before, err := json.Marshal(old)
		require.NoError(t, err)

		got, err := r.mergeJSON(old, patch)
		want, wantErr := r.patchJSON(old, patch, mergePatch)
		require.Equal(t, wantErr == nil, err == nil, "the library says %v, the server %v of %s", wantErr, err, patch)
		unchanged, _ := json.Marshal(old)
		require.Equal(t, string(before), string(unchanged), "the stored object was changed")
		if err != nil {
			refused.Add(1)
			return
		}
		for _, obj := range []object{got, want} { // it is in the JSON of the whole object
			obj.GetObjectKind().SetGroupVersionKind(schema.GroupVersionKind{})
		}
		require.Equal(t, asJSON(r, old, want), asJSON(r, old, got), "%s", patch)
	})
	require.LessOrEqual(t, int(refused.Load()), tried/2, "most patches can be applied")
}

// mergePatch is some of the fields of an object, at some depth, or that spoilt.
func (g *patchMaker) mergePatch(k *kind) []byte {
	text, _ := json.Marshal(g.object(k))
	var tree map[string]any
	_ = json.Unmarshal(text, &tree)
	g.thin(tree)
	if g.chance(2) {
		for range 1 + g.IntN(3) {
			g.spoil(tree)
		}
	}
	patch, _ := json.Marshal(tree)
	return patch
}

// thin leaves out most fields, and has null for some.
func (g *patchMaker) thin(tree map[string]any) {
	for _, key := range slices.Sorted(maps.Keys(tree)) {
		below, isMap := tree[key].(map[string]any)
		switch {
		case isMap && g.chance(2):
			g.thin(below)
		case g.chance(8):
			tree[key] = nil
		case !g.chance(3):
			delete(tree, key)
		}
	}
}
