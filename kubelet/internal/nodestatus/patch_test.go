package nodestatus

import (
	"encoding/json"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/fake"
	nodeutil "k8s.io/component-helpers/node/util"

	"github.com/storagesim/storagesim/internal/semantic"
	"github.com/storagesim/storagesim/kubelet/runtime"
)

func TestThePatchOfANodeIsThatOfItsWholeStatus(t *testing.T) {
	old := nodeTemplate(&v1.Node{}, runtime.Version{RuntimeName: "containerd", RuntimeVersion: "2.1.0"})
	old.Name = "a"
	old.Status.Conditions = []v1.NodeCondition{{Type: v1.NodeReady, Status: v1.ConditionFalse, Reason: "KubeletNotReady"},
		{Type: v1.NodeDiskPressure, Status: v1.ConditionFalse}}
	old.Status.VolumesInUse = []v1.UniqueVolumeName{"x"}
	alone := map[string]bool{"a condition": true, "a heartbeat": true, "times and texts of both": true, "no volumes in use": true,
		"other volumes in use": true, "a condition and volumes": true}
	for name, change := range map[string]func(*v1.Node){
		"a condition": func(n *v1.Node) { n.Status.Conditions[0].Status = v1.ConditionTrue },
		"a heartbeat": func(n *v1.Node) { n.Status.Conditions[1].LastHeartbeatTime = metav1.NewTime(time.Unix(1e9, 0)) },
		"times and texts of both": func(n *v1.Node) {
			for i := range n.Status.Conditions {
				c := &n.Status.Conditions[i]
				c.LastHeartbeatTime, c.LastTransitionTime = metav1.NewTime(time.Unix(2e9, 0)), metav1.NewTime(time.Unix(3e9, 0))
				c.Reason, c.Message = "", "\"<b>"
			}
		},
		"another condition":       func(n *v1.Node) { n.Status.Conditions = append(n.Status.Conditions, v1.NodeCondition{Type: "a"}) },
		"one condition less":      func(n *v1.Node) { n.Status.Conditions = n.Status.Conditions[1:] },
		"the order of conditions": func(n *v1.Node) { slices.Reverse(n.Status.Conditions); n.Status.Conditions[0].Reason = "x" },
		"a condition and a label": func(n *v1.Node) { n.Status.Conditions[0].Status, n.Labels["a"] = v1.ConditionTrue, "b" },
		"an address":              func(n *v1.Node) { n.Status.Addresses[0].Address = "10.0.0.1" },
		"one address less":        func(n *v1.Node) { n.Status.Addresses = n.Status.Addresses[1:] },
		"no volumes in use":       func(n *v1.Node) { n.Status.VolumesInUse = nil },
		"other volumes in use":    func(n *v1.Node) { n.Status.VolumesInUse = []v1.UniqueVolumeName{"y", "x"} },
		"a condition and volumes": func(n *v1.Node) {
			n.Status.Conditions[1].Reason, n.Status.VolumesInUse = "r", append(n.Status.VolumesInUse, "y")
		},
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
			semantic.DropEqual(&from.ObjectMeta, &to.ObjectMeta)
			semantic.DropEqual(&from.Status, &to.Status)
			values, ok := patchOfStatus(from, to)
			if alone[name] != ok {
				t.Fatalf("only conditions and volumes differ: %v", ok)
			}
			got, err := json.Marshal(values)
			require.NoError(t, err)
			if !ok {
				_, got, err = nodeutil.PatchNodeStatus(core, "a", from, to)
				require.NoError(t, err)
			}
			assert.JSONEq(t, string(want), string(got))
			assert.NotEqual(t, "{}", string(got))
		})
	}
}
