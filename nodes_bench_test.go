package storagesim_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/storagesim/storagesim"
)

// BenchmarkIdleNodes lets ten minutes pass in which nothing happens but that nodes say that
// they are alive: each renews its lease every 10 s, and reports its status every 5 minutes.
func BenchmarkIdleNodes(b *testing.B) {
	for _, nodes := range []int{1, 300, 5_000} {
		b.Run(fmt.Sprint(nodes), func(b *testing.B) {
			nodes := benchSize(nodes)
			names := make([]string, nodes)
			for i := range names {
				names[i] = fmt.Sprintf("node-%04d", i)
			}
			c, err := storagesim.New(storagesim.Config{Nodes: storagesim.Nodes(names...), Disks: storagesim.MemoryDisks})
			mustBench(b, err)
			defer func() { _ = c.Close() }()
			const idle = 10 * time.Minute
			for b.Loop() {
				mustBench(b, c.RunFor(idle))
			}
			b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(b.N)/(idle.Seconds()/10)/float64(nodes), "µs/renewal")
		})
	}
}
