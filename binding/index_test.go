package binding_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/storagesim/storagesim/binding"
)

// A long run of changes to one index: enough volumes for lists of many chunks, each
// answer compared with the linear rule.
func TestTheIndexFollowsAThousandChanges(t *testing.T) {
	d := dice{rand.New(rand.NewPCG(1, 2))}
	index, live := binding.NewIndex(), map[string]*v1.PersistentVolume{}
	const names = 1500
	for i := range 6000 {
		name := fmt.Sprintf("pv-%04d", d.IntN(names))
		if _, exists := live[name]; exists && d.oneIn(3) {
			index.Delete(name)
			delete(live, name)
		} else {
			volume := volumeOf(name, pick(d, "1Gi", "2Gi", "2Gi", "3Gi"), v1.ReadWriteOnce)
			volume.Status.Phase = pick(d, v1.VolumeAvailable, v1.VolumeAvailable, v1.VolumeBound)
			if d.oneIn(200) {
				reserved("")(volume)
			}
			index.Put(volume)
			live[name] = volume
		}
		if i%50 != 0 {
			continue
		}
		claim := claimOf(pick(d, "1Gi", "2Gi", "3Gi", "4Gi"), v1.ReadWriteOnce)
		var volumes []*v1.PersistentVolume
		for n := range names {
			if volume, exists := live[fmt.Sprintf("pv-%04d", n)]; exists {
				volumes = append(volumes, volume)
			}
		}
		want, err := binding.FindBestMatchForClaim(claim, volumes, false)
		require.NoError(t, err)
		got, err := index.FindBestMatchForClaim(claim, false)
		require.NoError(t, err)
		require.Same(t, want, got)
		require.Equal(t, len(live), index.Len())
	}
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
		got, err := index.FindBestMatchForClaim(claim, false)
		require.NoError(t, err)
		require.Nil(t, got)

		index.Put(volumeOf("pv", "5Gi", v1.ReadWriteOnce))
		got, err = index.FindBestMatchForClaim(claim, false)
		require.NoError(t, err)
		require.NotNil(t, got)
		require.Equal(t, 1, index.Len())
	}
}

// many are volumes in order of name, of many sizes.
func many(n int) []*v1.PersistentVolume {
	volumes := make([]*v1.PersistentVolume, n)
	for i := range volumes {
		volumes[i] = with(volumeOf(fmt.Sprintf("pv-%06d", i), fmt.Sprintf("%dMi", 1000+i%977), v1.ReadWriteOnce), onNode(fmt.Sprintf("node-%d", i%10)))
	}
	return volumes
}

func BenchmarkIndexFindBestMatchForClaim(b *testing.B) {
	for _, n := range []int{1_000, 100_000} {
		index := binding.NewIndex()
		for _, volume := range many(n) {
			index.Put(volume)
		}
		claim := claimOf("1500Mi", v1.ReadWriteOnce)
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			for b.Loop() {
				_, _ = index.FindBestMatchForClaim(claim, false)
			}
		})
	}
}
