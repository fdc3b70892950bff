package operator_test

import (
	"testing"

	"github.com/storagesim/storagesim/examples/operator"
	"github.com/storagesim/storagesim/explore"
	"github.com/storagesim/storagesim/live/ctrlruntime"
)

// The same operator as an actor: its process crashes at each of its calls, the calls fail and are late, and so are its caches.
func TestNothingBreaksTheOperator(t *testing.T) {
	explore.Test(t, explore.Config{Runs: 300}, func(c *explore.Cluster) {
		c.Must(ctrlruntime.Add(c, ctrlruntime.Operator{Name: "scratch-operator", Setup: operator.Setup}))
		c.Apply(scratch)
		c.Settle()
		c.RequireBound("build-cache")
		c.Delete("configmap/build-cache")
		c.Settle()
	})
}
