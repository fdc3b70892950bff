package scheduler

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	v1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/storagesim/storagesim/control"
)

// A pod turned down by a plugin is tried again after these events and no others.
func TestWhichEventsCouldHelpAPodThatAPluginTurnedDown(t *testing.T) {
	node, immediate := testNode("node-1"), storagev1.VolumeBindingImmediate
	cordoned := testNode("node-1", func(n *v1.Node) { n.Spec.Unschedulable = true })
	tolerant, relabelled := testPod("web"), testPod("web")
	tolerant.Spec.Tolerations = []v1.Toleration{{Key: "gpu", Operator: v1.TolerationOpExists}}
	relabelled.Labels = map[string]string{"a": "b"}
	otherTolerant, nominated, elsewhere := testPod("other"), withDisk(testPod("other", "data"), "disk-1"), on(testPod("other", "data"), "node-1")
	otherTolerant.Spec.Tolerations = tolerant.Spec.Tolerations
	nominated.Status.NominatedNodeName = "node-1"
	elsewhere.Namespace = "elsewhere"
	type change struct{ old, new control.Object }
	changed := func(f func(*v1.Node)) change { return change{node, testNode("node-1", f)} }
	changes := map[string]change{
		"node added":          {nil, node},
		"cordoned node added": {nil, cordoned},
		"tainted node added":  {nil, testNode("node-1", tainted("gpu", v1.TaintEffectNoSchedule))},
		"node in zone added":  {nil, testNode("node-1", func(n *v1.Node) { n.Labels["zone"] = "a" })},
		"node removed":        {node, nil},
		"node touched":        changed(func(n *v1.Node) { n.Annotations = map[string]string{"a": "b"} }),
		"node relabelled":     changed(func(n *v1.Node) { n.Labels["zone"] = "a" }),
		"node tainted":        changed(tainted("gpu", v1.TaintEffectNoSchedule)),
		"node untainted":      {testNode("node-1", tainted("gpu", v1.TaintEffectNoSchedule)), node},
		"node grown":          changed(func(n *v1.Node) { n.Status.Allocatable[v1.ResourceCPU] = resource.MustParse("9") }),
		"node uncordoned":     {cordoned, node},
		"node cordoned":       {node, cordoned},
		"another resource":    changed(func(n *v1.Node) { n.Status.Allocatable["example.com/gpu"] = resource.MustParse("1") }),
		"node shrunk":         changed(func(n *v1.Node) { n.Status.Allocatable[v1.ResourceCPU] = resource.MustParse("1") }),
		"room for more pods":  changed(func(n *v1.Node) { n.Status.Allocatable[v1.ResourcePods] = resource.MustParse("111") }),
		"small node added":    {nil, testNode("node-1", func(n *v1.Node) { n.Status.Allocatable[v1.ResourceCPU] = resource.MustParse("1") })},
		"pod scaled down":     {on(asking(testPod("other"), "2", "1Gi"), "node-1"), on(asking(testPod("other"), "1", "1Gi"), "node-1")},
		"gpus given back":     {on(withGPUs(testPod("other"), "2"), "node-1"), on(withGPUs(testPod("other"), "1"), "node-1")},
		"pod scaled up":       {on(asking(testPod("other"), "1", "1Gi"), "node-1"), on(asking(testPod("other"), "2", "1Gi"), "node-1")},
		"pod made leaner":     {on(asking(testPod("other"), "2", "2Gi"), "node-1"), on(asking(testPod("other"), "2", "1Gi"), "node-1")},
		"pod made modest":     {asking(testPod("web"), "2", "1Gi"), asking(testPod("web"), "1", "1Gi")},
		"other pod tolerates": {testPod("other"), otherTolerant},
		"nominated pod":       {nominated, nil},
		"elsewhere's pod":     {elsewhere, nil},
		"CSINode relabelled": {attaches("node-1", 1), func() *storagev1.CSINode {
			n := attaches("node-1", 1)
			n.Labels = map[string]string{"a": "b"}
			return n
		}()},
		"plugin migrated": {attaches("node-1", 1), func() *storagev1.CSINode {
			n := attaches("node-1", 1)
			n.Annotations = map[string]string{v1.MigratedPluginsAnnotationKey: "kubernetes.io/rbd"}
			return n
		}()},
		"pod left":            {on(testPod("other"), "node-1"), nil},
		"its claim's pod":     {on(testPod("other", "data"), "node-1"), nil},
		"another claim's pod": {on(testPod("other", "logs"), "node-1"), nil},
		"its port's pod":      {on(withPort(testPod("other"), 80, ""), "node-1"), nil},
		"another port's pod":  {on(withPort(testPod("other"), 81, ""), "node-1"), nil},
		"its disk's pod":      {on(withDisk(testPod("other"), "disk-1"), "node-1"), nil},
		"another disk's pod":  {on(withDisk(testPod("other"), "disk-2"), "node-1"), nil},
		"unplaced pod":        {testPod("other", "data"), nil},
		"its claim added":     {nil, testClaim("data", "1Gi", "")},
		"its claim bound":     {testClaim("data", "1Gi", ""), testClaim("data", "1Gi", "", boundTo("pv"))},
		"its own claim added": {nil, testClaim("web-data", "1Gi", "")},
		"other claim":         {nil, testClaim("other", "1Gi", "")},
		"volume added":        {nil, testVolume("pv", "1Gi", "", "")},
		"volume touched": {testVolume("pv", "1Gi", "", ""),
			testVolume("pv", "1Gi", "", "", func(pv *v1.PersistentVolume) { pv.Annotations = map[string]string{"a": "b"} })},
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
	anyNode := []string{
		"node added", "cordoned node added", "tainted node added", "node in zone added", "small node added",
	}
	with := slices.Concat[[]string]
	podsLeft := []string{
		"pod left", "its claim's pod", "another claim's pod", "its port's pod", "another port's pod", "its disk's pod", "another disk's pod",
		"nominated pod", "elsewhere's pod",
	}
	inline := testPod("web", "data")
	inline.Spec.Volumes = append(inline.Spec.Volumes, v1.Volume{Name: "i", VolumeSource: v1.VolumeSource{CSI: &v1.CSIVolumeSource{Driver: "example.com/ext"}}})
	forVolumes := with(anyNode, []string{
		"node relabelled", "its claim added", "its claim bound", "volume added", "volume touched", "volume moved", "class added", "immediate class",
		"topology changed", "capacity added", "capacity grown", "capacity known", "CSINode added", "plugin migrated",
	})
	tests := []struct {
		plugin plugin
		pod    *v1.Pod
		helped []string
	}{
		{nodeUnschedulable{}, testPod("web"), []string{"node added", "tainted node added", "node in zone added", "small node added", "node uncordoned"}},
		{taintToleration{}, testPod("web"), []string{
			"node added", "cordoned node added", "node in zone added", "small node added", "node untainted", "toleration added",
		}},
		{nodeAffinity{}, selecting("zone", "a"), []string{"node in zone added", "node relabelled"}},
		{nodePorts{}, withPort(testPod("web"), 80, ""), with(anyNode, []string{"its port's pod"})},
		{resourcesFit{}, testPod("web"), with(anyNode, podsLeft, []string{"room for more pods", "pod made modest"})},
		{resourcesFit{}, asking(testPod("web"), "2", "0"), slices.DeleteFunc(
			with(anyNode, podsLeft, []string{"node grown", "room for more pods", "pod scaled down", "pod made modest"}),
			func(event string) bool { return event == "small node added" },
		)},
		{resourcesFit{}, withGPUs(testPod("web"), "1"), with(podsLeft, []string{
			"another resource", "gpus given back", "pod made modest",
		})},
		{volumeRestrictions{}, withDisk(testPod("web", "data"), "disk-1"), with(anyNode, []string{
			"its claim's pod", "its disk's pod", "nominated pod", "its claim added",
			"unplaced pod", // whose end wakes no pod
		})},
		{volumeRestrictions{}, ephemeralPod(), anyNode},
		{nodeVolumeLimits{}, testPod("web", "data"), []string{
			"CSINode added", "attach limit raised", "attachment removed", "its claim's pod", "another claim's pod", "its claim added",
			"nominated pod", "elsewhere's pod",
		}},
		{nodeVolumeLimits{}, ephemeralPod(), []string{
			"CSINode added", "attach limit raised", "its claim's pod", "another claim's pod", "its own claim added", "nominated pod", "elsewhere's pod",
		}},
		{volumeBinding{}, testPod("web", "data"), forVolumes},
		{volumeBinding{}, inline, with(forVolumes, []string{"capacity unasked"})},
		{volumeZone{}, testPod("web", "data"), with(anyNode, []string{
			"node relabelled", "its claim added", "its claim bound", "volume added", "volume moved", "class added",
		})},
		{volumeZone{}, ephemeralPod(), with(anyNode, []string{"node relabelled", "volume added", "volume moved", "class added"})},
		{defaultBinder{}, testPod("web", "data"), nil},
	}
	hints := buildQueueingHintMap(allPlugins())
	for _, tt := range tests {
		t.Run(tt.plugin.Name(), func(t *testing.T) {
			var helped []string
			for name, c := range changes {
				if slices.ContainsFunc(eventsOf(c.old, c.new), func(e clusterEvent) bool { return hints.helps(tt.pod, []plugin{tt.plugin}, e) }) {
					helped = append(helped, name)
				}
			}
			assert.ElementsMatch(t, tt.helped, helped)
		})
	}
}

// withGPUs has the pod ask for an extended resource.
func withGPUs(pod *v1.Pod, n string) *v1.Pod {
	pod.Spec.Containers[0].Resources.Requests = v1.ResourceList{"example.com/gpu": resource.MustParse(n)}
	return pod
}

// ephemeralPod has a claim that is made for it, "web-data".
func ephemeralPod() *v1.Pod {
	pod := testPod("web")
	pod.Spec.Volumes = []v1.Volume{{Name: "data", VolumeSource: v1.VolumeSource{Ephemeral: &v1.EphemeralVolumeSource{}}}}
	return pod
}

// The tables are from v1.37: plugins' EventsToRegister, and the additions of
// buildQueueingHintMap. Upstream tells pods with a node (AssignedPod) from the pod that waits (TargetPod); here both are Pod.
func TestEachPluginRegistersForTheEventsOfUpstream(t *testing.T) {
	names := []struct {
		action action
		name   string
	}{
		{added, "Add"}, {deleted, "Delete"}, {updateNodeAllocatable, "UpdateNodeAllocatable"}, {updateNodeLabel, "UpdateNodeLabel"},
		{updateNodeTaint, "UpdateNodeTaint"}, {updatePodScaleDown, "UpdatePodScaleDown"}, {updatePodToleration, "UpdatePodToleration"}, {updated, "Update"},
	}
	var table []string
	for _, p := range allPlugins().all {
		for _, r := range buildQueueingHintMap(allPlugins())[p.Name()] {
			var actions []string
			for _, a := range names {
				if r.actions&a.action != 0 {
					actions = append(actions, a.name)
				}
			}
			table = append(table, p.Name()+": "+r.resource+"/"+strings.Join(actions, "|"))
		}
	}
	assert.Equal(t, []string{
		"NodeUnschedulable: Node/Add|UpdateNodeTaint",
		"NodeUnschedulable: Pod/UpdatePodToleration",
		"TaintToleration: Node/Add|UpdateNodeTaint",
		"TaintToleration: Pod/UpdatePodToleration",
		"NodeAffinity: Node/Add|UpdateNodeLabel",
		"NodePorts: Pod/Delete",
		"NodePorts: Node/Add",
		"NodeResourcesFit: Pod/Delete|UpdatePodScaleDown",
		"NodeResourcesFit: Node/Add|UpdateNodeAllocatable",
		"VolumeRestrictions: Pod/Delete",
		"VolumeRestrictions: Node/Add",
		"VolumeRestrictions: PersistentVolumeClaim/Add",
		"NodeVolumeLimits: CSINode/Add",
		"NodeVolumeLimits: CSINode/Update",
		"NodeVolumeLimits: Pod/Delete",
		"NodeVolumeLimits: PersistentVolumeClaim/Add",
		"NodeVolumeLimits: VolumeAttachment/Delete",
		"VolumeBinding: StorageClass/Add|Update",
		"VolumeBinding: PersistentVolumeClaim/Add|Update",
		"VolumeBinding: PersistentVolume/Add|Update",
		"VolumeBinding: Node/Add|UpdateNodeLabel",
		"VolumeBinding: CSINode/Add|Update",
		"VolumeBinding: CSIDriver/Update",
		"VolumeBinding: CSIStorageCapacity/Add|Update",
		"VolumeZone: StorageClass/Add",
		"VolumeZone: Node/Add|UpdateNodeLabel",
		"VolumeZone: PersistentVolumeClaim/Add|Update",
		"VolumeZone: PersistentVolume/Add|Update",
		// Upstream registers UpdatePodLabel, which is one of the updates that are not told apart here.
		"PodTopologySpread: Pod/Add|Delete|UpdatePodToleration|Update",
		"PodTopologySpread: Node/Add|Delete|UpdateNodeLabel|UpdateNodeTaint",
		"InterPodAffinity: Pod/Add|Delete|Update",
		"InterPodAffinity: Node/Add|UpdateNodeLabel",
	}, table)
}
