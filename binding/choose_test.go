package binding_test

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	upstream "k8s.io/component-helpers/storage/volume"

	"github.com/storagesim/storagesim/binding"
)

// Upstream walks its volumes in the order of a Go map. With Choose the index must find
// what upstream may find in any order, and nothing else.
func TestChanceFindsJustTheVolumesThatUpstreamMayFind(t *testing.T) {
	d := dice{rand.New(rand.NewPCG(3, 5))}
	several := 0
	for range 150 {
		w := pick(d, dice.equals, dice.prebound, dice.local)(d)
		if _, err := binding.FindBestMatchForClaim(w.Claim, nil, w.Delay); err != nil {
			continue
		}
		index := binding.NewIndex()
		for _, volume := range w.Volumes {
			index.Put(volume)
		}
		for _, search := range []struct{ upstreams, ours func() *v1.PersistentVolume }{
			{func() *v1.PersistentVolume { return pick(d, bestMatches(w)...) }, func() *v1.PersistentVolume {
				found, err := index.FindBestMatchForClaim(w.Claim, w.Delay, d.IntN)
				require.NoError(t, err)
				return found
			}},
			{func() *v1.PersistentVolume { return schedulersMatch(t, w) }, func() *v1.PersistentVolume {
				found, err := index.FindMatchingVolume(w.Claim, w.Node, w.Excluded, d.IntN)
				require.NoError(t, err)
				return found
			}},
		} {
			want := outcomes(func() *v1.PersistentVolume {
				d.Shuffle(len(w.Volumes), func(i, j int) { w.Volumes[i], w.Volumes[j] = w.Volumes[j], w.Volumes[i] })
				return search.upstreams()
			})
			require.Equal(t, want, outcomes(search.ours), "%s", shown{w})
			if len(want) > 1 {
				several++
			}
		}
	}
	require.Greater(t, several, 50, "too few questions with several answers")
}

// schedulersMatch returns what upstream's code finds for the scheduler among the volumes
// in their present order.
func schedulersMatch(t testing.TB, w world) *v1.PersistentVolume {
	t.Helper()
	ofClass := slices.DeleteFunc(slices.Clone(w.Volumes), func(volume *v1.PersistentVolume) bool {
		return upstream.GetPersistentVolumeClass(volume) != upstream.GetPersistentVolumeClaimClass(w.Claim)
	})
	found, err := upstream.FindMatchingVolume(w.Claim, ofClass, w.Node, w.Excluded, true, true)
	require.NoError(t, err)
	return found
}

// outcomes returns the names of what f finds in many tries.
func outcomes(f func() *v1.PersistentVolume) []string {
	var names []string
	for range 150 {
		name := "none"
		if found := f(); found != nil {
			name = found.Name
		}
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}
