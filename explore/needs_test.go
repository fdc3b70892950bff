package explore

import (
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/storagesim/storagesim/trace"
)

// What an object names in one of these fields is not left out of a smaller run, without which the object would fail for another reason.
func TestWhatAnObjectNamesIsKnown(t *testing.T) {
	decode := func(text string) *unstructured.Unstructured {
		var content map[string]any
		require.NoError(t, yaml.Unmarshal([]byte(text), &content))
		return &unstructured.Unstructured{Object: content}
	}
	all := map[string]trace.Write{"sc/own-secrets": {New: decode(`
kind: StorageClass
parameters:
  csi.storage.k8s.io/provisioner-secret-name: key-${pvc.name}
  csi.storage.k8s.io/provisioner-secret-namespace: ${pvc.namespace}
  csi.storage.k8s.io/node-stage-secret-name: key-${pv.name}
  csi.storage.k8s.io/node-stage-secret-namespace: ${pvc.namespace}
  csi.storage.k8s.io/node-publish-secret-name: key-${pvc.annotations['example.com/team']}
  csi.storage.k8s.io/node-publish-secret-namespace: kube-system
  csi.storage.k8s.io/node-expand-secret-name: ${pvc.annotations['example.com/none']}
  csi.storage.k8s.io/node-expand-secret-namespace: kube-system
`)}, "volumesnapshotclass/own-secrets": {New: decode(`
kind: VolumeSnapshotClass
parameters:
  csi.storage.k8s.io/snapshotter-secret-name: ${volumesnapshot.name}-${volumesnapshotcontent.name}
  csi.storage.k8s.io/snapshotter-secret-namespace: ${volumesnapshot.namespace}
`)}}
	for name, test := range map[string]struct {
		object string
		names  []string
	}{
		"a pod": {`
kind: Pod
spec:
  serviceAccountName: robot
  priorityClassName: high
  runtimeClassName: sandbox
  initContainers: [{envFrom: [{configMapRef: {name: env}}, {secretRef: {name: may, optional: true}}]}]
  containers: [{env: [{valueFrom: {secretKeyRef: {name: key, key: a}}}, {valueFrom: {configMapKeyRef: {name: conf-key, key: a}}}]}]
  volumes:
  - {persistentVolumeClaim: {claimName: data}}
  - {configMap: {name: conf}}
  - {configMap: {name: extra, optional: true}}
  - {secret: {secretName: keys}}
  - {projected: {sources: [{configMap: {name: part}}, {secret: {name: part}}]}}
  - {csi: {driver: disks.example.com, nodePublishSecretRef: {name: login}}}
`, []string{"serviceaccount/app/robot", "priorityclass/high", "runtimeclass/sandbox", "configmap/app/env", "secret/app/key", "configmap/app/conf-key",
			"pvc/app/data", "configmap/app/conf", "secret/app/keys", "configmap/app/part", "secret/app/part", "csidriver/disks.example.com", "secret/app/login"}},
		"a claim that is a copy": {`
kind: PersistentVolumeClaim
spec:
  storageClassName: fast
  volumeName: disk
  volumeAttributesClassName: gold
  dataSource: {apiGroup: snapshot.storage.k8s.io, kind: VolumeSnapshot, name: snap}
  dataSourceRef: {apiGroup: snapshot.storage.k8s.io, kind: VolumeSnapshot, name: snap, namespace: other}
`, []string{"sc/fast", "pv/disk", "volumeattributesclass/gold", "volumesnapshot/app/snap", "volumesnapshot/other/snap"}},
		"a claim with Secrets of its own": {
			"{kind: PersistentVolumeClaim, metadata: {uid: u, annotations: {example.com/team: red}}, spec: {storageClassName: own-secrets}}",
			[]string{"sc/own-secrets", "secret/app/key-one", "secret/app/key-pvc-u", "secret/kube-system/key-red"}},
		"a snapshot with a Secret of its own": {
			"{kind: VolumeSnapshot, metadata: {uid: u}, spec: {volumeSnapshotClassName: own-secrets, source: {persistentVolumeClaimName: data}}}",
			[]string{"volumesnapshotclass/own-secrets", "pvc/app/data", "secret/app/one-snapcontent-u"}},
		"a claim without a class":             {"{kind: PersistentVolumeClaim, spec: {accessModes: [ReadWriteOnce]}}", []string{"sc/that is the default"}},
		"a claim of the class without a name": {`{kind: PersistentVolumeClaim, spec: {storageClassName: ""}}`, nil},
		"a StatefulSet": {`
kind: StatefulSet
spec:
  template: {spec: {volumes: [{configMap: {name: conf}}]}}
  volumeClaimTemplates: [{spec: {storageClassName: fast}}]
`, []string{"configmap/app/conf", "sc/fast"}},
		"a volume": {`
kind: PersistentVolume
spec:
  storageClassName: a class that need not exist
  csi: {driver: disks.example.com, nodeStageSecretRef: {name: login, namespace: kube-system}}
`, []string{"csidriver/disks.example.com", "secret/kube-system/login"}},
		"a class": {`
kind: StorageClass
provisioner: disks.example.com
parameters:
  csi.storage.k8s.io/provisioner-secret-name: login
  csi.storage.k8s.io/provisioner-secret-namespace: kube-system
  csi.storage.k8s.io/secret-name: usual
  csi.storage.k8s.io/secret-namespace: kube-system
  csiNodePublishSecretName: old
  csiNodePublishSecretNamespace: kube-system
  csi.storage.k8s.io/node-stage-secret-name: ${pvc.name}
  csi.storage.k8s.io/node-stage-secret-namespace: kube-system
`, []string{"csidriver/disks.example.com", "secret/kube-system/login", "secret/kube-system/usual", "secret/kube-system/old"}},
		"a snapshot": {"{kind: VolumeSnapshot, spec: {volumeSnapshotClassName: snaps, source: {persistentVolumeClaimName: data}}}",
			[]string{"volumesnapshotclass/snaps", "pvc/app/data"}},
		"a snapshot without a class": {"{kind: VolumeSnapshot, spec: {source: {persistentVolumeClaimName: data}}}",
			[]string{"volumesnapshotclass/that is the default", "pvc/app/data"}},
		"a snapshot of a content": {"{kind: VolumeSnapshot, spec: {source: {volumeSnapshotContentName: content}}}", []string{"volumesnapshotcontent/content"}},
		"a class of snapshots":    {"{kind: VolumeSnapshotClass, driver: disks.example.com}", []string{"csidriver/disks.example.com"}},
		"a class of attributes":   {"{kind: VolumeAttributesClass, driverName: disks.example.com}", []string{"csidriver/disks.example.com"}},
	} {
		t.Run(name, func(t *testing.T) {
			object := decode(test.object)
			require.ElementsMatch(t, test.names, namesOf(trace.Write{Kind: object.GetKind(), Namespace: "app", Name: "one", New: object}, all))
		})
	}
}
