package storagesim_test

import (
	"testing"

	"github.com/storagesim/storagesim"
	"github.com/storagesim/storagesim/internal/rigs/clustertest"
)

// BenchmarkMainStoryWrites sends the writes and events of the main story to a server alone: the part of BenchmarkMainStory below which it
// cannot come with these writes.
func BenchmarkMainStoryWrites(b *testing.B) {
	var c *storagesim.Cluster
	_, err := playMainStory(storagesim.Config{Seed: 1, Disks: storagesim.MemoryDisks}, func(made *storagesim.Cluster) error { c = made; return nil })
	clustertest.Must(b, err)
	clustertest.BenchReplay(b, c.Engine().Trace().Entries())
}

// BenchmarkBigClusterWrites does so with those of BenchmarkBigCluster, with fewer nodes and pods: us/pod is for one pod with its claim and volume.
func BenchmarkBigClusterWrites(b *testing.B) {
	pods := clustertest.BenchSize(400)
	records := fillBigCluster(b, pods/4, pods, 0)
	clustertest.BenchReplay(b, records)
	b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(b.N*pods), "us/pod")
}
