package museum

import (
	"fmt"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/storagesim/storagesim/explore"
	"github.com/storagesim/storagesim/internal/seedtest"
)

// The chapter on the shrinker quotes the command that looks for an exhibit, and the list of exhibits has the run in which it is found.
var (
	finds = regexp.MustCompile("(?s)```\n\\$ storagesim museum (\\d+) --find\n(.*?)```")
	rows  = regexp.MustCompile(`(?m)^\| (\d+) \| .* \| (\d+) \| .*$`)
)

// told returns what a page says of the exhibits, by number.
func told(t *testing.T, page string, form *regexp.Regexp) map[int]string {
	text, err := os.ReadFile("../../docs/" + page)
	require.NoError(t, err)
	says := map[int]string{}
	for _, match := range form.FindAllStringSubmatch(string(text), -1) {
		number, err := strconv.Atoi(match[1])
		require.NoError(t, err)
		says[number] = strings.TrimSpace(match[2])
	}
	require.NotEmpty(t, says)
	return says
}

// Each exhibit breaks its rule by its plan with its fix off, and not with it on. The explorer finds it, too, as the documents say, and nothing with the
// fix: of each third exhibit, if the documents say that it is found by run 40, and of all in CI, where STORAGESIM_SEEDS is 400. A tenth of these
// runs is played with the fix.
func TestEachExhibitIsFoundWithoutItsFixAndNothingWithIt(t *testing.T) {
	quoted, runs := told(t, "40-how-the-shrinker-thinks.md", finds), told(t, "exhibits.md", rows)
	settings, fixed, lookedFor := seedtest.Settings(t, 40), 0, 0
	most, least := max(1, settings.Runs/10), max(1, settings.Least/10)
	for _, e := range Exhibits() {
		t.Run(fmt.Sprint(e.Number), func(t *testing.T) {
			var played *explore.Failure
			require.ErrorAs(t, e.Play(false), &played)
			require.Equal(t, e.Rule, played.Rule(), "%v", played)
			require.NoError(t, e.Play(true))
			if settings.Runs < 100 && e.Number%3 != 0 {
				return
			}

			fixed++
			cfg := e.config(true)
			cfg.Runs, cfg.Budget = most, settings.Budget
			report, err := explore.Run(t.Context(), cfg, e.play(true))
			require.NoError(t, err)
			require.GreaterOrEqual(t, report.Runs, least)
			t.Logf("with the fix %d of %d runs: %s", report.Runs, most, report.Coverage)

			run, err := strconv.Atoi(runs[e.Number])
			require.NoError(t, err, "docs/exhibits.md")
			if run > settings.Runs {
				return
			}
			lookedFor++
			_, err = e.Find(t.Context(), DefaultRuns, false)
			var found *explore.Failure
			require.ErrorAs(t, err, &found)
			require.Equal(t, e.Rule, found.Rule(), "%v", found)
			t.Logf("found in run %d, plan %s", found.Run, found.Plan)
			require.Contains(t, found.Error(), quoted[e.Number])
			require.Equal(t, run, found.Run, "docs/exhibits.md")
			require.LessOrEqual(t, 2*strings.Count(found.Story, "\n"), 3*strings.Count(played.Story, "\n"), "the shrinker's story, and the museum's")
		})
	}
	t.Logf("tried %d exhibits without their fix, and %d with it in %d runs each", lookedFor, fixed, most)
}
