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
	node, immediate := testNode("node-1"), storagev1.VolumeBindingImmediate
	cordoned := testNode("node-1", func(n *v1.Node) { n.Spec.Unschedulable = true })
	tolerant, relabelled := testPod("web"), testPod("web")
	tolerant.Spec.Tolerations = []v1.Toleration{{Key: "gpu", Operator: v1.TolerationOpExists}}
	relabelled.Labels = map[string]string{"a": "b"}
	anyNodeAdded := []string{"node added", "cordoned node added", "tainted node added", "node in zone added"}
	changed := func(f func(*v1.Node)) clusterEvent { return clusterEvent{node, testNode("node-1", f)} }
	events := map[string]clusterEvent{
		"node added":           {nil, node},
		"cordoned node added":  {nil, cordoned},
		"tainted node added":   {nil, testNode("node-1", tainted("gpu", v1.TaintEffectNoSchedule))},
		"node in zone added":   {nil, testNode("node-1", func(n *v1.Node) { n.Labels["zone"] = "a" })},
		"node removed":         {node, nil},
		"node touched":         changed(func(n *v1.Node) { n.Annotations = map[string]string{"a": "b"} }),
		"node relabelled":      changed(func(n *v1.Node) { n.Labels["zone"] = "a" }),
		"node tainted":         changed(tainted("gpu", v1.TaintEffectNoSchedule)),
		"node untainted":       {testNode("node-1", tainted("gpu", v1.TaintEffectNoSchedule)), node},
		"node grown":           changed(func(n *v1.Node) { n.Status.Allocatable[v1.ResourceCPU] = resource.MustParse("9") }),
		"node uncordoned":      {cordoned, node},
		"pod left":             {on(testPod("other"), "node-1"), nil},
		"its claim's pod":      {on(testPod("other", "data"), "node-1"), nil},
		"another claim's pod":  {on(testPod("other", "logs"), "node-1"), nil},
		"its port's pod":       {on(withPort(testPod("other"), 80, ""), "node-1"), nil},
		"another port's pod":   {on(withPort(testPod("other"), 81, ""), "node-1"), nil},
		"its disk's pod":       {on(withDisk(testPod("other"), "disk-1"), "node-1"), nil},
		"another disk's pod":   {on(withDisk(testPod("other"), "disk-2"), "node-1"), nil},
		"unplaced pod":         {testPod("other", "data"), nil},
		"its claim added":      {nil, testClaim("data", "1Gi", "")},
		"its claim bound":      {testClaim("data", "1Gi", ""), testClaim("data", "1Gi", "", boundTo("pv"))},
		"other claim":          {nil, testClaim("other", "1Gi", "")},
		"volume added":         {nil, testVolume("pv", "1Gi", "", "")},
		"volume touched":       {testVolume("pv", "1Gi", "", ""), testVolume("pv", "1Gi", "", "", func(pv *v1.PersistentVolume) { pv.Annotations = map[string]string{"a": "b"} })},
		"volume moved":         {testVolume("pv", "1Gi", "", ""), testVolume("pv", "1Gi", "", "", labelled(v1.LabelTopologyZone, "a"))},
		"volume removed":       {testVolume("pv", "1Gi", "", ""), nil},
		"class added":          {nil, testClass("c", "x")},
		"immediate class":      {nil, testClass("c", "x", func(c *storagev1.StorageClass) { c.VolumeBindingMode = &immediate })},
		"class touched":        {testClass("c", "x"), testClass("c", "x", func(c *storagev1.StorageClass) { c.Labels = map[string]string{"a": "b"} })},
		"topology changed":     {testClass("c", "x"), testClass("c", "x", zoned("a"))},
		"capacity added":       {nil, capacityOf("c", "node-1", "1Gi", "")},
		"capacity grown":       {capacityOf("c", "node-1", "1Gi", ""), capacityOf("c", "node-1", "2Gi", "")},
		"capacity shrunk":      {capacityOf("c", "node-1", "2Gi", ""), capacityOf("c", "node-1", "1Gi", "")},
		"capacity known":       {capacityOf("c", "node-1", "", ""), capacityOf("c", "node-1", "1Gi", "")},
		"capacity unasked":     {driverWithCapacity(), &storagev1.CSIDriver{ObjectMeta: metav1.ObjectMeta{Name: "example.com/ext"}}},
		"capacity asked":       {&storagev1.CSIDriver{ObjectMeta: metav1.ObjectMeta{Name: "example.com/ext"}}, driverWithCapacity()},
		"CSINode added":        {nil, attaches("node-1", 1)},
		"CSINode removed":      {attaches("node-1", 1), nil},
		"attach limit raised":  {attaches("node-1", 1), attaches("node-1", 2)},
		"attach limit lowered": {attaches("node-1", 2), attaches("node-1", 1)},
		"attachment added":     {nil, attachment("pv", "node-1")},
		"attachment removed":   {attachment("pv", "node-1"), nil},
		"toleration added":     {testPod("web"), tolerant},
		"pod relabelled":       {testPod("web"), relabelled},
	}
	tests := map[string]struct {
		plugin plugin
		pod    *v1.Pod
		helped []string
	}{
		"NodeUnschedulable": {nodeUnschedulable{}, testPod("web"), []string{"node added", "tainted node added", "node in zone added", "node uncordoned"}},
		"TaintToleration":   {taintToleration{}, testPod("web"), []string{"node added", "cordoned node added", "node in zone added", "node untainted", "toleration added"}},
		"NodeAffinity":      {nodeAffinity{}, selecting("zone", "a"), []string{"node in zone added", "node relabelled"}},
		"NodePorts":         {nodePorts{}, withPort(testPod("web"), 80, ""), append([]string{"its port's pod"}, anyNodeAdded...)},
		"NodeResourcesFit": {resourcesFit{}, testPod("web"), append([]string{
			"node grown", "pod left", "its claim's pod", "another claim's pod", "its port's pod", "another port's pod", "its disk's pod", "another disk's pod",
		}, anyNodeAdded...)},
		"VolumeRestrictions": {volumeRestrictions{}, withDisk(testPod("web", "data"), "disk-1"), []string{"its claim's pod", "its disk's pod", "its claim added"}},
		"NodeVolumeLimits": {nodeVolumeLimits{}, testPod("web", "data"), []string{
			"CSINode added", "attach limit raised", "attachment removed", "its claim's pod", "another claim's pod", "its claim added",
		}},
		"VolumeBinding": {volumeBinding{}, testPod("web", "data"), append([]string{
			"node relabelled", "its claim added", "its claim bound", "volume added", "volume touched", "volume moved", "class added", "immediate class",
			"topology changed", "capacity added", "capacity grown", "capacity known", "capacity unasked",
		}, anyNodeAdded...)},
		"VolumeZone": {volumeZone{}, testPod("web", "data"), append([]string{
			"node relabelled", "its claim added", "its claim bound", "volume added", "volume moved", "class added",
		}, anyNodeAdded...)},
		"DefaultBinder": {defaultBinder{}, testPod("web", "data"), nil},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			var helped []string
			for event, e := range events {
				if tt.plugin.Helps(tt.pod, e) {
					helped = append(helped, event)
				}
			}
			assert.ElementsMatch(t, tt.helped, helped)
			assert.Equal(t, name, tt.plugin.Name())
		})
	}
}
