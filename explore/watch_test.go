package explore_test

import (
	"errors"
	"path/filepath"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/storagesim/storagesim"
	"github.com/storagesim/storagesim/explore"
)

// returnsNever returns the failure of code that does not return for the shortest time that there is.
func returnsNever(t *testing.T, runs int, scenario func(c *explore.Cluster)) *explore.Failure {
	t.Helper()
	_, err := explore.Run(t.Context(), explore.Config{Expect: waits, Runs: runs, Cluster: storagesim.Config{Blocked: time.Second}}, explore.Scenario(scenario))
	failure, ok := errors.AsType[*explore.Failure](err)
	require.True(t, ok, "%v", err)
	require.Equal(t, explore.Returns, failure.Rule())
	return failure
}

func oneClaim(c *explore.Cluster) {
	c.Apply("{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: a}, spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}}")
	c.Settle()
}

// waits says that the claim has no class and no volume.
var waits = []explore.Expectation{explore.Expect("pvc/a", "Pending")}

// waitsForEver blocks as a function of an author may.
func waitsForEver(released <-chan struct{}) { <-released }

func TestAScenarioThatDoesNotReturnIsAFailureWithItsStack(t *testing.T) {
	t.Parallel()
	released := make(chan struct{})
	defer close(released)
	failure := returnsNever(t, 20, func(c *explore.Cluster) {
		oneClaim(c)
		waitsForEver(released)
	})
	require.Equal(t, 1, failure.Run)
	require.Equal(t, "the author's code returns: the scenario", failure.Reason().String())
	require.ErrorContains(t, failure, "the scenario does not return: no step for 5s")
	require.ErrorContains(t, failure, filepath.Base("watch_test.go")+":")
	require.Contains(t, failure.Story, "creates pvc default/a")
}

func TestAScenarioThatSpinsIsAFailure(t *testing.T) {
	t.Parallel()
	var end atomic.Bool
	defer end.Store(true)
	failure := returnsNever(t, 20, func(c *explore.Cluster) {
		oneClaim(c)
		for !end.Load() {
			runtime.Gosched()
		}
	})
	require.ErrorContains(t, failure, "the scenario does not return: no step for 5s")
}

func TestAGoroutineThatEachRunLeavesIsAFailureWithItsStack(t *testing.T) {
	t.Parallel()
	released := make(chan struct{})
	defer close(released)
	scenario := func(c *explore.Cluster) {
		oneClaim(c)
		go waitsForEver(released)
	}
	failure := returnsNever(t, 20, scenario)
	require.Equal(t, 1, failure.Run)
	require.Equal(t, "the author's code returns: github.com/storagesim/storagesim/explore_test.waitsForEver", failure.Reason().String())
	require.ErrorContains(t, failure, "does not return: 2 runs left a goroutine of it\n")
	require.Contains(t, failure.Story, "creates pvc default/a")
	require.Error(t, explore.Replay(explore.Config{Expect: waits}, failure.Plan.String(), explore.Scenario(scenario)), "it repeats")
}

func TestAGoroutineForAllRunsAndOneThatEndsLaterAreNone(t *testing.T) {
	t.Parallel()
	released := make(chan struct{})
	defer close(released)
	var once sync.Once
	report, err := explore.Run(t.Context(), explore.Config{Expect: waits, Runs: 20}, explore.Scenario(func(c *explore.Cluster) {
		once.Do(func() { go waitsForEver(released) })
		oneClaim(c)
		done := make(chan struct{})
		c.T.Cleanup(func() { close(done) })
		go waitsForEver(done)
	}))
	require.NoError(t, err)
	require.Positive(t, report.Runs)
}

// What only some runs leave is found when all have ended.
func TestAGoroutineThatTheLaterRunsLeaveIsFoundInTheEnd(t *testing.T) {
	t.Parallel()
	released := make(chan struct{})
	defer close(released)
	var runs atomic.Int64
	failure := returnsNever(t, 20, func(c *explore.Cluster) {
		oneClaim(c)
		if runs.Add(1) > 2 { // the plain run is played twice
			go waitsForEver(released)
		}
	})
	require.Regexp(t, `does not return: \d+ runs left a goroutine of it\n`, failure.Error())
	require.Contains(t, failure.Story, "creates pvc default/a")
}
