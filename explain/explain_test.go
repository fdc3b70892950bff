package explain_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/storagesim/storagesim"
	"github.com/storagesim/storagesim/storagesimtest"
)

// explainPod returns a pod with extra lines of its spec and the claims as volumes.
func explainPod(name, spec string, claims ...string) string {
	var volumes []string
	for i, claim := range claims {
		volumes = append(volumes, fmt.Sprintf("{name: v%d, persistentVolumeClaim: {claimName: %s}}", i, claim))
	}
	return fmt.Sprintf(`
apiVersion: v1
kind: Pod
metadata: {name: %s}
spec:
  volumes: [%s]
  containers: [{name: web, image: nginx}]
%s
`, name, strings.Join(volumes, ", "), spec)
}

func explainClaim(name, size, spec string) string {
	return fmt.Sprintf(`
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: %s}
spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: %s}}%s}
`, name, size, spec)
}

func explainVolume(name, size, node, spec string) string {
	return fmt.Sprintf(`
apiVersion: v1
kind: PersistentVolume
metadata: {name: %s}
spec:
  capacity: {storage: %s}
  accessModes: [ReadWriteOnce]
  local: {path: /data}
  nodeAffinity: {required: {nodeSelectorTerms: [{matchExpressions: [{key: kubernetes.io/hostname, operator: In, values: [%s]}]}]}}
%s
`, name, size, node, spec)
}

const explainClass = `
apiVersion: storage.k8s.io/v1
kind: StorageClass
metadata: {name: local}
provisioner: kubernetes.io/no-provisioner
volumeBindingMode: WaitForFirstConsumer
`

// requireLines requires that these lines follow one another in the text.
func requireLines(t *testing.T, text string, lines ...string) {
	t.Helper()
	require.Contains(t, "\n"+text, "\n"+strings.Join(lines, "\n")+"\n")
}

// Of a hundred nodes alike four are told, and those that differ.
func TestExplainCountsNodesOfWhichTheSameIsTrue(t *testing.T) {
	nodes := make([]storagesim.Node, 100)
	for i := range nodes {
		nodes[i] = storagesim.Node{Name: fmt.Sprintf("node-%03d", i)}
	}
	c := storagesimtest.New(t, storagesim.Config{Nodes: nodes})
	c.Apply(explainClass, explainVolume("pv-a", "1Gi", "node-050", "  storageClassName: local"),
		explainVolume("pv-b", "9Gi", "node-060", "  storageClassName: local"),
		explainClaim("data", "5Gi", ", storageClassName: local"), explainPod("web", "  nodeSelector: {kubernetes.io/hostname: node-050}", "data"))
	c.Settle()
	why := c.Explain("pod/web")
	for _, name := range []string{"node-000", "node-003", "node-050", "node-060"} {
		require.Contains(t, why, "  node "+name+": ")
	}
	for _, name := range []string{"node-004", "node-099"} {
		require.NotContains(t, why, "  node "+name+": ")
	}
	requireLines(t, why,
		`      volume pv-b is passed over: it cannot be reached from node node-003: kubernetes.io/hostname In [node-060], the node has "node-003"`,
		"  the same is true of 94 more nodes",
		"  node node-050: pvc default/data: no volume of class local fits, and the class has no provisioner")
	require.Equal(t, 1, strings.Count(why, "the same is true"))
}

// The name of one is the beginning of the others', and a letter of every word.
func TestExplainTellsNodesAlikeWhateverTheirNames(t *testing.T) {
	c := storagesimtest.New(t, storagesim.Config{Nodes: storagesim.Nodes("e", "e-1", "e-2", "e-3", "e-4", "e-5")})
	c.Apply(explainClass, explainVolume("pv", "9Gi", "e-10", "  storageClassName: local"),
		explainClaim("data", "5Gi", ", storageClassName: local"), explainPod("web", "", "data"))
	c.Settle()
	why := c.Explain("pod/web")
	requireLines(t, why,
		`      volume pv is passed over: it cannot be reached from node e-3: kubernetes.io/hostname In [e-10], the node has "e-3"`,
		"  the same is true of 2 more nodes")
	require.NotContains(t, why, "  node e-4: ")
}

func TestExplainJoinsTheSchedulersVerdictsWithThePVControllers(t *testing.T) {
	c := storagesimtest.New(t, storagesim.Config{Nodes: storagesim.Nodes("node-1", "node-2", "node-3")})
	c.Apply(explainClass,
		explainVolume("pv-a", "1Gi", "node-1", "  storageClassName: local"), explainVolume("pv-b", "9Gi", "node-2", "  storageClassName: local"),
		explainClaim("data", "5Gi", ", storageClassName: local"), explainPod("web", "  nodeSelector: {kubernetes.io/hostname: node-1}", "data"))
	c.Settle()
	why := c.Explain("pod/web")
	requireLines(t, why,
		"pod default/web is Pending: 0/3 nodes are available: 1 node(s) didn't find available persistent volumes to bind, 2 node(s) didn't match Pod's node "+
			"affinity/selector. "+
			"preemption: 0/3 nodes are available: 3 Preemption is not helpful for scheduling.",
		"  node node-1: pvc default/data: no volume of class local fits, and the class has no provisioner",
		"      volume pv-a is passed over: capacity 1Gi is less than the requested 5Gi",
		`      volume pv-b is passed over: it cannot be reached from node node-1: kubernetes.io/hostname In [node-2], the node has "node-1"`,
		`  node node-2: node(s) didn't match Pod's node affinity/selector: nodeSelector wants kubernetes.io/hostname=node-1, the node has "node-2"`,
		"    pvc default/data: pv-b would be bound to it",
		`  node node-3: node(s) didn't match Pod's node affinity/selector: nodeSelector wants kubernetes.io/hostname=node-1, the node has "node-3"`,
		"      volume pv-a is passed over: capacity 1Gi is less than the requested 5Gi",
		`      volume pv-b is passed over: it cannot be reached from node node-3: kubernetes.io/hostname In [node-2], the node has "node-3"`,
		"pvc default/data is Pending",
		"  its class local binds when the first pod that uses the claim is scheduled (WaitForFirstConsumer)",
		"  volume pv-a is passed over: capacity 1Gi is less than the requested 5Gi",
		"  volume pv-b is passed over: the claim's class waits for the first consumer, so the scheduler will choose",
	)
}

func TestExplainSaysOfABadPodWhatIsWrongWithIt(t *testing.T) {
	c := storagesimtest.New(t, storagesim.Config{Nodes: storagesim.Nodes("node-1", "node-2")})
	c.Apply(explainVolume("kept", "5Gi", "node-1", "  storageClassName: ''"), explainVolume("lost", "5Gi", "node-1", "  storageClassName: ''"),
		explainClaim("kept", "5Gi", ", storageClassName: '', volumeName: kept"), explainClaim("lost", "5Gi", ", storageClassName: '', volumeName: lost"),
		explainClaim("vanished", "1Gi", ", storageClassName: vanished"), explainPod("user", "", "kept"))
	c.Settle()
	require.Equal(t, "node-1", c.Pod("default/user").Spec.NodeName)
	c.Delete("pvc/kept", "pv/lost") // protected: the one by its pod, the other until its finalizer goes
	c.Settle()
	pv := c.Volume("lost")
	pv.Finalizers = nil
	_, err := c.Client().CoreV1().PersistentVolumes().Update(t.Context(), pv, metav1.UpdateOptions{})
	require.NoError(t, err)
	c.Settle()
	require.Equal(t, v1.ClaimLost, c.Claim("default/lost").Status.Phase)

	for name, tt := range map[string]struct {
		pod   string
		lines [][]string // each a run of lines
	}{
		"a missing claim": {explainPod("web", "", "ghost"), [][]string{
			{`  no node is looked at: persistentvolumeclaim "ghost" not found`}, {"it uses pvc default/ghost, which does not exist"},
		}},
		"a claim that is being deleted": {explainPod("web", "", "kept"), [][]string{
			{`  no node is looked at: persistentvolumeclaim "kept" is being deleted`},
			{"pvc default/kept is Bound to pv kept", "  it is being deleted and waits for its finalizers: kubernetes.io/pvc-protection",
				"  pod default/user still uses it"},
			{"  it is used by pod default/user, which is Running on node node-1"},
		}},
		"a lost claim": {explainPod("web", "", "lost"), [][]string{
			{`  no node is looked at: persistentvolumeclaim "lost" bound to non-existent persistentvolume "lost"`},
			{"pvc default/lost is Lost", "  it was bound to volume lost, which is gone; its data may still be in /data on node node-1"},
		}},
		"a class that vanished": {explainPod("web", "", "vanished"), [][]string{
			{
				"  no node is looked at: pod has unbound immediate PersistentVolumeClaims",
				`    pvc default/vanished is not bound: its class "vanished" does not exist, so the PV controller has to bind it before a pod is scheduled`,
			},
			{"pvc default/vanished is Pending", `  its class "vanished" does not exist, so it can only be bound to a volume that names the same class`},
		}},
		"affinity for two nodes at once": {
			explainPod("web", "  affinity: {nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: [{matchFields: ["+
				"{key: metadata.name, operator: In, values: [node-1]}, {key: metadata.name, operator: In, values: [node-2]}]}]}}}"),
			[][]string{{"  no node is looked at: pod affinity terms conflict"}},
		},
		"affinity that cannot be parsed": {
			explainPod("web", "  affinity: {nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: [{matchExpressions: [{key: disk, "+
				"operator: Gt, values: [many]}]}]}}}"),
			[][]string{{
				"  node node-1: node(s) didn't match Pod's node affinity/selector: required affinity: disk Gt [many] matches nothing: " +
					"values must be one integer for Gt and Lt",
			}},
		},
		"a preference that cannot be parsed": {
			explainPod("web", "  affinity: {nodeAffinity: {preferredDuringSchedulingIgnoredDuringExecution: [{weight: 1, preference: {matchExpressions: [{key: disk, "+
				"operator: Gt, values: [many]}]}}]}}"),
			[][]string{{
				`  an attempt ends with an error: running PreScore plugin "NodeAffinity": preferredDuringSchedulingIgnoredDuringExecution[0]: ` +
					"nodeSelectorTerms[0].matchExpressions[0]: values must be one integer for Gt and Lt", "  node node-1: fits", "  node node-2: fits",
			}},
		},
		"a scheduler that nobody runs": {explainPod("web", "  schedulerName: mine"), [][]string{
			{"pod default/web is Pending and has no node yet", `  it is left to scheduler "mine" (spec.schedulerName), and only default-scheduler runs here`},
		}},
		"a gate": {explainPod("web", "  schedulingGates: [{name: example.com/wait}]"), [][]string{
			{"pod default/web is Pending: Scheduling is blocked due to non-empty scheduling gates",
				"  it is not scheduled before its scheduling gates are removed: example.com/wait"},
		}},
	} {
		t.Run(name, func(t *testing.T) {
			c.Apply(tt.pod)
			c.Settle()
			require.Empty(t, c.Pod("default/web").Spec.NodeName)
			why := c.Explain("pod/web")
			for _, lines := range tt.lines {
				requireLines(t, why, lines...)
			}
			c.Delete("pod/web")
			c.Settle()
		})
	}
}

// bugs: 22
func TestExplainSaysThatAPodWithANodeOfItsOwnSelectsNone(t *testing.T) {
	c := storagesimtest.New(t, storagesim.Config{Nodes: storagesim.Nodes("node-1")})
	c.Apply("apiVersion: storage.k8s.io/v1\nkind: StorageClass\nmetadata: {name: later}\nprovisioner: example.com/ext\nvolumeBindingMode: WaitForFirstConsumer\n",
		explainClaim("data", "1Gi", ", storageClassName: later"), explainPod("web", "  nodeName: node-1", "data"))
	c.Settle()
	c.RunFor(10 * time.Minute)
	require.Equal(t, v1.ClaimPending, c.Claim("default/data").Status.Phase)
	require.Empty(t, c.Claim("default/data").Annotations)
	requireLines(t, c.Explain("pvc/data"),
		"  provisioner example.com/ext should make a volume when a pod that uses the claim is given a node, but no such provisioner runs here",
		"  there are no volumes",
		"  pod default/web is on node node-1 already (spec.nodeName), so the scheduler does not look at it and selects no node for the claim")
}

func TestExplainSaysThatThereAreNoNodes(t *testing.T) {
	c := storagesimtest.New(t, storagesim.Config{})
	c.Delete("node/node-1")
	c.Apply(explainPod("web", ""))
	c.Settle()
	requireLines(t, c.Explain("pod/web"), "pod default/web is Pending: no nodes available to schedule pods", "  there are no nodes")
}

func TestExplainNamesTheVolumeReservedForAClaimWhateverItsClass(t *testing.T) {
	c := storagesimtest.New(t, storagesim.Config{})
	c.Crash("persistent-volume-binder")
	c.Apply(explainVolume("mine", "1Gi", "node-1", "  storageClassName: gold\n  claimRef: {namespace: default, name: data}"),
		explainClaim("data", "5Gi", ", storageClassName: ''"))
	requireLines(t, c.Explain("pvc/data"), "pvc default/data is Pending", "  persistent-volume-binder, which binds claims, is down until 0:00:00",
		"  it has no class, so it can only be bound to a volume without a class, and mine, which is reserved for it",
		"  volume mine is passed over: capacity 1Gi is less than the requested 5Gi")
}

// Each of the pod's two volumes is given a volume of its own, the claim takes one,
// and the PV controller frees the other.
func TestTheSameClaimTwiceInAPodRunsOnceOneOfTwoVolumesIsFreeAgain(t *testing.T) {
	c := storagesimtest.New(t, storagesim.Config{})
	c.Apply(explainClass, explainVolume("one", "5Gi", "node-1", "  storageClassName: local"), explainClaim("data", "5Gi", ", storageClassName: local"),
		explainPod("web", "", "data", "data"))
	c.Settle()
	why := c.Explain("pod/web")
	requireLines(t, why, "    more than one of the pod's volumes names pvc default/data, and a volume is searched for each",
		"  node node-1: pvc default/data: no volume of class local fits, and the class has no provisioner",
		"    pvc default/data: one would be bound to it",
		"      volume one is passed over: another claim of the same pod takes it")
	require.Equal(t, 1, strings.Count(why, "pvc default/data is Pending"))

	c.Apply(explainVolume("two", "5Gi", "node-1", "  storageClassName: local"))
	c.Settle()
	require.Equal(t, "node-1", c.Pod("default/web").Spec.NodeName)
	c.RunFor(15 * time.Second) // the PV controller looks at everything again
	bound, free := c.Volume("one"), c.Volume("two")
	if bound.Status.Phase != v1.VolumeBound {
		bound, free = free, bound
	}
	require.Equal(t, c.Claim("default/data").Spec.VolumeName, bound.Name)
	require.Equal(t, v1.VolumeAvailable, free.Status.Phase)
	require.Nil(t, free.Spec.ClaimRef)
}
