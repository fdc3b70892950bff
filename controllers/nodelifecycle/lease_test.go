package nodelifecycle_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/storagesim/storagesim"
)

// A node is given up only after a live look at its lease.
func TestACacheOfLeasesThatIsHeldGivesNoNodeUp(t *testing.T) {
	c := failing(t, 0)
	c.Hold(storagesim.NodeLifecycle, "leases")
	c.RunFor(3 * time.Minute)
	require.Equal(t, v1.ConditionTrue, statuses(node(t, c, "node-1"))[v1.NodeReady])
	require.Empty(t, taints(node(t, c, "node-1")))

	c.Release(storagesim.NodeLifecycle, "leases")
	c.RunFor(3 * time.Minute)
	require.Empty(t, taints(node(t, c, "node-1")))

	c.Stop(kubelet1)
	c.RunFor(time.Minute)
	require.Contains(t, taints(node(t, c, "node-1")), "unreachable:NoExecute")
}

// Upstream has this bug, too: docs/found.md.
func TestALeaseThatIsLabelledAfterItsLastRenewalKeepsItsNodeForEver(t *testing.T) {
	c := failing(t, 0)
	c.Stop(kubelet1)
	c.RunFor(7 * time.Second) // the last renewal has counted
	_, err := c.Client().CoordinationV1().Leases(v1.NamespaceNodeLease).Patch(t.Context(), "node-1", types.MergePatchType,
		[]byte(`{"metadata":{"labels":{"a":"b"}}}`), metav1.PatchOptions{})
	require.NoError(t, err)
	c.RunFor(10 * time.Minute)
	require.Empty(t, taints(node(t, c, "node-1")))
}
