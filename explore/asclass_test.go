package explore_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"

	"github.com/storagesim/storagesim"
	"github.com/storagesim/storagesim/explore"
	"github.com/storagesim/storagesim/provisioner"
)

// inZone is a provisioner of NFS volumes, each of which the nodes of one zone reach.
type inZone struct{ forty }

func (p *inZone) Provision(ctx context.Context, o provisioner.ProvisionOptions) (*v1.PersistentVolume, provisioner.ProvisioningState, error) {
	pv, state, err := p.forty.Provision(ctx, o)
	if pv != nil {
		zone := v1.NodeSelectorRequirement{Key: v1.LabelTopologyZone, Operator: v1.NodeSelectorOpIn, Values: []string{o.StorageClass.Parameters["zone"]}}
		pv.Spec.MountOptions = strings.Fields(o.StorageClass.Parameters["options"])
		pv.Spec.NodeAffinity = &v1.VolumeNodeAffinity{Required: &v1.NodeSelector{NodeSelectorTerms: []v1.NodeSelectorTerm{
			{MatchExpressions: []v1.NodeSelectorRequirement{zone}},
		}}}
	}
	return pv, state, err
}

func TestAVolumeIsAsItsClassSays(t *testing.T) {
	for name, tt := range map[string]struct{ class, want string }{
		"the zone": {"parameters: {zone: b}, allowedTopologies: ONLY-B", ""},
		"another zone": {"parameters: {zone: a}, allowedTopologies: ONLY-B",
			"with a nodeAffinity for node-a alone; its class disks has allowedTopologies for other nodes"},
		"no zone is named":          {"parameters: {zone: a}", ""},
		"a zone without nodes":      {"parameters: {zone: c}, allowedTopologies: ONLY-B", ""},
		"the options, and one more": {"parameters: {zone: a, options: soft nfsvers=4.1}, mountOptions: [nfsvers=4.1]", ""},
		"another option": {"parameters: {zone: a, options: soft}, mountOptions: [nfsvers=4.1]",
			"with mountOptions [soft]; its class disks has mountOptions [nfsvers=4.1]"},
	} {
		t.Run(name, func(t *testing.T) {
			var nodes []storagesim.Node
			for _, zone := range []string{"a", "b"} {
				nodes = append(nodes, storagesim.Node{Name: "node-" + zone, Labels: map[string]string{v1.LabelTopologyZone: zone}})
			}
			cfg := explore.Config{Runs: 1, Cluster: storagesim.Config{Nodes: nodes}}
			_, err := explore.Run(t.Context(), cfg, explore.Scenario(func(c *explore.Cluster) {
				c.AddProvisioner("example.com/disks", &inZone{forty{c.AddNFSServer("nas", "/srv")}})
				class := strings.ReplaceAll(tt.class, "ONLY-B", "[{matchLabelExpressions: [{key: topology.kubernetes.io/zone, values: [b]}]}]")
				c.Apply("{apiVersion: storage.k8s.io/v1, kind: StorageClass, metadata: {name: disks}, provisioner: example.com/disks, "+class+"}",
					strings.Replace(strings.SplitN(shelfClaim, "---", 2)[1], "storageClassName: shelf", "storageClassName: disks", 1))
				c.Settle()
			}))
			if tt.want == "" {
				require.NoError(t, err)
				return
			}
			f, ok := errors.AsType[*explore.Failure](err)
			require.True(t, ok, "%v", err)
			require.Equal(t, explore.AsClass, f.Rule())
			require.ErrorContains(t, err, tt.want)
		})
	}
}
