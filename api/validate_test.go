package api

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/yaml"
)

// Manifests that are accepted as they stand; the tables change one thing in them.
const (
	goodClaim = `
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: data, namespace: default}
spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 5Gi}}, storageClassName: manual}`

	goodVolume = `
apiVersion: v1
kind: PersistentVolume
metadata: {name: pv}
spec: {accessModes: [ReadWriteOnce], capacity: {storage: 5Gi}, hostPath: {path: /tmp/pv}, storageClassName: manual}`

	goodPod = `
apiVersion: v1
kind: Pod
metadata: {name: web, namespace: default}
spec:
  containers: [{name: c, image: busybox, volumeMounts: [{name: v0, mountPath: /d0}]}]
  volumes: [{name: v0, persistentVolumeClaim: {claimName: data}}]`

	goodClass = `
apiVersion: storage.k8s.io/v1
kind: StorageClass
metadata: {name: sc}
provisioner: example.com/ext`

	goodAttachment = `
apiVersion: storage.k8s.io/v1
kind: VolumeAttachment
metadata: {name: va}
spec: {attacher: x.example.com, nodeName: node-1, source: {persistentVolumeName: pv}}`

	goodCSINode = `
apiVersion: storage.k8s.io/v1
kind: CSINode
metadata: {name: node-1}
spec: {drivers: [{name: x.example.com, nodeID: node-1}]}`

	goodCSIDriver = `
apiVersion: storage.k8s.io/v1
kind: CSIDriver
metadata: {name: x.example.com}
spec: {attachRequired: true}`

	goodCapacity = `
apiVersion: storage.k8s.io/v1
kind: CSIStorageCapacity
metadata: {name: cap, namespace: default}
storageClassName: sc
nodeTopology: {matchLabels: {zone: a}}
capacity: 5Gi`

	goodNode = `
apiVersion: v1
kind: Node
metadata: {name: node-1}
spec: {}`

	goodStatefulSet = `
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

// parse decodes a manifest changed by JSON merge patches, written as YAML.
func parse(t testing.TB, manifest string, patches ...string) runtime.Object {
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

var testNow = metav1.Unix(1_700_000_000, 0)

// created is the object as the server stores it.
func created(t testing.TB, manifest string, patches ...string) runtime.Object {
	t.Helper()
	obj := parse(t, manifest, patches...)
	m := objectMeta(obj)
	m.UID, m.ResourceVersion, m.CreationTimestamp = "uid", "1", testNow
	setDefaults(obj)
	prepareForCreate(obj, testNow)
	return obj
}

// A refusal is a change of a good manifest and what is wrong with it then.
type refusal struct {
	name  string
	patch string
	want  []string // the problems, each as "field: type: message"
}

func words(errs field.ErrorList) []string {
	var words []string
	for _, err := range errs {
		text, _, _ := strings.Cut(err.Error(), "\n") // what changed follows, line by line
		words = append(words, text)
	}
	return words
}

// refusesNew checks that the manifest is good and that each change of it is refused.
func refusesNew(t *testing.T, manifest string, table []refusal) {
	t.Helper()
	require.Empty(t, words(validateCreate(created(t, manifest))), "the manifest itself is good")
	for _, row := range table {
		t.Run(row.name, func(t *testing.T) {
			require.Equal(t, row.want, words(validateCreate(created(t, manifest, row.patch))))
		})
	}
}

// refusesChange checks that each change of the stored object is answered as the
// row says; nothing wanted means the change is accepted.
func refusesChange(t *testing.T, manifest string, table []refusal) {
	t.Helper()
	for _, row := range table {
		t.Run(row.name, func(t *testing.T) {
			old := created(t, manifest)
			obj := created(t, manifest, row.patch)
			prepareForUpdate(obj, old, testNow)
			require.Equal(t, row.want, words(validateUpdate(obj, old)))
		})
	}
}

func TestAnUpdateWithAnotherKindIsRefusedAndDoesNotPanic(t *testing.T) {
	claim, volume := created(t, goodClaim), created(t, goodVolume)
	require.Equal(t, []string{`kind: Invalid value: "PersistentVolume": must be PersistentVolumeClaim`},
		words(validateUpdate(volume, claim)))
	require.Equal(t, []string{`kind: Invalid value: "PersistentVolume": must be PersistentVolumeClaim`},
		words(validateStatusUpdate(volume, claim)))
}

func TestAKindWithoutRulesStillHasItsMetadataChecked(t *testing.T) {
	const role = "{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRole, metadata: {name: 'system:node'}}"
	require.Empty(t, words(validateCreate(created(t, role))), "the names of roles may have colons")

	const lease = "{apiVersion: coordination.k8s.io/v1, kind: Lease, metadata: {name: A, namespace: default}}"
	require.Contains(t, words(validateCreate(created(t, lease)))[0], `metadata.name: Invalid value: "A": a lowercase RFC 1123 subdomain`)
}

func TestCreatingAClaimAllocatesLittle(t *testing.T) {
	claim := created(t, goodClaim).(*v1.PersistentVolumeClaim)
	allocs := testing.AllocsPerRun(100, func() {
		setDefaults(claim)
		if errs := validateCreate(claim); len(errs) > 0 {
			t.Fatal(errs)
		}
	})
	require.LessOrEqual(t, allocs, 2.0, "good objects are recognised without building paths")
}

func BenchmarkValidateClaim(b *testing.B) { benchmarkValidate(b, goodClaim) }

func BenchmarkValidateVolume(b *testing.B) { benchmarkValidate(b, goodVolume) }

func BenchmarkValidatePod(b *testing.B) { benchmarkValidate(b, goodPod) }

func benchmarkValidate(b *testing.B, manifest string) {
	obj := created(b, manifest)
	b.Run("create", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			setDefaults(obj)
			validateCreate(obj)
		}
	})
	old := obj.DeepCopyObject()
	b.Run("update", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			setDefaults(obj)
			validateUpdate(obj, old)
		}
	})
}
