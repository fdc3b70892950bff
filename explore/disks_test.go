package explore_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"

	"github.com/storagesim/storagesim/explore"
	"github.com/storagesim/storagesim/provisioner"
)

// byName makes a directory of the claim's name, which two namespaces may have.
type byName struct{ forty forty }

func (b byName) Provision(ctx context.Context, o provisioner.ProvisionOptions) (*v1.PersistentVolume, provisioner.ProvisioningState, error) {
	volume := o.PVName
	o.PVName = o.PVC.Name
	pv, state, err := b.forty.Provision(ctx, o)
	if pv != nil {
		pv.Name = volume
	}
	return pv, state, err
}

func (b byName) Delete(ctx context.Context, volume *v1.PersistentVolume) error {
	return b.forty.Delete(ctx, volume)
}

const namedClass = `
apiVersion: storage.k8s.io/v1
kind: StorageClass
metadata: {name: named}
provisioner: example.com/named
reclaimPolicy: POLICY
`

const namedClaim = `
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: data, namespace: NAMESPACE}
spec: {storageClassName: named, accessModes: [ReadWriteMany], resources: {requests: {storage: 1Gi}}}
`

func namedIn(namespace string) string { return strings.Replace(namedClaim, "NAMESPACE", namespace, 1) }

func TestTwoClaimsWithOneDiskAreAFailure(t *testing.T) {
	const first, second = "{apiVersion: v1, kind: Namespace, metadata: {name: a}}", "{apiVersion: v1, kind: Namespace, metadata: {name: b}}"
	for about, tt := range map[string]struct {
		policy string
		play   func(c *explore.Cluster)
		fails  bool
	}{
		"claims of one name": {"Delete", func(c *explore.Cluster) {
			c.Apply(first, second, namedIn("a"))
			c.Settle()
			c.Apply(namedIn("b"))
			c.Settle()
		}, true},
		"a claim that is made again, while its volume is kept": {"Retain", func(c *explore.Cluster) {
			c.Apply(namedIn("default"))
			c.Settle()
			c.Delete("pvc/data")
			c.Settle()
			c.Apply(namedIn("default"))
			c.Settle()
		}, true},
		"a claim that is made again, when its volume is gone": {"Delete", func(c *explore.Cluster) {
			c.Apply(namedIn("default"))
			c.Settle()
			c.Delete("pvc/data")
			c.Settle()
			c.Apply(namedIn("default"))
			c.Settle()
			c.Delete("pvc/data")
			c.Settle()
		}, false},
	} {
		t.Run(about, func(t *testing.T) {
			scenario := explore.Scenario(func(c *explore.Cluster) {
				c.AddProvisioner("example.com/named", byName{forty{c.AddNFSServer("nas", "/srv")}})
				c.Apply(strings.Replace(namedClass, "POLICY", tt.policy, 1))
				tt.play(c)
			})
			_, err := explore.Run(t.Context(), explore.Config{Runs: 1}, scenario)
			if !tt.fails {
				require.NoError(t, err)
				return
			}
			f, ok := errors.AsType[*explore.Failure](err)
			require.True(t, ok, "%v", err)
			require.Equal(t, explore.OneDisk, f.Reason().Rule)
			require.Regexp(t, `^one disk: pv/pvc-\S+ has its data where pv/pvc-\S+, which was made for another claim, has it: nas:/srv/data$`, f.Err.Error())
		})
	}
}
