package explore

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"

	"github.com/storagesim/storagesim"
	"github.com/storagesim/storagesim/engine"
	"github.com/storagesim/storagesim/explore/seeds"
)

// DefaultRuns is Config.Runs where it is 0.
const DefaultRuns = 1000

// Config says how much to explore. The zero value works.
type Config struct {
	// Runs is how many orders to try, those of the seeds 1 to Runs; default DefaultRuns.
	Runs int
	// Cluster is what each run begins with. Its Seed and Policy are the run's, and its
	// disks are in memory; Dir and RealMounts must not be set.
	Cluster storagesim.Config
	// Workers is how many runs happen at once; default one for each processor.
	Workers int
}

// check refuses what cannot work, naming the field and what is allowed.
func (cfg Config) check() error {
	switch {
	case cfg.Runs < 0:
		return fmt.Errorf("explore: Config.Runs: %d is negative", cfg.Runs)
	case cfg.Workers < 0:
		return fmt.Errorf("explore: Config.Workers: %d is negative", cfg.Workers)
	case cfg.Cluster.Seed != 0 || cfg.Cluster.Policy != nil:
		return errors.New("explore: Config.Cluster: Seed and Policy are chosen by the exploration; leave them out")
	case cfg.Cluster.Dir != "" || cfg.Cluster.RealMounts:
		return errors.New("explore: Config.Cluster: the disks of explored clusters are in memory; leave Dir and RealMounts out")
	}
	return nil
}

// Failure is a run that failed, and the error that says so.
type Failure struct { //nolint:errname // it is more than an error
	// Seed is the run's, as in storagesim.Config.Seed.
	Seed uint64
	// Choices are those that were made where there was one, for Replay.
	Choices []uint32
	// Err is what the scenario returned, what Close returned, or the panic.
	Err error
	// Story is what happened.
	Story string
}

// Error is the reason, the seed and the story.
func (f *Failure) Error() string {
	return fmt.Sprintf("seed %d: %v\nthe story:\n%s", f.Seed, f.Err, f.Story)
}

// Unwrap is Err.
func (f *Failure) Unwrap() error { return f.Err }

// Run explores. runs is how many orders were tried: all, or up to the first that failed.
// The error is a *Failure, that of the smallest seed that fails; that of ctx, when it
// ended before all was tried and nothing had failed; or what is wrong with cfg. A panic of
// the scenario is a failure.
func Run(ctx context.Context, cfg Config, scenario func(c *storagesim.Cluster) error) (runs int, err error) {
	if err := cfg.check(); err != nil {
		return 0, err
	}
	first, runs := seeds.First(ctx, seeds.Config{Runs: cfg.runs(), Workers: cfg.Workers}, func(seed uint64) *Failure {
		return cfg.play(seed, nil, scenario)
	})
	switch {
	case first != nil:
		return runs, first
	case runs < cfg.runs():
		return runs, ctx.Err()
	}
	return runs, nil
}

// Replay repeats the run of that seed which made these choices: Seed and Choices of a
// Failure. When the choices are used up, it goes on in order. It returns a *Failure if the
// scenario fails, and nil if it does not.
func Replay(cfg Config, seed uint64, choices []uint32, scenario func(c *storagesim.Cluster) error) error {
	if err := cfg.check(); err != nil {
		return err
	}
	if f := cfg.play(seed, engine.Replay(choices), scenario); f != nil {
		return f
	}
	return nil
}

// runs is how many orders to try.
func (cfg Config) runs() int {
	if cfg.Runs == 0 {
		return DefaultRuns
	}
	return cfg.Runs
}

// of is the configuration of one run's cluster; a nil policy is that of the seed.
func (cfg Config) of(seed uint64, policy engine.Policy) storagesim.Config {
	cluster := cfg.Cluster
	cluster.Seed, cluster.Policy, cluster.Disks = seed, policy, storagesim.MemoryDisks
	return cluster
}

// play is one run.
func (cfg Config) play(seed uint64, policy engine.Policy, scenario func(c *storagesim.Cluster) error) *Failure {
	c, err := storagesim.New(cfg.of(seed, policy))
	if err != nil {
		return &Failure{Seed: seed, Err: err}
	}
	err = guarded(c, scenario)
	f := &Failure{Seed: seed, Choices: c.Engine().Choices()}
	if f.Err = errors.Join(err, c.Close()); f.Err == nil {
		return nil
	}
	f.Story = c.Story()
	return f
}

// guarded turns a panic of the scenario into an error.
func guarded(c *storagesim.Cluster, scenario func(c *storagesim.Cluster) error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("the scenario panicked: %v\n%s", p, debug.Stack())
		}
	}()
	return scenario(c)
}
