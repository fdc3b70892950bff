package localpath

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"

	"github.com/storagesim/storagesim/provisioner"
)

func TestABadConfigurationIsRefusedByItsField(t *testing.T) {
	node := func(text string) string { return `{"nodePathMap": [{"node": "n", "paths": [` + text + `]}]}` }
	for text, want := range map[string]string{
		``:                     "EOF",
		`[]`:                   "cannot unmarshal array",
		`{}`:                   "neither nodePathMap nor sharedFileSystemPath is defined",
		`{"nodePathMap": []}`:  "neither nodePathMap nor sharedFileSystemPath is defined",
		`{"nodePathMapp": []}`: `unknown field "nodePathMapp"`,
		node(`"/a"`) + "{}":    "something after the closing brace",
		node(`""`):             `nodePathMap[0] (node n): paths[0]: path "" must start with /`,
		node(`"a"`):            `paths[0]: path "a" must start with /`,
		node(`"/a", "/"`):      "paths[1]: path \"/\": cannot use root ('/') as path",
		node(`"/a/../.."`):     `path "/a/../.." contains ".."`,
		node(`"/a", "/a/"`):    `paths[1]: path "/a/" is there twice`,
		`{"nodePathMap": [{"node": "n"}, {"node": "n"}]}`:                                                     `nodePathMap[1].node is "n"; it must be a node that is in the list once`,
		`{"nodePathMap": [{"paths": ["/a"]}]}`:                                                                `nodePathMap[0].node is ""`,
		`{"nodePathMap": [{"node": "n"}], "sharedFileSystemPath": "/s"}`:                                      "both nodePathMap and sharedFileSystemPath are defined",
		`{"sharedFileSystemPath": "s"}`:                                                                       `sharedFileSystemPath: path "s" must start with /`,
		`{"cmdTimeoutSeconds": -1, "sharedFileSystemPath": "/s"}`:                                             "cmdTimeoutSeconds is -1; it must be positive, or 0 for 2m0s",
		`{"storageClassConfigs": {"b": {"sharedFileSystemPath": "/s"}, "a": {}}}`:                             "storageClassConfigs[a]: neither",
		`{"sharedFileSystemPath": "/s", "storageClassConfigs": {"a": {"sharedFileSystemPath": "/s"}}}`:        "storageClassConfigs is set, so nodePathMap and sharedFileSystemPath outside of it have no effect",
		`{"nodePathMap": [{"node": "n", "paths": [{"path": "/a", "maxCapacity": "1Gi"}]}]}`:                   "cannot unmarshal object",
		`{"storageClassConfigs": {"a": {"nodePathMap": [{"node": "n", "paths": ["/a", "/b", "relative"]}]}}}`: "storageClassConfigs[a]: nodePathMap[0] (node n): paths[2]: path \"relative\"",
	} {
		_, err := parseConfig(text)
		assert.ErrorContains(t, err, want, text)
	}
}

// semantics 4.2: nodePathMap, its default entry, and a node listed without paths.
func TestTheNodePathMapChoosesTheDirectory(t *testing.T) {
	config, err := parseConfig(`{"cmdTimeoutSeconds": 5, "nodePathMap": [
		{"node": "DEFAULT_PATH_FOR_NON_LISTED_NODES", "paths": ["/opt"]},
		{"node": "big", "paths": ["/z/", "/a"]},
		{"node": "none", "paths": []}]}`)
	require.NoError(t, err)
	assert.Equal(t, 5*time.Second, config.cmdTimeout)
	class, err := config.pickConfig("any")
	require.NoError(t, err)
	last := func(n int) int { return n - 1 }
	for _, tt := range []struct{ node, requested, want, err string }{
		{"small", "", "/opt", ""},
		{"small", "/opt", "/opt", ""},
		{"small", "/a", "", `parameter nodePath: config doesn't contain path "/a" on node small; there are /opt`},
		{"big", "", "/z", ""},
		{"big", "/a", "/a", ""},
		{"big", "/opt", "", `config doesn't contain path "/opt" on node big; there are /a, /z`},
		{"none", "", "", "no local path available on node none"},
		{"none", "/opt", "", "no local path available on node none"},
	} {
		got, err := class.getPathOnNode(tt.node, tt.requested, last)
		if tt.err != "" {
			assert.ErrorContains(t, err, tt.err)
			continue
		}
		require.NoError(t, err)
		assert.Equal(t, tt.want, got)
	}
	listedOnly, err := parseConfig(`{"nodePathMap": [{"node": "big", "paths": ["/a"]}]}`)
	require.NoError(t, err)
	assert.Equal(t, 120*time.Second, listedOnly.cmdTimeout, "by default")
	_, err = listedOnly.other.getPathOnNode("small", "", last)
	assert.ErrorContains(t, err, "config doesn't contain node small, and no DEFAULT_PATH_FOR_NON_LISTED_NODES is available")
}

func TestAClassThatIsNotConfiguredIsNamed(t *testing.T) {
	config, err := parseConfig(`{"storageClassConfigs": {"fast": {"sharedFileSystemPath": "/fast"}, "slow": {"nodePathMap": [{"node": "n", "paths": ["/slow"]}]}}}`)
	require.NoError(t, err)
	fast, err := config.pickConfig("fast")
	require.NoError(t, err)
	assert.True(t, fast.isShared())
	slow, err := config.pickConfig("slow")
	require.NoError(t, err)
	assert.False(t, slow.isShared())
	_, err = config.pickConfig("other")
	assert.ErrorContains(t, err, `storage class "other" is not in storageClassConfigs of config.json; there are fast, slow`)
}

func checkedProvisioner(t *testing.T) *Provisioner {
	t.Helper()
	cfg, err := Config{}.checked()
	require.NoError(t, err)
	return &Provisioner{cfg: cfg}
}

func TestTheHelperPodIsTheTemplateFilledIn(t *testing.T) {
	p := checkedProvisioner(t)
	template, err := p.loadHelperPod(`
apiVersion: v1
kind: Pod
metadata: {name: helper-pod}
spec:
  containers:
  - {name: helper-pod, image: busybox, env: [{name: TZ, value: UTC}]}
`)
	require.NoError(t, err)
	config, err := parseConfig(DefaultConfigMap().Data[keyConfig])
	require.NoError(t, err)
	vol := volume{name: "pvc-1", path: "/opt/local-path-provisioner/pvc-1_default_data", node: "node2", size: 128 << 20, mode: v1.PersistentVolumeFilesystem}
	pod, err := p.helperPod(actionCreate, config, template, vol)
	require.NoError(t, err)
	got, err := yaml.Marshal(map[string]any{"namespace": pod.Namespace, "name": pod.Name, "spec": pod.Spec})
	require.NoError(t, err)
	assert.YAMLEq(t, `
name: helper-pod-create-pvc-1
namespace: local-path-storage
spec:
  nodeName: node2
  restartPolicy: Never
  serviceAccountName: local-path-provisioner-service-account
  tolerations:
  - {key: node.kubernetes.io/disk-pressure, operator: Exists, effect: NoSchedule}
  containers:
  - name: helper-pod
    image: busybox
    command: [/bin/sh, /script/setup]
    args: [-p, /opt/local-path-provisioner/pvc-1_default_data, -s, "134217728", -m, Filesystem, -a, create]
    env:
    - {name: TZ, value: UTC}
    - {name: VOL_DIR, value: /opt/local-path-provisioner/pvc-1_default_data}
    - {name: VOL_MODE, value: Filesystem}
    - {name: VOL_SIZE_BYTES, value: "134217728"}
    resources: {}
    volumeMounts:
    - {name: data, mountPath: /opt/local-path-provisioner}
    - {name: script, mountPath: /script}
  volumes:
  - name: data
    hostPath: {path: /opt/local-path-provisioner, type: DirectoryOrCreate}
  - name: script
    configMap:
      name: local-path-config
      items:
      - {key: setup, path: setup}
      - {key: teardown, path: teardown}
`, string(got))
	assert.Empty(t, template.Spec.Volumes, "the template stays as it is")

	pod, err = p.helperPod(actionDelete, config, template, vol)
	require.NoError(t, err)
	assert.Equal(t, "helper-pod-delete-pvc-1", pod.Name)
	assert.Equal(t, []string{"/bin/sh", "/script/teardown"}, pod.Spec.Containers[0].Command)

	vol.name = strings.Repeat("x", 300)
	pod, err = p.helperPod(actionDelete, config, template, vol)
	require.NoError(t, err)
	assert.Len(t, pod.Name, 128)
}

// Upstream: provisioner.go addVolumeMount, v0.0.37.
func TestTheTemplateMayMountTheVolumesElsewhere(t *testing.T) {
	p := checkedProvisioner(t)
	template, err := p.loadHelperPod(`
metadata: {name: helper}
spec:
  nodeName: fixed
  tolerations: []
  containers:
  - {name: helper, volumeMounts: [{name: data, mountPath: /host}, {name: script}]}
`)
	require.NoError(t, err)
	config, err := parseConfig(DefaultConfigMap().Data[keyConfig])
	require.NoError(t, err)
	pod, err := p.helperPod(actionCreate, config, template, volume{name: "pvc-1", path: "/opt/x/pvc-1", node: "n"})
	require.NoError(t, err)
	assert.Equal(t, []v1.VolumeMount{{Name: "data", MountPath: "/host"}, {Name: "script", MountPath: "/script"}}, pod.Spec.Containers[0].VolumeMounts)
	assert.Equal(t, "/host/pvc-1", pod.Spec.Containers[0].Args[1])
	assert.Equal(t, "/opt/x", pod.Spec.Volumes[0].HostPath.Path)
	assert.Equal(t, "fixed", pod.Spec.NodeName)
	assert.Empty(t, pod.Spec.Tolerations)
}

func TestANodeWithoutTheLabelIsKnownByItsName(t *testing.T) {
	node := &v1.Node{}
	node.Name, node.Labels = "n", map[string]string{"rack": "r1"}
	for key, want := range map[string]string{"rack": "r1", v1.LabelHostname: "n"} {
		_, value := affinity(node, key)
		assert.Equal(t, want, value)
	}
}

func TestConfiguredCommandsReplaceTheScripts(t *testing.T) {
	p := checkedProvisioner(t)
	template, err := p.loadHelperPod("")
	require.NoError(t, err)
	vol := volume{name: "pvc-1", path: "/opt/x", node: "n"}
	config, err := parseConfig(`{"setupCommand": "/manager", "sharedFileSystemPath": "/s"}`)
	require.NoError(t, err)
	pod, err := p.helperPod(actionCreate, config, template, vol)
	require.NoError(t, err)
	assert.Equal(t, []string{"/manager"}, pod.Spec.Containers[0].Command)
	assert.Equal(t, DefaultHelperImage, pod.Spec.Containers[0].Image)
	assert.Equal(t, []v1.KeyToPath{{Key: "teardown", Path: "teardown"}}, pod.Spec.Volumes[1].ConfigMap.Items)

	config, err = parseConfig(`{"setupCommand": "/manager", "teardownCommand": "/manager", "sharedFileSystemPath": "/s"}`)
	require.NoError(t, err)
	pod, err = p.helperPod(actionDelete, config, template, vol)
	require.NoError(t, err)
	assert.Len(t, pod.Spec.Volumes, 1, "no scripts are needed")
}

func TestABadTemplateIsRefused(t *testing.T) {
	for text, want := range map[string]string{
		"{":                     "must be the YAML of a pod",
		"spec: {container: []}": `unknown field "container"`,
		"kind: Deployment":      `kind is "Deployment"; it must be Pod`,
		"kind: Pod":             "metadata.name is empty",
		"metadata: {name: x}":   "spec.containers has 0 elements; it must have one",
		"metadata: {name: x}\nspec: {containers: [{name: a}, {name: b}]}": "spec.containers has 2 elements",
	} {
		_, err := checkedProvisioner(t).loadHelperPod(text)
		assert.ErrorContains(t, err, want, text)
	}
}

func TestAVolumeIsNeverDirectlyUnderRoot(t *testing.T) {
	for _, dir := range []string{"", "/", "/x", "x/y", "/opt/..", "/a/../b/c", "//x"} {
		_, _, err := splitPath(dir)
		assert.Error(t, err, dir)
	}
	parent, name, err := splitPath("/opt/x/")
	require.NoError(t, err)
	assert.Equal(t, [2]string{"/opt", "x"}, [2]string{parent, name})
}

func TestTheNodeOfAVolumeIsReadFromItsAffinity(t *testing.T) {
	in := func(values ...string) *v1.PersistentVolume {
		return &v1.PersistentVolume{Spec: v1.PersistentVolumeSpec{NodeAffinity: &v1.VolumeNodeAffinity{Required: &v1.NodeSelector{
			NodeSelectorTerms: []v1.NodeSelectorTerm{{MatchExpressions: []v1.NodeSelectorRequirement{{Key: v1.LabelHostname, Operator: v1.NodeSelectorOpIn, Values: values}}}},
		}}}}
	}
	node, err := checkedProvisioner(t).nodeOf(in("n"))
	require.NoError(t, err)
	assert.Equal(t, "n", node)
	for _, pv := range []*v1.PersistentVolume{{}, in(), in("a", "b"), {Spec: v1.PersistentVolumeSpec{NodeAffinity: &v1.VolumeNodeAffinity{Required: &v1.NodeSelector{}}}}} {
		_, err := checkedProvisioner(t).nodeOf(pv)
		assert.Error(t, err)
	}
	_, err = pathOf(&v1.PersistentVolume{})
	assert.ErrorContains(t, err, "no path set")
}

func TestABadConfigIsRefusedByItsField(t *testing.T) {
	for want, cfg := range map[string]Config{
		"localpath.Config.Namespace \"Local Path\": ":   {Namespace: "Local Path"},
		"localpath.Config.ConfigMapName \"config/x\": ": {ConfigMapName: "config/x"},
	} {
		_, err := New(cfg)(nil)
		assert.ErrorContains(t, err, want)
	}
}

// semantics 4 must 2: no node is an error, and not Reschedule.
func TestWithoutANodeTheStateIsFinished(t *testing.T) {
	_, state, err := checkedProvisioner(t).selectedNode(context.Background(), "", false)
	require.ErrorContains(t, err, "configuration error, no node was specified")
	assert.Equal(t, provisioner.ProvisioningFinished, state)
}
