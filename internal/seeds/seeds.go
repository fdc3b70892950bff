// Package seeds tries seeds on all processors and finds the first that shows something.
//
// Packages explore, seedtest and conformance use it. The caller decides what a seed stands for: an order of events, a random input or
// a number in a list. It knows neither clusters nor engines:
//
//	found, tried := seeds.First(ctx, seeds.Config{Runs: 1000}, func(seed uint64) *string {
//		e := engine.New(engine.Config{Seed: seed, Policy: engine.Seeded(seed)})
//		defer e.Close()
//		...
//		return nil // nothing to report
//	})
package seeds

import (
	"context"
	"runtime"
	"sync"
	"time"
)

// Config says how many seeds to try.
type Config struct {
	// Runs is the number of seeds to try: the seeds are 1 to Runs.
	Runs int
	// Budget is a time in the real world after which no seed is begun. 0 is no limit.
	Budget time.Duration
	// Least is the number of seeds to try even if Budget is spent; at most Runs.
	Least int
	// Workers is the number of seeds to try at once; default one for each processor.
	Workers int
}

// First calls try with the seeds 1 to cfg.Runs, on several processors, until one returns
// something. It returns that of the smallest seed which found something, however many
// workers there are, and nil if none did. tried is the number of seeds tried: up to the one
// that found something, or, if none did, all that were begun before ctx ended and the
// budget was spent.
//
// Calls happen at the same time in goroutines of their own. A panic in try ends the
// program. Meanwhile the garbage collector runs less often (GOGC is 400), unless the program
// has chosen another GOGC than the usual 100.
func First[T any](ctx context.Context, cfg Config, try func(seed uint64) *T) (found *T, tried int) {
	defer collectLess()()
	s := &search[T]{cfg: cfg, start: time.Now()}
	if s.cfg.Workers == 0 {
		s.cfg.Workers = runtime.GOMAXPROCS(0)
	}
	var workers sync.WaitGroup
	for range min(s.cfg.Workers, cfg.Runs) {
		workers.Go(func() {
			for seed := s.next(ctx); seed != 0; seed = s.next(ctx) {
				s.done(seed, try(seed))
			}
		})
	}
	workers.Wait()
	if s.found != nil {
		return s.found, int(s.at)
	}
	return nil, s.begun
}

// search hands out seeds in order, until one has found something.
type search[T any] struct {
	cfg   Config
	start time.Time

	mu    sync.Mutex
	begun int
	found *T
	at    uint64 // the seed that found it
}

// next returns the seed to try next, or 0.
func (s *search[T]) next(ctx context.Context) (seed uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	late := s.cfg.Budget > 0 && s.begun >= s.cfg.Least && time.Since(s.start) >= s.cfg.Budget
	if s.begun >= s.cfg.Runs || s.found != nil || late || ctx.Err() != nil {
		return 0
	}
	s.begun++
	return uint64(s.begun)
}

// done notes what a seed found. Smaller ones may still be at work: they were begun before.
func (s *search[T]) done(seed uint64, found *T) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if found != nil && (s.found == nil || seed < s.at) {
		s.found, s.at = found, seed
	}
}
