package binding_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/storagesim/storagesim/binding"
)

// There are enough volumes for buckets of many chunks. Each answer is compared with that
// for a list.
func TestTheIndexFollowsThousandsOfChanges(t *testing.T) {
	d := dice{rand.New(rand.NewPCG(1, 2))}
	index, live := binding.NewIndex(), map[string]*v1.PersistentVolume{}
	for i := range 6000 {
		name := fmt.Sprintf("pv-%04d", d.IntN(1500))
		if _, exists := live[name]; exists && d.oneIn(3) {
			index.Delete(name)
			delete(live, name)
		} else {
			live[name] = d.changing(name)
			index.Put(live[name])
		}
		if i%50 == 0 {
			answersAsForAList(t, d, index, live)
		}
	}
	for name := range live {
		index.Delete(name)
	}
	require.True(t, index.Empty())
}

// changing draws a volume that is mostly free, on one of three nodes or on none.
func (d dice) changing(name string) *v1.PersistentVolume {
	volume := volumeOf(name, pick(d, "1Gi", "2Gi", "2Gi", "3Gi"), v1.ReadWriteOnce)
	volume.Status.Phase = pick(d, v1.VolumeAvailable, v1.VolumeAvailable, v1.VolumeBound)
	if node := d.IntN(4); node > 0 {
		onNode(nodeName(node))(volume)
	}
	if d.oneIn(300) {
		reserved("")(volume)
	}
	return volume
}

func answersAsForAList(t testing.TB, d dice, index *binding.Index, live map[string]*v1.PersistentVolume) {
	t.Helper()
	claim, volumes := claimOf(pick(d, "1Gi", "2Gi", "3Gi", "4Gi"), v1.ReadWriteOnce), inOrder(live)
	if d.oneIn(2) { // no volume is reserved for this name
		claim.Name = "logs"
	}
	want, err := binding.FindBestMatchForClaim(claim, volumes, false)
	require.NoError(t, err)
	got, err := index.FindBestMatchForClaim(claim, false, nil)
	require.NoError(t, err)
	require.Same(t, want, got)

	node := nodeOf(nodeName(1 + d.IntN(3)))
	want, err = binding.FindMatchingVolume(claim, volumes, node, nil, true)
	require.NoError(t, err)
	got, err = index.FindMatchingVolume(claim, node, nil, nil)
	require.NoError(t, err)
	require.Same(t, want, got)
	require.Equal(t, len(live), index.Len())
	require.True(t, slices.Equal(volumes, index.All()), "in order of name")
	for _, name := range []string{"pv-0001", "none"} {
		got, found := index.Get(name)
		require.Same(t, live[name], got)
		require.Equal(t, live[name] != nil, found)
	}
}

// A node's buckets are kept from one search to the next, and yet it gets what came meanwhile.
func TestANodeThatIsAskedAgainGetsVolumesThatCameMeanwhile(t *testing.T) {
	index, node := binding.NewIndex(), &binding.NodeBuckets{Node: nodeOf("node-1")}
	here := func(name, size string) *v1.PersistentVolume {
		return with(volumeOf(name, size, v1.ReadWriteOnce), onNode("node-1"))
	}
	far := with(volumeOf("far", "5Gi", v1.ReadWriteOnce), onNode("node-2"))
	for round := range 2 { // in the second all buckets are new
		for _, step := range []struct {
			put  *v1.PersistentVolume
			want string
		}{{far, ""}, {here("big", "9Gi"), "big"}, {here("small", "7Gi"), "small"}} {
			index.Put(step.put)
			search, err := index.Search(claimOf("5Gi", v1.ReadWriteOnce))
			require.NoError(t, err)
			name := ""
			if found := search.On(node, nil, nil); found != nil {
				name = found.Name
			}
			require.Equal(t, step.want, name, "round %d", round)
		}
		for _, volume := range index.All() {
			index.Delete(volume.Name)
		}
	}
}

func TestTheIndexFindsTheSmallestVolumeInTheNodesReach(t *testing.T) {
	index := indexOf([]*v1.PersistentVolume{
		with(volumeOf("here", "7Gi", v1.ReadWriteOnce), onNode("node-1")),
		with(volumeOf("there", "6Gi", v1.ReadWriteOnce), onNode("node-2")),
		with(volumeOf("modes", "8Gi", v1.ReadWriteOnce, v1.ReadOnlyMany), onNode("node-3")),
		with(volumeOf("excluded", "7Gi", v1.ReadWriteOnce), onNode("node-3")),
		volumeOf("anywhere", "9Gi", v1.ReadWriteOnce),
	})
	for node, want := range map[string]string{"node-1": "here", "node-2": "there", "node-3": "modes", "node-4": "anywhere"} {
		got, err := index.FindMatchingVolume(claimOf("5Gi", v1.ReadWriteOnce), nodeOf(node), map[string]*v1.PersistentVolume{"excluded": nil}, nil)
		require.NoError(t, err)
		require.Equal(t, want, got.Name, node)
	}
	got, err := index.FindMatchingVolume(claimOf("5Gi", v1.ReadWriteOnce), nil, nil, nil)
	require.NoError(t, err)
	require.Nil(t, got, "without a node only a reserved volume is an answer")
}

func TestAnIndexLookupAllocatesNothing(t *testing.T) {
	index, claim, node := indexOf(many(5_000, 10, shapes[0].size)), benchmarkClaim, realNode(3)
	require.Zero(t, testing.AllocsPerRun(10, func() {
		_, _ = index.FindBestMatchForClaim(claim, false, nil)
		_, _ = index.FindMatchingVolume(claim, node, nil, nil)
	}))
}

func TestPutReplacesAVolumeWhateverChanged(t *testing.T) {
	index, claim := binding.NewIndex(), claimOf("5Gi", v1.ReadWriteOnce)
	index.Put(volumeOf("pv", "5Gi", v1.ReadWriteOnce))
	for _, change := range []func(*v1.PersistentVolume){
		func(v *v1.PersistentVolume) { v.Spec.Capacity[v1.ResourceStorage] = resource.MustParse("1Gi") },
		func(v *v1.PersistentVolume) { v.Spec.StorageClassName = "other" },
		func(v *v1.PersistentVolume) { v.Spec.AccessModes = nil },
		func(v *v1.PersistentVolume) { v.Status.Phase = v1.VolumeReleased },
		func(v *v1.PersistentVolume) {
			v.Spec.ClaimRef = &v1.ObjectReference{Namespace: "default", Name: "other"}
		},
	} {
		index.Put(with(volumeOf("pv", "5Gi", v1.ReadWriteOnce), change))
		got, err := index.FindBestMatchForClaim(claim, false, nil)
		require.NoError(t, err)
		require.Nil(t, got)

		index.Put(volumeOf("pv", "5Gi", v1.ReadWriteOnce))
		got, err = index.FindBestMatchForClaim(claim, false, nil)
		require.NoError(t, err)
		require.NotNil(t, got)
		require.Equal(t, 1, index.Len())
	}
}
