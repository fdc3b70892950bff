package scheduler

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/runtime"
)

// explained returns the lines of an explanation of pod default/web.
func explained(t *testing.T, objects ...runtime.Object) []string {
	t.Helper()
	got, err := Explain(Config{}, "default/web", objects)
	require.NoError(t, err)
	var lines []string
	if got.PreFilter != "" {
		lines = append(lines, got.PreFilter)
	}
	lines = append(lines, got.Notes...)
	for _, node := range got.Nodes {
		lines = append(lines, node.String())
		for _, claim := range node.Claims {
			if claim.Text != "" {
				lines = append(lines, "  "+claim.Claim+": "+claim.Text)
			}
			for _, volume := range claim.Volumes {
				lines = append(lines, "    "+volume.String())
			}
		}
	}
	if got.Failure != "" {
		lines = append(lines, "error: "+got.Failure)
	}
	return lines
}

func TestExplainNamesTheClaimAndWhatIsWrongWithIt(t *testing.T) {
	assert.Equal(t, []string{
		`node-1: pvc default/data: it is bound to pv pv: no matching NodeSelectorTerms: kubernetes.io/hostname In [node-2], the node has "node-1"`,
		"node-2: fits",
		"node-3: node(s) had untolerated taint(s): the pod does not tolerate the taint gpu=x:NoSchedule",
	}, explained(t,
		testNode("node-1"), testNode("node-2"), testNode("node-3", tainted("gpu", v1.TaintEffectNoSchedule)),
		testClaim("data", "1Gi", delayed, boundTo("pv")), testVolume("pv", "1Gi", delayed, "node-2"), testPod("web", "data"),
	))
	_, err := Explain(Config{}, "default/nobody", nil)
	assert.EqualError(t, err, "there is no pod default/nobody")
	got, err := Explain(Config{}, "default/web", []runtime.Object{on(testPod("web"), "node-1")})
	require.NoError(t, err)
	assert.Equal(t, Explanation{Pod: "default/web", Node: "node-1"}, got)
}

func TestExplainSaysWhatEachClaimWouldGetOnEachNode(t *testing.T) {
	assert.Equal(t, []string{
		"node-1: node(s) were unschedulable: it is cordoned",
		"  default/big: pv-a would be bound to it",
		"  default/made: provisioner example.com/ext would make a volume for it there",
		"node-2: pvc default/big: no volume of class delayed fits, and the class has no provisioner",
		`    pv-a is passed over: it cannot be reached from node node-2: kubernetes.io/hostname In [node-1], the node has "node-2"`,
		"    pv-b is passed over: capacity 1Gi is less than the requested 5Gi",
		"  default/made: provisioner example.com/ext would make a volume for it there",
	}, explained(t,
		testNode("node-1", func(n *v1.Node) { n.Spec.Unschedulable = true }), testNode("node-2"),
		testClass(delayed, "kubernetes.io/no-provisioner"), testClass(dynamic, "example.com/ext"),
		testClaim("big", "5Gi", delayed), testClaim("made", "5Gi", dynamic),
		testVolume("pv-a", "9Gi", delayed, "node-1"), testVolume("pv-b", "1Gi", delayed, "node-2"), testPod("web", "big", "made"),
	))
}

func TestExplainSaysWhatASmallerClaimOfThePodHasTaken(t *testing.T) {
	assert.Equal(t, []string{
		"node-1: pvc default/big: no volume of class delayed fits, and the class has no provisioner",
		"  default/small: pv would be bound to it",
		"    pv is passed over: another claim of the same pod takes it",
	}, explained(t,
		testNode("node-1"), testClass(delayed, "kubernetes.io/no-provisioner"), testVolume("pv", "9Gi", delayed, ""),
		testClaim("big", "5Gi", delayed), testClaim("small", "1Gi", delayed), testPod("web", "big", "small"),
	))
}

func TestExplainSaysThatTheSameClaimTwiceNeedsTwoVolumes(t *testing.T) {
	assert.Equal(t, []string{
		"more than one of the pod's volumes names pvc default/data, and a volume is searched for each",
		"node-1: pvc default/data: no volume of class delayed fits, and the class has no provisioner",
		"  default/data: pv would be bound to it",
		"    pv is passed over: another claim of the same pod takes it",
	}, explained(t,
		testNode("node-1"), testClass(delayed, "kubernetes.io/no-provisioner"), testVolume("pv", "9Gi", delayed, ""),
		testClaim("data", "1Gi", delayed), testPod("web", "data", "data"),
	))
}

func TestExplainFollowsAClaimToItsSelectedNode(t *testing.T) {
	assert.Equal(t, []string{
		"node-1: pvc default/data: its volume is being made for node node-2 (volume.kubernetes.io/selected-node)",
		"node-2: fits",
		"  default/data: provisioner example.com/ext is to make its volume there (volume.kubernetes.io/selected-node)",
	}, explained(t,
		testNode("node-1"), testNode("node-2"), testClass(dynamic, "example.com/ext"),
		testClaim("data", "1Gi", dynamic, selectedNode("node-2")), testPod("web", "data"),
	))
}

func TestExplainSaysThatTheSelectedNodeDoesNotExist(t *testing.T) {
	assert.Equal(t, []string{
		`there is no node "gone", which the annotation volume.kubernetes.io/selected-node of pvc default/data names: the scheduler chooses again ` +
			`when that is removed`,
		"node-1: pvc default/data: its volume is being made for node gone (volume.kubernetes.io/selected-node)",
	}, explained(t, testNode("node-1"), testClass(dynamic, "example.com/ext"), testClaim("data", "1Gi", dynamic, selectedNode("gone")), testPod("web", "data")))
}

func TestExplainSaysWhichTopologyTheClassAllows(t *testing.T) {
	const zone = "topology.kubernetes.io/zone"
	assert.Equal(t, []string{
		`node-1: pvc default/data: allowedTopologies of class dynamic do not include the node: topology.kubernetes.io/zone In [b c], the node has "a"`,
		`node-2: pvc default/data: allowedTopologies of class dynamic do not include the node: topology.kubernetes.io/zone In [b c], the node has no such label`,
	}, explained(t,
		testNode("node-1", func(n *v1.Node) { n.Labels[zone] = "a" }), testNode("node-2"), testClaim("data", "1Gi", dynamic), testPod("web", "data"),
		testClass(dynamic, "example.com/ext", func(c *storagev1.StorageClass) {
			c.AllowedTopologies = []v1.TopologySelectorTerm{{MatchLabelExpressions: []v1.TopologySelectorLabelRequirement{{Key: zone, Values: []string{"b", "c"}}}}}
		}),
	))
}

func TestExplainSaysWhyAClaimIsThePVControllersBusiness(t *testing.T) {
	immediate := storagev1.VolumeBindingImmediate
	assert.Equal(t, []string{
		"pod has unbound immediate PersistentVolumeClaims",
		"pvc default/classless is not bound: it has no class that waits for a pod, so the PV controller has to bind it first",
		`pvc default/vanished is not bound: its class "vanished" does not exist, so the PV controller has to bind it before a pod is scheduled`,
		"pvc default/now is not bound: its class now does not wait for a pod, so the PV controller has to bind it first",
		"pvc default/named is not bound: it names volume pv, and the PV controller has not finished binding the two",
	}, explained(t,
		testNode("node-1"), testClass("now", "x", func(c *storagev1.StorageClass) { c.VolumeBindingMode = &immediate }),
		testClass(delayed, "kubernetes.io/no-provisioner"), testClaim("waits", "1Gi", delayed),
		testClaim("classless", "1Gi", ""), testClaim("vanished", "1Gi", "vanished"), testClaim("now", "1Gi", "now"),
		testClaim("named", "1Gi", delayed, func(c *v1.PersistentVolumeClaim) { c.Spec.VolumeName = "pv" }),
		testPod("web", "waits", "classless", "vanished", "now", "named", "now"),
	))
}

func TestExplainTellsAnErrorOfTheSchedulerFromAVerdict(t *testing.T) {
	badMode := testClass("broken", "x", func(c *storagev1.StorageClass) { c.VolumeBindingMode = nil })
	lines := explained(t, testNode("node-1"), badMode, testClaim("data", "1Gi", "broken"), testPod("web", "data"))
	require.Len(t, lines, 1)
	assert.Contains(t, lines[0], `error: running PreFilter plugin "VolumeBinding": `)

	pod := testPod("web")
	pod.Spec.Affinity = &v1.Affinity{NodeAffinity: &v1.NodeAffinity{PreferredDuringSchedulingIgnoredDuringExecution: []v1.PreferredSchedulingTerm{
		{Weight: 1, Preference: term("disk", v1.NodeSelectorOpGt, "many")},
	}}}
	assert.Equal(t, []string{
		"node-1: fits", "node-2: fits",
		`error: running PreScore plugin "NodeAffinity": preferredDuringSchedulingIgnoredDuringExecution[0]: nodeSelectorTerms[0].matchExpressions[0]: ` +
			`values must be one integer for Gt and Lt`,
	}, explained(t, testNode("node-1"), testNode("node-2"), pod))
}

// Each plugin says what exactly it found; node-1 is always the one in question.
func TestExplainSaysInWordsWhatUpstreamsReasonsLeaveOut(t *testing.T) {
	affine := func(terms ...v1.NodeSelectorTerm) *v1.Pod {
		pod := testPod("web")
		pod.Spec.Affinity = required(terms...)
		return pod
	}
	byName := func(name string) v1.NodeSelectorTerm {
		return v1.NodeSelectorTerm{MatchFields: []v1.NodeSelectorRequirement{{Key: "metadata.name", Operator: v1.NodeSelectorOpIn, Values: []string{name}}}}
	}
	const affinity = "node-1: node(s) didn't match Pod's node affinity/selector: "
	small := testNode("node-1", func(n *v1.Node) { n.Status.Allocatable[v1.ResourcePods] = resource.MustParse("1") })
	inZone := testNode("node-1", func(n *v1.Node) { n.Labels[v1.LabelTopologyZone] = "c" })
	asksGPU := testPod("web")
	asksGPU.Spec.Containers[0].Resources.Requests = v1.ResourceList{"example.com/gpu": resource.MustParse("1")}
	bound := testClaim("data", "1Gi", "", boundTo("pv"))
	tests := map[string]struct {
		objects []runtime.Object
		want    string
	}{
		"nodeSelector, no label": {[]runtime.Object{testNode("node-1"), selecting("disk", "ssd")},
			affinity + "nodeSelector wants disk=ssd, the node has no such label"},
		"nodeSelector, other value": {[]runtime.Object{testNode("node-1"), selecting(v1.LabelHostname, "x")},
			affinity + `nodeSelector wants kubernetes.io/hostname=x, the node has "node-1"`},
		"affinity": {
			[]runtime.Object{testNode("node-1"),
				affine(term("disk", v1.NodeSelectorOpExists), term(v1.LabelHostname, v1.NodeSelectorOpIn, "x", "y"), v1.NodeSelectorTerm{})},
			affinity + `required affinity: disk Exists, the node has no such label; or kubernetes.io/hostname In [x y], the node has "node-1"; ` +
				`or a term without requirements matches no node`,
		},
		"affinity that cannot be parsed": {
			[]runtime.Object{testNode("node-1"), affine(term("disk", v1.NodeSelectorOpGt, "many"))},
			affinity + "required affinity: disk Gt [many] matches nothing: values must be one integer for Gt and Lt",
		},
		"affinity by name": {[]runtime.Object{testNode("node-1"), affine(byName("node-2"), byName("node-3"))},
			"node-1: node(s) didn't satisfy plugin(s) [NodeAffinity]: the pod's affinity is for node-2, node-3"},
		"affinity by name or label": {
			[]runtime.Object{testNode("node-1"), affine(byName("node-2"), term("disk", v1.NodeSelectorOpExists))},
			affinity + "required affinity: metadata.name In [node-2], the node is node-1; or disk Exists, the node has no such label",
		},
		"port": {[]runtime.Object{testNode("node-1"), on(withPort(testPod("a"), 80, ""), "node-1"), withPort(testPod("web"), 80, "10.0.0.1")},
			"node-1: node(s) didn't have free ports for the requested pod ports: port 80/TCP is taken"},
		"resources": {
			[]runtime.Object{testNode("node-1"), on(asking(testPod("a"), "3", "1Gi"), "node-1"), asking(testPod("web"), "1500m", "7681Mi")},
			"node-1: Insufficient cpu, Insufficient memory: the pod requests 1500m cpu, the node has 4, of which 3 are requested already; " +
				"the pod requests 7681Mi memory, the node has 8Gi, of which 1Gi are requested already",
		},
		"extended resource": {[]runtime.Object{testNode("node-1"), asksGPU},
			"node-1: Insufficient example.com/gpu: the pod requests 1 example.com/gpu, the node has 0, of which 0 are requested already"},
		"pods": {[]runtime.Object{small, on(testPod("a"), "node-1"), testPod("web")}, "node-1: Too many pods: it has 1 pods and takes 1"},
		"disk": {[]runtime.Object{testNode("node-1"), on(withDisk(testPod("a"), "d"), "node-1"), withDisk(testPod("web"), "d")},
			"node-1: node(s) had no available disk: pod default/a on it has the same disk"},
		"ReadWriteOncePod": {
			[]runtime.Object{testNode("node-1"), testVolume("pv", "1Gi", "", ""), testClaim("data", "1Gi", "", rwop, boundTo("pv")), on(testPod("a", "data"), "node-9"),
				testPod("web", "data")},
			"node-1: node(s) unavailable due to PersistentVolumeClaim with ReadWriteOncePod access mode already in-use by another pod: pvc default/data is used by " +
				"pod default/a on node node-9",
		},
		"attach limit": {
			[]runtime.Object{testNode("node-1"), attaches("node-1", 0), bound, testVolume("pv", "1Gi", "", "", ofDriver("h")), testPod("web", "data")},
			"node-1: node(s) exceed max volume count: driver example.com/ext has 0 volumes there and attaches at most 0",
		},
		"zone": {
			[]runtime.Object{inZone, bound, testVolume("pv", "1Gi", "", "", labelled(v1.LabelFailureDomainBetaZone, "a__b")), testPod("web", "data")},
			`node-1: node(s) had no available volume zone: pv pv is in failure-domain.beta.kubernetes.io/zone a and b, the node has "c"`,
		},
		"region": {
			[]runtime.Object{inZone, bound, testVolume("pv", "1Gi", "", "", labelled(v1.LabelTopologyRegion, "r")), testPod("web", "data")},
			"node-1: node(s) had no available volume zone: pv pv is in topology.kubernetes.io/region r, the node has no such label",
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			assert.Equal(t, []string{tt.want}, explained(t, tt.objects...))
		})
	}
}
