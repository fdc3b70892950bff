package museum

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/storagesim/storagesim/explore"
	"github.com/storagesim/storagesim/explore/seedtest"
)

// Each exhibit is found with its fix off, and by its plan; with the fix on nothing is.
func TestEachExhibitIsFoundWithoutItsFixAndNothingWithIt(t *testing.T) {
	for _, e := range Exhibits() {
		t.Run(fmt.Sprint(e.Number), func(t *testing.T) {
			_, err := e.Find(t.Context(), DefaultRuns, false)
			var found *explore.Failure
			require.ErrorAs(t, err, &found)
			require.Equal(t, e.Rule, found.Rule(), "%v", found)
			t.Logf("found in run %d, plan %s", found.Run, found.Plan)

			require.ErrorAs(t, e.Play(false), &found)
			require.Equal(t, e.Rule, found.Rule(), "%v", found)
			require.NoError(t, e.Play(true))

			runs := seedtest.Settings(t, 300).Runs
			report, err := e.Find(t.Context(), runs, true)
			require.NoError(t, err)
			require.Equal(t, runs, report.Runs)
			t.Logf("tried %d runs with the fix: %s", runs, report.Coverage)
		})
	}
}
