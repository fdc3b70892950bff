package explore_test

import (
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/storagesim/storagesim"
	"github.com/storagesim/storagesim/control"
	"github.com/storagesim/storagesim/explore"
)

// onlyOnce has a process work in its first life only: one that has ended does nothing when it is started again.
func onlyOnce(actor string) func(string, control.Factory) control.Factory {
	return func(name string, f control.Factory) control.Factory {
		if name != actor {
			return f
		}
		started := false
		return func(env control.Env) error {
			if started {
				return nil
			}
			started = true
			return f(env)
		}
	}
}

// The claim hangs, and the scenario deletes it: at the end nothing is to be seen of it. The user's deletion may go
// through Cluster.Delete or a client.
func TestAClaimThatHangsAndIsThenDeletedIsAFailure(t *testing.T) {
	for name, deletes := range map[string]func(c *explore.Cluster){
		"Delete": func(c *explore.Cluster) { c.Delete("pvc/data") },
		"a client": func(c *explore.Cluster) {
			c.Must(c.Client().CoreV1().PersistentVolumeClaims("default").Delete(c.T.Context(), "data", metav1.DeleteOptions{}))
		},
	} {
		t.Run(name, func(t *testing.T) {
			cfg := explore.Config{Cluster: storagesim.Config{Wrap: onlyOnce("example.com/shelf")}}
			scenario := explore.Scenario(func(c *explore.Cluster) {
				c.AddProvisioner("example.com/shelf", &shelf{holds: map[string]bool{}})
				c.Apply(shelfClaim)
				c.Settle()
				deletes(c)
				c.Settle()
			})
			const line = "x1;faults=2:crash" // before it creates the volume
			f, ok := errors.AsType[*explore.Failure](explore.Replay(cfg, line, scenario))
			require.True(t, ok)
			require.Equal(t, explore.Reason{Rule: explore.Liveness, Object: "pvc/default/data"}, f.Reason())
			require.ErrorContains(t, f, "when the user acts next, 20 minutes after all trouble: PersistentVolumeClaim: 0 are as they should be, in order 1 were\n"+
				"pvc default/data is Pending")
			require.Contains(t, f.Story, "example.com/shelf         crashes before: create persistentvolumes")
			require.NotContains(t, f.Story, "deletes pvc default/data")

			cfg.Cluster.Wrap = nil
			require.NoError(t, explore.Replay(cfg, line, scenario))
			cfg.Cluster.Wrap, cfg.Except = onlyOnce("example.com/shelf"), []string{explore.Liveness}
			require.NoError(t, explore.Replay(cfg, line, scenario))
		})
	}
}

// What is late, and not lost, is no failure: neither if the user does not wait for it.
func TestWhatIsBehindAndCatchesUpIsNoFailure(t *testing.T) {
	report, err := explore.Run(t.Context(), explore.Config{Runs: 60}, explore.Scenario(func(c *explore.Cluster) {
		c.AddProvisioner("example.com/shelf", &shelf{holds: map[string]bool{}})
		c.Apply(shelfClaim)
		c.RunFor(time.Second)
		c.Delete("pvc/data")
		c.RunFor(time.Second)
		c.Apply(shelfClaim)
		c.RunFor(time.Second)
	}))
	require.NoError(t, err)
	require.Equal(t, 60, report.Runs)
}
