package scheduler_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	storagev1 "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/storagesim/storagesim/engine"
)

// room publishes what the driver of the class "dynamic" has on a node; a size "" leaves the field out.
func (w *world) room(node, capacity, largest string) {
	w.t.Helper()
	object := &storagev1.CSIStorageCapacity{
		ObjectMeta: metav1.ObjectMeta{Name: "on-" + node}, StorageClassName: "dynamic",
		NodeTopology: &metav1.LabelSelector{MatchLabels: map[string]string{v1.LabelHostname: node}},
	}
	if capacity != "" {
		object.Capacity = new(resource.MustParse(capacity))
	}
	if largest != "" {
		object.MaximumVolumeSize = new(resource.MustParse(largest))
	}
	_, err := w.api.StorageV1().CSIStorageCapacities("default").Create(w.ctx, object, metav1.CreateOptions{})
	require.NoError(w.t, err)
}

// withRooms has a driver that publishes its capacity on three nodes.
func withRooms(t *testing.T, seed uint64, rooms ...string) *world {
	w := newWorld(t, engine.Config{Policy: engine.Seeded(seed), Seed: seed}, node("node-1"), node("node-2"), node("node-3"))
	w.class("dynamic", csiDriver, wffc)
	_, err := w.api.StorageV1().CSIDrivers().Create(w.ctx,
		&storagev1.CSIDriver{ObjectMeta: metav1.ObjectMeta{Name: csiDriver}, Spec: storagev1.CSIDriverSpec{StorageCapacity: new(true)}}, metav1.CreateOptions{})
	require.NoError(t, err)
	for i, capacity := range rooms {
		w.room(fmt.Sprintf("node-%d", i+1), capacity, "")
	}
	return w
}

// selected returns the node that was selected for the claim, "" if none was.
func (w *world) selected(claim string) string {
	return w.getClaim(claim).Annotations["volume.kubernetes.io/selected-node"]
}

// semantics 2.3 (7)
func TestTheNodeWithMostFreeCapacityIsTaken(t *testing.T) {
	for name, tt := range map[string]struct {
		rooms  []string
		claims []string
		node   string
	}{
		"the largest":                     {[]string{"40Gi", "100Gi", "20Gi"}, []string{"10Gi"}, "node-2"},
		"the largest of those with room":  {[]string{"40Gi", "31Gi", "20Gi"}, []string{"30Gi"}, "node-1"},
		"claims of a class are added up":  {[]string{"40Gi", "31Gi", "20Gi"}, []string{"8Gi", "25Gi"}, "node-1"},
		"each of them fits, not together": {[]string{"10Gi", "15Gi", "12Gi"}, []string{"8Gi", "6Gi"}, "node-2"},
	} {
		t.Run(name, func(t *testing.T) {
			for seed := range uint64(10) {
				w := withRooms(t, seed, tt.rooms...)
				var names []string
				for i, size := range tt.claims {
					names = append(names, fmt.Sprintf("c%d", i))
					w.claim(names[i], size, "dynamic")
				}
				w.pod("web", names...)
				w.settle()
				require.Equal(t, tt.node, w.selected("c0"), "seed %d", seed)
			}
		})
	}
}

// semantics 2.3 (7)
func TestTheNodeWhoseVolumeIsLargestForTheClaimIsTaken(t *testing.T) {
	for seed := range uint64(10) {
		w := newWorld(t, engine.Config{Policy: engine.Seeded(seed), Seed: seed}, node("node-1"), node("node-2"), node("node-3")).withPVController()
		w.class("local", "kubernetes.io/no-provisioner", wffc)
		w.volume("small", "20Gi", "local", "node-1")
		w.volume("large", "80Gi", "local", "node-2")
		w.volume("larger", "90Gi", "local", "node-2")
		w.volume("middle", "40Gi", "local", "node-3")
		w.claim("data", "10Gi", "local")
		w.pod("web", "data")
		w.settle()
		require.Equal(t, "node-2", w.nodeOf("web"))
		require.Equal(t, "large", w.getClaim("data").Spec.VolumeName, "on the node the smallest that fits")
	}
}

// Both end kube-scheduler v1.37.2 with a nil pointer.
func TestCapacityThatCannotBeScoredIsLeftOutAndNamed(t *testing.T) {
	w := withRooms(t, 0, "", "", "")
	for i := 1; i <= 3; i++ {
		require.NoError(t, w.api.StorageV1().CSIStorageCapacities("default").Delete(w.ctx, fmt.Sprintf("on-node-%d", i), metav1.DeleteOptions{}))
		w.room(fmt.Sprintf("node-%d", i), "", "50Gi")
	}
	w.claim("data", "10Gi", "dynamic")
	w.pod("web", "data")
	w.settle()
	require.NotEmpty(t, w.selected("data"))
	require.Contains(t, w.e.Trace().String(), "CSIStorageCapacity on-node-3 has no capacity, so it is not scored")

	w = withRooms(t, 0, "40Gi", "100Gi", "20Gi")
	_, err := w.api.CoreV1().PersistentVolumeClaims("default").Create(w.ctx, &v1.PersistentVolumeClaim{
		ObjectMeta: metav1.ObjectMeta{Name: "old", Annotations: map[string]string{v1.BetaStorageClassAnnotation: "dynamic"}},
		Spec: v1.PersistentVolumeClaimSpec{
			AccessModes: []v1.PersistentVolumeAccessMode{v1.ReadWriteOnce},
			Resources:   v1.VolumeResourceRequirements{Requests: v1.ResourceList{v1.ResourceStorage: resource.MustParse("10Gi")}},
		},
	}, metav1.CreateOptions{})
	require.NoError(t, err)
	w.pod("web", "old")
	w.settle()
	require.NotEmpty(t, w.selected("old"))
	require.Contains(t, w.e.Trace().String(), "pvc old has no spec.storageClassName, so it is not scored")
}

// semantics 2.4 (4)
func TestANodeWithoutADriverThatMustBeThereIsRefused(t *testing.T) {
	w := newWorld(t, engine.Config{}, node("node-1"))
	driver, err := w.api.StorageV1().CSIDrivers().Create(w.ctx, &storagev1.CSIDriver{ObjectMeta: metav1.ObjectMeta{Name: csiDriver},
		Spec: storagev1.CSIDriverSpec{PreventPodSchedulingIfMissing: new(true)}}, metav1.CreateOptions{})
	require.NoError(t, err)
	require.True(t, *driver.Spec.PreventPodSchedulingIfMissing)
	w.attachable("data")
	w.pod("web", "data")
	w.settle()
	w.unschedulable("web", "0/1 nodes are available: 1 ext.example.com CSI driver is not installed on the node. "+
		"preemption: 0/1 nodes are available: 1 No preemption victims found for incoming pod.")

	_, err = w.api.StorageV1().CSINodes().Create(w.ctx, &storagev1.CSINode{
		ObjectMeta: metav1.ObjectMeta{Name: "node-1"},
		Spec:       storagev1.CSINodeSpec{Drivers: []storagev1.CSINodeDriver{{Name: csiDriver, NodeID: "node-1"}}},
	}, metav1.CreateOptions{})
	require.NoError(t, err)
	w.settle()
	require.Equal(t, "node-1", w.nodeOf("web"), "a new CSINode wakes it")
}

// semantics 2.3 (8)
func TestABindingIsWrittenFourTimesIfTheServerIsNotWell(t *testing.T) {
	for times, bound := range map[int]bool{3: true, 4: false} {
		w := newWorld(t, engine.Config{}, node("node-1"))
		require.NoError(t, w.e.Inject(engine.Fault{Actor: actor, Verb: "create", Resource: "pods/binding", Times: times,
			Err: apierrors.NewInternalError(fmt.Errorf("etcd"))}))
		w.pod("web")
		require.NoError(t, w.e.RunFor(500e6))
		assert.Equal(t, bound, w.nodeOf("web") != "", "after %d errors", times)
	}
}

// The filters are asked twice about a node where a place is kept for another pod. That takes no other node's score away.
func TestTheNodeWithMostFreeCapacityIsTakenAlthoughAPlaceIsKeptOnAnother(t *testing.T) {
	for seed := range uint64(20) {
		w := withRooms(t, seed, "40Gi", "100Gi", "20Gi")
		_, err := w.api.SchedulingV1().PriorityClasses().Create(w.ctx, &schedulingv1.PriorityClass{ObjectMeta: metav1.ObjectMeta{Name: "high"}, Value: 100},
			metav1.CreateOptions{})
		require.NoError(t, err)
		waits := newPod("nominated", "missing")
		waits.Spec.PriorityClassName = "high"
		w.create(waits)
		require.NoError(t, setNominated(`"node-3"`)(w.api.CoreV1().Pods("default")))
		w.settle()
		w.claim("data", "10Gi", "dynamic")
		w.pod("web", "data")
		w.settle()
		require.Equal(t, "node-2", w.selected("data"), "seed %d", seed)
	}
}
