package explore

import (
	"testing"

	"github.com/storagesim/storagesim/explore/seedtest"
	"github.com/storagesim/storagesim/storagesimtest"
)

// Cluster is the cluster of one run in a test: what fails, fails the run. Its T is the
// run's, for checks of the scenario's own: require.Equal(c.T, ...). The t of the test
// itself must not be used in a scenario.
type Cluster = storagesimtest.Cluster

// Test explores and fails t with the first failure: what did not hold, the story, and a
// command that repeats the run alone. With -short it tries a tenth of cfg.Runs; the
// variables STORAGESIM_SEEDS, STORAGESIM_BUDGET and STORAGESIM_SEED, which package seedtest
// explains, set how many, how long, or the only one, whose story is then shown.
func Test(t testing.TB, cfg Config, scenario func(c *Cluster)) {
	t.Helper()
	if err := cfg.check(); err != nil {
		t.Fatal(err)
		return
	}
	_, only := seedtest.Only(t)
	seedtest.EachOf(t, cfg.runs(), cfg.Workers, func(t testing.TB, seed uint64) {
		c := storagesimtest.New(t, cfg.of(seed, nil))
		scenario(c)
		if only {
			t.Log(c.Story())
		}
	})
}
