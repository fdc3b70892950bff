package museum

import (
	"context"

	"github.com/storagesim/storagesim"
	"github.com/storagesim/storagesim/explore"
)

// DefaultRuns is how many runs are enough to find each exhibit with its fix off.
const DefaultRuns = 1000

// An Exhibit is one bug.
type Exhibit struct {
	// Number is the bug's in docs/bugs.md.
	Number int
	// Name says in a few words what goes wrong, and Mechanism how.
	Name, Mechanism string
	// Upstream is the URL of the issue, and Fix says what the switch takes out.
	Upstream, Fix string
	// Rule is the rule of package explore that breaks.
	Rule string
	// Replay is the shortest failing plan, a line for explore.Replay.
	Replay string

	scenario func(c *storagesim.Cluster, fixed bool) error
}

// Exhibits are all that there are, by number.
func Exhibits() []Exhibit { return []Exhibit{timeout(), retries(), volumeFirst()} }

// Find lets the explorer look for the bug in so many runs. The error is an *explore.Failure if
// a run failed.
func (e Exhibit) Find(ctx context.Context, runs int, fixed bool) (explore.Report, error) {
	cfg := config()
	cfg.Runs = runs
	return explore.Run(ctx, cfg, e.play(fixed))
}

// Play plays the plan of Replay. The error is an *explore.Failure if the rule breaks.
func (e Exhibit) Play(fixed bool) error {
	return explore.Replay(config(), e.Replay, e.play(fixed))
}

func (e Exhibit) play(fixed bool) func(*storagesim.Cluster) error {
	return func(c *storagesim.Cluster) error { return e.scenario(c, fixed) }
}

// config is a control plane without nodes, which is all that these exhibits need.
func config() explore.Config {
	return explore.Config{Cluster: storagesim.Config{
		NoNodes: true,
		Only:    []string{storagesim.PVController, storagesim.PVCProtection, storagesim.PVProtection},
	}}
}
