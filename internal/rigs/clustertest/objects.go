package clustertest

import (
	"crypto/sha256"
	"encoding/hex"
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
)

// CSIManifests holds a class of the reference driver, a claim, and a pod that writes to its volume.
const CSIManifests = `
apiVersion: storage.k8s.io/v1
kind: StorageClass
metadata: {name: csi}
provisioner: csi.storagesim.io
---
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: data}
spec:
  accessModes: [ReadWriteOnce]
  storageClassName: csi
  resources: {requests: {storage: 1Gi}}
---
apiVersion: v1
kind: Pod
metadata: {name: web}
spec:
  containers:
  - name: web
    image: busybox
    command: [sh, -c, "echo hello > /data/index.html; sleep 3600"]
    volumeMounts: [{name: data, mountPath: /data}]
  volumes:
  - name: data
    persistentVolumeClaim: {claimName: data}
`

// Backups defines a custom kind.
const Backups = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: backups.example.com}
spec:
  group: example.com
  scope: Namespaced
  names: {plural: backups, kind: Backup}
  versions:
  - name: v1
    served: true
    storage: true
    schema: {openAPIV3Schema: {type: object, properties: {spec: {type: object, properties: {claim: {type: string}, keep: {type: integer, default: 3}}}}}}
`

// OnNode returns the affinity of a volume that only this node reaches, nil for "".
func OnNode(node string) *v1.VolumeNodeAffinity {
	if node == "" {
		return nil
	}
	return &v1.VolumeNodeAffinity{Required: &v1.NodeSelector{NodeSelectorTerms: []v1.NodeSelectorTerm{{
		MatchExpressions: []v1.NodeSelectorRequirement{{Key: v1.LabelHostname, Operator: v1.NodeSelectorOpIn, Values: []string{node}}},
	}}}}
}

// PodYAML returns a pod on node-1 that mounts a volume at /data and runs a command.
func PodYAML(name, volume, mount, command string) string {
	return `
apiVersion: v1
kind: Pod
metadata: {name: ` + name + `}
spec:
  nodeName: node-1
  restartPolicy: Never
  securityContext: {fsGroup: 4242}
  volumes: [{name: data, ` + volume + `}]
  containers: [{name: c, image: busybox, command: ` + command + `, volumeMounts: [{name: data, ` + mount + `}]}]
`
}

// HostPathYAML returns the source of a hostPath volume.
func HostPathYAML(path, kind string) string {
	return `hostPath: {path: "` + path + `", type: ` + kind + `}`
}

// MountRecord returns the name of the file that records a mount.
func MountRecord(target string) string {
	sum := sha256.Sum256([]byte(target))
	return hex.EncodeToString(sum[:16]) + ".json"
}

// PerNode counts the pods of each node, "" for those without.
func PerNode(t *testing.T, client kubernetes.Interface) map[string]int {
	t.Helper()
	pods, err := client.CoreV1().Pods("default").List(t.Context(), metav1.ListOptions{})
	require.NoError(t, err)
	counts := map[string]int{}
	for _, pod := range pods.Items {
		counts[pod.Spec.NodeName]++
	}
	return counts
}
