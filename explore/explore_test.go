package explore_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"

	"github.com/storagesim/storagesim"
	"github.com/storagesim/storagesim/explore"
)

// oneVolume is a volume that four claims want, the last of them b.
const oneVolume = `
apiVersion: v1
kind: PersistentVolume
metadata: {name: only}
spec: {capacity: {storage: 1Gi}, accessModes: [ReadWriteOnce], hostPath: {path: /data}}
---
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: a}
spec: {accessModes: [ReadWriteOnce], storageClassName: "", resources: {requests: {storage: 1Gi}}}
---
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: c}
spec: {accessModes: [ReadWriteOnce], storageClassName: "", resources: {requests: {storage: 1Gi}}}
---
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: d}
spec: {accessModes: [ReadWriteOnce], storageClassName: "", resources: {requests: {storage: 1Gi}}}
---
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: b}
spec: {accessModes: [ReadWriteOnce], storageClassName: "", resources: {requests: {storage: 1Gi}}}
`

var errOrder = errors.New("claim b has the volume")

// firstComeFirstServed believes that a, which is created first, gets the volume.
func firstComeFirstServed(c *storagesim.Cluster) error {
	if err := errors.Join(c.Apply(oneVolume), c.Settle()); err != nil {
		return err
	}
	claim, err := c.Claim("b")
	if err == nil && claim.Status.Phase == v1.ClaimBound {
		err = errOrder
	}
	return err
}

func TestTheFailureOfTheSmallestSeedIsFoundHoweverManyWorkThere(t *testing.T) {
	var failures []*explore.Failure
	for _, workers := range []int{1, 2, 7} {
		runs, err := explore.Run(t.Context(), explore.Config{Runs: 200, Workers: workers}, firstComeFirstServed)
		f, ok := errors.AsType[*explore.Failure](err)
		require.True(t, ok, "%v", err)
		require.ErrorIs(t, err, errOrder)
		require.Equal(t, int(f.Seed), runs)
		require.Contains(t, f.Story, "updates pvc default/b status")
		require.Contains(t, err.Error(), fmt.Sprintf("seed %d: claim b has the volume\nthe story:\n", f.Seed))
		failures = append(failures, f)
	}
	require.Equal(t, failures[0], failures[1])
	require.Equal(t, failures[0], failures[2])
	require.Greater(t, failures[0].Seed, uint64(1), "not every order does it")

	seed := failures[0].Seed
	err := explore.Replay(explore.Config{}, seed, failures[0].Choices, firstComeFirstServed)
	require.Equal(t, failures[0], err, "the same story, to the byte")
	require.NoError(t, explore.Replay(explore.Config{}, seed, nil, firstComeFirstServed), "in order, a comes first")
}

func TestWhatHoldsInEveryOrderIsTriedInAll(t *testing.T) {
	var tried atomic.Int64
	runs, err := explore.Run(t.Context(), explore.Config{Runs: 50}, func(c *storagesim.Cluster) error {
		tried.Add(1)
		if c.Dir() != "" {
			return errors.New("its disks are not in memory")
		}
		return errors.Join(c.Apply(oneVolume), c.Settle())
	})
	require.NoError(t, err)
	require.Equal(t, 50, runs)
	require.EqualValues(t, 50, tried.Load())
}

func TestAPanicIsAFailureAndAnEndedContextIsNone(t *testing.T) {
	_, err := explore.Run(t.Context(), explore.Config{Runs: 3}, func(*storagesim.Cluster) error { panic("oh") })
	require.ErrorContains(t, err, "seed 1: the scenario panicked: oh\n")
	require.ErrorContains(t, err, "explore_test.go")

	o := &outer{TB: t}
	explore.Test(o, explore.Config{Runs: 1}, func(*explore.Cluster) { forgetsSomething() })
	require.Contains(t, o.fatal, "seed 1 fails; ")
	require.Contains(t, o.fatal, "panic: assignment to entry in nil map\n")
	require.Contains(t, o.fatal, "forgetsSomething", "where it was")

	ctx, cancel := context.WithCancel(t.Context())
	runs, err := explore.Run(ctx, explore.Config{}, func(*storagesim.Cluster) error { cancel(); return nil })
	require.ErrorIs(t, err, context.Canceled)
	require.Less(t, runs, explore.DefaultRuns)
}

func forgetsSomething() {
	var m map[string]int
	m["a"] = 1 //nolint:staticcheck // the mistake
}

func TestAConfigurationThatMakesNoSenseIsRefused(t *testing.T) {
	for says, cfg := range map[string]explore.Config{
		"Config.Runs: -1 is negative":              {Runs: -1},
		"Config.Workers: -1 is negative":           {Workers: -1},
		"Seed and Policy are chosen":               {Cluster: storagesim.Config{Seed: 1}},
		"leave Dir and RealMounts out":             {Cluster: storagesim.Config{Dir: "/x"}},
		"seed 1: Config.Nodes[0].Name: \"A_b\" is": {Cluster: storagesim.Config{Nodes: storagesim.Nodes("A_b")}},
	} {
		_, err := explore.Run(t.Context(), cfg, firstComeFirstServed)
		require.ErrorContains(t, err, says)
	}
	o := &outer{TB: t}
	explore.Test(o, explore.Config{Runs: -1}, func(*explore.Cluster) {})
	require.Equal(t, "explore: Config.Runs: -1 is negative", o.fatal)
	require.ErrorContains(t, explore.Replay(explore.Config{Runs: -1}, 1, nil, firstComeFirstServed), "negative")
}

// outer stands for the test of somebody else.
type outer struct {
	testing.TB
	fatal string
}

func (o *outer) Helper()                      {}
func (o *outer) Name() string                 { return "TestOfSomebody/else" }
func (o *outer) Fatal(args ...any)            { o.fatal = fmt.Sprint(args...) }
func (o *outer) Fatalf(form string, a ...any) { o.fatal = fmt.Sprintf(form, a...) }

func TestATestFailsWithWhatDidNotHoldTheSeedAndTheStory(t *testing.T) {
	cleaned := atomic.Int64{}
	o := &outer{TB: t}
	explore.Test(o, explore.Config{Runs: 2000, Workers: 1}, func(c *explore.Cluster) {
		c.T.Cleanup(func() { cleaned.Add(1) })
		c.Apply(oneVolume)
		c.Settle()
		require.Equal(c.T, v1.ClaimPending, c.Claim("b").Status.Phase)
		if c.Claim("a").Status.Phase != v1.ClaimBound {
			c.T.Skip("and nothing is said of it")
		}
	})
	require.Regexp(t, `^seed (\d+) fails; this repeats it: STORAGESIM_SEED=(\d+) go test -run '\^TestOfSomebody\$/\^else\$' \.\n`, o.fatal)
	require.Contains(t, o.fatal, `expected: "Pending"`)
	require.Equal(t, 1, strings.Count(o.fatal, "; the story so far:\n"))
	require.Contains(t, o.fatal, "updates pvc default/b status")
	require.Positive(t, cleaned.Load())

	o = &outer{TB: t}
	explore.Test(o, explore.Config{Runs: 1}, func(c *explore.Cluster) { c.Apply("kind: nonsense") })
	require.Contains(t, o.fatal, "seed 1 fails; ")
	explore.Test(t, explore.Config{Runs: 20}, func(c *explore.Cluster) { c.Apply(oneVolume); c.Settle(); c.RequireNoLeaks() })
}

// BenchmarkExplore is one run of a scenario: two claims race for one volume.
func BenchmarkExplore(b *testing.B) {
	scenario := func(c *storagesim.Cluster) error { return errors.Join(c.Apply(oneVolume), c.Settle()) }
	if _, err := explore.Run(b.Context(), explore.Config{Runs: b.N}, scenario); err != nil {
		b.Fatal(err)
	}
}
