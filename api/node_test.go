package api_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Upstream: registry/core/node nodeStrategy.PrepareForCreate, v1.37.
func TestANodeCreatedWithItsStatusKeepsItAndOtherKindsDoNot(t *testing.T) {
	_, c := newServer()
	size := v1.ResourceList{v1.ResourceCPU: resource.MustParse("64"), v1.ResourceMemory: resource.MustParse("64Gi"), v1.ResourcePods: resource.MustParse("110")}
	want := &v1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: "node-1", Labels: map[string]string{"zone": "a"}, Annotations: map[string]string{"x": "y"}},
		Spec:       v1.NodeSpec{Taints: []v1.Taint{{Key: "dedicated", Effect: v1.TaintEffectNoSchedule}}, Unschedulable: true},
		Status: v1.NodeStatus{
			Capacity: size, Allocatable: size, Conditions: []v1.NodeCondition{{Type: v1.NodeReady, Status: v1.ConditionTrue, Reason: "KubeletReady"}},
			Addresses:    []v1.NodeAddress{{Type: v1.NodeHostName, Address: "node-1"}},
			NodeInfo:     v1.NodeSystemInfo{KubeletVersion: "v1.36.3", OperatingSystem: "linux"},
			VolumesInUse: []v1.UniqueVolumeName{"kubernetes.io/csi/x^1"}, VolumesAttached: []v1.AttachedVolume{{Name: "kubernetes.io/csi/x^1"}},
		},
	}
	for _, create := range []func() (*v1.Node, error){
		func() (*v1.Node, error) {
			return c.CoreV1().Nodes().Create(ctx, want.DeepCopy(), metav1.CreateOptions{})
		},
		func() (*v1.Node, error) { return c.CoreV1().Nodes().Get(ctx, "node-1", metav1.GetOptions{}) },
	} {
		got, err := create()
		require.NoError(t, err)
		assert.Equal(t, want.Status, got.Status)
		assert.Equal(t, want.Spec, got.Spec)
		assert.Equal(t, want.Labels, got.Labels)
		assert.Equal(t, want.Annotations, got.Annotations)
	}
	pv := volume("pv")
	pv.Status = v1.PersistentVolumeStatus{Phase: v1.VolumeBound, Reason: "x"}
	got, err := c.CoreV1().PersistentVolumes().Create(ctx, pv, metav1.CreateOptions{})
	require.NoError(t, err)
	assert.Equal(t, v1.VolumePending, got.Status.Phase)
	assert.Empty(t, got.Status.Reason)
}
