package provisioner_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/container-storage-interface/spec/lib/go/csi"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc/codes"
	v1 "k8s.io/api/core/v1"
	storage "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/storagesim/storagesim/binding"
	"github.com/storagesim/storagesim/csi/provisioner"
	"github.com/storagesim/storagesim/engine"
	"github.com/storagesim/storagesim/internal/rigs/csitest"
)

func topology(d *csitest.Driver, _ *provisioner.Config) {
	d.Services = append(d.Services, csi.PluginCapability_Service_VOLUME_ACCESSIBILITY_CONSTRAINTS)
}

func strict(_ *csitest.Driver, c *provisioner.Config) { c.StrictTopology = true }

func waiting(c *storage.StorageClass) {
	c.VolumeBindingMode = ptr(storage.VolumeBindingWaitForFirstConsumer)
}

func allowed(zones ...string) func(*storage.StorageClass) {
	return func(c *storage.StorageClass) {
		c.AllowedTopologies = []v1.TopologySelectorTerm{{MatchLabelExpressions: []v1.TopologySelectorLabelRequirement{{Key: zoneKey, Values: zones}}}}
	}
}

func zones(list []*csi.Topology) []string {
	var found []string
	for _, t := range list {
		found = append(found, t.GetSegments()[zoneKey])
	}
	return found
}

// As recorded: full/csi02_wait_for_first_consumer_topology and csi02b_immediate_topology.
func TestTheDriverIsToldWhereTheVolumeMustBeReachable(t *testing.T) {
	wait, both := []func(*storage.StorageClass){waiting}, []string{"z1", "z2"}
	tests := map[string]struct {
		rig                  []change
		class                []func(*storage.StorageClass)
		claim, node          string
		requisite, preferred []string
	}{
		"of a selected node first":                 {nil, wait, "data", "node-2", both, []string{"z2", "z1"}},
		"of the other node first":                  {nil, wait, "data", "node-1", both, both},
		"strictly of the selected node":            {[]change{strict}, wait, "data", "node-2", []string{"z2"}, []string{"z2"}},
		"within what the class allows":             {nil, append(wait, allowed("z3", "z2")), "data", "node-2", []string{"z2", "z3"}, []string{"z2", "z3"}},
		"strictly, within what the class allows":   {[]change{strict}, append(wait, allowed("z3", "z2")), "data", "node-2", []string{"z2"}, []string{"z2"}},
		"without a node, by the hash of the name":  {nil, nil, "data", "", both, []string{"z2", "z1"}},
		"the first replica of a StatefulSet":       {nil, nil, "data-web-0", "", both, []string{"z2", "z1"}},
		"the second replica of a StatefulSet":      {nil, nil, "data-web-1", "", both, both},
		"another claim of the second replica":      {nil, nil, "log-web-1", "", both, both},
		"without a node, within what class allows": {nil, []func(*storage.StorageClass){allowed("z3")}, "data", "", []string{"z3"}, []string{"z3"}},
		"without a node, of a driver that knows how": {[]change{func(_ *csitest.Driver, c *provisioner.Config) { c.ImmediateTopology = ptr(false) }}, nil, "data",
			"", nil, nil},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, engine.Config{}, append(tt.rig, topology)...)
			r.nodes(map[string]string{"node-1": "z1", "node-2": "z2", "node-3": "z2"})
			r.class(nil, tt.class...)
			r.Settle()
			if tt.node == "" {
				r.claim(tt.claim)
			} else {
				r.claim(tt.claim, onNode(tt.node))
			}
			r.Settle()
			got := csitest.Last[*csi.CreateVolumeRequest](r.driver).GetAccessibilityRequirements()
			assert.Equal(t, tt.requisite, zones(got.GetRequisite()))
			assert.Equal(t, tt.preferred, zones(got.GetPreferred()))
			if len(tt.preferred) > 0 {
				assert.Equal(t, []v1.NodeSelectorTerm{{MatchExpressions: []v1.NodeSelectorRequirement{{
					Key: zoneKey, Operator: v1.NodeSelectorOpIn, Values: tt.preferred[:1],
				}}}}, r.volume().Spec.NodeAffinity.Required.NodeSelectorTerms)
			}
		})
	}
}

// A node counts only under the keys that the driver has registered there, whatever labels it has.
func TestEachSetOfKeysThatTheDriverHasRegisteredIsRequisite(t *testing.T) {
	const rack = "topo.csi.example.com/rack"
	for node, want := range map[string][]map[string]string{
		"":       {{zoneKey: "z1"}, {rack: "r2", zoneKey: "z2"}, {zoneKey: "z2"}},
		"node-1": {{zoneKey: "z1"}, {zoneKey: "z2"}},
		"node-2": {{rack: "r2", zoneKey: "z2"}},
	} {
		r := newRig(t, engine.Config{}, topology)
		r.nodes(map[string]string{"node-1": "z1", "node-2": "z2"})
		nodes, csiNodes := r.User.CoreV1().Nodes(), r.User.StorageV1().CSINodes()
		for _, name := range []string{"node-1", "node-2"} {
			n, err := nodes.Get(ctx, name, metav1.GetOptions{})
			require.NoError(t, err)
			n.Labels[rack] = "r" + name[len(name)-1:]
			_, err = nodes.Update(ctx, n, metav1.UpdateOptions{})
			require.NoError(t, err)
		}
		finer, err := csiNodes.Get(ctx, "node-2", metav1.GetOptions{})
		require.NoError(t, err)
		finer.Spec.Drivers = nil
		finer, err = csiNodes.Update(ctx, finer, metav1.UpdateOptions{})
		require.NoError(t, err)
		finer.Spec.Drivers = []storage.CSINodeDriver{{Name: csitest.Name, NodeID: "id-node-2", TopologyKeys: []string{zoneKey, rack}}}
		_, err = csiNodes.Update(ctx, finer, metav1.UpdateOptions{})
		require.NoError(t, err)
		if node == "" {
			r.class(nil)
			r.Settle()
			r.claim("data")
		} else {
			r.class(nil, waiting)
			r.Settle()
			r.claim("data", onNode(node))
		}
		r.Settle()
		var got []map[string]string
		for _, term := range csitest.Last[*csi.CreateVolumeRequest](r.driver).GetAccessibilityRequirements().GetRequisite() {
			got = append(got, term.GetSegments())
		}
		assert.ElementsMatch(t, want, got, "node %q", node)
	}
}

// section 7 must 13
func TestTheImmediateClaimsOfAStatefulSetSpreadOverTheSegmentsByOrdinal(t *testing.T) {
	first := map[string]string{}
	for _, claim := range []string{"data", "log"} {
		for i := range 4 {
			r := newRig(t, engine.Config{}, topology)
			r.nodes(map[string]string{"node-1": "z1", "node-2": "z2"})
			r.class(nil)
			r.Settle()
			r.claim(fmt.Sprintf("%s-web-%d", claim, i))
			r.Settle()
			preferred := csitest.Last[*csi.CreateVolumeRequest](r.driver).GetAccessibilityRequirements().GetPreferred()
			first[fmt.Sprint(claim, i)] = zones(preferred)[0]
		}
	}
	for i := range 4 {
		require.Equal(t, first[fmt.Sprint("data", i)], first[fmt.Sprint("log", i)], "all claims of replica %d are in one place", i)
		require.NotEqual(t, first[fmt.Sprint("data", i)], first[fmt.Sprint("data", (i+1)%4)], "the next replica is elsewhere")
	}
}

func TestADriverWithoutTopologyIsToldNothingOfIt(t *testing.T) {
	r := newRig(t, engine.Config{}, func(d *csitest.Driver, _ *provisioner.Config) {
		d.Topology = []*csi.Topology{{Segments: map[string]string{zoneKey: "z1"}}}
	})
	r.nodes(map[string]string{"node-1": "z1"})
	r.class(nil, waiting)
	r.claim("data", onNode("node-1"))
	r.Settle()
	assert.Nil(t, csitest.Last[*csi.CreateVolumeRequest](r.driver).GetAccessibilityRequirements())
	assert.Nil(t, r.volume().Spec.NodeAffinity)
}

func TestPlacesOfSeveralKeysAreMultipliedOut(t *testing.T) {
	r := newRig(t, engine.Config{}, topology)
	r.class(nil, func(c *storage.StorageClass) {
		c.AllowedTopologies = []v1.TopologySelectorTerm{
			{MatchLabelExpressions: []v1.TopologySelectorLabelRequirement{{Key: "zone", Values: []string{"b", "a"}}, {Key: "rack", Values: []string{"1", "2"}}}},
			{MatchLabelExpressions: []v1.TopologySelectorLabelRequirement{{Key: "zone", Values: []string{"c"}}}},
		}
	})
	r.claim("data")
	r.Settle()
	var got []map[string]string
	for _, topology := range csitest.Last[*csi.CreateVolumeRequest](r.driver).GetAccessibilityRequirements().GetRequisite() {
		got = append(got, topology.GetSegments())
	}
	assert.Equal(t, []map[string]string{
		{"zone": "c"}, {"rack": "1", "zone": "a"}, {"rack": "1", "zone": "b"}, {"rack": "2", "zone": "a"}, {"rack": "2", "zone": "b"},
	}, got)
}

// semantics: section 7 must 2.
func TestResourceExhaustedGivesTheClaimBackToTheScheduler(t *testing.T) {
	r := newRig(t, engine.Config{}, topology)
	r.nodes(map[string]string{"node-1": "z1", "node-2": "z2"})
	r.class(nil, waiting)
	r.driver.Fail(csitest.Failure{Method: "CreateVolume", Code: codes.ResourceExhausted, Times: 1})
	r.claim("data", onNode("node-1"))
	require.NoError(t, r.Engine.RunFor(time.Minute))
	claim, err := r.User.CoreV1().PersistentVolumeClaims("default").Get(ctx, "data", metav1.GetOptions{})
	require.NoError(t, err)
	assert.NotContains(t, claim.Annotations, binding.AnnSelectedNode)
	assert.Equal(t, []string{"CreateVolume ResourceExhausted"}, r.driver.Methods())

	claim.Annotations[binding.AnnSelectedNode] = "node-2"
	_, err = r.User.CoreV1().PersistentVolumeClaims("default").Update(ctx, claim, metav1.UpdateOptions{})
	require.NoError(t, err)
	r.Settle()
	assert.Equal(t, []string{"z2", "z1"}, zones(csitest.Last[*csi.CreateVolumeRequest](r.driver).GetAccessibilityRequirements().GetPreferred()))
	assert.Len(t, r.volumes(), 1)
}

// Bugs 5 and 6: sig-storage-lib 121 and 152.
func TestANodeThatIsGoneGivesTheClaimBackToTheScheduler(t *testing.T) {
	r := newRig(t, engine.Config{}, topology)
	r.nodes(map[string]string{"node-1": "z1"})
	r.class(nil, waiting)
	r.claim("data", onNode("node-9"))
	require.NoError(t, r.Engine.RunFor(time.Minute))
	assert.Equal(t, `failed to get selected CSINode node-9: csinode.storage.k8s.io "node-9" not found`, r.failed())
	claim, err := r.User.CoreV1().PersistentVolumeClaims("default").Get(ctx, "data", metav1.GetOptions{})
	require.NoError(t, err)
	assert.NotContains(t, claim.Annotations, binding.AnnSelectedNode)
	assert.Empty(t, r.driver.Calls)
}

func TestAVolumeInTheMakingIsAskedForInTheSamePlaceWhenItsNodeIsGone(t *testing.T) {
	r := newRig(t, engine.Config{}, topology)
	r.nodes(map[string]string{"node-1": "z1", "node-2": "z2"})
	r.class(nil, waiting)
	r.driver.Fail(csitest.Failure{Method: "CreateVolume", Code: codes.DeadlineExceeded, After: true, Times: 2})
	r.claim("data", onNode("node-2"))
	require.NoError(t, r.Engine.RunFor(500*time.Millisecond))
	require.NoError(t, r.User.StorageV1().CSINodes().Delete(ctx, "node-2", metav1.DeleteOptions{}))
	require.NoError(t, r.User.CoreV1().Nodes().Delete(ctx, "node-2", metav1.DeleteOptions{}))
	require.NoError(t, r.Engine.RunFor(10*time.Second))
	require.Len(t, r.driver.Calls, 3)
	for _, c := range r.driver.Calls {
		assert.Equal(t, []string{"z2", "z1"}, zones(c.Request.(*csi.CreateVolumeRequest).GetAccessibilityRequirements().GetPreferred()))
	}
	assert.Len(t, r.volumes(), 1)
}

func TestWhereTheTopologyIsNotKnownNothingIsMade(t *testing.T) {
	tests := map[string]struct {
		rig   []change
		class []func(*storage.StorageClass)
		zones map[string]string
		spoil func(r *rig)
		node  string
		want  string
	}{
		"the driver runs nowhere": {
			want: "error generating accessibility requirements: no available topology found",
		},
		"the driver does not run on the selected node": {
			class: []func(*storage.StorageClass){waiting}, node: "node-4",
			spoil: func(r *rig) {
				_, err := r.User.StorageV1().CSINodes().Create(ctx, &storage.CSINode{ObjectMeta: metav1.ObjectMeta{Name: "node-4"}}, metav1.CreateOptions{})
				require.NoError(r, err)
			},
			want: "error generating accessibility requirements: no topology key found for node node-4",
		},
		"the selected node has no such label": {
			class: []func(*storage.StorageClass){waiting}, zones: map[string]string{"node-1": "z1"}, node: "node-1",
			spoil: func(r *rig) { r.unlabel("node-1") },
			want:  "error generating accessibility requirements: topology labels from selected node map[] does not match topology keys from CSINode [" + zoneKey + "]",
		},
		"no node has such a label": {
			zones: map[string]string{"node-1": "z1"},
			spoil: func(r *rig) { r.unlabel("node-1") },
			want:  "error generating accessibility requirements: topologyKeys [[" + zoneKey + "]] were not found on any nodes",
		},
		"the class does not allow the selected node": {
			rig: []change{strict}, class: []func(*storage.StorageClass){waiting, allowed("z2")}, zones: map[string]string{"node-1": "z1"}, node: "node-1",
			want: "error generating accessibility requirements: selected node '\"node-1\"' topology '[{" + zoneKey + " z1}]' is not in allowed topologies: [[{" +
				zoneKey + " z2}]]",
		},
		"the selected node is not among those allowed": {
			class: []func(*storage.StorageClass){waiting, allowed("z2")}, zones: map[string]string{"node-1": "z1"}, node: "node-1",
			want: "error generating accessibility requirements: topology [{" + zoneKey + ` z1}] from selected node "node-1" is not in requisite: [[{` +
				zoneKey + " z2}]]",
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, engine.Config{}, append(tt.rig, topology)...)
			r.nodes(tt.zones)
			if tt.spoil != nil {
				tt.spoil(r)
			}
			r.class(nil, tt.class...)
			r.Settle()
			if tt.node == "" {
				r.claim("data")
			} else {
				r.claim("data", onNode(tt.node))
			}
			require.NoError(t, r.Engine.RunFor(5*time.Second))
			assert.Equal(t, tt.want, r.failed())
			assert.Empty(t, r.driver.Calls)
		})
	}
}

func (r *rig) unlabel(name string) {
	r.Helper()
	node, err := r.User.CoreV1().Nodes().Get(ctx, name, metav1.GetOptions{})
	require.NoError(r, err)
	node.Labels = nil
	_, err = r.User.CoreV1().Nodes().Update(ctx, node, metav1.UpdateOptions{})
	require.NoError(r, err)
}
