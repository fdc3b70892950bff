package binding_test

import (
	"fmt"
	"testing"

	v1 "k8s.io/api/core/v1"
	upstream "k8s.io/component-helpers/storage/volume"

	"github.com/storagesim/storagesim/binding"
)

// These benchmarks give the figures of docs/benchmarks-binding.md. Sizes are in Mi and,
// except in too-small, above the 1Gi that the claim requests.
var (
	benchmarkCounts = []int{100, 1_000, 10_000, 100_000}
	// shapes holds orders of sizes in the list.
	shapes = []struct {
		name string
		size func(i, n int) int
	}{
		{"any-order", func(i, _ int) int { return 1_025 + i*7_919%100_003 }},
		// Each is smaller than all before it, so that none can be skipped.
		{"ever-smaller", func(i, n int) int { return 1_025 + n - i }},
		// Each is smaller than the claim's request: nothing is found.
		{"too-small", func(i, _ int) int { return 1 + i%1_000 }},
	}
	benchmarkClaim = claimOf("1Gi", v1.ReadWriteOnce)
)

// many returns n volumes in order of name, each on one of the nodes node-0000 and so on.
func many(n, nodes int, size func(i, n int) int) []*v1.PersistentVolume {
	volumes := make([]*v1.PersistentVolume, n)
	for i := range volumes {
		volumes[i] = with(volumeOf(fmt.Sprintf("pv-%06d", i), fmt.Sprintf("%dMi", size(i, n)), v1.ReadWriteOnce), onNode(nodeName(i%nodes)))
	}
	return volumes
}

func nodeName(i int) string { return fmt.Sprintf("node-%04d", i) }

// realNode returns a node with about as many labels as real ones have.
func realNode(i int) *v1.Node {
	node := nodeOf(nodeName(i))
	for _, label := range []string{
		"beta.kubernetes.io/arch", "beta.kubernetes.io/os", "kubernetes.io/arch", "kubernetes.io/os", "node.kubernetes.io/instance-type",
		"topology.kubernetes.io/region", "topology.kubernetes.io/zone", "pool", "team",
	} {
		node.Labels[label] = "some-value"
	}
	return node
}

func indexOf(volumes []*v1.PersistentVolume) *binding.Index {
	index := binding.NewIndex()
	for _, volume := range volumes {
		index.Put(volume)
	}
	return index
}

// measure runs a search again and again. found says whether it must find a volume.
func measure(b *testing.B, name string, found bool, search func() (*v1.PersistentVolume, error)) {
	b.Run(name, func(b *testing.B) {
		if volume, err := search(); err != nil || (volume != nil) != found {
			b.Fatalf("found %v, %v", volume, err)
		}
		b.ReportAllocs()
		for b.Loop() {
			_, _ = search()
		}
	})
}

func BenchmarkFindMatchingVolume(b *testing.B) {
	for _, where := range []struct {
		name string
		node *v1.Node
	}{{"node", realNode(3)}, {"no-node", nil}} {
		for _, shape := range shapes {
			for _, n := range benchmarkCounts {
				volumes, found := many(n, 10, shape.size), shape.name != "too-small"
				name := fmt.Sprintf("%s/%s/%d/", where.name, shape.name, n)
				measure(b, name+"ours", found, func() (*v1.PersistentVolume, error) {
					return binding.FindMatchingVolume(benchmarkClaim, volumes, where.node, nil, false)
				})
				measure(b, name+"component-helpers", found, func() (*v1.PersistentVolume, error) {
					return upstream.FindMatchingVolume(benchmarkClaim, volumes, where.node, nil, false, true)
				})
			}
		}
	}
}

// BenchmarkIndex runs the PV controller's and the scheduler's search on an index, and the
// same with component-helpers, which walks the list.
func BenchmarkIndex(b *testing.B) {
	node := realNode(3)
	for _, n := range []int{1_000, 100_000} {
		volumes := many(n, 10, shapes[0].size)
		index := indexOf(volumes)
		measure(b, fmt.Sprintf("no-node/%d/ours", n), true, func() (*v1.PersistentVolume, error) {
			return index.FindBestMatchForClaim(benchmarkClaim, false, nil)
		})
		measure(b, fmt.Sprintf("no-node/%d/component-helpers", n), true, func() (*v1.PersistentVolume, error) {
			return upstream.FindMatchingVolume(benchmarkClaim, volumes, nil, nil, false, true)
		})
		measure(b, fmt.Sprintf("node/%d/ours", n), true, func() (*v1.PersistentVolume, error) {
			return index.FindMatchingVolume(benchmarkClaim, node, nil, nil)
		})
		measure(b, fmt.Sprintf("node/%d/component-helpers", n), true, func() (*v1.PersistentVolume, error) {
			return upstream.FindMatchingVolume(benchmarkClaim, volumes, node, nil, true, true)
		})
	}
}

// BenchmarkLocalVolumes runs the scheduler's search among two local volumes on each of
// 5,000 nodes, for one node and for all, one after the other.
func BenchmarkLocalVolumes(b *testing.B) {
	const nodes = 5_000
	volumes, all := many(2*nodes, nodes, shapes[0].size), make([]*v1.Node, nodes)
	for i := range all {
		all[i] = realNode(i)
	}
	index := indexOf(volumes)
	last := all[nodes-1]
	measure(b, "one-node/index", true, func() (*v1.PersistentVolume, error) {
		return index.FindMatchingVolume(benchmarkClaim, last, nil, nil)
	})
	measure(b, "one-node/linear", true, func() (*v1.PersistentVolume, error) {
		return binding.FindMatchingVolume(benchmarkClaim, volumes, last, nil, true)
	})
	measure(b, "one-node/component-helpers", true, func() (*v1.PersistentVolume, error) {
		return upstream.FindMatchingVolume(benchmarkClaim, volumes, last, nil, true, true)
	})
	measure(b, "all-nodes/index", true, func() (found *v1.PersistentVolume, err error) {
		for _, node := range all {
			if found, err = index.FindMatchingVolume(benchmarkClaim, node, nil, nil); found == nil || err != nil {
				return found, err
			}
		}
		return found, err
	})
}

// BenchmarkIndexPut replaces one of 100,000 volumes by a newer version, before the
// first search with a node and after it.
func BenchmarkIndexPut(b *testing.B) {
	volumes := many(100_000, 5_000, shapes[0].size)
	index := indexOf(volumes)
	put := func(b *testing.B) {
		b.ReportAllocs()
		for i := 0; b.Loop(); i++ {
			index.Put(volumes[i*7_919%len(volumes)])
		}
	}
	b.Run("by-size", put)
	if found, err := index.FindMatchingVolume(benchmarkClaim, realNode(3), nil, nil); found == nil || err != nil {
		b.Fatal("not found", err)
	}
	b.Run("by-size-and-label", put)
}
