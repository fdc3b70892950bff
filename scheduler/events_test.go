package scheduler

import (
	"testing"

	"github.com/stretchr/testify/assert"
	v1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// A pod turned down by a plugin is tried again after these events and no others.
func TestWhichEventsCouldHelpAPodThatAPluginTurnedDown(t *testing.T) {
	node := testNode("node-1")
	changed := func(f func(*v1.Node)) clusterEvent { return clusterEvent{node, testNode("node-1", f)} }
	events := map[string]clusterEvent{
		"node added":       {nil, node},
		"node removed":     {node, nil},
		"node touched":     changed(func(n *v1.Node) { n.Annotations = map[string]string{"a": "b"} }),
		"node relabelled":  changed(func(n *v1.Node) { n.Labels["zone"] = "a" }),
		"node tainted":     changed(tainted("gpu", v1.TaintEffectNoSchedule)),
		"node grown":       changed(func(n *v1.Node) { n.Status.Allocatable[v1.ResourceCPU] = resource.MustParse("9") }),
		"node uncordoned":  {testNode("node-1", func(n *v1.Node) { n.Spec.Unschedulable = true }), node},
		"pod left":         {on(testPod("other"), "node-1"), nil},
		"its claim's pod":  {on(testPod("other", "data"), "node-1"), nil},
		"unplaced pod":     {testPod("other", "data"), nil},
		"its claim added":  {nil, testClaim("data", "1Gi", "")},
		"its claim bound":  {testClaim("data", "1Gi", ""), testClaim("data", "1Gi", "", boundTo("pv"))},
		"other claim":      {nil, testClaim("other", "1Gi", "")},
		"volume added":     {nil, testVolume("pv", "1Gi", "", "")},
		"volume removed":   {testVolume("pv", "1Gi", "", ""), nil},
		"class added":      {nil, testClass("c", "x")},
		"class touched":    {testClass("c", "x"), testClass("c", "x", func(c *storagev1.StorageClass) { c.Labels = map[string]string{"a": "b"} })},
		"topology changed": {testClass("c", "x"), testClass("c", "x", zoned("a"))},
		"capacity added":   {nil, capacityOf("c", "node-1", "1Gi", "")},
		"capacity grown":   {capacityOf("c", "node-1", "1Gi", ""), capacityOf("c", "node-1", "2Gi", "")},
		"capacity shrunk":  {capacityOf("c", "node-1", "2Gi", ""), capacityOf("c", "node-1", "1Gi", "")},
		"capacity known":   {capacityOf("c", "node-1", "", ""), capacityOf("c", "node-1", "1Gi", "")},
		"capacity unasked": {driverWithCapacity(), &storagev1.CSIDriver{ObjectMeta: metav1.ObjectMeta{Name: "example.com/ext"}}},
		"capacity asked":   {&storagev1.CSIDriver{ObjectMeta: metav1.ObjectMeta{Name: "example.com/ext"}}, driverWithCapacity()},
	}
	tests := map[string]struct {
		plugin plugin
		helped []string
	}{
		"NodeUnschedulable":  {nodeUnschedulable{}, []string{"node added", "node uncordoned"}},
		"TaintToleration":    {taintToleration{}, []string{"node added", "node tainted"}},
		"NodeAffinity":       {nodeAffinity{}, []string{"node added", "node relabelled"}},
		"NodePorts":          {nodePorts{}, []string{"node added", "pod left", "its claim's pod"}},
		"NodeResourcesFit":   {resourcesFit{}, []string{"node added", "node grown", "pod left", "its claim's pod"}},
		"VolumeRestrictions": {volumeRestrictions{}, []string{"its claim's pod", "its claim added"}},
		"VolumeBinding": {volumeBinding{}, []string{
			"node added", "node relabelled", "its claim added", "its claim bound", "volume added", "class added", "topology changed",
			"capacity added", "capacity grown", "capacity known", "capacity unasked",
		}},
		"VolumeZone":    {volumeZone{}, []string{"node added", "node relabelled", "its claim added", "its claim bound", "volume added"}},
		"DefaultBinder": {defaultBinder{}, nil},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			var helped []string
			for event, e := range events {
				if tt.plugin.Helps(testPod("web", "data"), e) {
					helped = append(helped, event)
				}
			}
			assert.ElementsMatch(t, tt.helped, helped)
			assert.Equal(t, name, tt.plugin.Name())
		})
	}
}
