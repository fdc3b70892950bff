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

// The walk over volumes of the same size begins at the one that a list would give, or as many further on as is chosen, and goes round.
func TestAChoiceSaysHowFarFromTheFirstTheWalkBegins(t *testing.T) {
	index := indexOf([]*v1.PersistentVolume{
		volumeOf("b", "5Gi", v1.ReadWriteOnce), // of any node, so that the index has it before the others
		with(volumeOf("a", "5Gi", v1.ReadWriteOnce), onNode("node-1")),
		with(volumeOf("excluded", "5Gi", v1.ReadWriteOnce), onNode("node-1")),
	})
	for chosen, want := range []string{"a", "b", "b"} {
		found, err := index.FindMatchingVolume(claimOf("5Gi", v1.ReadWriteOnce), nodeOf("node-1"), map[string]*v1.PersistentVolume{"excluded": nil}, func(n int) int {
			require.Equal(t, 3, n)
			return chosen
		})
		require.NoError(t, err)
		require.Equal(t, want, found.Name)
	}
}

// Of the volumes reserved for a claim any may be met first; if the node cannot reach that one there is no match.
func TestAChoiceAmongReservedVolumesCountsThoseOutOfReach(t *testing.T) {
	far := with(with(volumeOf("far", "5Gi", v1.ReadWriteOnce), reserved("")), onNode("node-2"))
	near := with(with(volumeOf("near", "5Gi", v1.ReadWriteOnce), reserved("")), onNode("node-1"))
	small := with(volumeOf("a", "1Gi", v1.ReadWriteOnce), reserved(""))
	for name, c := range map[string]struct {
		volumes []*v1.PersistentVolume
		want    []*v1.PersistentVolume // for each choice
	}{
		"one in reach, one not": {[]*v1.PersistentVolume{small, far, near}, []*v1.PersistentVolume{nil, near}},
		"none in reach":         {[]*v1.PersistentVolume{small, far}, []*v1.PersistentVolume{nil}},
	} {
		index := indexOf(append(c.volumes, volumeOf("free", "5Gi", v1.ReadWriteOnce)))
		for chosen, want := range c.want {
			found, err := index.FindMatchingVolume(claimOf("5Gi", v1.ReadWriteOnce), nodeOf("node-1"), nil, func(n int) int {
				require.Len(t, c.want, n, name)
				return chosen
			})
			require.NoError(t, err)
			require.Same(t, want, found, "%s: %d", name, chosen)
		}
	}
}

func TestNothingIsChosenWhereThereIsNoChoice(t *testing.T) {
	never := func(n int) int { require.Fail(t, "asked", "for one of %d", n); return 0 }
	for _, volume := range []*v1.PersistentVolume{volumeOf("pv", "5Gi", v1.ReadWriteOnce), with(volumeOf("pv", "5Gi", v1.ReadWriteOnce), reserved(""))} {
		index := indexOf([]*v1.PersistentVolume{volume})
		found, err := index.FindBestMatchForClaim(claimOf("5Gi", v1.ReadWriteOnce), false, never)
		require.NoError(t, err)
		require.Same(t, volume, found)
		found, err = index.FindMatchingVolume(claimOf("5Gi", v1.ReadWriteOnce), nodeOf("node-1"), nil, never)
		require.NoError(t, err)
		require.Same(t, volume, found)
	}
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
