package kubelet

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	"k8s.io/client-go/kubernetes/fake"
	nodeutil "k8s.io/component-helpers/node/util"

	"github.com/storagesim/storagesim/kubelet/runtime"
)

func TestThePatchOfANodeIsThatOfItsWholeStatus(t *testing.T) {
	old := nodeTemplate(&v1.Node{}, runtime.Version{RuntimeName: "containerd", RuntimeVersion: "2.1.0"})
	old.Name = "a"
	old.Status.Conditions = []v1.NodeCondition{{Type: v1.NodeReady, Status: v1.ConditionFalse}, {Type: v1.NodeDiskPressure, Status: v1.ConditionFalse}}
	old.Status.VolumesInUse = []v1.UniqueVolumeName{"x"}
	for name, change := range map[string]func(*v1.Node){
		"a condition":          func(n *v1.Node) { n.Status.Conditions[0].Status = v1.ConditionTrue },
		"an address":           func(n *v1.Node) { n.Status.Addresses[0].Address = "10.0.0.1" },
		"one address less":     func(n *v1.Node) { n.Status.Addresses = n.Status.Addresses[1:] },
		"no volumes in use":    func(n *v1.Node) { n.Status.VolumesInUse = nil },
		"more of something":    func(n *v1.Node) { n.Status.Capacity = v1.ResourceList{"a": *old.Status.Capacity.Cpu()} },
		"a label":              func(n *v1.Node) { n.Labels["a"] = "b" },
		"two things":           func(n *v1.Node) { n.Annotations["a"], n.Status.NodeInfo.BootID = "b", "c" },
		"what is not its spec": func(n *v1.Node) { n.Spec.Unschedulable, n.Status.Phase = true, v1.NodeRunning },
	} {
		t.Run(name, func(t *testing.T) {
			node := old.DeepCopy()
			change(node)
			core := fake.NewClientset(old).CoreV1()
			_, want, err := nodeutil.PatchNodeStatus(core, "a", old, node)
			require.NoError(t, err)
			from, to := &v1.Node{ObjectMeta: old.ObjectMeta, Status: old.Status}, &v1.Node{ObjectMeta: node.ObjectMeta, Status: node.Status}
			dropEqual(&from.ObjectMeta, &to.ObjectMeta)
			dropEqual(&from.Status, &to.Status)
			_, got, err := nodeutil.PatchNodeStatus(core, "a", from, to)
			require.NoError(t, err)
			assert.JSONEq(t, string(want), string(got))
			assert.NotEqual(t, "{}", string(got))
		})
	}
}
