package museum

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/storagesim/storagesim/explore"
	"github.com/storagesim/storagesim/internal/seedtest"
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

			var played *explore.Failure
			require.ErrorAs(t, e.Play(false), &played)
			require.Equal(t, e.Rule, played.Rule(), "%v", played)
			require.LessOrEqual(t, 2*strings.Count(found.Story, "\n"), 3*strings.Count(played.Story, "\n"), "the shrinker's story, and the museum's")
			require.NoError(t, e.Play(true))

			settings, cfg := seedtest.Settings(t, 40), e.config(true)
			cfg.Runs, cfg.Budget = settings.Runs, settings.Budget
			report, err := explore.Run(t.Context(), cfg, e.play(true))
			require.NoError(t, err)
			require.GreaterOrEqual(t, report.Runs, settings.Least)
			t.Logf("tried %d of %d runs with the fix: %s", report.Runs, settings.Runs, report.Coverage)
		})
	}
}
