package localpath_test

import (
	"context"
	"errors"
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
	"github.com/storagesim/storagesim/provisioner/localpath"
)

// The musts of semantics, section 4, on a whole cluster: helper pods are run by
// the kubelets, from the ConfigMap's scripts.

// class returns a storage class; top goes beside metadata.name, bottom to the end.
func class(top, bottom string) string {
	return `
apiVersion: storage.k8s.io/v1
kind: StorageClass
metadata:
  name: local-storage
` + top + `
provisioner: rancher.io/local-path
volumeBindingMode: WaitForFirstConsumer
` + bottom
}

const claimYAML = `
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: data, annotations: {%s}}
spec:
  storageClassName: local-storage
  accessModes: [%s]
  resources: {requests: {storage: 128Mi}}
`

const podYAML = `
apiVersion: v1
kind: Pod
metadata: {name: web}
spec:
  nodeSelector: {kubernetes.io/hostname: node2}
  tolerations: [{operator: Exists}]
  containers: [{name: web, image: nginx, volumeMounts: [{name: data, mountPath: /data}]}]
  volumes: [{name: data, persistentVolumeClaim: {claimName: data}}]
`

// tested is embedded by that name, so that Cluster is the storagesim.Cluster.
type tested = storagesimtest.Cluster

type cluster struct {
	*tested
	t *testing.T
}

func newCluster(t *testing.T, cfg localpath.Config, nodes ...storagesim.Node) *cluster {
	t.Helper()
	if nodes == nil {
		nodes = []storagesim.Node{{Name: "node1"}, {Name: "node2", Taints: []v1.Taint{{Key: "dedicated", Value: "db", Effect: v1.TaintEffectNoSchedule}}}}
	}
	c := storagesimtest.New(t, storagesim.Config{Nodes: nodes})
	c.AddProvisionController(localpath.Controller(cfg))
	return &cluster{c, t}
}

func simple(t *testing.T) *cluster {
	t.Helper()
	c := newCluster(t, localpath.Config{})
	c.Apply(class("", ""), fmt.Sprintf(claimYAML, "", "ReadWriteOnce"))
	return c
}

// configure changes a key of the ConfigMap.
func (c *cluster) configure(key, text string) {
	c.t.Helper()
	maps := c.Client().CoreV1().ConfigMaps(localpath.DefaultNamespace)
	m, err := maps.Get(context.Background(), localpath.DefaultConfigMapName, metav1.GetOptions{})
	require.NoError(c.t, err)
	m.Data[key] = text
	_, err = maps.Update(context.Background(), m, metav1.UpdateOptions{})
	require.NoError(c.t, err)
}

func (c *cluster) list(node, dir string) []string {
	c.t.Helper()
	names, err := c.Cluster.Machine("node/" + node).ListDir(dir)
	require.NoError(c.t, err)
	return names
}

func (c *cluster) helperPods() (names []string) {
	c.t.Helper()
	pods, err := c.Client().CoreV1().Pods(localpath.DefaultNamespace).List(context.Background(), metav1.ListOptions{})
	require.NoError(c.t, err)
	for _, pod := range pods.Items {
		names = append(names, pod.Name)
	}
	return names
}

func (c *cluster) volumes() (names []string) {
	c.t.Helper()
	volumes, err := c.Client().CoreV1().PersistentVolumes().List(context.Background(), metav1.ListOptions{})
	require.NoError(c.t, err)
	for _, pv := range volumes.Items {
		names = append(names, pv.Name)
	}
	return names
}

// requireRefused fails unless the claim was refused, with that text, before any
// pod was made.
func (c *cluster) requireRefused(want string) {
	c.t.Helper()
	c.RunFor(time.Minute)
	assert.Contains(c.t, c.Story(), "says of pvc default/data: Warning ProvisioningFailed: "+want)
	assert.NotContains(c.t, c.Story(), "creates pod "+localpath.DefaultNamespace)
	assert.Empty(c.t, c.volumes())
}

func TestTheDefaultScriptsMakeAndRemoveTheDirectory(t *testing.T) {
	c := simple(t)
	c.Apply(podYAML)
	c.Settle()
	require.Equal(t, v1.PodRunning, c.Pod("web").Status.Phase)
	name := c.Claim("data").Spec.VolumeName
	folder := name + "_default_data"
	assert.Equal(t, []string{folder + "/"}, c.list("node2", localpath.DefaultPath))
	c.Machine("pod/web").WriteFile("/data/x", "here")
	assert.Equal(t, "here", c.Machine("node/node2").ReadFile(localpath.DefaultPath+"/"+folder+"/x"))
	assert.Contains(t, c.Story(), `runs "/bin/sh /script/setup -p /opt/local-path-provisioner/`+folder+
		` -s 134217728 -m Filesystem -a create" in pod local-path-storage/helper-pod-create-`+name)
	assert.Contains(t, c.Story(), `runs "mkdir -m 0777 -p /opt/local-path-provisioner/`+folder+`"`)
	assert.NotContains(t, c.Story(), "kube-scheduler            binds pod local-path-storage/", "nobody schedules helper pods")

	c.Delete("pod/web", "pvc/data")
	c.Settle()
	assert.Empty(t, c.list("node2", localpath.DefaultPath))
	assert.Empty(t, c.volumes())
	assert.Empty(t, c.helperPods())
	c.RequireNoLeaks()
}

// semantics 4 must 1, as far as it is Rancher's: "/" is refused before any pod is
// made.
func TestRootAsAPathIsRefused(t *testing.T) {
	for config, want := range map[string]string{
		`{"nodePathMap": [{"node": "DEFAULT_PATH_FOR_NON_LISTED_NODES", "paths": ["/"]}]}`: "no valid config available: StorageClass config canonicalization " +
			"failed: cannot use root ('/') as path on node DEFAULT_PATH_FOR_NON_LISTED_NODES",
		`{"nodePathMap": [{"node": "node2", "paths": ["/opt", "//"]}]}`: "no valid config available: StorageClass config canonicalization " +
			"failed: cannot use root ('/') as path on node node2",
		`{"sharedFileSystemPath": "/."}`: "failed to create volume pvc-558a3044-d9ab-451d-bf3b-29391f5b604b: " +
			"invalid path create for /pvc-558a3044-d9ab-451d-bf3b-29391f5b604b_default_data: cannot find parent dir or volume dir or parent dir is relative",
		`{"sharedFileSystemPath": "mnt"}`: "failed to create volume pvc-558a3044-d9ab-451d-bf3b-29391f5b604b: " +
			"volume path mnt/pvc-558a3044-d9ab-451d-bf3b-29391f5b604b_default_data is not absolute",
	} {
		c := simple(t)
		c.configure("config.json", config)
		c.Apply(podYAML)
		c.requireRefused(want)
	}
}

// semantics 4 must 2: no node is a plain error, and selected-node is not touched.
func TestAClaimWithoutANodeIsAnError(t *testing.T) {
	c := newCluster(t, localpath.Config{})
	c.Apply(strings.Replace(class("", ""), "WaitForFirstConsumer", "Immediate", 1), fmt.Sprintf(claimYAML, "", "ReadWriteOnce"))
	c.requireRefused("configuration error, no node was specified")
}

func TestANodeThatCannotBeReadIsTriedAgain(t *testing.T) {
	c := simple(t)
	c.Inject(engine.Fault{Actor: localpath.ProvisionerName, Verb: "get", Resource: "nodes", Err: errors.New("etcd is down")})
	c.Apply(podYAML)
	c.Settle()
	assert.Contains(t, c.Story(), "ProvisioningFailed: failed to get target node: etcd is down")
	assert.Equal(t, v1.PodRunning, c.Pod("web").Status.Phase)

	c.Inject(engine.Fault{Actor: localpath.ProvisionerName, Verb: "get", Resource: "nodes", Err: errors.New("etcd is down again")})
	c.Delete("pod/web", "pvc/data")
	c.Settle()
	assert.Empty(t, c.list("node2", localpath.DefaultPath), "an error is not a node that is gone")
	c.RequireNoLeaks()
}

// semantics 4 must 3 and 8.
func TestTheDirectoryIsOnTheChosenNodeBeforeTheVolumeExists(t *testing.T) {
	c := newCluster(t, localpath.Config{}, storagesim.Node{Name: "node1"}, storagesim.Node{Name: "n2", Labels: map[string]string{v1.LabelHostname: "node2"}})
	c.Apply(class("", ""), fmt.Sprintf(claimYAML, "", "ReadWriteOnce"), podYAML)
	c.RunUntil(func() bool { return len(c.volumes()) > 0 })
	pv := c.Volume(c.volumes()[0])
	assert.Equal(t, []string{pv.Name + "_default_data/"}, c.list("n2", localpath.DefaultPath))
	assert.Equal(t, []v1.NodeSelectorTerm{{MatchExpressions: []v1.NodeSelectorRequirement{
		{Key: v1.LabelHostname, Operator: v1.NodeSelectorOpIn, Values: []string{"node2"}},
	}}}, pv.Spec.NodeAffinity.Required.NodeSelectorTerms)
	assert.Equal(t, "n2", pv.Annotations[localpath.AnnSelectedNode])
	_, err := c.Cluster.Machine("node/node1").ListDir(localpath.DefaultPath)
	assert.Error(t, err, "there is nothing on the other node")
}

// semantics 4 must 4: the timeout is the configured one.
func TestAHelperThatNeverSucceedsTimesOutAndLeavesNoPod(t *testing.T) {
	c := simple(t)
	c.configure("config.json", `{"cmdTimeoutSeconds": 20, "nodePathMap": [{"node": "node2", "paths": ["/opt/x"]}]}`)
	c.Inject(engine.Fault{Actor: "kubelet/node2", Crash: true, Restart: time.Hour})
	c.Apply(podYAML)
	c.RunFor(19900 * time.Millisecond)
	assert.Equal(t, []string{"helper-pod-create-pvc-" + string(c.Claim("data").UID)}, c.helperPods())
	c.RunFor(100 * time.Millisecond)
	assert.Contains(t, c.Story(), "ProvisioningFailed: failed to create volume pvc-"+string(c.Claim("data").UID)+": create process timeout after 20 seconds")
	c.RunFor(2 * time.Hour)
	assert.Empty(t, c.helperPods())
	assert.Equal(t, v1.PodRunning, c.Pod("web").Status.Phase, "and when the kubelet is back, all goes well")
	c.Delete("pod/web", "pvc/data")
	c.Settle()
	c.RequireNoLeaks()
}

// semantics 4 must 5.
func TestRetainLeavesTheDirectory(t *testing.T) {
	c := newCluster(t, localpath.Config{})
	c.Apply(class("", "reclaimPolicy: Retain"), fmt.Sprintf(claimYAML, "", "ReadWriteOnce"), podYAML)
	c.Settle()
	c.Machine("pod/web").WriteFile("/data/x", "kept")
	name := c.Claim("data").Spec.VolumeName
	c.Delete("pod/web", "pvc/data")
	c.RunFor(time.Hour)
	assert.Equal(t, v1.VolumeReleased, c.Volume(name).Status.Phase)
	assert.Equal(t, "kept", c.Machine("node/node2").ReadFile(localpath.DefaultPath+"/"+name+"_default_data/x"))
	assert.NotContains(t, c.Story(), "creates pod "+localpath.DefaultNamespace+"/helper-pod-delete")
}

// semantics 4 must 6: it runs on the volume's node only.
func TestDeletingRunsOnTheVolumesNodeOnly(t *testing.T) {
	c := simple(t)
	c.Apply(podYAML)
	c.Settle()
	folder := c.Claim("data").Spec.VolumeName + "_default_data"
	c.Machine("node/node1").MakeDir(localpath.DefaultPath+"/"+folder, 0o755)
	c.Delete("pod/web", "pvc/data")
	c.Settle()
	assert.Empty(t, c.list("node2", localpath.DefaultPath))
	assert.Equal(t, []string{folder + "/"}, c.list("node1", localpath.DefaultPath), "a directory of that name on another node stays")
}

// semantics 4.2: a volume whose node is gone is deleted, without cleanup.
func TestAVolumeWhoseNodeIsGoneIsDeletedWithoutCleanup(t *testing.T) {
	c := simple(t)
	c.Apply(podYAML)
	c.Settle()
	name := c.Claim("data").Spec.VolumeName
	c.Delete("pod/web")
	c.Settle()
	c.Delete("node/node2", "pvc/data")
	c.Settle()
	assert.Contains(t, c.Story(), "pv "+name+": node node2 does not exist, so cleanup of "+localpath.DefaultPath+"/"+name+"_default_data is skipped")
	assert.Empty(t, c.volumes())
}

// semantics 4.2, and quirk 14 of section 9: a hostname that is not the node's name
// leaks the data; the option mends it.
func TestAHostNameThatIsNotTheNodesNameLeaksTheDataUnlessMended(t *testing.T) {
	for _, mended := range []bool{false, true} {
		c := newCluster(t, localpath.Config{DeleteOnSelectedNode: mended}, storagesim.Node{Name: "n2", Labels: map[string]string{v1.LabelHostname: "node2"}})
		c.Apply(class("", ""), fmt.Sprintf(claimYAML, "", "ReadWriteOnce"), podYAML)
		c.Settle()
		name := c.Claim("data").Spec.VolumeName
		c.Delete("pod/web", "pvc/data")
		c.Settle()
		assert.Empty(t, c.volumes())
		if mended {
			assert.Empty(t, c.list("n2", localpath.DefaultPath))
			c.RequireNoLeaks()
			continue
		}
		assert.Equal(t, []string{name + "_default_data/"}, c.list("n2", localpath.DefaultPath))
		assert.ErrorContains(t, c.Cluster.RequireNoLeaks(), name+"_default_data on n2, which no volume uses")
	}
}

// semantics 4 must 7: RWO and RWOP, and on a shared file system all.
func TestAccessModes(t *testing.T) {
	for mode, allowed := range map[string]bool{"ReadWriteOnce": true, "ReadWriteOncePod": true, "ReadWriteMany": false, "ReadOnlyMany": false} {
		t.Run(mode, func(t *testing.T) {
			c := newCluster(t, localpath.Config{})
			c.Apply(class("", ""), fmt.Sprintf(claimYAML, "", mode), podYAML)
			if !allowed {
				c.requireRefused("NodePath only supports ReadWriteOnce and ReadWriteOncePod (1.22+) access modes")
				return
			}
			c.Settle()
			assert.Equal(t, v1.PodRunning, c.Pod("web").Status.Phase)
		})
		t.Run(mode+" shared", func(t *testing.T) {
			c := newCluster(t, localpath.Config{}, storagesim.Node{Name: "node2"})
			c.configure("config.json", `{"sharedFileSystemPath": "/mnt/shared"}`)
			c.Apply(class("", ""), fmt.Sprintf(claimYAML, "", mode), podYAML)
			c.Settle()
			assert.Equal(t, v1.PodRunning, c.Pod("web").Status.Phase)
			pv := c.Volume(c.Claim("data").Spec.VolumeName)
			assert.Nil(t, pv.Spec.NodeAffinity)
			assert.Equal(t, "/mnt/shared/"+pv.Name+"_default_data", pv.Spec.HostPath.Path)
			c.Delete("pod/web", "pvc/data")
			c.Settle()
			assert.Empty(t, c.list("node2", "/mnt/shared"))
			c.RequireNoLeaks()
		})
	}
}

// semantics 4.2: a shared file system needs no node, so that a claim need not wait
// for a pod.
func TestASharedFileSystemNeedsNoNode(t *testing.T) {
	c := newCluster(t, localpath.Config{}, storagesim.Node{Name: "node2"})
	c.configure("config.json", `{"sharedFileSystemPath": "/mnt/shared"}`)
	c.Apply(strings.ReplaceAll(class("", ""), "WaitForFirstConsumer", "Immediate"), fmt.Sprintf(claimYAML, "", "ReadWriteMany"))
	c.Settle()
	require.Equal(t, v1.ClaimBound, c.Claim("data").Status.Phase)
	assert.Len(t, c.list("node2", "/mnt/shared"), 1)
	c.Delete("pvc/data")
	c.Settle()
	assert.Empty(t, c.list("node2", "/mnt/shared"))
	c.RequireNoLeaks()
}

// A class can lose its configuration while it has volumes.
func TestDeletingNeedsTheConfigurationAndIsTriedAgain(t *testing.T) {
	c := simple(t)
	c.configure("config.json", `{"storageClassConfigs": {"local-storage": {"nodePathMap": [{"node": "node2", "paths": ["/mnt/disk"]}]}}}`)
	c.Apply(podYAML)
	c.Settle()
	require.Len(t, c.list("node2", "/mnt/disk"), 1)
	c.configure("config.json", `{"storageClassConfigs": {"other": {"sharedFileSystemPath": "/mnt/other"}}}`)
	c.RunFor(31 * time.Second)
	c.Delete("pod/web", "pvc/data")
	c.RunFor(time.Minute)
	assert.Contains(t, c.Story(), "VolumeFailedDelete: BUG: Got request for unexpected storage class local-storage")
	assert.Len(t, c.list("node2", "/mnt/disk"), 1)
	c.configure("config.json", `{"storageClassConfigs": {"local-storage": {"nodePathMap": [{"node": "node2", "paths": ["/mnt/new"]}]}}}`)
	c.RunFor(5 * time.Minute)
	assert.Empty(t, c.list("node2", "/mnt/disk"))
	c.RequireNoLeaks()
}

// semantics 4 must 9, in upstream's words.
func TestAPathPatternThatEscapesItsFolderIsRefused(t *testing.T) {
	const prefix = "{{ .PVC.Namespace }}/{{ .PVC.Name }}/"
	for pattern, want := range map[string]string{
		prefix + "../../../etc":               "folder path contains invalid references: default/data/../../../etc",
		prefix + "{{ .PVC.Annotations.dir }}": "folder path contains invalid references: default/data/../../..",
		"../" + prefix:                        "failed to create path from pattern ../" + prefix + ": pathPattern must start with " + prefix + ": ../default/data/",
		"/etc/{{ .PVC.Name }}":                "failed to create path from pattern /etc/{{ .PVC.Name }}: pathPattern must start with " + prefix + ": /etc/data",
		"{{ .PVC.Namespace }}/{{ .PVC.Name }}": "failed to create path from pattern {{ .PVC.Namespace }}/{{ .PVC.Name }}: pathPattern must start with " + prefix +
			": default/data",
		prefix + `{{ printf "%5000d" 1 }}`: "failed to create path from pattern " + prefix + `{{ printf "%5000d" 1 }}: it gives more than 4096 bytes`,
		"{{ .Secret }}": `failed to create path from pattern {{ .Secret }}: template: pathPattern:1:3: executing "pathPattern" at ` +
			`<.Secret>: can't evaluate field Secret in type localpath.pvMetadata`,
		"{{": "failed to create path from pattern {{: template: pathPattern:1: unclosed action",
	} {
		t.Run(pattern, func(t *testing.T) {
			c := newCluster(t, localpath.Config{})
			c.Apply(class("", fmt.Sprintf("parameters: {pathPattern: %q}", pattern)), fmt.Sprintf(claimYAML, "dir: ../../..", "ReadWriteOnce"), podYAML)
			c.requireRefused(want)
		})
	}
}

// As upstream: a label that is not there is "<no value>", what stays inside may go up,
// and the slash at the end of the README's pattern is not part of the path.
func TestAPathPatternIsFilledInAsItIs(t *testing.T) {
	const prefix = "{{ .PVC.Namespace }}/{{ .PVC.Name }}/"
	for pattern, want := range map[string]string{prefix: "", prefix + "{{ .PVC.Labels.none }}": "/<no value>", prefix + "x/../y": "/y",
		prefix + "{{ .PVName }}": "/pvc-558a3044-d9ab-451d-bf3b-29391f5b604b"} {
		c := newCluster(t, localpath.Config{})
		c.Apply(class("", fmt.Sprintf("parameters: {pathPattern: %q}", pattern)), fmt.Sprintf(claimYAML, "", "ReadWriteOnce"), podYAML)
		c.Settle()
		require.Equal(t, v1.PodRunning, c.Pod("web").Status.Phase, pattern)
		assert.Equal(t, localpath.DefaultPath+"/default/data"+want, c.Volume(c.Claim("data").Spec.VolumeName).Spec.HostPath.Path)
		c.Delete("pod/web", "pvc/data")
		c.Settle()
		c.RequireNoLeaks()
	}
}

func TestAPathPatternNamesTheDirectory(t *testing.T) {
	c := newCluster(t, localpath.Config{})
	c.Apply(class("", `parameters: {pathPattern: "{{ .PVC.Namespace }}/{{ .PVC.Name }}/{{ .PVC.Annotations.team }}"}`),
		fmt.Sprintf(claimYAML, "team: blue", "ReadWriteOnce"), podYAML)
	c.Settle()
	require.Equal(t, v1.PodRunning, c.Pod("web").Status.Phase)
	assert.Equal(t, []string{"blue/"}, c.list("node2", localpath.DefaultPath+"/default/data"))
	c.Delete("pod/web", "pvc/data")
	c.Settle()
	assert.Empty(t, c.list("node2", localpath.DefaultPath+"/default/data"), "its parents stay")
	c.RequireNoLeaks()
}

func TestAnUnsafePathPatternMayLeadAnywhereOnTheNodeAndNowhereElse(t *testing.T) {
	for pattern, want := range map[string]string{"../etc/{{ .PVC.Name }}": "/opt/etc/data", "flat": localpath.DefaultPath + "/flat"} {
		c := newCluster(t, localpath.Config{})
		c.Apply(class("", fmt.Sprintf(`parameters: {pathPattern: %q, allowUnsafePathPattern: "true"}`, pattern)),
			fmt.Sprintf(claimYAML, "", "ReadWriteOnce"), podYAML)
		c.Settle()
		assert.Equal(t, want, c.Volume(c.Claim("data").Spec.VolumeName).Spec.HostPath.Path)
		assert.Equal(t, v1.PodRunning, c.Pod("web").Status.Phase)
	}
	c := newCluster(t, localpath.Config{})
	c.Apply(class("", `parameters: {pathPattern: "../../../../../etc", allowUnsafePathPattern: "true"}`), fmt.Sprintf(claimYAML, "", "ReadWriteOnce"), podYAML)
	c.requireRefused("failed to create volume pvc-558a3044-d9ab-451d-bf3b-29391f5b604b: invalid path create for /etc: cannot find parent dir or volume dir or " +
		"parent dir is relative")
}

func TestWhatCannotBeHadIsRefusedInUpstreamsWords(t *testing.T) {
	for name, tt := range map[string]struct{ class, claim, want string }{
		"a path nobody configured": {class("", "parameters: {nodePath: /mnt}"), "", "config doesn't contain path /mnt on node node2"},
		"a path with a slash": {class("", "parameters: {nodePath: /opt/local-path-provisioner/}"), "",
			"config doesn't contain path /opt/local-path-provisioner/ on node node2"},
		"a user that is not there": {class("", `parameters: {userPattern: "{{ .PVC.Labels.uid }}"}`), "",
			`failed to create user from pattern {{ .PVC.Labels.uid }}: template: dataPattern:1:7: executing "dataPattern" at <.PVC.Labels.uid>: ` +
				`map has no entry for key "uid"`},
		"a bad group": {class(`  annotations: {groupPattern: "{{"}`, ""), "",
			"failed to create group from pattern {{: template: dataPattern:1: unclosed action"},
		"bad permissions": {class("", `parameters: {permPattern: "{{ .Mode }}"}`), "",
			"failed to create perm from pattern {{ .Mode }}: template: dataPattern:1:3: "},
		"a selector": {class("", ""), "", "claim.Spec.Selector is not supported"},
		"block mode": {class("", ""), "", "rancher.io/local-path does not support block volume provisioning"},
	} {
		t.Run(name, func(t *testing.T) {
			c := newCluster(t, localpath.Config{})
			spec := map[string]string{"a selector": "  selector: {matchLabels: {a: b}}\n", "block mode": "  volumeMode: Block\n"}[name]
			c.Apply(tt.class, fmt.Sprintf(claimYAML, tt.claim, "ReadWriteOnce")+spec, podYAML)
			c.requireRefused(tt.want)
		})
	}
}

// As upstream: the directory is there by then, and stays if the claim is deleted.
func TestAnUnknownVolumeTypeIsFoundWhenTheDirectoryHasBeenMade(t *testing.T) {
	for in, tt := range map[string]struct{ class, claim, kind string }{
		"the class": {class("  annotations: {defaultVolumeType: nfs}", ""), "", "nfs"},
		"the claim": {class("", ""), "volumeType: ''", ""},
	} {
		c := newCluster(t, localpath.Config{})
		c.Apply(tt.class, fmt.Sprintf(claimYAML, tt.claim, "ReadWriteOnce"), podYAML)
		c.RunFor(10 * time.Second)
		assert.Contains(t, c.Story(), `ProvisioningFailed: failed to create persistent volume source: "`+tt.kind+`" is not a recognised volume type`, in)
		assert.Len(t, c.list("node2", localpath.DefaultPath), 1)
		assert.Empty(t, c.volumes())
		c.Delete("pod/web", "pvc/data")
		c.Settle()
		assert.ErrorContains(t, c.Cluster.RequireNoLeaks(), "which no volume uses")
	}
}

// What upstream does not look at is no error, and the trace says that it has no
// effect.
func TestWhatUpstreamDoesNotLookAtHasNoEffectAndTheTraceSaysSo(t *testing.T) {
	for name, tt := range map[string]struct{ class, spec, want string }{
		"unknown parameter": {class("", "parameters: {nodepath: /x}"), "",
			`storage class local-storage has the unknown parameter "nodepath", which is ignored; known are nodePath, nodeAffinityKey, pathPattern`},
		"malformed parameter": {class("", "parameters: {allowUnsafePathPattern: maybe}"), "",
			`storage class local-storage has allowUnsafePathPattern "maybe", which is neither true nor false and counts as false`},
		"data source": {class("", ""), "  dataSource: {kind: PersistentVolumeClaim, name: old}\n",
			`its dataSource, PersistentVolumeClaim "old", is ignored: the volume will be empty`},
	} {
		t.Run(name, func(t *testing.T) {
			c := newCluster(t, localpath.Config{})
			c.Apply(tt.class, fmt.Sprintf(claimYAML, "", "ReadWriteOnce")+tt.spec, podYAML)
			c.Settle()
			assert.Equal(t, v1.PodRunning, c.Pod("web").Status.Phase)
			assert.Contains(t, c.Story(), "rancher.io/local-path      pvc default/data: "+tt.want)
		})
	}
	c := newCluster(t, localpath.Config{})
	c.configure("config.json", `{"nodePathMapp": [], "nodePathMap": [{"node": "node2", "paths": ["/opt/x"]}]}`)
	c.Apply(class("", ""), fmt.Sprintf(claimYAML, "", "ReadWriteOnce"), podYAML)
	c.Settle()
	assert.Contains(t, c.Story(), `configmap local-path-storage/local-path-config: config.json: json: unknown field "nodePathMapp", which has no effect`)
	assert.Equal(t, v1.PodRunning, c.Pod("web").Status.Phase)
}

// The class and the script of upstream's own test of its patterns.
func TestTheOwnerAndThePermissionsOfTheClassReachTheScript(t *testing.T) {
	const setup = "#!/bin/sh\nset -eu\nmkdir -m 0777 -p \"$VOL_DIR\"\nchown \"${VOL_USER}:${VOL_GROUP}\" \"$VOL_DIR\"\nchmod \"${VOL_PERM}\" \"$VOL_DIR\""
	parameters := `userPattern: "1000", groupPattern: "{{ .PVC.Annotations.gid }}", permPattern: " 0700 "`
	for where, class := range map[string]string{
		"parameters":  class("", `parameters: {pathPattern: "{{ .PVC.Namespace }}/{{ .PVC.Name }}/", `+parameters+"}"),
		"annotations": class("  annotations: {"+parameters+"}", `parameters: {pathPattern: "{{ .PVC.Namespace }}/{{ .PVC.Name }}/"}`),
	} {
		c := newCluster(t, localpath.Config{})
		c.configure("setup", setup)
		c.Apply(class, fmt.Sprintf(claimYAML, "gid: '2000'", "ReadWriteOnce"), podYAML)
		c.Settle()
		require.Equal(t, v1.PodRunning, c.Pod("web").Status.Phase, where)
		assert.Contains(t, c.Story(), `runs "chown 1000:2000 /opt/local-path-provisioner/default/data" in pod local-path-storage/helper-pod-create-pvc-`)
		assert.Contains(t, c.Story(), `runs "chmod 0700 /opt/local-path-provisioner/default/data" in pod local-path-storage/helper-pod-create-pvc-`)
		c.Delete("pod/web", "pvc/data")
		c.Settle()
		c.RequireNoLeaks()
	}
}

func TestTheVolumeIsLocalIfTheClaimOrTheClassSaysSo(t *testing.T) {
	for name, tt := range map[string]struct {
		class, claim string
		local        bool
	}{
		"neither":   {"", "", false},
		"the class": {"  annotations: {defaultVolumeType: local}", "", true},
		"the claim": {"  annotations: {defaultVolumeType: local}", "volumeType: HostPath", false},
	} {
		t.Run(name, func(t *testing.T) {
			c := newCluster(t, localpath.Config{})
			c.Apply(class(tt.class, ""), fmt.Sprintf(claimYAML, tt.claim, "ReadWriteOnce"), podYAML)
			c.Settle()
			require.Equal(t, v1.PodRunning, c.Pod("web").Status.Phase)
			pv := c.Volume(c.Claim("data").Spec.VolumeName)
			assert.Equal(t, tt.local, pv.Spec.Local != nil)
			assert.Equal(t, !tt.local, pv.Spec.HostPath != nil)
			c.Delete("pod/web", "pvc/data")
			c.Settle()
			c.RequireNoLeaks()
		})
	}
}

func TestTheAffinityIsOfTheConfiguredLabel(t *testing.T) {
	c := newCluster(t, localpath.Config{DeleteOnSelectedNode: true},
		storagesim.Node{Name: "node2", Labels: map[string]string{v1.LabelHostname: "node2", "rack": "r1"}})
	c.Apply(class("", "parameters: {nodeAffinityKey: rack}"), fmt.Sprintf(claimYAML, "", "ReadWriteOnce"), podYAML)
	c.Settle()
	pv := c.Volume(c.Claim("data").Spec.VolumeName)
	assert.Equal(t, []v1.NodeSelectorRequirement{{Key: "rack", Operator: v1.NodeSelectorOpIn, Values: []string{"r1"}}},
		pv.Spec.NodeAffinity.Required.NodeSelectorTerms[0].MatchExpressions)
	c.Delete("pod/web", "pvc/data")
	c.Settle()
	c.RequireNoLeaks()
}

// semantics 4.2: reloaded every 30 s; an invalid one keeps the old.
func TestTheConfigurationIsReadAgainAndKeptWhenItIsInvalid(t *testing.T) {
	c := simple(t)
	c.Apply(podYAML)
	c.Settle()
	require.Equal(t, localpath.DefaultPath,
		strings.TrimSuffix(c.Volume(c.Claim("data").Spec.VolumeName).Spec.HostPath.Path, "/"+c.Claim("data").Spec.VolumeName+"_default_data"))

	again := func(name string) string {
		c.Apply(strings.ReplaceAll(fmt.Sprintf(claimYAML, "", "ReadWriteOnce"), "name: data", "name: "+name),
			strings.NewReplacer("name: web", "name: "+name, "claimName: data", "claimName: "+name).Replace(podYAML))
		c.RunFor(20 * time.Second)
		require.Equal(t, v1.ClaimBound, c.Claim(name).Status.Phase)
		volume := c.Claim(name).Spec.VolumeName
		return strings.TrimSuffix(c.Volume(volume).Spec.HostPath.Path, "/"+volume+"_default_"+name)
	}
	c.configure("config.json", `{"nodePathMap": [{"node": "node2", "paths": ["relative"]}]}`)
	c.RunFor(31 * time.Second)
	assert.Contains(t, c.Story(), "configmap local-path-storage/local-path-config: config.json is not taken, the old one stays: "+
		"StorageClass config canonicalization failed: path must start with / for path relative on node node2")
	assert.Equal(t, localpath.DefaultPath, again("second"))
	assert.Equal(t, 1, strings.Count(c.Story(), "the old one stays"), "it is said once")

	c.configure("config.json", `{"nodePathMap": [{"node": "node2", "paths": ["/mnt/disk"]}]}`)
	c.RunFor(31 * time.Second)
	assert.Contains(t, c.Story(), "configmap local-path-storage/local-path-config: config.json is taken")
	assert.Equal(t, "/mnt/disk", again("third"))
}

// The template has a life of its own beside config.json.
func TestTheTemplateIsReadAgainAndKeptWhenItIsUnsafe(t *testing.T) {
	const template = "metadata: {name: %s}\nspec: {%scontainers: [{name: helper-pod, image: busybox}]}"
	for _, allowed := range []bool{false, true} {
		c := newCluster(t, localpath.Config{AllowUnsafeHelperPodTemplate: allowed})
		c.Apply(class("", ""), fmt.Sprintf(claimYAML, "", "ReadWriteOnce"), podYAML)
		c.Settle()
		c.configure("config.json", "{")
		c.configure("helperPod.yaml", fmt.Sprintf(template, "mine", "hostNetwork: true, "))
		c.RunFor(2 * time.Minute)
		c.Delete("pod/web", "pvc/data")
		c.Settle()
		const refused = "helperPod.yaml is not taken, the old one stays: helper pod template must not enable host namespaces unless " +
			"allow-unsafe-helper-pod-template is enabled"
		if allowed {
			assert.NotContains(t, c.Story(), refused)
			assert.Contains(t, c.Story(), "creates pod local-path-storage/mine-delete-pvc-")
		} else {
			assert.Equal(t, 1, strings.Count(c.Story(), refused))
			assert.Contains(t, c.Story(), "creates pod local-path-storage/helper-pod-delete-pvc-")
		}
		c.RequireNoLeaks()
	}
}

// As upstream: a pod that has failed is waited for like one that has not begun, and
// what it said is not repeated.
func TestAFailedHelperPodIsWaitedForTwoMinutes(t *testing.T) {
	c := simple(t)
	c.configure("setup", "#!/bin/sh\nwhile getopts 'm:s:p:' opt\ndo\n  shift\ndone\nmkdir -p $absolutePath\n")
	c.Apply(podYAML)
	c.RunFor(119 * time.Second)
	pod, err := c.Client().CoreV1().Pods(localpath.DefaultNamespace).Get(t.Context(), "helper-pod-create-pvc-"+string(c.Claim("data").UID), metav1.GetOptions{})
	require.NoError(t, err)
	assert.Equal(t, v1.PodFailed, pod.Status.Phase)
	log := c.Machine("pod/"+localpath.DefaultNamespace+"/"+pod.Name).Logs("", false)
	assert.Contains(t, log, "mkdir: missing operand", "an old script: the variable is called VOL_DIR now")
	c.RunFor(2 * time.Second)
	assert.Contains(t, c.Story(), "ProvisioningFailed: failed to create volume pvc-"+string(c.Claim("data").UID)+": create process timeout after 120 seconds")
	assert.Empty(t, c.helperPods())

	c.configure("setup", "mkdir -m 0700 -p $VOL_DIR/deep")
	c.RunFor(5 * time.Minute)
	assert.Equal(t, v1.PodRunning, c.Pod("web").Status.Phase, "and when the script is mended, all goes well")
	assert.Equal(t, []string{"deep/"}, c.list("node2", localpath.DefaultPath+"/"+c.Claim("data").Spec.VolumeName+"_default_data"))
}

// semantics 4.2, on crashes: whatever call the provisioner crashes at, before or
// after it took effect, there is one volume and one directory, and after deletion
// nothing at all.
func TestACrashAtAnyCallLeavesNothingBehind(t *testing.T) {
	for _, after := range []bool{false, true} {
		for call := range 14 {
			t.Run(fmt.Sprintf("after=%v/call %d", after, call), func(t *testing.T) {
				c := simple(t)
				c.Inject(engine.Fault{Actor: localpath.ProvisionerName, Skip: call, After: after, Crash: true})
				c.Apply(podYAML)
				c.RunFor(5 * time.Minute)
				require.Equal(t, v1.PodRunning, c.Pod("web").Status.Phase)
				require.Len(t, c.volumes(), 1)
				require.Len(t, c.list("node2", localpath.DefaultPath), 1)
				require.Empty(t, c.helperPods())
				c.Delete("pod/web", "pvc/data")
				c.RunFor(5 * time.Minute)
				require.Empty(t, c.volumes())
				c.RequireNoLeaks()
			})
		}
	}
}
