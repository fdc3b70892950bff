package explore

import (
	"errors"
	"fmt"
	"runtime"
	"runtime/debug"
	"strings"
	"sync"
	"testing"

	"github.com/storagesim/storagesim"
	"github.com/storagesim/storagesim/storagesimtest"
)

// Cluster is the cluster of one run in a test: what fails, fails the run.
type Cluster struct {
	*storagesimtest.Cluster
	// T is the run's, for checks of the scenario's own: require.Equal(c.T, ...). What the
	// test itself was given must not be used in a scenario.
	T testing.TB
}

// Test explores and fails t with the first failure: what did not hold, the seed that
// repeats the run alone, and the story.
func Test(t testing.TB, cfg Config, scenario func(c *Cluster)) {
	t.Helper()
	_, err := Run(t.Context(), cfg, func(c *storagesim.Cluster) error {
		r := &run{TB: t}
		r.do(func() { scenario(&Cluster{storagesimtest.Of(r, c), r}) })
		return r.err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// run is the testing.TB of one run.
type run struct {
	testing.TB

	mu       sync.Mutex
	failed   bool
	said     []string
	cleanups []func()
	err      error
	panicked any
}

// do runs f, which may end its goroutine as FailNow does, and then what it left to be
// cleaned up.
func (r *run) do(f func()) {
	for next := f; next != nil; next = r.cleanup() {
		done := make(chan struct{})
		go func() {
			defer close(done)
			defer func() {
				if p := recover(); p != nil && r.panicked == nil {
					r.panicked = fmt.Sprintf("%v\n%s", p, debug.Stack()) // where it was, not where it is raised again
				}
			}()
			next()
		}()
		<-done
	}
	if r.panicked != nil {
		panic(r.panicked)
	}
	if r.failed {
		r.err = errors.New(strings.TrimSpace(strings.Join(r.said, "\n")))
	}
}

func (r *run) cleanup() (last func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if n := len(r.cleanups); n > 0 {
		last, r.cleanups = r.cleanups[n-1], r.cleanups[:n-1]
	}
	return last
}

func (r *run) say(text string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.said = append(r.said, text)
}

// The methods of testing.TB that concern one run.

func (r *run) Helper()                      {}
func (r *run) Log(args ...any)              { r.say(fmt.Sprint(args...)) }
func (r *run) Logf(form string, a ...any)   { r.say(fmt.Sprintf(form, a...)) }
func (r *run) Error(args ...any)            { r.Log(args...); r.Fail() }
func (r *run) Errorf(form string, a ...any) { r.Logf(form, a...); r.Fail() }
func (r *run) Fatal(args ...any)            { r.Log(args...); r.FailNow() }
func (r *run) Fatalf(form string, a ...any) { r.Logf(form, a...); r.FailNow() }
func (r *run) Skip(...any)                  { r.SkipNow() }
func (r *run) Skipf(string, ...any)         { r.SkipNow() }
func (r *run) SkipNow()                     { runtime.Goexit() } // the other orders are tried

func (r *run) Cleanup(f func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.cleanups = append(r.cleanups, f)
}

func (r *run) Fail() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.failed = true
}

func (r *run) FailNow() {
	r.Fail()
	runtime.Goexit()
}

func (r *run) Failed() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.failed
}
