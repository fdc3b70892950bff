package explore

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestAScenarioThatTakesStepsForEverIsAFailure(t *testing.T) {
	x := newExploration(t.Context(), Config{Runs: 1}, Scenario(func(c *Cluster) {
		for {
			c.RunFor(time.Minute)
		}
	}))
	x.most = 2000
	failure, err := x.begin(nil)
	require.NoError(t, err)
	require.ErrorContains(t, failure, "the scenario does not end: it has taken more than 2000 steps")
}
