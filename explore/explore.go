package explore

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"runtime/debug"
	"sync"

	"github.com/storagesim/storagesim"
	"github.com/storagesim/storagesim/engine"
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
	// Seed is the run's, as in storagesim.Config.Seed; 0 for a replay.
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
	how := fmt.Sprintf("seed %d", f.Seed)
	if f.Seed == 0 {
		how = "replay"
	}
	return fmt.Sprintf("%s: %v\nthe story:\n%s", how, f.Err, f.Story)
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
	if cfg.Runs == 0 {
		cfg.Runs = DefaultRuns
	}
	if cfg.Workers == 0 {
		cfg.Workers = runtime.GOMAXPROCS(0)
	}
	e := &exploration{cfg: cfg, scenario: scenario}
	var workers sync.WaitGroup
	for range cfg.Workers {
		workers.Go(func() {
			for seed := e.next(ctx); seed != 0; seed = e.next(ctx) {
				e.done(cfg.play(seed, nil, scenario))
			}
		})
	}
	workers.Wait()
	switch {
	case e.first != nil:
		return int(e.first.Seed), e.first
	case e.begun < cfg.Runs:
		return e.begun, ctx.Err()
	}
	return e.begun, nil
}

// Replay repeats the run that made these choices. It returns a *Failure if the scenario
// fails, and nil if it does not.
func Replay(cfg Config, choices []uint32, scenario func(c *storagesim.Cluster) error) error {
	if err := cfg.check(); err != nil {
		return err
	}
	if f := cfg.play(0, engine.Replay(choices), scenario); f != nil {
		return f
	}
	return nil
}

// exploration hands out seeds in order, as long as a smaller one has not failed.
type exploration struct {
	cfg      Config
	scenario func(c *storagesim.Cluster) error

	mu    sync.Mutex
	begun int
	first *Failure
}

func (e *exploration) next(ctx context.Context) (seed uint64) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.begun == e.cfg.Runs || e.first != nil || ctx.Err() != nil {
		return 0
	}
	e.begun++
	return uint64(e.begun)
}

func (e *exploration) done(f *Failure) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if f != nil && (e.first == nil || f.Seed < e.first.Seed) {
		e.first = f
	}
}

// play is one run: of a seed, or with a policy.
func (cfg Config) play(seed uint64, policy engine.Policy, scenario func(c *storagesim.Cluster) error) *Failure {
	cluster := cfg.Cluster
	cluster.Seed, cluster.Policy, cluster.Disks = seed, policy, storagesim.MemoryDisks
	c, err := storagesim.New(cluster)
	if err != nil {
		return &Failure{Seed: seed, Err: err}
	}
	err = guarded(c, scenario)
	f := &Failure{Seed: seed, Choices: c.Engine().Choices(), Err: err}
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
