package provisioner_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/container-storage-interface/spec/lib/go/csi"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc/codes"
	storage "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/storagesim/storagesim/binding"
	"github.com/storagesim/storagesim/csi/provisioner"
	"github.com/storagesim/storagesim/engine"
	"github.com/storagesim/storagesim/internal/rigs/csitest"
	"github.com/storagesim/storagesim/internal/rigs/enginetest"
)

// nodeRig is a driver with a provisioner on each of two nodes, each of them a zone.
type nodeRig struct {
	rig
	drivers map[string]*csitest.Driver
}

func newNodeRig(t testing.TB, cfg engine.Config, left room, changes ...change) *nodeRig {
	t.Helper()
	n := &nodeRig{drivers: map[string]*csitest.Driver{}}
	for i, name := range []string{"node-1", "node-2"} {
		d := csitest.New()
		zone := fmt.Sprintf("z%d", i+1)
		d.Node = &csi.NodeGetInfoResponse{NodeId: "id-" + name, AccessibleTopology: &csi.Topology{Segments: map[string]string{zoneKey: zone}}}
		pcfg := provisioner.Config{Driver: csitest.Name, Dial: d.Dial, NodeDeployment: &provisioner.NodeDeployment{Node: name}}
		for _, f := range append([]change{topology, strict, left.withRoom}, changes...) {
			f(d, &pcfg)
		}
		n.drivers[name] = d
		if i == 0 {
			n.rig = rig{enginetest.New(t, cfg, actor+"/"+name, provisioner.New(pcfg)), d}
		} else {
			require.NoError(t, n.Engine.Add(actor+"/"+name, provisioner.New(pcfg)))
		}
	}
	return n
}

// creates returns the number of times that a node's driver made a volume.
func (n *nodeRig) creates(node string) (times int) {
	for _, method := range n.drivers[node].Methods() {
		if method == "CreateVolume" {
			times++
		}
	}
	return times
}

func plenty() room { return room{"z1": 10 << 30, "z2": 10 << 30} }

func TestOnANodeOnlyClaimsOfThatNodeGetVolumes(t *testing.T) {
	r := newNodeRig(t, engine.Config{}, plenty())
	r.class(nil, waiting)
	r.claim("for-2", onNode("node-2"))
	r.claim("for-none")
	r.claim("for-3", onNode("node-3"))
	r.run(time.Hour)
	assert.Equal(t, 0, r.creates("node-1"))
	assert.Equal(t, 1, r.creates("node-2"))
	pv := r.volume()
	assert.Equal(t, "z2", pv.Spec.NodeAffinity.Required.NodeSelectorTerms[0].MatchExpressions[0].Values[0])
	assert.True(t, strings.HasSuffix(pv.Spec.CSI.VolumeAttributes["storage.kubernetes.io/csiProvisionerIdentity"], csitest.Name+"-node-2"))

	r.release(pv.Name)
	r.run(time.Minute)
	assert.NotContains(t, r.drivers["node-1"].Methods(), "DeleteVolume")
	assert.Contains(t, r.drivers["node-2"].Methods(), "DeleteVolume")
}

func TestAClaimThatBindsAtOnceIsTakenByOneNode(t *testing.T) {
	for seed := range uint64(20) {
		r := newNodeRig(t, engine.Config{Policy: engine.Seeded(seed)}, plenty())
		r.class(nil)
		r.claim("data")
		r.run(3 * time.Minute)
		pv := r.volume()
		claim, err := r.User.CoreV1().PersistentVolumeClaims("default").Get(ctx, "data", metav1.GetOptions{})
		require.NoError(t, err)
		node := claim.Annotations[binding.AnnSelectedNode]
		require.Contains(t, []string{"node-1", "node-2"}, node)
		require.Equal(t, 1, r.creates(node), "seed %d", seed)
		require.Equal(t, 1, r.creates("node-1")+r.creates("node-2"))
		require.Equal(t, "z"+node[len(node)-1:], pv.Spec.NodeAffinity.Required.NodeSelectorTerms[0].MatchExpressions[0].Values[0])
		require.Empty(t, r.failed())
	}
}

func TestAClaimIsNotTakenForANodeWithTooLittleRoomOrWhereItsClassDoesNotAllowIt(t *testing.T) {
	none := func(*storage.StorageClass) {}
	for name, c := range map[string]struct {
		left  room
		class func(*storage.StorageClass)
		want  string
	}{
		"too little room on the first":   {room{"z1": 1 << 20, "z2": 10 << 30}, none, "node-2"},
		"too little room on the second":  {room{"z1": 10 << 30, "z2": 1 << 20}, none, "node-1"},
		"not allowed on the first":       {plenty(), allowed("z2", "z3"), "node-2"},
		"not allowed on the second":      {plenty(), allowed("z1"), "node-1"},
		"too little room on both":        {room{}, none, ""},
		"allowed on another node's zone": {plenty(), allowed("z3"), ""},
	} {
		t.Run(name, func(t *testing.T) {
			r := newNodeRig(t, engine.Config{}, c.left)
			r.class(nil, c.class)
			r.claim("data")
			r.run(3 * time.Minute)
			for _, node := range []string{"node-1", "node-2"} {
				want := 0
				if node == c.want {
					want = 1
				}
				require.Equal(t, want, r.creates(node), node)
			}
		})
	}
}

func TestWithoutImmediateBindingNoNodeTakesAClaim(t *testing.T) {
	r := newNodeRig(t, engine.Config{}, plenty(), func(_ *csitest.Driver, c *provisioner.Config) { c.NodeDeployment.NoImmediateBinding = true })
	r.class(nil)
	r.claim("data")
	r.run(time.Hour)
	require.Empty(t, r.volumes())
}

func TestAClaimWhoseNodeCannotServeItIsGivenToAnother(t *testing.T) {
	r := newNodeRig(t, engine.Config{}, plenty())
	for _, d := range r.drivers {
		d.Fail(csitest.Failure{Method: "CreateVolume", Code: codes.ResourceExhausted, Times: 1})
	}
	r.class(nil)
	r.claim("data")
	r.run(10 * time.Minute)
	require.Equal(t, 1, r.creates("node-1")+r.creates("node-2"))
	require.NotEmpty(t, r.volume().Name)
}

func TestOnANodeCapacityIsPublishedForThatNode(t *testing.T) {
	r := newNodeRig(t, engine.Config{}, room{"z1": 5 << 30, "z2": 7 << 30})
	r.class(nil, waiting)
	require.NoError(t, r.Engine.Settle())
	assert.Equal(t, []string{"fast at z1: 5Gi", "fast at z2: 7Gi"}, r.published())
	var managers []string
	for _, c := range r.capacities() {
		managers = append(managers, c.Labels["csi.storage.k8s.io/managed-by"])
	}
	assert.ElementsMatch(t, []string{"external-provisioner-node-1", "external-provisioner-node-2"}, managers)
}

func TestANodesProvisionerNeedsTheNameOfItsNode(t *testing.T) {
	for want, n := range map[string]provisioner.NodeDeployment{
		"Config.NodeDeployment.Node is empty; it must be the name of the node":              {},
		"Config.NodeDeployment.BaseDelay is -1s; it must be positive, or 0 for the default": {Node: "node-1", BaseDelay: -time.Second},
	} {
		err := provisioner.New(provisioner.Config{Driver: "d", Dial: csitest.New().Dial, NodeDeployment: &n})(nil)
		require.ErrorContains(t, err, want)
	}
}
