package openebs_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/storagesim/storagesim/storagesimtest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/storagesim/storagesim"
	"github.com/storagesim/storagesim/engine"
	"github.com/storagesim/storagesim/provisioner/openebs"
)

// The musts of semantics, section 4, on a whole cluster: helper pods are
// scheduled by the scheduler and run by the kubelets.

const clusterClass = `
apiVersion: storage.k8s.io/v1
kind: StorageClass
metadata:
  name: openebs-hostpath
  annotations:
    cas.openebs.io/config: |
      - {name: StorageType, value: hostpath}
%s
provisioner: openebs.io/local
reclaimPolicy: %s
volumeBindingMode: %s
`

const clusterClaim = `
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: data}
spec:
  storageClassName: openebs-hostpath
  accessModes: [ReadWriteOnce]
  resources: {requests: {storage: 1Gi}}
`

const clusterPod = `
apiVersion: v1
kind: Pod
metadata: {name: web}
spec:
  nodeSelector: {kubernetes.io/hostname: host2}
  tolerations: [{operator: Exists}]
  containers: [{name: web, image: nginx, volumeMounts: [{name: data, mountPath: /data}]}]
  volumes: [{name: data, persistentVolumeClaim: {claimName: data}}]
`

type classOptions struct {
	settings, policy, mode string
}

func (o classOptions) yaml() string {
	if o.policy == "" {
		o.policy = "Delete"
	}
	if o.mode == "" {
		o.mode = "WaitForFirstConsumer"
	}
	settings := ""
	for line := range strings.SplitSeq(o.settings, "\n") {
		settings += "      " + line + "\n"
	}
	return fmt.Sprintf(clusterClass, settings, o.policy, o.mode)
}

// newCluster has two nodes whose host names are not their names, and a taint.
func newCluster(t *testing.T, class classOptions) *storagesimtest.Cluster {
	t.Helper()
	c := storagesimtest.New(t, storagesim.Config{Disks: storagesim.DirectoryDisks, Nodes: []storagesim.Node{
		{Name: "node1", Labels: map[string]string{v1.LabelHostname: "host1", "zone": "a"}},
		{
			Name: "node2", Labels: map[string]string{v1.LabelHostname: "host2", "zone": "a"},
			Taints: []v1.Taint{{Key: "dedicated", Value: "db", Effect: v1.TaintEffectNoSchedule}},
		},
	}})
	c.AddProvisionController(openebs.Controller(openebs.Config{}))
	c.Apply(class.yaml(), clusterClaim)
	return c
}

func list(t *testing.T, c *storagesimtest.Cluster, node, dir string) []string {
	t.Helper()
	names := c.Machine("node/" + node).ListDir(dir)
	return names
}

// requireNoHelpers looks at the namespace of helper pods.
func requireNoHelpers(t *testing.T, c *storagesimtest.Cluster) {
	t.Helper()
	assert.Empty(t, helperPods(t, c))
}

func helperPods(t *testing.T, c *storagesimtest.Cluster) (names []string) {
	t.Helper()
	pods, err := c.Client().CoreV1().Pods(openebs.DefaultNamespace).List(context.Background(), metav1.ListOptions{})
	require.NoError(t, err)
	for _, pod := range pods.Items {
		names = append(names, pod.Name)
	}
	return names
}

// semantics 4 must 1: refused before any pod is made.
func TestABasePathThatIsRootNeverLeadsToAHelperPod(t *testing.T) {
	for _, base := range []string{"/", "//", "/./", "relative", "/var/../..", ""} {
		c := newCluster(t, classOptions{settings: fmt.Sprintf("- {name: BasePath, value: %q}", base)})
		c.Apply(clusterPod)
		c.RunFor(10 * time.Minute)
		assert.Regexp(t, "ProvisioningFailed: (failed to get path: base path is empty|host path validation failed: )", c.Story(), base)
		assert.NotContains(t, c.Story(), "creates pod openebs/", base)
		assert.Equal(t, v1.ClaimPending, c.Claim("data").Status.Phase)
	}
}

// semantics 4 must 2: without a node, OpenEBS asks for another scheduling; there
// was none to give back, so the claim just fails.
func TestAClaimWithoutASelectedNodeIsGivenBackToTheScheduler(t *testing.T) {
	c := newCluster(t, classOptions{mode: "Immediate"})
	c.RunFor(time.Minute)
	assert.Contains(t, c.Story(), "configuration error, no node was specified")
	assert.NotContains(t, c.Story(), "creates pod openebs/")
}

// semantics 4 must 3 and 8.
func TestTheDirectoryIsOnTheChosenNodeBeforeTheVolumeExists(t *testing.T) {
	c := newCluster(t, classOptions{})
	c.Apply(clusterPod)
	var pv v1.PersistentVolume
	c.RunUntil(func() bool {
		volumes := volumeNames(t, c)
		if len(volumes) > 0 {
			pv = *c.Volume(volumes[0])
		}
		return len(volumes) > 0
	})
	assert.Equal(t, []string{pv.Name + "/"}, list(t, c, "node2", openebs.DefaultBasePath))
	terms := pv.Spec.NodeAffinity.Required.NodeSelectorTerms
	assert.Equal(t, []v1.NodeSelectorTerm{{MatchExpressions: []v1.NodeSelectorRequirement{
		{Key: v1.LabelHostname, Operator: v1.NodeSelectorOpIn, Values: []string{"host2"}},
	}}}, terms)
	_, err := c.Cluster.Machine("node/node1").ListDir(openebs.DefaultBasePath)
	assert.Error(t, err, "there is nothing on the other node")
	c.Settle()
	assert.Equal(t, v1.PodRunning, c.Pod("web").Status.Phase)
}

func volumeNames(t *testing.T, c *storagesimtest.Cluster) (names []string) {
	t.Helper()
	volumes, err := c.Client().CoreV1().PersistentVolumes().List(context.Background(), metav1.ListOptions{})
	require.NoError(t, err)
	for _, pv := range volumes.Items {
		names = append(names, pv.Name)
	}
	return names
}

// semantics 4 must 8: all labels of the list, as they were when it was made.
func TestTheAffinityIsTheNodesLabelsWhenTheVolumeWasMade(t *testing.T) {
	c := newCluster(t, classOptions{settings: "- {name: NodeAffinityLabels, list: [zone, kubernetes.io/hostname]}"})
	c.Apply(clusterPod)
	c.Settle()
	c.Apply("apiVersion: v1\nkind: Node\nmetadata: {name: node2, labels: {zone: b}}")
	c.Settle()
	terms := c.Volume(c.Claim("data").Spec.VolumeName).Spec.NodeAffinity.Required.NodeSelectorTerms
	assert.Equal(t, []v1.NodeSelectorTerm{{MatchExpressions: []v1.NodeSelectorRequirement{
		{Key: v1.LabelHostname, Operator: v1.NodeSelectorOpIn, Values: []string{"host2"}},
		{Key: "zone", Operator: v1.NodeSelectorOpIn, Values: []string{"a"}},
	}}}, terms)
}

// semantics 4 must 4: the node's kubelet is down, so the helper never succeeds.
func TestAHelperThatNeverSucceedsTimesOutAndLeavesNoPod(t *testing.T) {
	c := newCluster(t, classOptions{})
	c.Inject(engine.Fault{Actor: "kubelet/node2", Crash: true, Restart: time.Hour})
	c.Apply(clusterPod)
	c.RunFor(119 * time.Second)
	assert.Equal(t, []string{"init-pvc-" + string(c.Claim("data").UID)}, helperPods(t, c))
	c.RunFor(time.Hour)
	assert.Contains(t, c.Story(), "ProvisioningFailed: create process timeout after 120 seconds")
	c.RunFor(time.Hour)
	requireNoHelpers(t, c)
	assert.Equal(t, v1.PodRunning, c.Pod("web").Status.Phase, "and when the kubelet is back, all goes well")
	c.Delete("pod/web", "pvc/data")
	c.Settle()
	c.RequireNoLeaks()
}

// semantics 4 must 5.
func TestRetainLeavesTheDirectory(t *testing.T) {
	c := newCluster(t, classOptions{policy: "Retain"})
	c.Apply(clusterPod)
	c.Settle()
	name := c.Claim("data").Spec.VolumeName
	c.Machine("pod/web").WriteFile("/data/x", "kept")
	c.Delete("pod/web", "pvc/data")
	c.RunFor(time.Hour)
	assert.Equal(t, v1.VolumeReleased, c.Volume(name).Status.Phase)
	assert.Equal(t, "kept", c.Machine("node/node2").ReadFile(openebs.DefaultBasePath+"/"+name+"/x"))
	assert.NotContains(t, c.Story(), "creates pod openebs/cleanup-")
}

// semantics 4 must 6: it runs on the volume's node only, under that node's
// present taints.
func TestDeletingRunsOnTheVolumesNodeOnly(t *testing.T) {
	c := newCluster(t, classOptions{})
	c.Apply(clusterPod)
	c.Settle()
	name := c.Claim("data").Spec.VolumeName
	decoy := openebs.DefaultBasePath + "/" + name
	c.Machine("node/node1").MakeDir(decoy, 0o755)
	c.Delete("pod/web", "pvc/data")
	c.Settle()
	assert.Empty(t, list(t, c, "node2", openebs.DefaultBasePath))
	assert.Equal(t, []string{name + "/"}, list(t, c, "node1", openebs.DefaultBasePath), "a directory of that name on another node stays")
	assert.Empty(t, volumeNames(t, c))
	requireNoHelpers(t, c)
}

// semantics 4 must 6: with zero or many matches it fails, and nothing is removed.
func TestDeletingFailsUnlessExactlyOneNodeMatches(t *testing.T) {
	for name, tt := range map[string]struct {
		label, want string
	}{
		"zero": {"kubernetes.io/hostname: other", "Unable to get the Node with the Node Labels {map[kubernetes.io/hostname:host2]}"},
		"many": {"", "Unable to determine the Node. Found multiple nodes matching the labels {map[kubernetes.io/hostname:host2]}"},
	} {
		t.Run(name, func(t *testing.T) {
			c := newCluster(t, classOptions{})
			c.Apply(clusterPod)
			c.Settle()
			volume := c.Claim("data").Spec.VolumeName
			if tt.label != "" {
				c.Apply("apiVersion: v1\nkind: Node\nmetadata: {name: node2, labels: {" + tt.label + "}}")
			} else {
				c.Apply("apiVersion: v1\nkind: Node\nmetadata: {name: node1, labels: {kubernetes.io/hostname: host2}}")
			}
			c.Delete("pod/web", "pvc/data")
			c.RunFor(time.Minute)
			assert.Contains(t, c.Story(), "Warning VolumeFailedDelete: failed to delete volume "+volume)
			assert.Contains(t, c.Story(), tt.want)
			assert.Equal(t, []string{volume + "/"}, list(t, c, "node2", openebs.DefaultBasePath))
			assert.NotContains(t, c.Story(), "creates pod openebs/cleanup-")
		})
	}
}

// semantics 4 must 10, to the end: the pod runs, the limits are recorded, and the
// trace says that they are no more than that.
func TestAQuotaIsRecordedOnTheNode(t *testing.T) {
	for kind, want := range map[string]string{"XFSQuota": `"soft":"2097152k","hard":"2097152k"`, "EXT4Quota": `"soft":"2097152K","hard":"2097152K"`} {
		t.Run(kind, func(t *testing.T) {
			c := newCluster(t, classOptions{settings: "- {name: " + kind + ", enabled: true, data: {softLimitGrace: 100%, hardLimitGrace: 150%}}"})
			c.Apply(clusterPod)
			c.Settle()
			assert.Equal(t, v1.PodRunning, c.Pod("web").Status.Phase)
			name := c.Claim("data").Spec.VolumeName
			quotas := list(t, c, "node2", "/run/quotas")
			require.Len(t, quotas, 1)
			record := c.Machine("node/node2").ReadFile("/run/quotas/" + quotas[0])
			assert.Contains(t, record, `"path":"`+openebs.DefaultBasePath+"/"+name+`"`)
			assert.Contains(t, record, want)
			assert.Contains(t, c.Story(), "pod openebs/quota-"+name+": the limits of "+openebs.DefaultBasePath+"/"+name+" are recorded")
			assert.Contains(t, c.Story(), "only disks in memory enforce them")
			c.Delete("pod/web", "pvc/data")
			c.Settle()
			c.RequireNoLeaks()
		})
	}
}

func TestTheConfiguredPermissionsAreThoseOfTheDirectory(t *testing.T) {
	c := newCluster(t, classOptions{settings: "- {name: FilePermissions, enabled: true, data: {mode: '0750', UID: 1000}}"})
	c.Apply(clusterPod)
	c.Settle()
	assert.Equal(t, v1.PodRunning, c.Pod("web").Status.Phase)
	assert.Contains(t, c.Story(), `runs "mkdir -m 0750 -p /data/pvc-`)
	assert.Contains(t, c.Story(), "does not get the owner 1000: of FilePermissions: OpenEBS reads it and does nothing with it")
}
