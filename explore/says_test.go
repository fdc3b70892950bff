package explore_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/storagesim/storagesim"
	"github.com/storagesim/storagesim/explore"
	"github.com/storagesim/storagesim/trace"
)

// Making a failure smaller is begun, and ends with the budget: half of the acts are needed, which takes many runs to find out.
func TestTheBudgetBoundsTheShrinkingToo(t *testing.T) {
	scenario := explore.Scenario(func(c *explore.Cluster) {
		for i := range 40 {
			c.Apply(fmt.Sprintf("{apiVersion: v1, kind: ConfigMap, metadata: {name: c%d}}", i))
		}
		c.Settle()
		maps, err := c.Client().CoreV1().ConfigMaps("default").List(c.T.Context(), metav1.ListOptions{})
		c.Must(err)
		even := slices.DeleteFunc(maps.Items, func(m v1.ConfigMap) bool { return !strings.ContainsAny(m.Name[len(m.Name)-1:], "02468") })
		if len(even) == 20 {
			c.T.Fatal("all even ones are there")
		}
	})
	shrunk := func(cfg explore.Config) *explore.Failure {
		_, err := explore.Run(t.Context(), cfg, scenario)
		f, ok := errors.AsType[*explore.Failure](err)
		require.True(t, ok, "%v", err)
		return f
	}
	f := shrunk(explore.Config{Runs: 1})
	require.Len(t, f.Acts, 20)
	require.Greater(t, f.ShrinkRuns, 50)
	require.Equal(t, 50, shrunk(explore.Config{Runs: 1, Budget: time.Nanosecond}).ShrinkRuns)
}

// A line of hundreds of choices is not shown where the order has a name.
func TestAPlanThatGrowsAsTextIsNotShown(t *testing.T) {
	cfg := explore.Config{Expect: threeWait, Strategies: []string{explore.Random}, ShrinkRuns: 310}
	_, err := explore.Run(t.Context(), cfg, firstComeFirstServed)
	f, ok := errors.AsType[*explore.Failure](err)
	require.True(t, ok, "%v", err)
	require.Equal(t, "random", f.Plan.Order, "%s", f.Plan)
	require.Empty(t, f.Plan.Choices)
	require.ErrorContains(t, explore.Replay(explore.Config{Expect: threeWait}, f.Plan.String(), firstComeFirstServed), "claim b has the volume")
}

// An actor with a long name, which only one of two runs has, moves the columns of its story.
func TestTwoRunsAreComparedWithoutTheirColumns(t *testing.T) {
	const long = "an-actor-whose-name-is-longer-than-those-of-all-others"
	_, err := explore.Run(t.Context(), explore.Config{Strategies: []string{explore.Faults}}, func(c *storagesim.Cluster) error {
		err := comesAndGoes(false)(c)
		for _, e := range c.Trace().Records() {
			if e.Record.Topic() == "fault" {
				c.Engine().Record(long, trace.Held{Actor: long, Resource: "pods"})
				return errors.New("it was refused")
			}
		}
		return err
	})
	f, ok := errors.AsType[*explore.Failure](err)
	require.True(t, ok, "%v", err)
	require.Contains(t, f.Story, long)
	require.NotEmpty(t, f.Nearest)
	require.NotEqual(t, strings.Fields(f.GoesOn), strings.Fields(f.FailsWith))
}

// What a user waits for in vain is said with what keeps it.
func TestAWaitInVainNamesWhatIsUnfinished(t *testing.T) {
	_, err := explore.Run(t.Context(), explore.Config{Runs: 1, ShrinkRuns: -1}, explore.Scenario(func(c *explore.Cluster) {
		c.Apply(diskClaim("a"), "{apiVersion: v1, kind: ConfigMap, metadata: {name: b, finalizers: [example.com/x]}}")
		c.Delete("configmap/b")
		c.RunUntil(func() bool { return false })
	}))
	f, ok := errors.AsType[*explore.Failure](err)
	require.True(t, ok, "%v", err)
	require.ErrorContains(t, f, "the condition does not hold after 1h0m0s\nconfigmap/default/b is not finished\npvc default/a is Pending: ")
}

// That there is one object too many is a failure of that object.
func TestAnObjectTooManyIsNamed(t *testing.T) {
	cfg := explore.Config{}
	err := explore.Replay(cfg, "x1;faults=1:example.com/shelf:create:persistentvolumes:refused", func(c *storagesim.Cluster) error {
		err := comesAndGoes(false)(c)
		if slices.ContainsFunc(c.Trace().Records(), func(e trace.Entry) bool { return e.Record.Topic() == "fault" }) {
			err = errors.Join(err, c.Apply("{apiVersion: v1, kind: ConfigMap, metadata: {name: left}}"))
		}
		return err
	})
	f, ok := errors.AsType[*explore.Failure](err)
	require.True(t, ok, "%v", err)
	require.Equal(t, explore.Reason{Rule: explore.Liveness, Object: "configmap/default/left"}, f.Reason())
}
