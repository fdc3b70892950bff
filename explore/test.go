package explore

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/storagesim/storagesim"
	"github.com/storagesim/storagesim/internal/seedtest"
	"github.com/storagesim/storagesim/internal/terminal"
	"github.com/storagesim/storagesim/storagesimtest"
)

// Cluster is the cluster of one run, for scenarios with one statement a line: the first that
// fails ends the scenario and fails the run. Its T is the run's, for the scenario's own checks:
// require.Equal(c.T, ...), or c.Must(err). The t of the test itself must not be used in a
// scenario.
type Cluster = storagesimtest.Cluster

// Scenario returns play as a scenario for Run and Replay, which also work outside of tests. It
// returns the error of the statement that failed.
func Scenario(play func(c *Cluster)) func(c *storagesim.Cluster) error {
	return scenarioOf(nil, play)
}

// scenarioOf returns the scenario of play, as Scenario does, for a test; t is nil outside of one.
func scenarioOf(t testing.TB, play func(c *Cluster)) func(c *storagesim.Cluster) error {
	return func(c *storagesim.Cluster) error {
		return seedtest.Try(t, func(t testing.TB) { play(&Cluster{Cluster: c, T: t}) })
	}
}

// ReplayVariable is the environment variable with the line of a failure, which Test then
// repeats alone.
const ReplayVariable = "STORAGESIM_REPLAY"

// Test explores and fails t with the first failure: what did not hold, the story, and a
// command that repeats the run alone. With -short it tries a tenth of cfg.Runs; the
// variables STORAGESIM_SEEDS, STORAGESIM_BUDGET and STORAGESIM_SEED, which package seedtest
// explains, set how many runs there are, how long they may take, or the number of the only
// one, whose story is then shown. ReplayVariable is another way to name one.
func Test(t testing.TB, cfg Config, scenario func(c *Cluster)) {
	t.Helper()
	if err := cfg.check(); err != nil {
		t.Fatal(err)
		return
	}
	settings := seedtest.Settings(t, cfg.runs())
	cfg.Runs, cfg.least = settings.Runs, settings.Least
	if settings.Budget > 0 {
		cfg.Budget = settings.Budget
	}
	play := scenarioOf(t, scenario)
	if line := os.Getenv(ReplayVariable); line != "" {
		err := Replay(cfg, line, play)
		if f, ok := errors.AsType[*Failure](err); ok && f.Upstream != nil && cfg.Upstream == Count {
			t.Log(err)
		} else if err != nil {
			t.Fatal(keepPage(t, cfg, err) + textOf(err))
		}
		return
	}
	if number, only := seedtest.Only(t); only {
		testOnly(t, cfg, number, play)
		return
	}
	start := time.Now()
	report, err := Run(t.Context(), cfg, play)
	t.Logf("tried %d of %d runs in %s: %s", report.Runs, cfg.Runs, time.Since(start).Round(time.Second), report.Coverage)
	for _, f := range report.Upstream {
		t.Log(f)
	}
	for _, d := range report.Deviations {
		t.Logf("a run %s", d)
	}
	if len(report.WithoutInventory) > 0 {
		t.Log(report.Unlisted())
	}
	if err != nil {
		fail(t, cfg, err)
	}
}

// testOnly plays one run and shows its story.
func testOnly(t testing.TB, cfg Config, number uint64, play func(c *storagesim.Cluster) error) {
	t.Helper()
	cfg.Runs = max(cfg.runs(), int(number))
	x := newExploration(t.Context(), cfg, play)
	failure, err := x.begin(nil)
	switch {
	case err == nil && failure == nil && int(number) > x.planner.plans(cfg.Runs):
		t.Fatalf("STORAGESIM_SEED: there is no run %d: the strategies have plans for %d", number, x.planner.plans(cfg.Runs))
	case err == nil && failure == nil:
		x.scenario = func(c *storagesim.Cluster) error {
			defer func() { t.Logf("run %d:\n%s", number, c.Story()) }()
			return play(c)
		}
		failure = x.run(int(number))
		for _, f := range x.findings.until(int(number)) {
			t.Log(f)
		}
	}
	if err = errors.Join(err, asError(failure)); err != nil {
		fail(t, cfg, err)
	}
}

// fail fails a test, with a command that repeats what failed.
func fail(t testing.TB, cfg Config, err error) {
	t.Helper()
	again := ""
	if f, ok := errors.AsType[*Failure](err); ok {
		again = fmt.Sprintf("; this repeats it: %s='%s' go test -run '%s' .", ReplayVariable, f.Plan, seedtest.Pattern(t.Name()))
		if cfg.Page != nil && !keepsArtifacts() {
			again += " (with -artifacts -outputdir DIR it leaves a page)"
		}
	}
	t.Fatalf("exploration failed%s\n%s%s", again, keepPage(t, cfg, err), textOf(err))
}

// keepPage writes the page of a failure to the test's artifacts, and returns a line that says where.
func keepPage(t testing.TB, cfg Config, err error) string {
	f, ok := errors.AsType[*Failure](err)
	if !ok || cfg.Page == nil || f.log == nil || !keepsArtifacts() {
		return ""
	}
	name := filepath.Join(t.ArtifactDir(), "page.html")
	if err := writePage(name, cfg, f); err != nil {
		return fmt.Sprintf("its page cannot be written: %v\n", err)
	}
	return fmt.Sprintf("its page is %s\n", name)
}

// keepsArtifacts reports whether go test was told to keep what tests leave.
func keepsArtifacts() bool {
	kept := flag.Lookup("test.artifacts")
	return kept != nil && kept.Value.String() == "true"
}

func writePage(name string, cfg Config, f *Failure) error {
	file, err := os.Create(name)
	if err != nil {
		return err
	}
	return errors.Join(cfg.Page(file, f), file.Close())
}

// textOf returns the text of an error, the story of a failure in the columns of a test.
func textOf(err error) string {
	if f, ok := errors.AsType[*Failure](err); ok {
		return f.Text(terminal.TestWidth)
	}
	return err.Error()
}
