package explore_test

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/storagesim/storagesim"
	"github.com/storagesim/storagesim/csi/driver"
	"github.com/storagesim/storagesim/explore"
)

// A kubelet that forgets a staged volume breaks a rule of CSI: the volume is unpublished before it is unstaged. That is a
// known bug of Kubernetes. Callers that break a rule without one are the library's or Kubernetes' bug, too.
func TestABreachOfCSIsRulesIsNeverTheAuthors(t *testing.T) {
	cfg := explore.Config{Cluster: storagesim.Config{Nodes: storagesim.Nodes("node-1")}, Except: []string{explore.NothingLeaks}, Upstream: explore.Fail}
	const line = "x1;faults=1:kubelet/node-1:delete:pods:crash"
	f, ok := errors.AsType[*explore.Failure](explore.Replay(cfg, line, threeComeAndGo))
	require.True(t, ok)
	require.Equal(t, explore.Reason{Rule: explore.CSICalls, Object: driver.Name}, f.Reason())
	require.ErrorContains(t, f, "before NodeUnstageVolume has succeeded there")
	require.Equal(t, "kubernetes/kubernetes 121937", f.Upstream.Issue)
	f.Upstream.Mend(&cfg.Cluster)
	require.NoError(t, explore.Replay(cfg, line, threeComeAndGo))
}

// In no run of a right driver does a caller break a rule but by known bugs of Kubernetes.
func TestCallersOfDriversKeepTheRulesOfCSI(t *testing.T) {
	cfg := explore.Config{Cluster: storagesim.Config{Nodes: storagesim.Nodes("node-1")}, Runs: 150}
	report, err := explore.Run(t.Context(), cfg, threeComeAndGo)
	require.NoError(t, err)
	for _, found := range report.Upstream {
		require.NotContains(t, found.Bug.Text, "is broken by the callers", "%s", found)
	}
}
