// Package seedtest runs the body of a test for many seeds, on all processors.
//
//	func TestNothingIsLostInAnyOrder(t *testing.T) {
//		seedtest.Each(t, 300, func(t testing.TB, seed uint64) {
//			e := engine.New(engine.Config{Seed: seed, Policy: engine.Seeded(seed)})
//			defer e.Close()
//			...
//			require.NoError(t, e.Settle())
//		})
//	}
//
// It is for tests of single controllers on an engine, and of pure functions on random
// input. For a scenario on a whole cluster there is explore.Test, which rests on it.
//
// How many seeds are tried is set from outside, because a developer, CI and the hunt for
// a rare bug want different numbers:
//
//	go test                   the number that the test names
//	go test -short            a tenth of it, and at least one
//	STORAGESIM_SEEDS=10000    that many
//	STORAGESIM_BUDGET=60s     after that time no other seed is begun; the number that the
//	                          test names is tried however long it takes
//	STORAGESIM_SEED=17        only that one, and what it logs is shown
//
// A budget bounds how many seeds are tried, never how long one may take, so a slow
// machine tries fewer and fails no test. With -v a test says how many it tried.
package seedtest

import (
	"errors"
	"fmt"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/storagesim/storagesim/internal/seeds"
)

// Each calls try with the seeds from 1 on, usually so many. The t that try is given is
// that seed's own: Fatal, Skip and Cleanup concern it alone, and the test's own t must not
// be used in try. If seeds fail, the test fails with what the smallest of them logged, and
// with a command that repeats it. tried is the number of seeds tried.
//
// Calls happen at the same time: what they share needs a lock.
func Each(t testing.TB, usual int, try func(t testing.TB, seed uint64)) (tried int) {
	t.Helper()
	return EachOf(t, usual, 0, try)
}

// EachOf does what Each does with so many seeds at once, 0 for one on each processor.
func EachOf(t testing.TB, usual, workers int, try func(t testing.TB, seed uint64)) (tried int) {
	t.Helper()
	if seed, only := Only(t); only {
		tryOne(t, seed, try).report(t)
		return 1
	}
	cfg, start := Settings(t, usual), time.Now()
	cfg.Workers = workers
	failed, tried := seeds.First(t.Context(), cfg, func(seed uint64) *run {
		if r := tryOne(t, seed, try); r.failed {
			return r
		}
		return nil
	})
	t.Logf("tried %s of %s seeds in %s", grouped(tried), grouped(cfg.Runs), time.Since(start).Round(time.Second))
	if failed != nil {
		failed.report(t)
	}
	return tried
}

// Only returns the seed in STORAGESIM_SEED, if one is set.
func Only(t testing.TB) (seed uint64, set bool) {
	t.Helper()
	return number(t, "STORAGESIM_SEED")
}

// Try calls f with a testing.TB of its own and returns its failures as an error, with what was
// logged; it returns the error that Fatal was called with if nothing else was logged. Cleanups
// are done when it returns. Outside of a test, t is nil. The error is a *Failed.
func Try(t testing.TB, f func(t testing.TB)) error {
	r := tryOne(t, 0, func(t testing.TB, _ uint64) { f(t) })
	if !r.failed {
		return nil
	}
	if r.fatal != nil && len(r.said) == 1 {
		return &Failed{r.at, r.fatal}
	}
	return &Failed{r.at, errors.New(strings.TrimSpace(strings.Join(r.said, "\n")))}
}

// Failed is the error of a function that failed in Try.
type Failed struct { // it wraps what the function failed with
	// At is the file and the line of the first statement that failed.
	At string
	// Err says what was logged.
	Err error
}

func (f *Failed) Error() string { return f.Err.Error() }

// Unwrap returns Err.
func (f *Failed) Unwrap() error { return f.Err }

// Settings returns the number of seeds to try, for a test that usually tries so many.
func Settings(t testing.TB, usual int) seeds.Config {
	t.Helper()
	if testing.Short() {
		usual = max(1, usual/10)
	}
	cfg := seeds.Config{Runs: usual}
	if n, ok := number(t, "STORAGESIM_SEEDS"); ok {
		cfg.Runs = int(n)
	}
	cfg.Least = min(usual, cfg.Runs)
	if text := os.Getenv("STORAGESIM_BUDGET"); text != "" {
		var err error
		if cfg.Budget, err = time.ParseDuration(text); err != nil || cfg.Budget <= 0 {
			t.Fatalf("STORAGESIM_BUDGET: %q is not a duration above 0, such as 60s", text)
		}
	}
	return cfg
}

func number(t testing.TB, variable string) (n uint64, ok bool) {
	t.Helper()
	text := os.Getenv(variable)
	if text == "" {
		return 0, false
	}
	n, err := strconv.ParseUint(text, 10, 31)
	if err != nil || n == 0 {
		t.Fatalf("%s: %q is not a whole number from 1 to 2147483647", variable, text)
	}
	return n, true
}

// report says what a seed logged, and fails t if the seed failed.
func (r *run) report(t testing.TB) {
	t.Helper()
	said := strings.TrimSpace(strings.Join(r.said, "\n"))
	if !r.failed {
		t.Logf("seed %d:\n%s", r.seed, said)
		return
	}
	t.Fatalf("seed %d fails; this repeats it: STORAGESIM_SEED=%d go test -run '%s' .\n%s", r.seed, r.seed, Pattern(t.Name()), said)
}

// Pattern returns the pattern for go test -run that matches the test of that name and no other.
func Pattern(name string) string {
	parts := strings.Split(name, "/")
	for i, part := range parts {
		parts[i] = "^" + regexp.QuoteMeta(part) + "$"
	}
	return strings.Join(parts, "/")
}

// grouped writes a number with a comma before each three digits.
func grouped(n int) string {
	text := fmt.Sprint(n)
	for i := len(text) - 3; i > 0; i -= 3 {
		text = text[:i] + "," + text[i:]
	}
	return text
}
