package explore_test

import (
	"context"
	"errors"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"

	"github.com/storagesim/storagesim"
	"github.com/storagesim/storagesim/csi/driver"
	"github.com/storagesim/storagesim/explore"
	"github.com/storagesim/storagesim/provisioner"
	"github.com/storagesim/storagesim/provisioner/openebs"
)

const lonelyClaim = `
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: lonely}
spec: {accessModes: [ReadWriteOnce], storageClassName: "", resources: {requests: {storage: 1Gi}}}
`

func TestThePlainRunMustWork(t *testing.T) {
	scenario := explore.Scenario(func(c *explore.Cluster) {
		c.Apply(lonelyClaim)
		c.Settle()
	})
	f := failureOf(t, explore.Config{}, scenario)
	require.Equal(t, explore.Reason{Rule: explore.PlainRun, Object: "pvc/default/lonely"}, f.Reason())
	require.Equal(t, 1, f.Run)
	require.ErrorContains(t, f, "the plain run works: pvc/default/lonely is Pending\npvc default/lonely is Pending")
	require.ErrorContains(t, f, `if that is meant, say so: Config.Expect with explore.Expect("pvc/default/lonely", "Pending")`)

	for _, name := range []string{"pvc/lonely", "pvc/default/lonely", "persistentvolumeclaims/default/lonely"} {
		_, err := explore.Run(t.Context(), explore.Config{Runs: 10, Expect: []explore.Expectation{explore.Expect(name, "Pending")}}, scenario)
		require.NoError(t, err)
	}
	_, err := explore.Run(t.Context(), explore.Config{Runs: 10, Except: []string{explore.PlainRun}}, scenario)
	require.NoError(t, err)
	_, err = explore.Run(t.Context(), explore.Config{Expect: []explore.Expectation{explore.Expect("claim/lonely", "Pending")}}, scenario)
	require.ErrorContains(t, err, `explore: Config.Expect[0]: `)
}

func TestNothingIsSaidOfPlacesIfThePlainRunFails(t *testing.T) {
	report, err := explore.Run(t.Context(), explore.Config{Runs: 10}, explore.Scenario(func(c *explore.Cluster) {
		c.Apply(lonelyClaim)
		c.Settle()
	}))
	require.Error(t, err)
	require.Equal(t, "nothing was explored, since the plain run failed", report.Coverage.String())

	ended, cancel := context.WithCancel(t.Context())
	cancel()
	report, err = explore.Run(ended, explore.Config{Runs: 10, Except: []string{explore.PlainRun}}, explore.Scenario(bindsOneVolume))
	require.ErrorIs(t, err, context.Canceled)
	require.Contains(t, report.Coverage.String(), "places recover", "it did not fail")
}

func TestWhatIsExpectedMustComeTrue(t *testing.T) {
	f := failureOf(t, explore.Config{Expect: append([]explore.Expectation{explore.Expect("pvc/a", "Pending")}, threeWait...)}, explore.Scenario(bindsOneVolume))
	require.ErrorContains(t, f, `the plain run works: explore.Expect("pvc/a", "Pending") does not come true`)
}

// A claim that the scenario deletes after it has waited in vain is seen at that rest, one that is only late is not.
func TestThePlainRunIsJudgedAtEachRest(t *testing.T) {
	f := failureOf(t, explore.Config{}, explore.Scenario(func(c *explore.Cluster) {
		c.Apply(lonelyClaim)
		c.Settle()
		c.Delete("pvc/lonely")
		c.Settle()
	}))
	require.Equal(t, explore.PlainRun, f.Rule())
	_, err := explore.Run(t.Context(), explore.Config{Runs: 3}, explore.Scenario(func(c *explore.Cluster) {
		c.AddProvisioner("example.com/shelf", &shelf{holds: map[string]bool{}})
		c.Apply(shelfClaim)
		c.RunFor(0)
		c.Delete("pvc/data")
		c.Settle()
	}))
	require.NoError(t, err)
}

// A claim of a class that waits for a pod waits by design.
func TestAClaimThatWaitsForAPodIsNoFailure(t *testing.T) {
	_, err := explore.Run(t.Context(), explore.Config{Runs: 3, Cluster: storagesim.Config{Nodes: storagesim.Nodes("node-1")}},
		explore.Scenario(func(c *explore.Cluster) {
			c.AddProvisionController(openebs.Controller(openebs.Config{}))
			c.Settle()
			c.Apply(strings.Split(podWithClaim, "---\n")[0], `{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: data}, spec: {storageClassName: `+
				`openebs-hostpath, accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}}`)
			c.Settle()
		}))
	require.NoError(t, err)
}

// odd is a provisioner whose code does something before it makes a volume.
type odd struct {
	shelf
	before func()
}

func (o *odd) Provision(ctx context.Context, options provisioner.ProvisionOptions) (*v1.PersistentVolume, provisioner.ProvisioningState, error) {
	o.before()
	return o.shelf.Provision(ctx, options)
}

func TestCodeThatPanicsOrDoesNotReturnIsAFailureWithItsStack(t *testing.T) {
	var over atomic.Bool // what spins takes no time from other tests
	defer over.Store(true)
	spins := func() {
		for !over.Load() {
			runtime.Gosched()
		}
	}
	for name, tt := range map[string]struct {
		before func()
		says   string
	}{
		"panic": {panicsOnce(), "the author's code returns: example.com/shelf panics in Provision of pvc default/data, at explore/plainrun_test.go:"},
		"mutex": {locksForEver, "the author's code returns: example.com/shelf does not return from Provision in "},
		"loop":  {spins, "the author's code returns: example.com/shelf does not return from Provision in "},
	} {
		t.Run(name, func(t *testing.T) {
			cfg := explore.Config{Runs: 3, ShrinkRuns: -1, Cluster: storagesim.Config{Blocked: 50 * time.Millisecond}}
			_, err := explore.Run(t.Context(), cfg, explore.Scenario(func(c *explore.Cluster) {
				c.AddProvisioner("example.com/shelf", &odd{shelf{holds: map[string]bool{}}, tt.before})
				c.Apply(shelfClaim)
				c.Settle()
			}))
			f, ok := errors.AsType[*explore.Failure](err)
			require.True(t, ok, "%v", err)
			require.Equal(t, explore.Returns, f.Rule())
			require.ErrorContains(t, f, tt.says)
			require.ErrorContains(t, f, "plainrun_test.go")
			require.ErrorContains(t, f, "(*odd).Provision")
			require.NotContains(t, f.Err.Error(), "storagesim/engine.")
		})
	}
}

func panicsOnce() func() {
	return func() {
		var m map[string]int
		m["a"] = 1 //nolint:staticcheck // the mistake
	}
}

func locksForEver() {
	var mu sync.Mutex
	mu.Lock()
	mu.Lock()
}

// The pod that looks for data which is not there runs, as its phase says, and its container fails each time.
func TestAPodWhoseContainerFailsAgainAndAgainDoesNotRun(t *testing.T) {
	play := func(writes string) func(c *storagesim.Cluster) error {
		return explore.Scenario(func(c *explore.Cluster) {
			const sleeps = `[sleep, "100000"]`
			c.InstallCSIDriver(driver.Config{})
			c.RunFor(5 * time.Second)
			c.Apply(strings.Replace(threeManifests, sleeps, "[sh, -c, '"+writes+"; sleep 100000']", 1))
			c.Settle()
			c.Delete("pod/web")
			c.Settle()
			manifests := strings.Split(threeManifests, "---\n")
			c.Apply(strings.Replace(manifests[len(manifests)-1], sleeps, "[sh, -c, 'test -f /data/file && sleep 100000']", 1))
			c.Settle()
			c.Delete("pod/web", "pvc/data")
			c.Settle()
		})
	}
	_, err := explore.Run(t.Context(), twoNodes(), play("echo hello"))
	f, ok := errors.AsType[*explore.Failure](err)
	require.True(t, ok, "%v", err)
	require.Equal(t, explore.Reason{Rule: explore.PlainRun, Object: "pod/default/web"}, f.Reason())
	require.ErrorContains(t, f, "pod/default/web is Unready")
	require.ErrorContains(t, f, "container c exited with 1: Error. To do: mend its script or its program.")

	cfg := twoNodes()
	cfg.Expect = []explore.Expectation{explore.Expect("pod/web", "Unready")}
	_, err = explore.Run(t.Context(), cfg, play("echo hello"))
	require.NoError(t, err)
	_, err = explore.Run(t.Context(), twoNodes(), play("echo hello > /data/file"))
	require.NoError(t, err)
}
