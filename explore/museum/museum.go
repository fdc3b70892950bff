package museum

import (
	"context"
	"errors"
	"slices"

	"github.com/storagesim/storagesim"
	"github.com/storagesim/storagesim/explore"
)

// DefaultRuns is a number of runs that is enough to find each exhibit with its fix off.
const DefaultRuns = 1000

// An Exhibit is one bug.
type Exhibit struct {
	// Number is the bug's in docs/bugs.md.
	Number int
	// Name says in a few words what goes wrong, and Mechanism how.
	Name, Mechanism string
	// Upstream is the URL of the issue, and Fix says what the switch takes out.
	Upstream, Fix string
	// Open says that upstream has no fix. What the switch takes out is then the exhibit's own.
	Open bool
	// Rule is the rule that breaks: one of package explore's, or of this package's.
	Rule string
	// Replay is the shortest failing plan, a line for explore.Replay.
	Replay string

	// except are built-in rules that do not hold with the fix either, or that the bug breaks in
	// another way first.
	except []string
	// bug is the bug of Kubernetes itself that the exhibit shows; nil for others.
	bug    *explore.UpstreamBug
	actors []string // of the control plane, besides the controllers of volumes
	nodes  []string // that run a kubelet
	// configure, if set, changes the cluster's Config before each run; most take the fix out of a
	// controller unless fixed.
	configure func(cfg *storagesim.Config, fixed bool)
	scenario  func(c *explore.Cluster, fixed bool)
}

// Exhibits returns all that there are, by number.
func Exhibits() []Exhibit {
	return []Exhibit{
		forgotten(), timeout(), retries(), madeAgain(), nodeGone(), nodeGoneTooLate(), nodeFull(), volumeFirst(), deletedAttached(),
		twoClaims(), cacheWithoutClaim(), zombieVolume(), oldUID(), nameUsedAgain(), wrongMode(), lateDefault(), boundElsewhere(),
		oldDecision(), halves(), oldClaim(), bypassed(), twoWriters(), protectionBelievesCache(),
		forcedFromHealthyNode(), attachmentForgotten(), unpublishedTwice(), neverUnstaged(),
		orphanedMounts(), deletedThroughAMount(), stagedAndForgotten(), nodeMadeAnew(),
		otherZone(), deletedSnapshotStays(), deletedSnapshotStaysStill(), halfRestored(), finalizerStays(), deletionNotTriedAgain(), brokenSnapshotKeepsClaim(),
		classNotTakenBack(), growthForgotten(), attachStarves(), namedAndLeft(),
	}
}

// Find lets the explorer look for the bug in so many runs. The error is an *explore.Failure if
// a run failed.
func (e Exhibit) Find(ctx context.Context, runs int, fixed bool) (explore.Report, error) {
	cfg := e.config(fixed)
	cfg.Runs = runs
	return explore.Run(ctx, cfg, e.play(fixed))
}

// Play plays the plan of Replay. The error is an *explore.Failure if the rule breaks. With the fix the run may do other
// things, so that the plan's faults need not strike.
func (e Exhibit) Play(fixed bool) error { return e.replay(e.config(fixed), fixed) }

// PlayWithValues plays as Play does, and the log of the failure has values, for a view.
func (e Exhibit) PlayWithValues(fixed bool) error {
	cfg := e.config(fixed)
	cfg.Cluster.RecordValues = true
	return e.replay(cfg, fixed)
}

func (e Exhibit) replay(cfg explore.Config, fixed bool) error {
	err := explore.Replay(cfg, e.Replay, e.play(fixed))
	if _, other := errors.AsType[*explore.NotReached](err); other && fixed {
		return nil
	}
	return err
}

func (e Exhibit) play(fixed bool) func(*storagesim.Cluster) error {
	return explore.Scenario(func(c *explore.Cluster) { e.scenario(c, fixed) })
}

// config returns what is explored.
func (e Exhibit) config(fixed bool) explore.Config {
	cluster := storagesim.Config{Nodes: storagesim.Nodes(e.nodes...), NoNodes: len(e.nodes) == 0}
	cluster.Only = append([]string{storagesim.PVController, storagesim.PVCProtection, storagesim.PVProtection}, e.actors...)
	if e.configure != nil {
		e.configure(&cluster, fixed)
	}
	for _, bug := range explore.UpstreamBugs() {
		if fixed || e.bug == nil || bug.Text != e.bug.Text {
			bug.Mend(&cluster)
		}
	}
	cfg := explore.Config{Cluster: cluster, Except: append([]string{explore.PlainRun, explore.CSICalls}, e.except...), Upstream: explore.Fail}
	for _, rule := range slices.Concat(rules(), podRules(), waits()) {
		if rule.Name == e.Rule {
			cfg.Rules = append(cfg.Rules, rule)
		}
	}
	return cfg
}
