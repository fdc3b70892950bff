package page_test

import (
	"bytes"
	"testing"

	"github.com/storagesim/storagesim"
	"github.com/storagesim/storagesim/engine"
	"github.com/storagesim/storagesim/internal/rigs/clustertest"
	"github.com/storagesim/storagesim/view"
	"github.com/storagesim/storagesim/view/page"
)

// The page of the main story, from its records to HTML.
func BenchmarkMainStorysPage(b *testing.B) {
	var c *storagesim.Cluster
	_, err := clustertest.PlayMainStory(storagesim.Config{Seed: 1, Disks: storagesim.MemoryDisks, RecordValues: true}, func(made *storagesim.Cluster) error { c = made; return nil })
	clustertest.Must(b, err)
	var text bytes.Buffer
	for b.Loop() {
		text.Reset()
		told := c.Engine().Trace().Len() - len(c.Trace().Records())
		clustertest.Must(b, page.Write(&text, view.OfLog(c.Engine().Trace(), view.Options{Title: "The main story", Start: engine.Start(), Told: told, Shorten: c.Trace().ShortIDs})))
	}
	b.ReportMetric(float64(text.Len())/1000, "kB")
}
