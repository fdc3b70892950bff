package scheduler

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

const (
	delayed = "delayed" // class of local volumes made by hand
	dynamic = "dynamic" // class with a provisioner
)

func zoned(zones ...string) func(*storagev1.StorageClass) {
	return func(c *storagev1.StorageClass) {
		c.AllowedTopologies = []v1.TopologySelectorTerm{{MatchLabelExpressions: []v1.TopologySelectorLabelRequirement{{Key: "zone", Values: zones}}}}
	}
}

func driverWithCapacity() *storagev1.CSIDriver {
	yes := true
	return &storagev1.CSIDriver{ObjectMeta: metav1.ObjectMeta{Name: "example.com/ext"}, Spec: storagev1.CSIDriverSpec{StorageCapacity: &yes}}
}

func capacityOf(class, node, total, largest string) *storagev1.CSIStorageCapacity {
	c := &storagev1.CSIStorageCapacity{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "cap-" + node}, StorageClassName: class}
	if node != "" {
		c.NodeTopology = &metav1.LabelSelector{MatchLabels: map[string]string{v1.LabelHostname: node}}
	}
	if total != "" {
		q := resource.MustParse(total)
		c.Capacity = &q
	}
	if largest != "" {
		q := resource.MustParse(largest)
		c.MaximumVolumeSize = &q
	}
	return c
}

// TestFindPodVolumes judges node-1, with label zone=a, for a pod with the claims
// among the objects.
func TestFindPodVolumes(t *testing.T) {
	byHand := testClass(delayed, "kubernetes.io/no-provisioner")
	made := testClass(dynamic, "example.com/ext")
	tests := map[string]struct {
		objects []runtime.Object
		// binds is "claim=volume ...", provisions the claims, conflict the
		// reasons against the node.
		binds, provisions string
		conflict          []ConflictReason
	}{
		"a bound claim whose volume the node reaches": {
			objects: []runtime.Object{testClaim("data", "5Gi", delayed, boundTo("pv")), testVolume("pv", "5Gi", delayed, "node-1")},
		},
		"a bound claim whose volume is on another node": {
			objects:  []runtime.Object{testClaim("data", "5Gi", delayed, boundTo("pv")), testVolume("pv", "5Gi", delayed, "node-2")},
			conflict: []ConflictReason{ErrReasonNodeConflict},
		},
		"a bound claim whose volume does not exist": {
			objects:  []runtime.Object{testClaim("data", "5Gi", delayed, boundTo("gone"))},
			conflict: []ConflictReason{ErrReasonPVNotExist},
		},
		"the node's own volume, not the other's": {
			objects: []runtime.Object{byHand, testClaim("data", "5Gi", delayed), testVolume("a", "5Gi", delayed, "node-2"), testVolume("b", "9Gi", delayed, "node-1")},
			binds:   "data=b",
		},
		"semantics 2 must 5: the smaller claim is matched first and no volume twice": {
			objects: []runtime.Object{
				byHand, testClaim("big", "8Gi", delayed), testClaim("small", "1Gi", delayed),
				testVolume("ten", "10Gi", delayed, "node-1"), testVolume("nine", "9Gi", delayed, "node-1"),
			},
			binds: "small=nine big=ten",
		},
		"semantics 2 must 5: two claims and one volume": {
			objects:  []runtime.Object{byHand, testClaim("one", "1Gi", delayed), testClaim("two", "1Gi", delayed), testVolume("pv", "10Gi", delayed, "node-1")},
			conflict: []ConflictReason{ErrReasonBindConflict},
		},
		"semantics 2 must 6: a claim with another selected node, although a volume here would do": {
			objects:  []runtime.Object{byHand, testClaim("data", "5Gi", delayed, selectedNode("node-2")), testVolume("pv", "5Gi", delayed, "node-1")},
			conflict: []ConflictReason{ErrReasonBindConflict},
		},
		"a claim with this selected node is provisioned here, although a volume would do": {
			objects:    []runtime.Object{made, testClaim("data", "5Gi", dynamic, selectedNode("node-1")), testVolume("pv", "5Gi", dynamic, "node-1")},
			provisions: "data",
		},
		"semantics 2 must 10: nothing to bind and no provisioner": {
			objects:  []runtime.Object{byHand, testClaim("data", "5Gi", delayed)},
			conflict: []ConflictReason{ErrReasonBindConflict},
		},
		"semantics 2 must 11: a volume reserved for the claim on another node means no other": {
			objects: []runtime.Object{
				byHand, testClaim("data", "5Gi", delayed), testVolume("free", "5Gi", delayed, "node-1"),
				testVolume("a-reserved", "5Gi", delayed, "node-2", func(pv *v1.PersistentVolume) {
					pv.Spec.ClaimRef = &v1.ObjectReference{Namespace: "default", Name: "data"}
				}),
			},
			conflict: []ConflictReason{ErrReasonBindConflict},
		},
		"no volume fits, so it is provisioned": {
			objects:    []runtime.Object{made, testClaim("data", "5Gi", dynamic), testVolume("small", "1Gi", dynamic, "node-1")},
			provisions: "data",
		},
		"the class allows the node's zone": {
			objects:    []runtime.Object{testClass(dynamic, "example.com/ext", zoned("b", "a")), testClaim("data", "5Gi", dynamic)},
			provisions: "data",
		},
		"the class does not allow the node's zone": {
			objects:  []runtime.Object{testClass(dynamic, "example.com/ext", zoned("b")), testClaim("data", "5Gi", dynamic)},
			conflict: []ConflictReason{ErrReasonBindConflict},
		},
		"a topology term without requirements allows no node": {
			objects: []runtime.Object{
				testClass(dynamic, "example.com/ext", func(c *storagev1.StorageClass) { c.AllowedTopologies = []v1.TopologySelectorTerm{{}} }),
				testClaim("data", "5Gi", dynamic),
			},
			conflict: []ConflictReason{ErrReasonBindConflict},
		},
		"semantics 2 must 9: a driver that publishes capacity and has none here": {
			objects:  []runtime.Object{made, testClaim("data", "5Gi", dynamic), driverWithCapacity(), capacityOf(dynamic, "node-2", "10Gi", "")},
			conflict: []ConflictReason{ErrReasonNotEnoughSpace},
		},
		"room here": {
			objects:    []runtime.Object{made, testClaim("data", "5Gi", dynamic), driverWithCapacity(), capacityOf(dynamic, "node-1", "5Gi", "")},
			provisions: "data",
		},
		"room here, but not in one piece": {
			objects:  []runtime.Object{made, testClaim("data", "5Gi", dynamic), driverWithCapacity(), capacityOf(dynamic, "node-1", "50Gi", "4Gi")},
			conflict: []ConflictReason{ErrReasonNotEnoughSpace},
		},
		"capacity without a topology is nobody's": {
			objects:  []runtime.Object{made, testClaim("data", "5Gi", dynamic), driverWithCapacity(), capacityOf(dynamic, "", "50Gi", "")},
			conflict: []ConflictReason{ErrReasonNotEnoughSpace},
		},
		"capacity without a size is none": {
			objects:  []runtime.Object{made, testClaim("data", "5Gi", dynamic), driverWithCapacity(), capacityOf(dynamic, "node-1", "", "")},
			conflict: []ConflictReason{ErrReasonNotEnoughSpace},
		},
		"capacity of another class does not help": {
			objects:  []runtime.Object{made, testClaim("data", "5Gi", dynamic), driverWithCapacity(), capacityOf("other", "node-1", "50Gi", "")},
			conflict: []ConflictReason{ErrReasonNotEnoughSpace},
		},
		"reasons of several claims come in upstream's order": {
			objects: []runtime.Object{
				byHand, testClaim("a", "5Gi", delayed), testClaim("b", "5Gi", delayed, boundTo("pv")), testVolume("pv", "5Gi", delayed, "node-2"),
			},
			conflict: []ConflictReason{ErrReasonNodeConflict, ErrReasonBindConflict},
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			node := testNode("node-1", func(n *v1.Node) { n.Labels["zone"] = "a" })
			s := stillScheduler(Config{}, append(tt.objects, node))
			binder := newVolumeBinder(stillEnv{}, s.caches, Config{})
			var names []string
			for claim := range s.caches.claims.All() {
				names = append(names, claim.Name)
			}
			claims, err := binder.GetPodVolumeClaims(testPod("web", names...))
			require.NoError(t, err)
			require.Empty(t, claims.unboundClaimsImmediate)

			volumes, conflicts, err := binder.FindPodVolumes(claims, node)
			require.NoError(t, err)
			var reasons []string
			for _, reason := range tt.conflict {
				reasons = append(reasons, string(reason))
			}
			assert.Equal(t, reasons, conflicts.Reasons())
			for _, conflict := range conflicts {
				assert.NotEmpty(t, conflict.Claim)
				assert.NotEmpty(t, conflict.Detail)
			}
			if len(conflicts) > 0 {
				return
			}
			var binds, provisions []string
			for _, b := range volumes.StaticBindings {
				binds = append(binds, b.pvc.Name+"="+b.pv.Name)
			}
			for _, c := range volumes.DynamicProvisions {
				provisions = append(provisions, c.Name)
			}
			assert.Equal(t, tt.binds, strings.Join(binds, " "))
			assert.Equal(t, tt.provisions, strings.Join(provisions, " "))
			assert.Empty(t, binder.pvs.overlay, "semantics 2 must 1: it only reads")
			assert.Empty(t, binder.pvcs.overlay, "semantics 2 must 1: it only reads")
		})
	}
}

func TestAClassThatVanishedBetweenPreFilterAndFilterIsAnError(t *testing.T) {
	s := stillScheduler(Config{}, nil)
	binder := newVolumeBinder(stillEnv{}, s.caches, Config{})
	_, err := binder.checkVolumeProvisions([]*delayedClaim{{PersistentVolumeClaim: testClaim("data", "1Gi", "gone")}}, testNode("node-1"))
	assert.EqualError(t, err, `failed to find storage class "gone"`)
	_, err = binder.checkVolumeProvisions([]*delayedClaim{{PersistentVolumeClaim: testClaim("data", "1Gi", "")}}, testNode("node-1"))
	assert.EqualError(t, err, `no class for claim "default/data"`)
}

func TestGetPodVolumeClaimsSortsClaimsByWhatIsToBeDone(t *testing.T) {
	immediate := storagev1.VolumeBindingImmediate
	s := stillScheduler(Config{}, []runtime.Object{
		testClass(delayed, "kubernetes.io/no-provisioner"),
		testClass("now", "x", func(c *storagev1.StorageClass) { c.VolumeBindingMode = &immediate }),
		testClaim("bound", "1Gi", delayed, boundTo("pv")),
		testClaim("waits", "1Gi", delayed),
		testClaim("named", "1Gi", delayed, func(c *v1.PersistentVolumeClaim) { c.Spec.VolumeName = "pv" }),
		testClaim("now", "1Gi", "now"),
		testClaim("classless", "1Gi", ""),
		testClaim("vanished", "1Gi", "vanished"),
		testVolume("one", "1Gi", delayed, ""), testVolume("two", "1Gi", "now", ""),
	})
	binder := newVolumeBinder(stillEnv{}, s.caches, Config{})
	got, err := binder.GetPodVolumeClaims(testPod("web", "bound", "waits", "named", "now", "classless", "vanished", "waits"))
	require.NoError(t, err)
	names := func(claims []*v1.PersistentVolumeClaim) (list []string) {
		for _, c := range claims {
			list = append(list, c.Name)
		}
		return list
	}
	assert.Equal(t, []string{"bound"}, names(got.boundClaims))
	assert.Equal(t, []string{"waits", "waits"}, names(got.unboundClaimsDelayBinding), "a claim named twice is given twice, as upstream")
	assert.Equal(t, []string{"named", "now", "classless", "vanished"}, names(got.unboundClaimsImmediate))
}

// lastEnv chooses the last of equals.
type lastEnv struct{ stillEnv }

func (lastEnv) Choose(n int) int { return n - 1 }

func TestAChoiceAmongEqualVolumesTakesNoClaimItsOnlyVolume(t *testing.T) {
	picky := testClaim("picky", "5Gi", delayed, func(c *v1.PersistentVolumeClaim) {
		c.Spec.Selector = &metav1.LabelSelector{MatchLabels: map[string]string{"disk": "fast"}}
	})
	node := testNode("node-1")
	s := stillScheduler(Config{}, []runtime.Object{
		node, testClass(delayed, "kubernetes.io/no-provisioner"), testClaim("any", "5Gi", delayed), picky,
		testVolume("pv-1", "5Gi", delayed, ""), testVolume("pv-2", "5Gi", delayed, "", labelled("disk", "fast")),
	})
	p := volumeBinding{binder: newVolumeBinder(lastEnv{}, s.caches, Config{})}
	bound := func(claims ...string) map[string]string {
		wanted, err := p.binder.GetPodVolumeClaims(testPod("web", claims...))
		require.NoError(t, err)
		volumes, err := p.chooseVolumes(wanted, node)
		require.NoError(t, err)
		byClaim := map[string]string{}
		for _, b := range volumes.StaticBindings {
			byClaim[b.pvc.Name] = b.pv.Name
		}
		return byClaim
	}
	assert.Equal(t, map[string]string{"any": "pv-2"}, bound("any"), "the last of the equal ones")
	assert.Equal(t, map[string]string{"any": "pv-1", "picky": "pv-2"}, bound("any", "picky"))
}
