package openebs

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"github.com/storagesim/storagesim/provisioner"
)

func documentClaim() *v1.PersistentVolumeClaim {
	class := "openebs-hostpath"
	return &v1.PersistentVolumeClaim{
		ObjectMeta: metav1.ObjectMeta{Name: "local-hostpath-pvc", Namespace: "default"},
		Spec: v1.PersistentVolumeClaimSpec{
			StorageClassName: &class,
			AccessModes:      []v1.PersistentVolumeAccessMode{v1.ReadWriteOnce},
			Resources:        v1.VolumeResourceRequirements{Requests: v1.ResourceList{v1.ResourceStorage: resource.MustParse("5Gi")}},
		},
	}
}

func documentVolume(t *testing.T) volume {
	t.Helper()
	vol, err := newVolume("pvc-1", "/var/openebs/local/pvc-1", map[string]string{v1.LabelHostname: "node2"}, nil)
	require.NoError(t, err)
	return vol
}

func TestTheVolumeLooksAsTheDocumentShowsIt(t *testing.T) {
	class := &storagev1.StorageClass{ObjectMeta: metav1.ObjectMeta{Name: "openebs-hostpath"}}
	pv := documentVolume(t).persistentVolume(provisioner.ProvisionOptions{PVC: documentClaim(), StorageClass: class, PVName: "pvc-1"})

	got, err := yaml.Marshal(map[string]any{"labels": pv.Labels, "name": pv.Name, "spec": pv.Spec})
	require.NoError(t, err)
	assert.YAMLEq(t, `
labels:
  openebs.io/cas-type: local-hostpath
name: pvc-1
spec:
  accessModes:
  - ReadWriteOnce
  capacity:
    storage: 5Gi
  local:
    fsType: ""
    path: /var/openebs/local/pvc-1
  nodeAffinity:
    required:
      nodeSelectorTerms:
      - matchExpressions:
        - key: kubernetes.io/hostname
          operator: In
          values:
          - node2
  persistentVolumeReclaimPolicy: Delete
  volumeMode: Filesystem
`, string(got))
}

func TestTheReclaimPolicyIsTheClasss(t *testing.T) {
	retain := v1.PersistentVolumeReclaimRetain
	pv := documentVolume(t).persistentVolume(provisioner.ProvisionOptions{PVC: documentClaim(), StorageClass: &storagev1.StorageClass{ReclaimPolicy: &retain}})
	assert.Equal(t, retain, pv.Spec.PersistentVolumeReclaimPolicy)
}

func TestTheAffinityOfAVolumeIsReadBack(t *testing.T) {
	labels := map[string]string{v1.LabelHostname: "node2", "zone": "a"}
	pv := &v1.PersistentVolume{Spec: v1.PersistentVolumeSpec{NodeAffinity: &v1.VolumeNodeAffinity{Required: nodeSelector(labels)}}}
	got, err := affinityLabels(pv)
	require.NoError(t, err)
	assert.Equal(t, labels, got)
}

func TestAnAffinityThatIsNotOneNodesLabelsIsRefused(t *testing.T) {
	in := func(values ...string) v1.NodeSelectorTerm {
		return v1.NodeSelectorTerm{MatchExpressions: []v1.NodeSelectorRequirement{{Key: "k", Operator: v1.NodeSelectorOpIn, Values: values}}}
	}
	for name, terms := range map[string][]v1.NodeSelectorTerm{
		"no term":        {},
		"empty term":     {{}},
		"two terms":      {in("a"), in("b")},
		"two values":     {in("a", "b")},
		"no value":       {in()},
		"other operator": {{MatchExpressions: []v1.NodeSelectorRequirement{{Key: "k", Operator: v1.NodeSelectorOpExists}}}},
		"fields": {{MatchFields: []v1.NodeSelectorRequirement{{Key: "metadata.name", Operator: v1.NodeSelectorOpIn, Values: []string{"n"}}},
			MatchExpressions: in("a").MatchExpressions}},
	} {
		pv := &v1.PersistentVolume{Spec: v1.PersistentVolumeSpec{NodeAffinity: &v1.VolumeNodeAffinity{Required: &v1.NodeSelector{NodeSelectorTerms: terms}}}}
		_, err := affinityLabels(pv)
		assert.Error(t, err, name)
	}
	_, err := affinityLabels(&v1.PersistentVolume{})
	assert.EqualError(t, err, "cannot find affinited node details")
}

func TestThePathOfAVolumeIsItsLocalOrHostPathSource(t *testing.T) {
	pv := &v1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: "pv"}}
	_, err := pathOf(pv)
	require.EqualError(t, err, "no HostPath set")
	pv.Spec.HostPath = &v1.HostPathVolumeSource{Path: "/a/b"}
	dir, err := pathOf(pv)
	require.NoError(t, err)
	assert.Equal(t, "/a/b", dir)
}

func TestHelperPodsAreBuiltAsUpstreamBuildsThem(t *testing.T) {
	cfg, err := Config{ImagePullSecrets: []string{"registry"}}.checked()
	require.NoError(t, err)
	vol := documentVolume(t)
	vol.taints = []v1.Taint{
		{Key: "dedicated", Value: "db", Effect: v1.TaintEffectNoSchedule},
		{Key: "node.kubernetes.io/unschedulable", Effect: v1.TaintEffectNoSchedule},
	}
	pod := (&hostpathProvisioner{cfg: cfg}).initPod(vol)

	got, err := yaml.Marshal(map[string]any{"namespace": pod.Namespace, "name": pod.Name, "spec": pod.Spec})
	require.NoError(t, err)
	assert.YAMLEq(t, `
name: init-pvc-1
namespace: openebs
spec:
  affinity:
    nodeAffinity:
      requiredDuringSchedulingIgnoredDuringExecution:
        nodeSelectorTerms:
        - matchExpressions:
          - {key: kubernetes.io/hostname, operator: In, values: [node2]}
  containers:
  - name: local-path-init
    image: openebs/linux-utils:latest
    command: [mkdir, -m, "0777", -p, /data/pvc-1]
    resources: {}
    securityContext: {privileged: true}
    volumeMounts:
    - {mountPath: /data/, name: data}
  imagePullSecrets:
  - name: registry
  restartPolicy: Never
  serviceAccountName: openebs-maya-operator
  tolerations:
  - {key: dedicated, operator: Equal, value: db, effect: NoSchedule}
  - {key: node.kubernetes.io/unschedulable, operator: Exists, effect: NoSchedule}
  volumes:
  - name: data
    hostPath: {path: /var/openebs/local}
`, string(got))

	cleanup := (&hostpathProvisioner{cfg: cfg}).cleanupPod(vol)
	assert.Equal(t, "cleanup-pvc-1", cleanup.Name)
	assert.Equal(t, []string{"rm", "-rf", "/data/pvc-1"}, cleanup.Spec.Containers[0].Command)
}
