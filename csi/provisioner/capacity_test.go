package provisioner_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/container-storage-interface/spec/lib/go/csi"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/types/known/wrapperspb"
	storage "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/storagesim/storagesim/csi/provisioner"
	"github.com/storagesim/storagesim/engine"
	"github.com/storagesim/storagesim/internal/rigs/csitest"
)

// room is the capacity of a driver in each zone.
type room map[string]int64

// withRoom makes the provisioner publish it.
func (left room) withRoom(d *csitest.Driver, c *provisioner.Config) {
	d.Capacity = func(req *csi.GetCapacityRequest) *csi.GetCapacityResponse {
		return &csi.GetCapacityResponse{AvailableCapacity: left[req.GetAccessibleTopology().GetSegments()[zoneKey]]}
	}
	c.EnableCapacity = true
}

// published returns the objects as "CLASS at ZONE: CAPACITY", in order.
func (r *rig) published() (all []string) {
	r.Helper()
	for _, c := range r.capacities() {
		size := "?"
		if c.Capacity != nil {
			size = c.Capacity.String()
		}
		text := fmt.Sprintf("%s at %s: %s", c.StorageClassName, c.NodeTopology.MatchLabels[zoneKey], size)
		if c.MaximumVolumeSize != nil {
			text += " in volumes of " + c.MaximumVolumeSize.String()
		}
		all = append(all, text)
	}
	slices.Sort(all)
	return all
}

func (r *rig) capacities() []storage.CSIStorageCapacity {
	r.Helper()
	list, err := r.User.StorageV1().CSIStorageCapacities("").List(ctx, metav1.ListOptions{})
	require.NoError(r, err)
	return list.Items
}

// times returns the number of times that the driver was asked for its capacity.
func (r *rig) times() (n int) {
	for _, method := range r.driver.Methods() {
		if strings.HasPrefix(method, "GetCapacity") {
			n++
		}
	}
	return n
}

func (r *rig) run(d time.Duration) {
	r.Helper()
	require.NoError(r, r.Engine.RunFor(d))
}

func TestCapacityIsPublishedForEachSegmentAndClassThatWaits(t *testing.T) {
	r := newRig(t, engine.Config{}, topology, room{"z1": 5 << 30, "z2": 7 << 30}.withRoom)
	r.nodes(map[string]string{"node-1": "z1", "node-2": "z2", "node-3": "z2"})
	r.class(map[string]string{"kind": "ssd"}, waiting)
	r.class(nil, func(c *storage.StorageClass) { c.Name = "immediate" })
	r.class(nil, waiting, func(c *storage.StorageClass) { c.Name, c.Provisioner = "foreign", "other.example.com" })
	require.NoError(t, r.Engine.Settle())
	assert.Equal(t, []string{"fast at z1: 5Gi", "fast at z2: 7Gi"}, r.published())
	assert.Equal(t, map[string]string{"kind": "ssd"}, csitest.Last[*csi.GetCapacityRequest](r.driver).GetParameters())
	for _, c := range r.capacities() {
		assert.Regexp(t, "^csisc-", c.Name)
		assert.Equal(t, "default", c.Namespace)
		assert.Empty(t, c.OwnerReferences)
		assert.Equal(t, map[string]string{"csi.storage.k8s.io/drivername": csitest.Name, "csi.storage.k8s.io/managed-by": "external-provisioner"}, c.Labels)
	}

	require.NoError(t, r.User.CoreV1().Nodes().Delete(ctx, "node-3", metav1.DeleteOptions{}))
	require.NoError(t, r.Engine.Settle())
	assert.Len(t, r.published(), 2, "another node has the segment")
	require.NoError(t, r.User.CoreV1().Nodes().Delete(ctx, "node-2", metav1.DeleteOptions{}))
	require.NoError(t, r.Engine.Settle())
	assert.Equal(t, []string{"fast at z1: 5Gi"}, r.published())
	require.NoError(t, r.User.StorageV1().StorageClasses().Delete(ctx, "fast", metav1.DeleteOptions{}))
	require.NoError(t, r.Engine.Settle())
	assert.Empty(t, r.published())
}

func TestADriverWithoutTopologyHasOneCapacityForAllNodes(t *testing.T) {
	owner := &metav1.OwnerReference{APIVersion: "apps/v1", Kind: "Deployment", Name: "driver", UID: "u-1", Controller: ptr(true)}
	r := newRig(t, engine.Config{}, room{"": 3 << 30}.withRoom, func(_ *csitest.Driver, c *provisioner.Config) {
		c.Capacity = provisioner.Capacity{Owner: owner, ImmediateBinding: true}
	})
	_, err := r.User.StorageV1().CSINodes().Create(ctx, &storage.CSINode{
		ObjectMeta: metav1.ObjectMeta{Name: "node-1"}, Spec: storage.CSINodeSpec{Drivers: []storage.CSINodeDriver{{Name: csitest.Name, NodeID: "id"}}},
	}, metav1.CreateOptions{})
	require.NoError(t, err)
	r.nodes(map[string]string{"node-2": ""})
	require.NoError(t, r.User.StorageV1().CSINodes().Delete(ctx, "node-2", metav1.DeleteOptions{}))
	r.class(nil)
	require.NoError(t, r.Engine.Settle())
	assert.Empty(t, r.published(), "the driver is on no node that there is")
	require.NoError(t, r.User.CoreV1().Nodes().Delete(ctx, "node-2", metav1.DeleteOptions{}))
	r.plainNode("node-1")
	require.NoError(t, r.Engine.Settle())
	require.Equal(t, []string{"fast at : 3Gi"}, r.published())
	c := r.capacities()[0]
	require.NotNil(t, c.NodeTopology)
	assert.Empty(t, c.NodeTopology.MatchLabels, "it selects all nodes")
	assert.Equal(t, []metav1.OwnerReference{*owner}, c.OwnerReferences)
}

func TestTheDriverIsAskedAgainWhenVolumesComeAndGoAndEveryMinute(t *testing.T) {
	left := room{"z1": 5 << 30, "z2": 7 << 30}
	r := newRig(t, engine.Config{}, topology, left.withRoom)
	r.nodes(map[string]string{"node-1": "z1", "node-2": "z2"})
	r.class(nil, waiting)
	require.NoError(t, r.Engine.Settle())
	require.Equal(t, 2, r.times())

	left["z2"] = 6 << 30
	r.claim("data", onNode("node-2"))
	require.NoError(t, r.Engine.Settle())
	assert.Equal(t, 3, r.times(), "for the volume's segment")
	assert.Equal(t, []string{"fast at z1: 5Gi", "fast at z2: 6Gi"}, r.published())

	left["z2"] = 7 << 30
	r.forget("data")
	r.release(r.volume().Name)
	require.NoError(t, r.Engine.Settle())
	assert.Equal(t, 4, r.times())
	assert.Equal(t, []string{"fast at z1: 5Gi", "fast at z2: 7Gi"}, r.published())

	left["z1"] = 1 << 30
	r.run(time.Minute)
	assert.Equal(t, 6, r.times())
	assert.Equal(t, []string{"fast at z1: 1Gi", "fast at z2: 7Gi"}, r.published())

	r.driver.Fail(csitest.Failure{Method: "CreateVolume", Code: codes.ResourceExhausted, Times: 1})
	r.claim("more", onNode("node-1"))
	require.NoError(t, r.Engine.Settle())
	assert.Equal(t, 8, r.times(), "for the whole class")
}

func TestAnObjectOfNoPairIsDeletedAndOneThatWasDeletedIsMadeAgain(t *testing.T) {
	r := newRig(t, engine.Config{}, topology, room{"z1": 5 << 30}.withRoom)
	labels := map[string]string{"csi.storage.k8s.io/drivername": csitest.Name, "csi.storage.k8s.io/managed-by": "external-provisioner"}
	stray := func(name, class string, labels map[string]string) {
		_, err := r.User.StorageV1().CSIStorageCapacities("default").Create(ctx, &storage.CSIStorageCapacity{
			ObjectMeta: metav1.ObjectMeta{Name: name, Labels: labels}, StorageClassName: class,
			NodeTopology: &metav1.LabelSelector{MatchLabels: map[string]string{zoneKey: "z1"}},
		}, metav1.CreateOptions{})
		require.NoError(t, err)
	}
	stray("of-an-old-class", "old", labels)
	stray("of-another-program", "old", nil)
	r.nodes(map[string]string{"node-1": "z1"})
	r.class(nil, waiting)
	require.NoError(t, r.Engine.Settle())
	stray("second", "fast", labels)
	require.NoError(t, r.Engine.Settle())
	for range 2 {
		all := r.capacities()
		require.Len(t, all, 2)
		require.Regexp(t, "^csisc-", all[0].Name)
		require.Equal(t, "fast", all[0].StorageClassName)
		require.Equal(t, "of-another-program", all[1].Name)
		require.NoError(t, r.User.StorageV1().CSIStorageCapacities("default").Delete(ctx, all[0].Name, metav1.DeleteOptions{}))
		require.NoError(t, r.Engine.Settle())
	}
}

func TestACapacityThatCannotBeHadIsAskedForAgain(t *testing.T) {
	r := newRig(t, engine.Config{}, topology, room{"z1": 5 << 30}.withRoom, func(d *csitest.Driver, _ *provisioner.Config) {
		answer := d.Capacity
		d.Capacity = func(req *csi.GetCapacityRequest) *csi.GetCapacityResponse {
			a := answer(req)
			a.MaximumVolumeSize = wrapperspb.Int64(1 << 30)
			return a
		}
		d.Fail(csitest.Failure{Method: "GetCapacity", Code: codes.Internal, Times: 2})
	})
	r.nodes(map[string]string{"node-1": "z1"})
	r.class(nil, waiting)
	r.run(10 * time.Second)
	assert.Equal(t, []string{"GetCapacity Internal", "GetCapacity Internal", "GetCapacity"}, r.driver.Methods())
	assert.Equal(t, []string{"fast at z1: 5Gi in volumes of 1Gi"}, r.published())
}

func TestAProvisionerThatCrashesLeavesOneObjectForEachPair(t *testing.T) {
	for points := range 40 {
		r := newRig(t, engine.Config{}, topology, room{"z1": 5 << 30, "z2": 7 << 30}.withRoom)
		r.nodes(map[string]string{"node-1": "z1", "node-2": "z2"})
		r.class(nil, waiting)
		for range points {
			_, err := r.Engine.Step()
			require.NoError(t, err)
		}
		require.NoError(t, r.Engine.CrashFor(actor, time.Second))
		r.run(2 * time.Minute)
		require.Equal(t, []string{"fast at z1: 5Gi", "fast at z2: 7Gi"}, r.published(), "after a crash at step %d", points)
	}
}
