// Package apitest has what the tests of the server and of its rules share: good
// manifests, changes of them, and objects as the server stores them.
package apitest

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	v1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/yaml"

	"github.com/storagesim/storagesim/api/internal/strategy"
)

// Manifests that are accepted as they stand; the tables change one thing in them.
const (
	GoodClaim = `
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: data, namespace: default}
spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 5Gi}}, storageClassName: manual}`

	GoodVolume = `
apiVersion: v1
kind: PersistentVolume
metadata: {name: pv}
spec: {accessModes: [ReadWriteOnce], capacity: {storage: 5Gi}, hostPath: {path: /tmp/pv}, storageClassName: manual}`

	GoodPod = `
apiVersion: v1
kind: Pod
metadata: {name: web, namespace: default}
spec:
  containers: [{name: c, image: busybox, volumeMounts: [{name: v0, mountPath: /d0}]}]
  volumes: [{name: v0, persistentVolumeClaim: {claimName: data}}]`

	GoodClass = `
apiVersion: storage.k8s.io/v1
kind: StorageClass
metadata: {name: sc}
provisioner: example.com/ext`

	GoodAttachment = `
apiVersion: storage.k8s.io/v1
kind: VolumeAttachment
metadata: {name: va}
spec: {attacher: x.example.com, nodeName: node-1, source: {persistentVolumeName: pv}}`

	GoodCSINode = `
apiVersion: storage.k8s.io/v1
kind: CSINode
metadata: {name: node-1}
spec: {drivers: [{name: x.example.com, nodeID: node-1}]}`

	GoodCSIDriver = `
apiVersion: storage.k8s.io/v1
kind: CSIDriver
metadata: {name: x.example.com}
spec: {attachRequired: true}`

	GoodCapacity = `
apiVersion: storage.k8s.io/v1
kind: CSIStorageCapacity
metadata: {name: cap, namespace: default}
storageClassName: sc
nodeTopology: {matchLabels: {zone: a}}
capacity: 5Gi`

	GoodNode = `
apiVersion: v1
kind: Node
metadata: {name: node-1}
spec: {}`

	GoodStatefulSet = `
apiVersion: apps/v1
kind: StatefulSet
metadata: {name: db, namespace: default}
spec:
  selector: {matchLabels: {app: db}}
  serviceName: db
  template:
    metadata: {labels: {app: db}}
    spec: {containers: [{name: c, image: busybox, volumeMounts: [{name: data, mountPath: /d}]}]}
  volumeClaimTemplates:
  - metadata: {name: data}
    spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}, storageClassName: ext}`
)

// Parse decodes a manifest changed by JSON merge patches, written as YAML.
func Parse(t testing.TB, manifest string, patches ...string) runtime.Object {
	t.Helper()
	tree := map[string]any{}
	require.NoError(t, yaml.Unmarshal([]byte(manifest), &tree))
	for _, patch := range patches {
		change := map[string]any{}
		require.NoError(t, yaml.Unmarshal([]byte(patch), &change))
		merge(tree, change)
	}
	data, err := yaml.Marshal(tree)
	require.NoError(t, err)
	obj, _, err := scheme.Codecs.UniversalDeserializer().Decode(data, nil, nil)
	require.NoError(t, err)
	return obj
}

func merge(tree, change map[string]any) {
	for key, value := range change {
		below, isMap := value.(map[string]any)
		old, wasMap := tree[key].(map[string]any)
		switch {
		case value == nil:
			delete(tree, key)
		case isMap && wasMap:
			merge(old, below)
		default:
			tree[key] = value
		}
	}
}

// Now is the time at which objects are created.
var Now = metav1.Unix(1_700_000_000, 0)

// Created returns the object as the server stores it.
func Created(t testing.TB, manifest string, patches ...string) runtime.Object {
	t.Helper()
	obj := Parse(t, manifest, patches...)
	m, err := meta.Accessor(obj)
	require.NoError(t, err)
	m.SetUID("uid")
	m.SetResourceVersion("1")
	m.SetCreationTimestamp(Now)
	SetDefaults(obj)
	if prepare := Strategy(obj).Create; prepare != nil {
		prepare(obj, Now)
	}
	return obj
}

// Strategy returns the strategy of the object's kind, as far as tests have such objects.
func Strategy(obj runtime.Object) strategy.Kind {
	switch obj.(type) {
	case *v1.PersistentVolumeClaim:
		return strategy.Claims()
	case *v1.PersistentVolume:
		return strategy.Volumes()
	case *v1.Pod:
		return strategy.Pods()
	case *v1.Node:
		return strategy.Nodes()
	case *v1.Namespace:
		return strategy.Namespaces()
	case *v1.Secret:
		return strategy.Secrets()
	case *v1.LimitRange:
		return strategy.LimitRanges()
	case *v1.Service:
		return strategy.Services()
	case *storagev1.StorageClass:
		return strategy.StorageClasses()
	case *storagev1.CSIDriver:
		return strategy.CSIDrivers()
	case *storagev1.CSINode:
		return strategy.CSINodes()
	case *storagev1.VolumeAttachment:
		return strategy.VolumeAttachments()
	case *appsv1.StatefulSet:
		return strategy.StatefulSets()
	case *appsv1.Deployment:
		return strategy.Deployments()
	case *appsv1.DaemonSet:
		return strategy.DaemonSets()
	case *appsv1.ReplicaSet:
		return strategy.ReplicaSets()
	case *batchv1.Job:
		return strategy.Jobs()
	case *batchv1.CronJob:
		return strategy.CronJobs()
	}
	return strategy.Kind{}
}

// SetDefaults sets those of the object's kind.
func SetDefaults(obj runtime.Object) {
	if set := Strategy(obj).Default; set != nil {
		set(obj)
	}
}

// Updated returns obj after the strategy for updates of its kind has run.
func Updated(obj, old runtime.Object) runtime.Object {
	if prepare := Strategy(obj).Update; prepare != nil {
		prepare(obj, old)
	}
	return obj
}

// Words returns the problems, each as "field: type: message".
func Words(errs field.ErrorList) []string {
	var words []string
	for _, err := range errs {
		text, _, _ := strings.Cut(err.Error(), "\n") // what changed follows, line by line
		words = append(words, text)
	}
	return words
}
