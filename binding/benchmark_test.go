package binding_test

import (
	"fmt"
	"testing"

	v1 "k8s.io/api/core/v1"
	upstream "k8s.io/component-helpers/storage/volume"

	"github.com/storagesim/storagesim/binding"
)

func BenchmarkFindMatchingVolume(b *testing.B) {
	claim := claimOf("1500Mi", v1.ReadWriteOnce)
	for _, n := range []int{100, 10_000} {
		volumes := many(n)
		for _, node := range []*v1.Node{nil, nodeOf("node-1")} {
			where := "no node"
			if node != nil {
				where = "node"
			}
			b.Run(fmt.Sprintf("ours/%s/%d", where, n), func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					_, _ = binding.FindMatchingVolume(claim, volumes, node, nil, false)
				}
			})
			b.Run(fmt.Sprintf("upstream/%s/%d", where, n), func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					_, _ = upstream.FindMatchingVolume(claim, volumes, node, nil, false, true)
				}
			})
		}
	}
}
