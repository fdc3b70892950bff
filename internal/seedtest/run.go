package seedtest

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strings"
	"sync"
	"testing"
)

// run is the testing.TB of one seed.
type run struct {
	testing.TB // nil outside of a test
	seed       uint64

	mu       sync.Mutex
	failed   bool
	at       string // the file and line of the first failure
	said     []string
	fatal    error // the error that Fatal was called with, if it was one
	cleanups []func()
}

// tryOne calls try for a seed.
func tryOne(t testing.TB, seed uint64, try func(t testing.TB, seed uint64)) *run {
	r := &run{TB: t, seed: seed}
	r.do(func() { try(r, seed) })
	return r
}

// do runs f, and then its cleanups, the last one first. Each runs in a goroutine of its own, which FailNow may end, and a panic
// is reported as an error.
func (r *run) do(f func()) {
	for next := f; next != nil; next = r.cleanup() {
		done := make(chan struct{})
		go func() {
			defer close(done)
			defer func() {
				if p := recover(); p != nil {
					r.Errorf("panic: %v\n%s", p, debug.Stack())
				}
			}()
			next()
		}()
		<-done
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

// The methods of testing.TB that concern one seed.

func (r *run) Helper()                      {}
func (r *run) Log(args ...any)              { r.say(fmt.Sprint(args...)) }
func (r *run) Logf(form string, a ...any)   { r.say(fmt.Sprintf(form, a...)) }
func (r *run) Error(args ...any)            { r.Log(args...); r.Fail() }
func (r *run) Errorf(form string, a ...any) { r.Logf(form, a...); r.Fail() }
func (r *run) Fatalf(form string, a ...any) { r.Logf(form, a...); r.FailNow() }
func (r *run) Skip(...any)                  { r.SkipNow() }
func (r *run) Skipf(string, ...any)         { r.SkipNow() }
func (r *run) SkipNow()                     { runtime.Goexit() } // the other seeds are tried

func (r *run) Fatal(args ...any) {
	r.Log(args...)
	if err, ok := args[0].(error); ok && len(args) == 1 {
		r.fatal = err
	}
	r.FailNow()
}

// Context and Name also work outside of a test.

func (r *run) Context() context.Context {
	if r.TB == nil {
		return context.Background()
	}
	return r.TB.Context()
}

func (r *run) Name() string {
	if r.TB == nil {
		return "scenario"
	}
	return r.TB.Name()
}

func (r *run) Cleanup(f func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.cleanups = append(r.cleanups, f)
}

func (r *run) TempDir() string {
	dir, err := os.MkdirTemp("", "seed")
	if err != nil {
		r.Fatal(err)
	}
	r.Cleanup(func() {
		if err := os.RemoveAll(dir); err != nil {
			r.Error(err)
		}
	})
	return dir
}

func (r *run) Fail() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.failed {
		r.failed, r.at = true, assertion()
	}
}

// assertion returns the file and the line of the statement that fails now: the first on the stack that is no
// part of the Go library, of testify or of the packages of tests.
func assertion() string {
	var counters [64]uintptr
	frames := runtime.CallersFrames(counters[:runtime.Callers(2, counters[:])])
	for {
		frame, more := frames.Next()
		if !isPartOfTesting(frame.Function) {
			return fmt.Sprintf("%s:%d", filepath.Base(frame.File), frame.Line)
		}
		if !more {
			return ""
		}
	}
}

// isPartOfTesting reports whether a function belongs to what tests are written with.
func isPartOfTesting(function string) bool {
	for _, part := range []string{"runtime.", "testing.", "github.com/stretchr/testify/", "github.com/storagesim/storagesim/storagesimtest.",
		"github.com/storagesim/storagesim/internal/seedtest."} {
		if strings.HasPrefix(function, part) {
			return true
		}
	}
	return false
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
