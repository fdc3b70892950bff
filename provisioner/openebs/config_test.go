package openebs

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// documentConfig is the annotation of the class openebs-hostpath, comments and
// all, as the document has it.
const documentConfig = `#hostpath type will create a PV by
# creating a sub-directory under the
# BASEPATH provided below.
- name: StorageType
  value: "hostpath"
#Specify the location (directory) where
# where PV(volume) data will be saved.
- name: BasePath
  value: "/var/openebs/local/"
`

func annotated(config string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Name: "x", Namespace: "default", Annotations: map[string]string{AnnCASConfig: config}}
}

func TestTheClassWinsOverTheDefaultsAndBothOverTheClaim(t *testing.T) {
	tests := map[string]struct {
		class, claim string
		path         string
		storageType  string
	}{
		"nothing set":                            {"", "", "/var/default/pv", "hostpath"},
		"the document's class":                   {documentConfig, "", "/var/openebs/local/pv", "hostpath"},
		"the class sets the base path":           {"- {name: BasePath, value: /mnt/ssd}", "", "/mnt/ssd/pv", "hostpath"},
		"names are trimmed":                      {"- {name: ' BasePath ', value: /mnt/ssd}", "", "/mnt/ssd/pv", "hostpath"},
		"the claim cannot move the volume":       {"", "- {name: BasePath, value: /etc/cron.d}", "/var/default/pv", "hostpath"},
		"the claim may say what nobody else did": {"", "- {name: StorageType, value: device}", "/var/default/pv", "device"},
		"the class wins over the claim":          {"- {name: StorageType, value: hostpath}", "- {name: StorageType, value: device}", "/var/default/pv", "hostpath"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			config, err := getVolumeConfig(Config{BasePath: "/var/default"},
				&storagev1.StorageClass{ObjectMeta: annotated(tt.class)}, &v1.PersistentVolumeClaim{ObjectMeta: annotated(tt.claim)})
			require.NoError(t, err)
			dir, err := config.path("pv")
			require.NoError(t, err)
			assert.Equal(t, tt.path, dir)
			assert.Equal(t, tt.storageType, config.storageType())
		})
	}
}

func TestABadAnnotationIsAnErrorThatNamesIt(t *testing.T) {
	tests := map[string]struct{ config, want string }{
		"not a list":             {"name: BasePath", "must be a YAML list of"},
		"not YAML":               {"- {", "must be a YAML list of"},
		"unknown field":          {"- {name: BasePath, valeu: /mnt}", `unknown field "valeu"`},
		"value of a wrong type":  {"- {name: BasePath, value: [1]}", "must be a YAML list of"},
		"no name":                {"- {value: /mnt}", "entry 0 has no name; allowed are StorageType, BasePath"},
		"unknown name":           {"- {name: BasePath, value: /mnt}\n- {name: Basepath, value: /mnt}", `entry 1 has the unknown name "Basepath"; allowed are`},
		"named twice":            {"- {name: BasePath, value: /a/b}\n- {name: BasePath, value: /c/d}", `entry 1 names "BasePath" a second time`},
		"neither true nor false": {"- {name: XFSQuota, enabled: maybe}", `XFSQuota has enabled "maybe"; it must be "true" or "false"`},
		"unknown data": {"- {name: XFSQuota, data: {softLimit: 1%}}",
			`XFSQuota has the unknown data "softLimit"; allowed are softLimitGrace, hardLimitGrace`},
		"a value for a list": {"- {name: NodeAffinityLabels, value: zone}", "NodeAffinityLabels has a field value, which has no effect; it takes list"},
		"a list for a value": {"- {name: BasePath, list: [/mnt/ssd]}", "BasePath has a field list, which has no effect; it takes value"},
		"a value for data":   {"- {name: XFSQuota, enabled: true, value: 80%}", "XFSQuota has a field value, which has no effect; it takes data"},
		"a name of old": {"- {name: NodeAffinityLabel, value: zone}",
			"NodeAffinityLabel has no effect any more; NodeAffinityLabels has the labels in its list"},
		"unknown permission": {"- {name: FilePermissions, data: {uid: 1}}", `FilePermissions has the unknown data "uid"; allowed are UID, GID, mode`},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			_, err := getVolumeConfig(Config{BasePath: "/var/default"}, &storagev1.StorageClass{ObjectMeta: annotated(tt.config)}, &v1.PersistentVolumeClaim{})
			require.ErrorContains(t, err, tt.want)
			assert.ErrorContains(t, err, "failed to get config: invalid sc config {"+tt.config+"}: ")
		})
	}
	t.Run("of the claim", func(t *testing.T) {
		_, err := getVolumeConfig(Config{}, &storagev1.StorageClass{}, &v1.PersistentVolumeClaim{ObjectMeta: annotated("- {}")})
		assert.ErrorContains(t, err, "failed to get config: invalid pvc config {- {}}: entry 0 has no name")
	})
}

func TestAVolumeIsNeitherRootNorDirectlyUnderItNorElsewhere(t *testing.T) {
	const invalid, root = "host path validation failed: [invalid path ", "host path validation failed: [path should not be a root directory: "
	for base, want := range map[string]string{
		"":                   "failed to get path: base path is empty",
		"  ":                 "failed to get path: base path is empty",
		"/":                  root + "//pv]",
		"//":                 root + "///pv]",
		"/.":                 root + "/./pv]",
		"var/openebs":        invalid + "var/openebs/pv]",
		"./var":              invalid + "var/pv]",
		"..":                 invalid + "../pv]",
		".":                  root + "./pv invalid path pv]",
		"/var/..":            root + "/var/../pv]",
		"/var/openebs/../..": root + "/var/openebs/../../pv]",
	} {
		_, err := volumePath(base, "pv")
		assert.EqualError(t, err, want, "base path %q", base)
	}
	for base, want := range map[string]string{
		"/a":                   "/a/pv",
		"/var/openebs/local":   "/var/openebs/local/pv",
		"/var//openebs/local/": "/var/openebs/local/pv",
		"/var/..openebs":       "/var/..openebs/pv",
		"/var/../etc":          "/etc/pv",
	} {
		dir, err := volumePath(base, "pv")
		require.NoError(t, err)
		assert.Equal(t, want, dir)
	}
}

func TestAHelperPodMountsTheParentNeverRoot(t *testing.T) {
	for dir, want := range map[string][2]string{
		"/var/openebs/local/pv": {"/var/openebs/local", "pv"},
		"/a/b":                  {"/a", "b"},
	} {
		parent, name, err := extractSubPath(dir)
		require.NoError(t, err)
		assert.Equal(t, want, [2]string{parent, name})
	}
	for _, dir := range []string{"", "/", "/etc", "etc/x", "/var/x/", "/var/../etc", "/var/x/..", "/var//x", "//etc"} {
		_, _, err := extractSubPath(dir)
		assert.Error(t, err, "directory %q", dir)
	}
}

func TestTheAffinityIsThatOfTheListedLabelsThatHaveAValue(t *testing.T) {
	node := &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n", Labels: map[string]string{v1.LabelHostname: "host", "zone": "a", "empty": ""}}}
	tests := map[string]struct {
		class string
		want  map[string]string
		err   string
	}{
		"hostname by default":         {"", map[string]string{v1.LabelHostname: "host"}, ""},
		"the list":                    {"- {name: NodeAffinityLabels, list: [zone]}", map[string]string{"zone": "a"}, ""},
		"labels without a value drop": {"- {name: NodeAffinityLabels, list: [zone, empty, missing]}", map[string]string{"zone": "a"}, ""},
		"none left":                   {"- {name: NodeAffinityLabels, list: [empty, missing]}", nil, "[failed to build Pod object: missing node label values]"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			config, err := getVolumeConfig(Config{}, &storagev1.StorageClass{ObjectMeta: annotated(tt.class)}, &v1.PersistentVolumeClaim{})
			require.NoError(t, err)
			labels, err := config.nodeAffinityLabels(node)
			if tt.err != "" {
				require.ErrorContains(t, err, tt.err)
				return
			}
			require.NoError(t, err)
			assert.Equal(t, tt.want, labels)
		})
	}
}

func TestABadConfigIsRefusedByItsField(t *testing.T) {
	for want, cfg := range map[string]Config{
		"openebs.Config.BasePath: host path validation failed: [path should not be a root directory: ": {BasePath: "/"},
		"openebs.Config.BasePath: host path validation failed: [invalid path x/":                       {BasePath: "x"},
		"openebs.Config.Namespace \"Open EBS\": ":                                                      {Namespace: "Open EBS"},
	} {
		_, err := New(cfg)(nil)
		assert.ErrorContains(t, err, want)
	}
}
