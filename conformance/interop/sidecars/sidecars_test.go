package sidecars

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"

	"github.com/storagesim/storagesim"
	"github.com/storagesim/storagesim/conformance"
	"github.com/storagesim/storagesim/csi/driver"
	"github.com/storagesim/storagesim/csi/provisioner"
)

// scenarios are played with the real sidecars, and then with ours.
var scenarios = []struct {
	name  string
	setup setup
	play  func(*rig)
}{
	{"the life of a volume", setup{nodes: 2, speed: 5, writers: programs}, life},
	{"the first consumer chooses the node", setup{nodes: 2, speed: 5, driver: driver.Config{Topology: true}, writers: programs[:2]}, firstConsumer},
	{"the driver refuses each call once", setup{nodes: 1, speed: 5, writers: programs}, refusals},
	{"secrets of all roles", setup{nodes: 1, speed: 5, writers: programs}, secrets},
	{"attributes classes", setup{nodes: 1, speed: 5, driver: driver.Config{AttributesClasses: true}, writers: []string{"csi-provisioner", "csi-resizer"}},
		attributes},
	{"capacity", setup{nodes: 2, speed: 5, driver: driver.Config{Topology: true, StorageCapacity: true, Capacity: 2 << 30}, more: map[string][]string{
		"csi-provisioner": {"--enable-capacity", "--capacity-ownerref-level=-1"},
	}, writers: []string{"csi-provisioner"}}, capacity},
	{"a snapshot that is kept", setup{nodes: 1, speed: 5, writers: []string{"csi-provisioner", "csi-snapshotter", "snapshot-controller"}}, kept},
	{"growth that cannot be", setup{nodes: 1, speed: 5, writers: []string{"csi-provisioner", "csi-resizer"}}, infeasible},
	{"what cannot be", setup{nodes: 1, speed: 5, driver: driver.Config{NoClones: true}, writers: []string{"csi-provisioner"}}, impossible},
	{"a pod's own claim", setup{nodes: 2, speed: 5, driver: driver.Config{Topology: true}, writers: programs[:2]}, ephemeral},
	{"sources in another namespace", setup{nodes: 1, speed: 5, across: true, more: map[string][]string{
		"csi-provisioner": {"--feature-gates=CrossNamespaceVolumeDataSource=true"},
	}, ours: func(c *provisioner.Config) { c.CrossNamespaceVolumeDataSource = true }, writers: []string{"csi-provisioner"}}, across},
	{"a provisioner on each node", setup{nodes: 2, speed: 5, driver: driver.Config{OnNodes: true}, more: map[string][]string{
		"csi-provisioner": {"--node-deployment", "--strict-topology", "--node-deployment-base-delay=1s"},
	}, ours: func(c *provisioner.Config) {
		c.NodeDeployment = &provisioner.NodeDeployment{BaseDelay: time.Second}
	}, writers: []string{"csi-provisioner"}}, onNodes},
	{"a claim that is wrong", setup{nodes: 1, speed: 5}, wrong},
	{"a driver without growth", setup{nodes: 1, speed: 5, lacks: []string{"EXPAND_VOLUME", "NODE_EXPAND_VOLUME"}, writers: programs[:2]}, unable},
}

// TestOurSidecarsDoAsTheRealOnes plays each scenario to its end with the real sidecars, as processes,
// and with ours, and compares the two runs write by write and call by call.
func TestOurSidecarsDoAsTheRealOnes(t *testing.T) {
	for _, s := range scenarios {
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			var real, ours []*conformance.Observation
			t.Run("runs", func(t *testing.T) {
				t.Run("real", func(t *testing.T) { t.Parallel(); real = played(t, s.setup, true, s.play) })
				t.Run("ours", func(t *testing.T) { t.Parallel(); ours = played(t, s.setup, false, s.play) })
			})
			if t.Failed() {
				return
			}
			for _, d := range conformance.CompareRuns(real, ours) {
				t.Error(d)
			}
			tell(t, real)
		})
	}
}

// This run is not compared with ours: workers of the real snapshot-controller
// write to one member at the same time, and how often is chance.
func TestAGroupSnapshotComesAndGoesWithTheRealSidecars(t *testing.T) {
	played(t, setup{nodes: 1, speed: 5, groups: true, writers: []string{"csi-provisioner", "csi-snapshotter", "snapshot-controller"}}, true, grouped)
}

// played runs a scenario and returns its observations.
func played(t *testing.T, s setup, real bool, play func(*rig)) []*conformance.Observation {
	s.real = real
	r := start(t, s)
	play(r)
	var writers []string
	for _, step := range r.seen {
		writers = append(writers, step.Writers()...)
	}
	assert.Subset(t, writers, s.writers)
	return r.seen
}

// tell says how much was compared.
func tell(t *testing.T, run []*conformance.Observation) {
	var writes, events, calls int
	for _, step := range run {
		w, e, c := step.Size()
		writes, events, calls = writes+w, events+e, calls+c
	}
	t.Logf("compared: %d steps with %d writes, %d events and %d calls of the driver", len(run), writes, events, calls)
}

// life plays the life of one volume: used, larger, in a snapshot, restored, cloned, gone.
func life(r *rig) {
	r.apply(file(r, "classes"))
	r.step("a claim becomes a pod's volume", func() { r.apply(file(r, "writer")) }, r.running(1))
	r.step("it grows in use", func() { r.resize("data", "2Gi") }, r.has("data", "2Gi"))
	r.step("a snapshot is taken", func() { r.apply(file(r, "snapshot")) }, r.ready("monday"))
	r.step("a claim is restored from it", func() { r.apply(file(r, "restored")) }, r.bound("restored"))
	r.step("a claim is cloned", func() { r.apply(file(r, "cloned")) }, r.bound("cloned"))
	r.step("a pod uses both", func() { r.apply(file(r, "reader")) }, r.running(2))
	assert.Equal(r, "monday\n", r.reads("reader", "/restored/notes"))
	assert.Equal(r, "monday\n", r.reads("reader", "/cloned/notes"))
	r.step("the snapshot is deleted", func() { r.delete("volumesnapshot/monday") }, func() bool { return len(r.contents()) == 0 })
	r.step("all is deleted", func() {
		r.delete("pod/writer", "pod/reader", "pvc/data", "pvc/restored", "pvc/cloned")
	}, r.empty)
}

// grouped takes a group snapshot of one claim, which is ready with its member and goes with it.
func grouped(r *rig) {
	r.apply(file(r, "classes"))
	r.step("a claim is bound", func() { r.apply(file(r, "labelled"), file(r, "groupclass")) }, r.bound("data"))
	r.step("a group snapshot is taken", func() { r.apply(file(r, "group")) }, func() bool {
		return slices.ContainsFunc(r.contents(), func(content unstructured.Unstructured) bool {
			ready, _, err := unstructured.NestedBool(content.Object, "status", "readyToUse")
			return err == nil && ready
		})
	})
	r.step("the group snapshot is deleted", func() { r.delete("volumegroupsnapshot/monday") }, func() bool { return len(r.contents()) == 0 })
	r.step("all is deleted", func() { r.delete("pvc/data") }, r.empty)
}

// firstConsumer has a volume that only one node reaches: the one that the pod was scheduled to.
func firstConsumer(r *rig) {
	r.step("a pod's volume is made where the pod is to run", func() { r.apply(file(r, "topology")) }, r.running(1))
	volume, err := r.cluster.Client().CoreV1().PersistentVolumes().Get(context.Background(), r.claim("data").Spec.VolumeName, metav1.GetOptions{})
	require.NoError(r, err)
	assert.Equal(r, []string{"node-2"}, volume.Spec.NodeAffinity.Required.NodeSelectorTerms[0].MatchExpressions[0].Values)
	r.step("all is deleted", func() { r.delete("pod/web", "pvc/data") }, r.empty)
}

// file returns a manifest of testdata.
func file(t testing.TB, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", name+".yaml"))
	require.NoError(t, err)
	return string(text)
}

func (r *rig) resize(claim, size string) {
	r.Helper()
	r.patch(claim, `{"spec":{"resources":{"requests":{"storage":"`+size+`"}}}}`)
}

func (r *rig) reclass(claim, class string) {
	r.Helper()
	r.patch(claim, `{"spec":{"volumeAttributesClassName":"`+class+`"}}`)
}

func (r *rig) patch(claim, patch string) {
	r.Helper()
	_, err := r.cluster.Client().CoreV1().PersistentVolumeClaims("default").Patch(context.Background(), claim, types.MergePatchType, []byte(patch),
		metav1.PatchOptions{})
	require.NoError(r, err)
}

func (r *rig) bound(claim string) func() bool { return r.boundIn("default", claim) }

func (r *rig) boundIn(namespace, claim string) func() bool {
	return func() bool { return r.claimIn(namespace, claim).Status.Phase == v1.ClaimBound }
}

// has reports whether a claim has so much.
func (r *rig) has(claim, size string) func() bool {
	return func() bool {
		capacity := r.claim(claim).Status.Capacity[v1.ResourceStorage]
		return capacity.Cmp(resource.MustParse(size)) == 0
	}
}

// said reports whether there is an event of that reason about a claim.
func (r *rig) said(claim, reason string) func() bool { return r.saidIn("default", claim, reason) }

func (r *rig) saidIn(namespace, claim, reason string) func() bool {
	return func() bool {
		list, err := r.cluster.Client().CoreV1().Events(namespace).List(context.Background(), metav1.ListOptions{})
		require.NoError(r, err)
		return slices.ContainsFunc(list.Items, func(e v1.Event) bool {
			return e.InvolvedObject.Name == claim && e.Reason == reason
		})
	}
}

func (r *rig) snapshots(name string) dynamic.NamespaceableResourceInterface {
	client, err := dynamic.NewForConfig(r.cluster.RESTConfig(storagesim.User))
	require.NoError(r, err)
	return client.Resource(schema.GroupVersionResource{Group: "snapshot.storage.k8s.io", Version: "v1", Resource: name})
}

func (r *rig) snapshot(name string) *unstructured.Unstructured {
	snapshot, err := r.snapshots("volumesnapshots").Namespace("default").Get(context.Background(), name, metav1.GetOptions{})
	require.NoError(r, err)
	return snapshot
}

func (r *rig) contents() []unstructured.Unstructured {
	list, err := r.snapshots("volumesnapshotcontents").List(context.Background(), metav1.ListOptions{})
	require.NoError(r, err)
	return list.Items
}
