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

// Each exhibit is found with its fix off, as the documents say, and by its plan; with the fix on nothing is.
func TestEachExhibitIsFoundWithoutItsFixAndNothingWithIt(t *testing.T) {
	quoted, runs := told(t, "40-how-the-shrinker-thinks.md", finds), told(t, "exhibits.md", rows)
	for _, e := range Exhibits() {
		t.Run(fmt.Sprint(e.Number), func(t *testing.T) {
			_, err := e.Find(t.Context(), DefaultRuns, false)
			var found *explore.Failure
			require.ErrorAs(t, err, &found)
			require.Equal(t, e.Rule, found.Rule(), "%v", found)
			t.Logf("found in run %d, plan %s", found.Run, found.Plan)
			require.Contains(t, found.Error(), quoted[e.Number])
			require.Equal(t, fmt.Sprint(found.Run), runs[e.Number], "docs/exhibits.md")

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
