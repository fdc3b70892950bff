package explain_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/storagesim/storagesim"
	"github.com/storagesim/storagesim/explain"
	"github.com/storagesim/storagesim/storagesimtest"
)

// loses makes a claim that has lost its volume, pv disk.
func loses(t *testing.T) *storagesimtest.Cluster {
	t.Helper()
	c := storagesimtest.New(t, storagesim.Config{Disks: storagesim.MemoryDisks, Nodes: storagesim.Nodes("node-1")})
	c.Apply(explainVolume("disk", "5Gi", "node-1", ""), explainClaim("data", "5Gi", ", storageClassName: ''"))
	c.Settle()
	c.RequireBound("data")
	c.Stop("pv-protection-controller")
	_, err := c.Client().CoreV1().PersistentVolumes().Patch(t.Context(), "disk", types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`),
		metav1.PatchOptions{})
	require.NoError(t, err)
	c.Delete("pv/disk")
	c.Settle()
	require.Equal(t, v1.ClaimLost, c.Claim("data").Status.Phase)
	return c
}

// What the explanation advises helps: the volume made again with the claim's claimRef is bound to it. See semantics 1.
func TestALostClaimIsBoundAgainByWhatItsExplanationAdvises(t *testing.T) {
	c := loses(t)
	why, err := c.Lab().Explanation("pvc/data")
	require.NoError(t, err)
	require.Equal(t, explain.VolumeLost, why.Verdict.Code)
	require.Equal(t, "pv/disk", why.Verdict.Object)
	require.Contains(t, why.Verdict.Cause, "its data may still be in /data on node node-1")
	require.Contains(t, why.Verdict.Do, "create pv disk again with its local.path /data and a spec.claimRef with this claim's namespace, name and uid")
	c.Apply(explainVolume("disk", "5Gi", "node-1", fmt.Sprintf("  claimRef: {namespace: default, name: data, uid: %s}", c.Claim("data").UID)))
	c.RunFor(time.Minute) // the claim is looked at in the next resync
	c.RequireBound("data")
}

// A claim whose volume was given to another one gets it back when the claimRef is set back.
func TestAClaimWhoseVolumeBelongsToAnotherGetsItBackWithItsClaimRef(t *testing.T) {
	c := storagesimtest.New(t, storagesim.Config{Disks: storagesim.MemoryDisks, Nodes: storagesim.Nodes("node-1")})
	c.Apply(explainVolume("disk", "5Gi", "node-1", ""), explainClaim("data", "5Gi", ", storageClassName: ''"))
	c.Settle()
	uid := c.Claim("data").UID
	patch := func(name, uid string) {
		_, err := c.Client().CoreV1().PersistentVolumes().Patch(t.Context(), "disk", types.MergePatchType,
			fmt.Appendf(nil, `{"spec":{"claimRef":{"name":%q,"uid":%q}}}`, name, uid), metav1.PatchOptions{})
		require.NoError(t, err)
		c.Settle()
		c.RunFor(time.Minute)
	}
	patch("other", "another")
	require.Equal(t, v1.ClaimLost, c.Claim("data").Status.Phase)
	why, err := c.Lab().Explanation("pvc/data")
	require.NoError(t, err)
	require.Equal(t, explain.VolumeLost, why.Verdict.Code)
	require.Equal(t, "spec.claimRef", why.Verdict.Field)
	require.Equal(t, "default/data", why.Verdict.Want)
	patch("data", string(uid))
	c.RequireBound("data")
}

// Of an object that is not there the error says when it went, or what is near.
func TestTheExplanationOfAnObjectThatIsNotThereSaysWhenItWentOrWhatIsNear(t *testing.T) {
	c := loses(t)
	for ref, near := range map[string]string{
		"pv/disk":       `persistentvolumes "disk" not found (it went 0s ago: user deletes pv disk)`,
		"pvc/dta":       `persistentvolumeclaims "dta" not found (did you mean "data"?)`,
		"pvc/shop/data": `persistentvolumeclaims "data" not found (there is one in namespace default)`,
	} {
		_, err := c.Lab().Explanation(ref)
		require.EqualError(t, err, near)
	}
	_, err := c.Lab().Explanation("quota/x")
	require.ErrorIs(t, err, explain.ErrKind)
}
