package localpath

import (
	"context"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"
)

// In upstream's words.
func TestABadConfigurationIsRefused(t *testing.T) {
	node := func(text string) string { return `{"nodePathMap": [{"node": "n", "paths": [` + text + `]}]}` }
	for text, want := range map[string]string{
		``:                  "fail to load config file /etc/config/config.json: EOF",
		`[]`:                "fail to load config file /etc/config/config.json: json: cannot unmarshal array into Go value of type localpath.configData",
		node(`""`):          "StorageClass config canonicalization failed: path must start with / for path  on node n",
		node(`"a"`):         "StorageClass config canonicalization failed: path must start with / for path a on node n",
		node(`"/a", "/"`):   "StorageClass config canonicalization failed: cannot use root ('/') as path on node n",
		node(`"/a/.."`):     "StorageClass config canonicalization failed: cannot use root ('/') as path on node n",
		node(`"/a", "/a/"`): "StorageClass config canonicalization failed: duplicate path /a/ on node n",
		`{"nodePathMap": [{"node": "n"}, {"node": "n"}]}`: "StorageClass config canonicalization failed: duplicate node n",
		`{"storageClassConfigs": {"a": {"nodePathMap": [{"node": "n", "paths": ["b", "/"]}]}}}`: "config for class a is invalid: " +
			"StorageClass config canonicalization failed: path must start with / for path b on node n",
	} {
		_, err := parseConfig(text)
		assert.EqualError(t, err, want, text)
	}
	_, err := parseConfig(`{"nodePathMap": [{"node": "n", "paths": [{"path": "/a", "maxCapacity": "1Gi"}]}]}`) // of a later version
	assert.ErrorContains(t, err, "cannot unmarshal object")
}

// What upstream takes although it looks wrong.
func TestAnOddConfigurationIsTaken(t *testing.T) {
	for _, text := range []string{
		`{"sharedFileSystemPath": "/s"} {}`, `{"cmdTimeoutSeconds": -1, "sharedFileSystemPath": "/s"}`, `{"nodePathMap": [{"paths": ["/a"]}]}`,
		`{"sharedFileSystemPath": "/s", "storageClassConfigs": {"a": {"sharedFileSystemPath": "/t"}}}`, `{"nodePathMap": [{"node": "n", "paths": ["/a/../b"]}]}`,
	} {
		config, err := parseConfig(text)
		require.NoError(t, err, text)
		assert.Equal(t, 120, config.cmdTimeoutSeconds)
		assert.NoError(t, unknownField(text))
	}
	_, err := parseConfig(`{"nodePathMapp": [], "sharedFileSystemPath": "/s"}`)
	require.NoError(t, err)
	assert.EqualError(t, unknownField(`{"nodePathMapp": [], "sharedFileSystemPath": "/s"}`), `json: unknown field "nodePathMapp"`)
}

// Found when a volume is to be made, not when the configuration is read.
func TestAConfigurationIsEitherSharedOrOfNodes(t *testing.T) {
	for text, want := range map[string]string{
		`{}`:                  "both nodePathMap and sharedFileSystemPath are unconfigured",
		`{"nodePathMap": []}`: "both nodePathMap and sharedFileSystemPath are unconfigured",
		`{"nodePathMap": [{"node": "n"}], "sharedFileSystemPath": "/s"}`: "both nodePathMap and sharedFileSystemPath are defined. " +
			"Please make sure only one is in use",
	} {
		config, err := parseConfig(text)
		require.NoError(t, err)
		_, err = config.other.getPathOnNode("n", "", nil)
		assert.EqualError(t, err, want, text)
	}
}

// semantics 4.2: nodePathMap, its default entry, and a node listed without paths.
func TestTheNodePathMapChoosesTheDirectory(t *testing.T) {
	config, err := parseConfig(`{"cmdTimeoutSeconds": 5, "nodePathMap": [
		{"node": "DEFAULT_PATH_FOR_NON_LISTED_NODES", "paths": ["/opt"]},
		{"node": "big", "paths": ["/z/", "/a"]},
		{"node": "none", "paths": []}]}`)
	require.NoError(t, err)
	assert.Equal(t, 5, config.cmdTimeoutSeconds)
	class, err := config.pickConfig("any")
	require.NoError(t, err)
	last := func(n int) int { return n - 1 }
	for _, tt := range []struct{ node, requested, want, err string }{
		{"small", "", "/opt", ""},
		{"small", "/opt", "/opt", ""},
		{"small", "/a", "", "config doesn't contain path /a on node small"},
		{"small", "/opt/", "", "config doesn't contain path /opt/ on node small"},
		{"big", "", "/z", ""},
		{"big", "/a", "/a", ""},
		{"big", "/opt", "", "config doesn't contain path /opt on node big"},
		{"none", "", "", "no local path available on node none"},
		{"none", "/opt", "", "no local path available on node none"},
	} {
		got, err := class.getPathOnNode(tt.node, tt.requested, last)
		if tt.err != "" {
			assert.EqualError(t, err, tt.err)
			continue
		}
		require.NoError(t, err)
		assert.Equal(t, tt.want, got)
	}
	listedOnly, err := parseConfig(`{"nodePathMap": [{"node": "big", "paths": ["/a"]}]}`)
	require.NoError(t, err)
	assert.Equal(t, 120, listedOnly.cmdTimeoutSeconds, "by default")
	_, err = listedOnly.other.getPathOnNode("small", "", last)
	assert.EqualError(t, err, "config doesn't contain node small, and no DEFAULT_PATH_FOR_NON_LISTED_NODES available")
}

func TestTheConfigOfAClassIsPickedByItsNameAndAMissingOneIsNamed(t *testing.T) {
	config, err := parseConfig(`{"storageClassConfigs": {"fast": {"sharedFileSystemPath": "/fast"}, "slow": {"nodePathMap": [{"node": "n", ` +
		`"paths": ["/slow"]}]}}}`)
	require.NoError(t, err)
	fast, err := config.pickConfig("fast")
	require.NoError(t, err)
	assert.Equal(t, "/fast", fast.shared)
	slow, err := config.pickConfig("slow")
	require.NoError(t, err)
	assert.Equal(t, map[string][]string{"n": {"/slow"}}, slow.paths)
	_, err = config.pickConfig("other")
	assert.EqualError(t, err, "BUG: Got request for unexpected storage class other")
}

func checkedProvisioner(t *testing.T) *localPathProvisioner {
	t.Helper()
	cfg, err := Config{}.checked()
	require.NoError(t, err)
	return &localPathProvisioner{cfg: cfg}
}

func TestTheHelperPodIsTheTemplateFilledIn(t *testing.T) {
	p := checkedProvisioner(t)
	template, err := loadHelperPod(`
apiVersion: v1
kind: Pod
metadata: {name: helper-pod}
spec:
  containers:
  - {name: helper-pod, image: busybox, env: [{name: TZ, value: UTC}]}
`, false)
	require.NoError(t, err)
	config, err := parseConfig(DefaultConfigMap().Data[keyConfig])
	require.NoError(t, err)
	vol := volume{
		name: "pvc-1", path: "/opt/local-path-provisioner/pvc-1_default_data", node: "node2", size: 128 << 20, mode: v1.PersistentVolumeFilesystem,
		ownership: ownership{user: "1000", group: "2000"},
	}
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
    - {name: VOL_USER, value: "1000"}
    - {name: VOL_GROUP, value: "2000"}
    - {name: VOL_PERM}
    resources: {}
    volumeMounts:
    - {name: script, mountPath: /script}
    - {name: data, mountPath: /opt/local-path-provisioner/}
  volumes:
  - name: data
    hostPath: {path: /opt/local-path-provisioner/, type: DirectoryOrCreate}
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
func TestAnUnsafeTemplateMayMountTheVolumesElsewhere(t *testing.T) {
	p := checkedProvisioner(t)
	template, err := loadHelperPod(`
metadata: {name: helper}
spec:
  nodeName: fixed
  tolerations: []
  containers:
  - {name: helper, volumeMounts: [{name: data, mountPath: /host}, {name: script, mountPath: /elsewhere}]}
`, true)
	require.NoError(t, err)
	config, err := parseConfig(DefaultConfigMap().Data[keyConfig])
	require.NoError(t, err)
	pod, err := p.helperPod(actionCreate, config, template, volume{name: "pvc-1", path: "/opt/x/pvc-1", node: "n"})
	require.NoError(t, err)
	assert.Equal(t, []v1.VolumeMount{{Name: "data", MountPath: "/host"}, {Name: "script", MountPath: "/script"}}, pod.Spec.Containers[0].VolumeMounts)
	assert.Equal(t, "/host/pvc-1", pod.Spec.Containers[0].Args[1])
	assert.Equal(t, "/opt/x/", pod.Spec.Volumes[0].HostPath.Path)
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
	template, err := loadHelperPod(DefaultConfigMap().Data[keyHelperPod], false)
	require.NoError(t, err)
	vol := volume{name: "pvc-1", path: "/opt/x/pvc-1", node: "n"}
	config, err := parseConfig(`{"setupCommand": "/manager", "sharedFileSystemPath": "/s"}`)
	require.NoError(t, err)
	pod, err := p.helperPod(actionCreate, config, template, vol)
	require.NoError(t, err)
	assert.Equal(t, []string{"/manager"}, pod.Spec.Containers[0].Command)
	assert.Equal(t, "docker.io/library/busybox", pod.Spec.Containers[0].Image)
	assert.Equal(t, []v1.KeyToPath{{Key: "teardown", Path: "teardown"}}, pod.Spec.Volumes[1].ConfigMap.Items)

	config, err = parseConfig(`{"setupCommand": "/manager", "teardownCommand": "/manager", "sharedFileSystemPath": "/s"}`)
	require.NoError(t, err)
	pod, err = p.helperPod(actionDelete, config, template, vol)
	require.NoError(t, err)
	assert.Len(t, pod.Spec.Volumes, 1, "no scripts are needed")
}

// In upstream's words.
func TestABadTemplateIsRefused(t *testing.T) {
	for text, want := range map[string]string{
		"{":            "invalid YAMLToJSON the helper pod with helperPodYaml: {",
		"metadata: []": `invalid unmarshal the helper pod with helperPodJson: {"metadata":[]}`,
		"":             "helper pod template does not specify any container",
		"kind: Pod":    "helper pod template does not specify any container",
		"spec: {containers: [{name: a}, {name: b}]}": "helper pod template must specify exactly one container",
	} {
		_, err := loadHelperPod(text, false)
		assert.EqualError(t, err, want, text)
	}
}

func TestATemplateThatCouldDoMoreThanItNeedsIsRefusedUnlessAllowed(t *testing.T) {
	for want, text := range map[string]string{
		"define initContainers":              "initContainers: [{name: a}]",
		"define ephemeralContainers":         "ephemeralContainers: [{name: a}]",
		"define custom volumes":              "volumes: [{name: a}]",
		"enable host namespaces":             "hostPID: true",
		"set spec.nodeName":                  "nodeName: node-1",
		"set spec.serviceAccountName":        "serviceAccountName: a",
		"set pod runAsUser to 0 (root)":      "securityContext: {runAsUser: 0}",
		"set pod runAsGroup to 0 (root)":     "securityContext: {runAsGroup: 0}",
		"define sysctls":                     "securityContext: {sysctls: [{name: a}]}",
		"define custom volumeMounts":         "containers: [{volumeMounts: [{name: a}]}]",
		"define envFrom":                     "containers: [{envFrom: [{prefix: a}]}]",
		"define container lifecycle hooks":   "containers: [{lifecycle: {}}]",
		"define container livenessProbe":     "containers: [{livenessProbe: {}}]",
		"define container readinessProbe":    "containers: [{readinessProbe: {}}]",
		"define container startupProbe":      "containers: [{startupProbe: {}}]",
		`define env.valueFrom (env "A")`:     "containers: [{env: [{name: A, valueFrom: {}}]}]",
		"set privileged: true":               "containers: [{securityContext: {privileged: true}}]",
		"add capabilities":                   "containers: [{securityContext: {capabilities: {add: [SYS_ADMIN]}}}]",
		"set allowPrivilegeEscalation: true": "containers: [{securityContext: {allowPrivilegeEscalation: true}}]",
	} {
		if !strings.HasPrefix(text, "containers: ") {
			text += "\n  containers: [{name: helper-pod}]"
		}
		_, err := loadHelperPod("spec:\n  "+text, false)
		assert.EqualError(t, err, "helper pod template must not "+want+" unless allow-unsafe-helper-pod-template is enabled", text)
		_, err = loadHelperPod("spec:\n  "+text, true)
		assert.NoError(t, err, text)
	}
	_, err := loadHelperPod("spec: {securityContext: {runAsUser: 1000, fsGroup: 0}, containers: [{securityContext: {readOnlyRootFilesystem: true}}]}", false)
	assert.NoError(t, err, "hardening is allowed")
}

// In upstream's words, before any pod is made.
func TestADirectoryThatCannotBeMadeIsRefused(t *testing.T) {
	template, err := loadHelperPod(DefaultConfigMap().Data[keyHelperPod], false)
	require.NoError(t, err)
	config, err := parseConfig(DefaultConfigMap().Data[keyConfig])
	require.NoError(t, err)
	for dir, want := range map[string]string{
		"":        "invalid empty name or path or node",
		"x/y":     "volume path x/y is not absolute",
		"/":       "invalid path create for /: cannot find parent dir or volume dir or parent dir is relative",
		"/x":      "invalid path create for /x: cannot find parent dir or volume dir or parent dir is relative",
		"//x/":    "invalid path create for /x: cannot find parent dir or volume dir or parent dir is relative",
		"/opt/..": "invalid path create for /: cannot find parent dir or volume dir or parent dir is relative",
	} {
		_, err := checkedProvisioner(t).helperPod(actionCreate, config, template, volume{name: "pvc-1", path: dir, node: "n"})
		assert.EqualError(t, err, want, dir)
	}
	_, err = checkedProvisioner(t).helperPod(actionCreate, config, template, volume{name: "pvc-1", path: "/a/b"})
	assert.EqualError(t, err, "invalid empty name or path or node")
	_, err = checkedProvisioner(t).helperPod(actionCreate, config, template, volume{name: "pvc-1", path: "/a/b", shared: true})
	assert.NoError(t, err, "a shared directory needs no node")
}

func TestTheNodeOfAVolumeIsReadFromItsAffinity(t *testing.T) {
	in := func(values ...string) *v1.PersistentVolume {
		return &v1.PersistentVolume{Spec: v1.PersistentVolumeSpec{NodeAffinity: &v1.VolumeNodeAffinity{Required: &v1.NodeSelector{
			NodeSelectorTerms: []v1.NodeSelectorTerm{{MatchExpressions: []v1.NodeSelectorRequirement{{Key: v1.LabelHostname, Operator: v1.NodeSelectorOpIn,
				Values: values}}}},
		}}}}
	}
	node, err := checkedProvisioner(t).nodeOf(in("n"))
	require.NoError(t, err)
	assert.Equal(t, "n", node)
	required := func(required *v1.NodeSelector) *v1.PersistentVolume {
		return &v1.PersistentVolume{Spec: v1.PersistentVolumeSpec{NodeAffinity: &v1.VolumeNodeAffinity{Required: required}}}
	}
	for want, pv := range map[string]*v1.PersistentVolume{
		"no NodeAffinity set": {}, "no NodeAffinity.Required set": required(nil),
		"multiple values for the node affinity": in("a", "b"), "cannot find affinited node": required(&v1.NodeSelector{}),
	} {
		_, err := checkedProvisioner(t).nodeOf(pv)
		assert.EqualError(t, err, want)
	}
	_, err = pathOf(&v1.PersistentVolume{})
	assert.EqualError(t, err, "no path set")
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
func TestWithoutANodeTheErrorIsPlain(t *testing.T) {
	node, _, err := checkedProvisioner(t).selectedNode(context.Background(), "")
	require.NoError(t, err)
	assert.EqualError(t, checkClaim(&v1.PersistentVolumeClaim{}, node), "configuration error, no node was specified")
}

func TestATemplateWithAHugeQuantityIsRefusedAtOnce(t *testing.T) {
	_, err := loadHelperPod("spec: {containers: [{name: helper-pod, resources: {limits: {memory: '1e-2147483648'}}}]}", false)
	require.EqualError(t, err,
		`helper pod template: spec.containers[0].resources.limits[memory]: "1e-2147483648": the exponent of a quantity must be from -999 to 999`)
}
