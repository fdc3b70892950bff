package scheduler

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/runtime"
)

func tainted(key string, effect v1.TaintEffect) func(*v1.Node) {
	return func(n *v1.Node) {
		n.Spec.Taints = append(n.Spec.Taints, v1.Taint{Key: key, Value: "x", Effect: effect})
	}
}

func asking(pod *v1.Pod, cpu, memory string) *v1.Pod {
	pod.Spec.Containers[0].Resources.Requests = v1.ResourceList{v1.ResourceCPU: resource.MustParse(cpu), v1.ResourceMemory: resource.MustParse(memory)}
	return pod
}

func on(pod *v1.Pod, node string) *v1.Pod {
	pod.Spec.NodeName = node
	return pod
}

func required(terms ...v1.NodeSelectorTerm) *v1.Affinity {
	return &v1.Affinity{NodeAffinity: &v1.NodeAffinity{RequiredDuringSchedulingIgnoredDuringExecution: &v1.NodeSelector{NodeSelectorTerms: terms}}}
}

func term(key string, op v1.NodeSelectorOperator, values ...string) v1.NodeSelectorTerm {
	return v1.NodeSelectorTerm{MatchExpressions: []v1.NodeSelectorRequirement{{Key: key, Operator: op, Values: values}}}
}

func tolerating(t v1.Toleration) *v1.Pod {
	pod := testPod("web")
	pod.Spec.Tolerations = []v1.Toleration{t}
	return pod
}

func withPort(pod *v1.Pod, port int32, ip string) *v1.Pod {
	pod.Spec.Containers[0].Ports = []v1.ContainerPort{{HostPort: port, HostIP: ip}}
	return pod
}

func overUDP(pod *v1.Pod) *v1.Pod {
	pod.Spec.Containers[0].Ports[0].Protocol = v1.ProtocolUDP
	return pod
}

func rwop(c *v1.PersistentVolumeClaim) {
	c.Spec.AccessModes = []v1.PersistentVolumeAccessMode{v1.ReadWriteOncePod}
}

func TestANodeIsTurnedDownForTheReasonUpstreamGives(t *testing.T) {
	selecting := testPod("web")
	selecting.Spec.NodeSelector = map[string]string{"disk": "ssd"}
	affine := func(terms ...v1.NodeSelectorTerm) *v1.Pod {
		pod := testPod("web")
		pod.Spec.Affinity = required(terms...)
		return pod
	}
	onlyOne := testNode("node-1", func(n *v1.Node) { n.Status.Allocatable[v1.ResourcePods] = resource.MustParse("1") })
	shared := []runtime.Object{testNode("node-1"), testVolume("pv", "1Gi", "", ""), testClaim("data", "1Gi", "", rwop, boundTo("pv"))}
	inZone := func(key, zone string) func(*v1.Node) { return func(n *v1.Node) { n.Labels[key] = zone } }
	volumeIn := func(key, zone string, node *v1.Node) []runtime.Object {
		return []runtime.Object{node, testClaim("data", "1Gi", "", boundTo("pv")), testVolume("pv", "1Gi", "", "", labelled(key, zone))}
	}
	zonal := func(node *v1.Node) []runtime.Object { return volumeIn(v1.LabelTopologyZone, "a__b", node) }
	named := func(names ...string) v1.NodeSelectorTerm {
		var term v1.NodeSelectorTerm
		for _, name := range names {
			term.MatchFields = append(term.MatchFields, v1.NodeSelectorRequirement{Key: "metadata.name", Operator: v1.NodeSelectorOpIn, Values: []string{name}})
		}
		return term
	}
	disks := func(name string, v v1.VolumeSource) *v1.Pod {
		pod := testPod(name)
		pod.Spec.Volumes = []v1.Volume{{Name: "disk", VolumeSource: v}}
		return pod
	}
	gce := func(readOnly bool) v1.VolumeSource {
		return v1.VolumeSource{GCEPersistentDisk: &v1.GCEPersistentDiskVolumeSource{PDName: "disk", ReadOnly: readOnly}}
	}
	ebs := v1.VolumeSource{AWSElasticBlockStore: &v1.AWSElasticBlockStoreVolumeSource{VolumeID: "vol-1", ReadOnly: true}}
	iscsi := func(readOnly bool) v1.VolumeSource {
		return v1.VolumeSource{ISCSI: &v1.ISCSIVolumeSource{IQN: "iqn", ReadOnly: readOnly}}
	}
	rbd := func(image string, monitors ...string) v1.VolumeSource {
		return v1.VolumeSource{RBD: &v1.RBDVolumeSource{CephMonitors: monitors, RBDPool: "rbd", RBDImage: image}}
	}
	tests := map[string]struct {
		objects []runtime.Object
		pod     *v1.Pod
		want    string // "" fits
	}{
		"plain": {[]runtime.Object{testNode("node-1")}, testPod("web"), ""},
		"cordoned": {[]runtime.Object{testNode("node-1", func(n *v1.Node) { n.Spec.Unschedulable = true })}, testPod("web"),
			"node(s) were unschedulable"},
		"tainted": {[]runtime.Object{testNode("node-1", tainted("gpu", v1.TaintEffectNoSchedule))}, testPod("web"),
			"node(s) had untolerated taint(s)"},
		"tainted NoExecute": {[]runtime.Object{testNode("node-1", tainted("gpu", v1.TaintEffectNoExecute))}, testPod("web"),
			"node(s) had untolerated taint(s)"},
		"tainted PreferNoSchedule": {[]runtime.Object{testNode("node-1", tainted("gpu", v1.TaintEffectPreferNoSchedule))}, testPod("web"), ""},
		"tolerated by value": {[]runtime.Object{testNode("node-1", tainted("gpu", v1.TaintEffectNoSchedule))},
			tolerating(v1.Toleration{Key: "gpu", Value: "x"}), ""},
		"tolerates another value": {[]runtime.Object{testNode("node-1", tainted("gpu", v1.TaintEffectNoSchedule))},
			tolerating(v1.Toleration{Key: "gpu", Value: "y"}), "node(s) had untolerated taint(s)"},
		"tolerates another effect": {[]runtime.Object{testNode("node-1", tainted("gpu", v1.TaintEffectNoSchedule))},
			tolerating(v1.Toleration{Operator: v1.TolerationOpExists, Effect: v1.TaintEffectNoExecute}), "node(s) had untolerated taint(s)"},
		"tolerates everything": {[]runtime.Object{testNode("node-1", tainted("gpu", v1.TaintEffectNoSchedule))},
			tolerating(v1.Toleration{Operator: v1.TolerationOpExists}), ""},
		"nodeSelector": {[]runtime.Object{testNode("node-1")}, selecting, "node(s) didn't match Pod's node affinity/selector"},
		"one required term is enough": {[]runtime.Object{testNode("node-1")},
			affine(term("disk", v1.NodeSelectorOpExists), term(v1.LabelHostname, v1.NodeSelectorOpIn, "node-1")), ""},
		"no required term matches": {[]runtime.Object{testNode("node-1")},
			affine(term("disk", v1.NodeSelectorOpExists), term(v1.LabelHostname, v1.NodeSelectorOpNotIn, "node-1")),
			"node(s) didn't match Pod's node affinity/selector"},
		"required terms, none given": {[]runtime.Object{testNode("node-1")}, affine(), "node(s) didn't match Pod's node affinity/selector"},
		"a node without labels": {[]runtime.Object{testNode("node-1", func(n *v1.Node) { n.Labels = nil })}, selecting,
			"node(s) didn't match Pod's node affinity/selector"},
		"too little CPU left": {[]runtime.Object{testNode("node-1"), on(asking(testPod("a"), "3", "1Gi"), "node-1")}, asking(testPod("web"), "2", "1Gi"),
			"Insufficient cpu"},
		"too little of both": {[]runtime.Object{testNode("node-1")}, asking(testPod("web"), "5", "9Gi"), "Insufficient cpu, Insufficient memory"},
		"an ended pod takes no room": {[]runtime.Object{testNode("node-1"), func() *v1.Pod {
			p := on(asking(testPod("a"), "3", "1Gi"), "node-1")
			p.Status.Phase = v1.PodSucceeded
			return p
		}()}, asking(testPod("web"), "2", "1Gi"), ""},
		"too many pods": {[]runtime.Object{onlyOne, on(testPod("a"), "node-1")}, testPod("web"), "Too many pods"},
		"host port taken": {[]runtime.Object{testNode("node-1"), on(withPort(testPod("a"), 80, "10.0.0.1"), "node-1")},
			withPort(testPod("web"), 80, ""), "node(s) didn't have free ports for the requested pod ports"},
		"host port of another protocol": {[]runtime.Object{testNode("node-1"), on(withPort(testPod("a"), 80, ""), "node-1")},
			overUDP(withPort(testPod("web"), 80, "")), ""},
		"host port on another address": {[]runtime.Object{testNode("node-1"), on(withPort(testPod("a"), 80, "10.0.0.1"), "node-1")},
			withPort(testPod("web"), 80, "10.0.0.2"), ""},
		"the volume's zone": {zonal(testNode("node-1", inZone(v1.LabelTopologyZone, "b"))), testPod("web", "data"), ""},
		"not the volume's zone": {zonal(testNode("node-1", inZone(v1.LabelTopologyZone, "c"))), testPod("web", "data"),
			"node(s) had no available volume zone"},
		"the volume's zone by its newer label": {volumeIn(v1.LabelFailureDomainBetaZone, "a", testNode("node-1", inZone(v1.LabelTopologyZone, "a"))),
			testPod("web", "data"), ""},
		"not by its older label": {volumeIn(v1.LabelTopologyZone, "a", testNode("node-1", inZone(v1.LabelFailureDomainBetaZone, "a"))),
			testPod("web", "data"), "node(s) had no available volume zone"},
		"the volume's region by its older one": {volumeIn(v1.LabelFailureDomainBetaRegion, "r", testNode("node-1", inZone(v1.LabelFailureDomainBetaRegion, "r"))),
			testPod("web", "data"), ""},
		"not the volume's region": {volumeIn(v1.LabelTopologyRegion, "r__s", testNode("node-1", inZone(v1.LabelTopologyRegion, "t"))),
			testPod("web", "data"), "node(s) had no available volume zone"},
		"a list of zones with an empty one": {volumeIn(v1.LabelTopologyZone, "a__", testNode("node-1", inZone(v1.LabelTopologyZone, "b"))),
			testPod("web", "data"), ""},
		"a region but no zone": {zonal(testNode("node-1", inZone(v1.LabelTopologyRegion, "r"))), testPod("web", "data"),
			"node(s) had no available volume zone"},
		"a node that says nothing of zones": {zonal(testNode("node-1")), testPod("web", "data"), ""},
		"by its name":                       {[]runtime.Object{testNode("node-1")}, affine(named("node-1")), ""},
		"another by its name":               {[]runtime.Object{testNode("node-1")}, affine(named("node-2")), "node(s) didn't satisfy plugin(s) [NodeAffinity]"},
		"by its name or by label": {[]runtime.Object{testNode("node-1")}, affine(named("node-2"), term("disk", v1.NodeSelectorOpExists)),
			"node(s) didn't match Pod's node affinity/selector"},
		"its GCE disk is in use": {[]runtime.Object{testNode("node-1"), on(disks("a", gce(false)), "node-1")}, disks("web", gce(true)),
			"node(s) had no available disk"},
		"its GCE disk is only read":        {[]runtime.Object{testNode("node-1"), on(disks("a", gce(true)), "node-1")}, disks("web", gce(true)), ""},
		"its GCE disk is in use elsewhere": {[]runtime.Object{testNode("node-1"), on(disks("a", gce(false)), "elsewhere")}, disks("web", gce(false)), ""},
		"its EBS disk is in use":           {[]runtime.Object{testNode("node-1"), on(disks("a", ebs), "node-1")}, disks("web", ebs), "node(s) had no available disk"},
		"its iSCSI disk is in use": {[]runtime.Object{testNode("node-1"), on(disks("a", iscsi(false)), "node-1")}, disks("web", iscsi(false)),
			"node(s) had no available disk"},
		"its iSCSI disk is only read": {[]runtime.Object{testNode("node-1"), on(disks("a", iscsi(true)), "node-1")}, disks("web", iscsi(true)), ""},
		"its Ceph image is in use": {[]runtime.Object{testNode("node-1"), on(disks("a", rbd("i", "m", "n")), "node-1")}, disks("web", rbd("i", "n")),
			"node(s) had no available disk"},
		"an image of another Ceph":      {[]runtime.Object{testNode("node-1"), on(disks("a", rbd("i", "m")), "node-1")}, disks("web", rbd("i", "n")), ""},
		"another Ceph image":            {[]runtime.Object{testNode("node-1"), on(disks("a", rbd("j", "n")), "node-1")}, disks("web", rbd("i", "n")), ""},
		"ReadWriteOncePod claim, alone": {shared, testPod("web", "data"), ""},
		"ReadWriteOncePod claim in use": {append(shared, on(testPod("a", "data"), "elsewhere")), testPod("web", "data"),
			"node(s) unavailable due to PersistentVolumeClaim with ReadWriteOncePod access mode already in-use by another pod"},
		"ReadWriteOncePod claim, pod unplaced": {append(shared, testPod("a", "data")), testPod("web", "data"), ""},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			got, err := Explain(Config{}, "default/web", append(tt.objects, tt.pod))
			require.NoError(t, err)
			require.Empty(t, got.PreFilter)
			require.Len(t, got.Nodes, 1)
			assert.Equal(t, tt.want, strings.Join(got.Nodes[0].Reasons, ", "))
			assert.Equal(t, tt.want == "", got.Nodes[0].Plugin == "")
		})
	}
}

func TestAPodIsRefusedBeforeAnyNodeForTheReasonUpstreamGives(t *testing.T) {
	lost := func(c *v1.PersistentVolumeClaim) { c.Spec.VolumeName, c.Status.Phase = "pv", v1.ClaimLost }
	deleting := func(c *v1.PersistentVolumeClaim) { c.DeletionTimestamp = &c.CreationTimestamp }
	ephemeral := testPod("web")
	ephemeral.Spec.Volumes = []v1.Volume{{Name: "scratch", VolumeSource: v1.VolumeSource{Ephemeral: &v1.EphemeralVolumeSource{}}}}
	tests := map[string]struct {
		pod   *v1.Pod
		claim *v1.PersistentVolumeClaim
		want  string
	}{
		"missing":  {testPod("web", "ghost"), nil, `persistentvolumeclaim "ghost" not found`},
		"lost":     {testPod("web", "data"), testClaim("data", "1Gi", "", lost), `persistentvolumeclaim "data" bound to non-existent persistentvolume "pv"`},
		"deleting": {testPod("web", "data"), testClaim("data", "1Gi", "", deleting), `persistentvolumeclaim "data" is being deleted`},
		"unbound":  {testPod("web", "data"), testClaim("data", "1Gi", ""), `pod has unbound immediate PersistentVolumeClaims`},
		"nodes that exclude each other": {func() *v1.Pod {
			pod := testPod("web")
			pod.Spec.Affinity = required(v1.NodeSelectorTerm{MatchFields: []v1.NodeSelectorRequirement{
				{Key: "metadata.name", Operator: v1.NodeSelectorOpIn, Values: []string{"node-1"}},
				{Key: "metadata.name", Operator: v1.NodeSelectorOpIn, Values: []string{"node-2"}},
			}})
			return pod
		}(), nil, `pod affinity terms conflict`},
		"volume gone":            {testPod("web", "data"), testClaim("data", "1Gi", "", boundTo("pv")), `persistentvolume "pv" not found`},
		"class vanished":         {testPod("web", "data"), testClaim("data", "1Gi", "gone"), `pod has unbound immediate PersistentVolumeClaims`},
		"ephemeral, not made":    {ephemeral, nil, `waiting for ephemeral volume controller to create the persistentvolumeclaim "web-scratch"`},
		"ephemeral, not its own": {ephemeral, testClaim("web-scratch", "1Gi", ""), `PVC default/web-scratch was not created for pod default/web (pod is not owner)`},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			objects := []runtime.Object{testNode("node-1"), tt.pod}
			if tt.claim != nil {
				objects = append(objects, tt.claim)
			}
			got, err := Explain(Config{}, "default/web", objects)
			require.NoError(t, err)
			assert.Equal(t, tt.want, got.PreFilter)
			assert.Empty(t, got.Nodes)
		})
	}
}

func TestRequiredTermsThatConflictOrCannotBeParsedMatchNoNode(t *testing.T) {
	pod := testPod("web")
	pod.Spec.Affinity = required(v1.NodeSelectorTerm{MatchExpressions: []v1.NodeSelectorRequirement{
		{Key: "disk", Operator: v1.NodeSelectorOpExists}, {Key: "disk", Operator: v1.NodeSelectorOpDoesNotExist},
	}})
	got, err := Explain(Config{}, "default/web", []runtime.Object{testNode("node-1"), pod})
	require.NoError(t, err)
	assert.Equal(t, "NodeAffinity", got.Nodes[0].Plugin)

	pod.Spec.Affinity = required(term("disk", "Nonsense"))
	got, err = Explain(Config{}, "default/web", []runtime.Object{testNode("node-1"), pod})
	require.NoError(t, err)
	assert.Equal(t, []string{reasonNodeAffinity}, got.Nodes[0].Reasons)
}

func TestPodRequestIsWhatThePodNeedsAtItsPeak(t *testing.T) {
	cpu := func(name, amount string, sidecar bool) v1.Container {
		c := v1.Container{Name: name}
		c.Resources.Requests = v1.ResourceList{v1.ResourceCPU: resource.MustParse(amount)}
		if always := v1.ContainerRestartPolicyAlways; sidecar {
			c.RestartPolicy = &always
		}
		return c
	}
	pod := testPod("web")
	pod.Spec.Containers = []v1.Container{cpu("a", "1", false), cpu("b", "500m", false)}
	assert.EqualValues(t, 1500, podRequest(pod).milliCPU)
	pod.Spec.InitContainers = []v1.Container{cpu("proxy", "250m", true), cpu("big", "3", false)}
	assert.EqualValues(t, 3250, podRequest(pod).milliCPU, "an init container runs beside the sidecars before it")
	pod.Spec.Overhead = v1.ResourceList{v1.ResourceCPU: resource.MustParse("100m")}
	assert.EqualValues(t, 3350, podRequest(pod).milliCPU)
	assert.EqualValues(t, 2*defaultMemory, podRequest(testPodWith(2)).nonZeroMemory, "a container that asks for nothing counts in scoring")
	assert.True(t, podRequest(testPodWith(2)).asksForNothing())
}

// A plain pod is counted without the library, and alike.
func TestAPlainPodCountsAsTheLibrarySays(t *testing.T) {
	alike := func(pod *v1.Pod) {
		t.Helper()
		require.True(t, isPlain(pod))
		assert.Equal(t, peakRequest(pod), podRequest(pod))
	}
	for n := range 4 {
		alike(testPodWith(n))
	}
	for _, list := range []v1.ResourceList{
		{v1.ResourceCPU: resource.MustParse("1")}, {v1.ResourceMemory: resource.MustParse("1Gi")}, {v1.ResourceCPU: resource.MustParse("0")},
		{v1.ResourceCPU: resource.MustParse("100u"), v1.ResourceMemory: resource.MustParse("100m"), v1.ResourceEphemeralStorage: resource.MustParse("3")},
		{"example.com/gpu": resource.MustParse("2"), v1.ResourceMemory: resource.MustParse("0"), v1.ResourcePods: resource.MustParse("5")},
	} {
		pod := testPodWith(1)
		pod.Spec.Containers[0].Name, pod.Spec.Containers[0].Resources.Requests = "c", list
		alike(pod)
		pod.Status.ContainerStatuses = []v1.ContainerStatus{{Name: "c", AllocatedResources: list, Resources: &v1.ResourceRequirements{Requests: list}}}
		alike(pod)
		pod.Status.Conditions = []v1.PodCondition{{Type: v1.PodResizePending, Status: v1.ConditionTrue, Reason: v1.PodReasonInfeasible}}
		alike(pod)
	}
	some := v1.ResourceList{v1.ResourceCPU: resource.MustParse("1")}
	for name, change := range map[string]func(p *v1.Pod){
		"container":      func(p *v1.Pod) { p.Spec.Containers[1].Resources.Requests = some },
		"init container": func(p *v1.Pod) { p.Spec.InitContainers = make([]v1.Container, 1) },
		"overhead":       func(p *v1.Pod) { p.Spec.Overhead = some },
		"pod":            func(p *v1.Pod) { p.Spec.Resources = &v1.ResourceRequirements{Requests: some} },
		"resized container": func(p *v1.Pod) {
			p.Status.ContainerStatuses = []v1.ContainerStatus{{Resources: &v1.ResourceRequirements{Requests: some}}}
		},
		"allotted container": func(p *v1.Pod) { p.Status.ContainerStatuses = []v1.ContainerStatus{{AllocatedResources: some}} },
		"resized pod":        func(p *v1.Pod) { p.Status.Resources = &v1.ResourceRequirements{Requests: some} },
		"allotted pod":       func(p *v1.Pod) { p.Status.AllocatedResources = some },
	} {
		pod := testPodWith(2)
		change(pod)
		assert.False(t, isPlain(pod), name)
	}
}

func testPodWith(containers int) *v1.Pod {
	pod := testPod("web")
	pod.Spec.Containers = make([]v1.Container, containers)
	return pod
}

func TestTheMessageCountsNodesByReason(t *testing.T) {
	verdict := func(c code, reasons ...string) nodeVerdict { return nodeVerdict{"n", refuse(c, reasons...)} }
	fitError := func(d *diagnosis) string {
		d.postFilter = fmt.Sprintf("preemption: 0/%d nodes are available: %s.", d.total, d.countWithoutVictims())
		return d.fitError().message()
	}
	d := diagnosis{total: 3, nodes: []nodeVerdict{
		verdict(unresolvable, string(ErrReasonNodeConflict)),
		verdict(unschedulable, "Insufficient cpu", "Insufficient memory"),
		verdict(unresolvable, string(ErrReasonNodeConflict), string(ErrReasonBindConflict)),
	}}
	assert.Equal(t, "0/3 nodes are available: 1 Insufficient cpu, 1 Insufficient memory, 1 node(s) didn't find available persistent volumes to bind, "+
		"2 node(s) didn't match PersistentVolume's node affinity. "+
		"preemption: 0/3 nodes are available: 1 No preemption victims found for incoming pod, 2 Preemption is not helpful for scheduling.", fitError(&d))

	d = diagnosis{total: 1, preFilter: refuse(unresolvable, `persistentvolumeclaim "ghost" not found`)}
	assert.Equal(t, `0/1 nodes are available: persistentvolumeclaim "ghost" not found. not found`, d.fitError().message())
	assert.Len(t, truncate(strings.Repeat("é", 2000)), maxMessage)

	d = diagnosis{total: 3, excluded: 2, nodes: []nodeVerdict{verdict(unschedulable, "Too many pods")}}
	assert.Equal(t, "0/3 nodes are available: 1 Too many pods, 2 node(s) didn't satisfy plugin(s) [NodeAffinity]. "+
		"preemption: 0/3 nodes are available: 1 No preemption victims found for incoming pod, 2 Preemption is not helpful for scheduling.", fitError(&d))
	assert.Equal(t, []plugin{nodeAffinity{}}, stillScheduler(Config{}, nil).rejectedBy(&d), "it waits for a node of that name")
}

func TestEmptierAndPreferredNodesScoreHigher(t *testing.T) {
	pod := asking(testPod("web"), "1", "1Gi")
	pod.Spec.Affinity = &v1.Affinity{NodeAffinity: &v1.NodeAffinity{PreferredDuringSchedulingIgnoredDuringExecution: []v1.PreferredSchedulingTerm{
		{Weight: 10, Preference: term("disk", v1.NodeSelectorOpExists)}, {Weight: 30, Preference: term("zone", v1.NodeSelectorOpIn, "a")},
	}}}
	s := stillScheduler(Config{}, []runtime.Object{
		testNode("busy"), on(asking(testPod("a"), "2", "4Gi"), "busy"), testNode("empty"),
		testNode("preferred", func(n *v1.Node) { n.Labels["zone"] = "a" }),
		testNode("discouraged", tainted("old", v1.TaintEffectPreferNoSchedule)),
	})
	c := newCycle(pod, &queuedPod{})
	require.True(t, s.plugins.runPreFilterPlugins(c).is(success))
	require.True(t, s.plugins.runPreScorePlugins(c, s.cluster.nodes).is(success))
	scores := map[string]int64{}
	for i, score := range s.runScorePlugins(c, s.cluster.nodes, nil) {
		scores[s.cluster.nodes[i].node.Name] = score
	}
	// 71: the pod makes all of them less even, NodeResourcesBalancedAllocation.
	assert.Equal(t, map[string]int64{"busy": 31 + 71 + 300, "empty": 81 + 71 + 300, "preferred": 81 + 71 + 300 + 200, "discouraged": 81 + 71}, scores)
}

// Upstream: plugins/helper/normalize_score_test.go, v1.37.
func TestScoresAreStretchedToAHundred(t *testing.T) {
	for _, tt := range []struct {
		scores, straight, reverse []int64
	}{
		{[]int64{1, 2, 3, 4}, []int64{25, 50, 75, 100}, []int64{75, 50, 25, 0}},
		{[]int64{0, 0}, []int64{0, 0}, []int64{100, 100}},
		{[]int64{1000, 10, 20, 30}, []int64{100, 1, 2, 3}, []int64{0, 99, 98, 97}},
	} {
		straight, reverse := slices.Clone(tt.scores), slices.Clone(tt.scores)
		defaultNormalizeScore(straight, false)
		defaultNormalizeScore(reverse, true)
		assert.Equal(t, tt.straight, straight)
		assert.Equal(t, tt.reverse, reverse)
	}
}

// Upstream: noderesources/balanced_allocation.go balancedResourceScorer, v1.37.
func TestANodeThatThePodEvensOutIsPreferred(t *testing.T) {
	s := stillScheduler(Config{}, []runtime.Object{
		testNode("empty"), testNode("cpu-heavy"), on(asking(testPod("a"), "2", "0"), "cpu-heavy"),
	})
	lean := newCycle(asking(testPod("lean"), "0", "4Gi"), &queuedPod{})
	nothing := newCycle(testPod("nothing"), &queuedPod{})
	for _, c := range []*cycle{lean, nothing} {
		require.True(t, s.plugins.runPreFilterPlugins(c).is(success))
		require.True(t, s.plugins.runPreScorePlugins(c, s.cluster.nodes).is(success))
	}
	var p balancedAllocation
	node := func(name string) *nodeInfo { n, _ := s.cluster.node(name); return n }
	assert.EqualValues(t, 62, p.Score(lean, node("empty")), "0 and 0 become 0 and a half: from 100 to 75")
	assert.EqualValues(t, 87, p.Score(lean, node("cpu-heavy")), "a half and 0 become a half each: from 75 to 100")
	assert.True(t, nothing.unscored[p.Name()], "who asks for nothing is not asked")
}

func TestABadConfigIsRefusedByField(t *testing.T) {
	err := New(Config{BindTimeout: -1})(stillEnv{})
	assert.ErrorContains(t, err, "scheduler.Config.BindTimeout")
	for _, percentage := range []int{-1, 101} {
		err = New(Config{PercentageOfNodesToScore: percentage})(stillEnv{})
		assert.EqualError(t, err,
			fmt.Sprintf("scheduler.Config.PercentageOfNodesToScore: %d is not a percentage; it must be 1 to 100, or 0 to choose by the number of nodes", percentage))
	}
	err = New(Config{InitialBackoff: 20e9})(stillEnv{})
	assert.ErrorContains(t, err, "scheduler.Config.MaxBackoff")
}
