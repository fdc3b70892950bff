package explore_test

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/storagesim/storagesim"
	"github.com/storagesim/storagesim/explore"
)

func TestALineThatDoesNotFitIsNoSuccess(t *testing.T) {
	for line, says := range map[string]string{
		"x1;faults=9999:crash":     "fault 9999:crash: there are 7 calls; the nearest is 7",
		"x1;faults=9999:csi-crash": "fault 9999:csi-crash: there is no such call",
		"x1;faults=7:persistent-volume-binder:update:persistentvolumes:refused": "there are 1 such calls; " +
			"the nearest is 1:persistent-volume-binder:update:persistentvolumes",
		"x1;faults=1:persistent-volume-binder:update:persistentvolumez:refused": "there are 0 such calls; " +
			"the nearest is 1:persistent-volume-binder:update:persistentvolumes",
		"x1;holds=99:5s:persistent-volume-binder:persistentvolumes": "hold 99:5s:persistent-volume-binder:persistentvolumes: there are 7 calls",
		"x1;holds=1:5s:persistent-volume-binder:secrets":            "there is no cache of secrets in persistent-volume-binder",
		"x1;choices=5000:1": "choices are positions, and fit the version and the scenario that they were found with",
		"x1;faults=1:persistent-volume-binder:update:persistentvolumes:refused,9:a:get:b:lost": "fault 9:a:get:b:lost: there is no such call",
	} {
		err := explore.Replay(explore.Config{Expect: threeWait}, line, explore.Scenario(bindsOneVolume))
		odd, ok := errors.AsType[*explore.NotReached](err)
		require.True(t, ok, "%s: %v", line, err)
		require.ErrorContains(t, odd, "the replay line does not fit this scenario: ")
		require.ErrorContains(t, odd, says)
	}
	require.NoError(t, explore.Replay(explore.Config{Expect: threeWait}, "x1;faults=1:persistent-volume-binder:update:persistentvolumes:refused",
		explore.Scenario(bindsOneVolume)))
}

// A line with nothing but a seed means the run with that seed, also where what is left out makes the run without one fail.
func TestALineOfASeedIsNotTheRunWithoutOne(t *testing.T) {
	err := explore.Replay(explore.Config{}, "x1;seed=7;without=1", func(c *storagesim.Cluster) error {
		if err := errors.Join(c.Apply(oneVolume), c.Settle()); err != nil {
			return err
		}
		if c.Lab().Seed() == 0 {
			_, err := c.Volume("only")
			return err
		}
		return errors.New("wrong with a seed")
	})
	f, ok := errors.AsType[*explore.Failure](err)
	require.True(t, ok, "%v", err)
	require.ErrorContains(t, f, "wrong with a seed")
	require.Equal(t, "x1;seed=7;without=1", f.Plan.String())
}

// The line of a failure names its call, and goes on to mean it when the scenario makes others before.
func TestAFaultIsAddressedByActorVerbResourceAndNumber(t *testing.T) {
	f := failureOf(t, explore.Config{}, comesAndGoes(true))
	require.Regexp(t, `^x1;faults=1:example\.com/shelf:create:persistentvolumes:crash`, f.Plan.String())
	require.ErrorContains(t, f, "without fault 1:example.com/shelf:create:persistentvolumes:crash all is well: that run goes on with\n")
	require.Regexp(t, `^ +example\.com/shelf +creates pv pvc-`, f.GoesOn)
	require.Regexp(t, `^ +example\.com/shelf +crashes before: create persistentvolumes pvc-`, f.FailsWith)
	more := func(c *storagesim.Cluster) error {
		return errors.Join(c.Apply(oneVolume), c.Settle(), comesAndGoes(true)(c))
	}
	require.ErrorContains(t, explore.Replay(explore.Config{}, f.Plan.String(), more), "left on the shelf")
	require.ErrorContains(t, explore.Replay(explore.Config{}, "x1;faults=2:crash", comesAndGoes(true)), "left on the shelf", "an older line")
}

// A cache that falls behind is told: the changes that it did not get explain what its process did.
func TestAStorySaysThatACacheIsHeld(t *testing.T) {
	err := explore.Replay(explore.Config{}, "x1;holds=1:persistent-volume-binder:update:persistentvolumeclaims:5s:example.com/shelf:persistentvolumes",
		func(c *storagesim.Cluster) error {
			if err := comesAndGoes(false)(c); err != nil {
				return err
			}
			return errors.New("to see the story")
		})
	f, ok := errors.AsType[*explore.Failure](err)
	require.True(t, ok, "%v", err)
	require.Contains(t, f.Story, "now the cache of persistentvolumes of example.com/shelf gets no changes for 5s\n")
}
