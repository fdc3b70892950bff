package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/storagesim/storagesim/control"
	"github.com/storagesim/storagesim/control/snapshots"
	"github.com/storagesim/storagesim/internal/rigs/outside"
	"github.com/storagesim/storagesim/internal/rigs/soon"
)

// localPathManifests are a pod with a volume of the local-path provisioner.
const localPathManifests = `
apiVersion: storage.k8s.io/v1
kind: StorageClass
metadata: {name: local-path}
provisioner: rancher.io/local-path
volumeBindingMode: WaitForFirstConsumer
---
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: data}
spec: {accessModes: [ReadWriteOnce], storageClassName: local-path, resources: {requests: {storage: 1Gi}}}
---
apiVersion: v1
kind: Pod
metadata: {name: web}
spec:
  containers: [{name: web, image: busybox, command: [sh, -c, "echo hello > /data/x; sleep 3600"], volumeMounts: [{name: data, mountPath: /data}]}]
  volumes: [{name: data, persistentVolumeClaim: {claimName: data}}]
`

// TestControlRunsAProvisionerOnAServerThatHasNone has a provisioner with helper pods work on a
// cluster of which only the kubelets are not control's.
func TestControlRunsAProvisionerOnAServerThatHasNone(t *testing.T) {
	onServer(t, file(t, "all.yaml", localPathManifests), func(client kubernetes.Interface, kubeconfig string) {
		warned := controlled(t, func(out *output) {
			require.True(t, soon.Is(t, func() bool {
				pod, err := client.CoreV1().Pods("default").Get(t.Context(), "web", metav1.GetOptions{})
				return err == nil && pod.Status.Phase == v1.PodRunning
			}), "%s", out)
			assert.Contains(t, out.String(), "rancher.io/local-path  creates pod local-path-storage/helper-pod-create-pvc-")
		}, "--kubeconfig", kubeconfig, "--only", "pv-binder,scheduler", "--provisioners", "local-path")
		assert.Contains(t, warned, "running persistent-volume-binder, kube-scheduler, rancher.io/local-path against https://127.0.0.1:")
		assert.NotContains(t, warned, "warning:")
		pvs, err := client.CoreV1().PersistentVolumes().List(t.Context(), metav1.ListOptions{})
		require.NoError(t, err)
		require.Len(t, pvs.Items, 1)
		assert.Equal(t, "rancher.io/local-path", pvs.Items[0].Annotations["pv.kubernetes.io/provisioned-by"])
		_, err = client.CoreV1().ServiceAccounts("local-path-storage").Get(t.Context(), "local-path-provisioner-service-account", metav1.GetOptions{})
		assert.NoError(t, err)
	})
}

// onServer calls f while serve offers a cluster without controllers.
func onServer(t *testing.T, manifests string, f func(client kubernetes.Interface, kubeconfig string)) {
	t.Helper()
	kubeconfig := filepath.Join(t.TempDir(), "kubeconfig")
	_, errOut := served(t, func(string) {
		cfg, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
		require.NoError(t, err)
		client, err := kubernetes.NewForConfig(cfg)
		require.NoError(t, err)
		f(client, kubeconfig)
	}, "--only", "none", "--provisioners", "", "--speed", "10x", "--kubeconfig", kubeconfig, "-f", manifests)
	assert.Empty(t, errOut)
}

// A driver in another process makes a volume for a claim
// of another server, attaches it, detaches it and deletes it again.
func TestControlRunsTheSidecarsOfADriver(t *testing.T) {
	p := outside.Start(t, outside.Config{})
	onServer(t, file(t, "all.yaml", strings.Split(outsideManifests, "kind: Pod")[0]+"kind: Namespace\nmetadata: {name: other}\n"),
		func(client kubernetes.Interface, kubeconfig string) {
			_, err := client.StorageV1().CSINodes().Create(t.Context(), &storagev1.CSINode{
				ObjectMeta: metav1.ObjectMeta{Name: "elsewhere"},
				Spec:       storagev1.CSINodeSpec{Drivers: []storagev1.CSINodeDriver{{Name: "outside.csi.example.com", NodeID: p.Config.Node}}},
			}, metav1.CreateOptions{})
			require.NoError(t, err)
			warned := controlled(t, func(out *output) {
				eventually := func(what string, is func() bool) {
					require.True(t, soon.Is(t, is), "%s: %s", what, out)
				}
				var claim *v1.PersistentVolumeClaim
				eventually("bound", func() bool {
					claim, err = client.CoreV1().PersistentVolumeClaims("default").Get(t.Context(), "data", metav1.GetOptions{})
					return err == nil && claim.Status.Phase == v1.ClaimBound
				})
				assert.Equal(t, []string{claim.Spec.VolumeName}, p.Volumes())
				attachments := client.StorageV1().VolumeAttachments()
				_, err := attachments.Create(t.Context(), &storagev1.VolumeAttachment{
					ObjectMeta: metav1.ObjectMeta{Name: "a"},
					Spec: storagev1.VolumeAttachmentSpec{
						Attacher: "outside.csi.example.com", NodeName: "elsewhere", Source: storagev1.VolumeAttachmentSource{PersistentVolumeName: &claim.Spec.VolumeName},
					},
				}, metav1.CreateOptions{})
				require.NoError(t, err)
				eventually("attached", func() bool {
					a, err := attachments.Get(t.Context(), "a", metav1.GetOptions{})
					return err == nil && a.Status.Attached
				})
				require.NoError(t, attachments.Delete(t.Context(), "a", metav1.DeleteOptions{}))
				require.NoError(t, client.CoreV1().PersistentVolumeClaims("default").Delete(t.Context(), "data", metav1.DeleteOptions{}))
				eventually("deleted", func() bool { return len(p.Volumes()) == 0 })
			}, "--kubeconfig", kubeconfig, "--only", "pv-binder,pvc-protection,pv-protection", "--csi-endpoint", p.Endpoint())
			assert.Contains(t, warned, "csi-provisioner/outside.csi.example.com, csi-attacher/outside.csi.example.com, csi-resizer/outside.csi.example.com against")
			assert.NotContains(t, warned, "warning:")
		})
}

// snapshotManifests are a claim of the driver in package outside, and a class for its snapshots,
// of which the definitions come with the class.
var snapshotManifests = strings.Split(outsideManifests, "apiVersion: v1\nkind: Pod")[0] + `
apiVersion: snapshot.storage.k8s.io/v1
kind: VolumeSnapshotClass
metadata: {name: snap}
driver: outside.csi.example.com
deletionPolicy: Delete
`

// snapshotOfData is taken of the claim data; restoredData is a claim that is made of it.
const (
	snapshotOfData = `{"apiVersion": "snapshot.storage.k8s.io/v1", "kind": "VolumeSnapshot", "metadata": {"name": "s1"},
		"spec": {"volumeSnapshotClassName": "snap", "source": {"persistentVolumeClaimName": "data"}}}`
	restoredData = `{"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": "copy"},
		"spec": {"accessModes": ["ReadWriteOnce"], "storageClassName": "outside", "resources": {"requests": {"storage": "1Gi"}},
		"dataSource": {"apiGroup": "snapshot.storage.k8s.io", "kind": "VolumeSnapshot", "name": "s1"}}}`
)

// TestControlTakesASnapshotAndRestoresIt has the snapshot controller and the sidecars of a driver
// in another process work on a server that has the definitions of snapshots and no controller.
func TestControlTakesASnapshotAndRestoresIt(t *testing.T) {
	p := outside.Start(t, outside.Config{})
	onServer(t, file(t, "all.yaml", snapshotManifests), func(client kubernetes.Interface, kubeconfig string) {
		cfg, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
		require.NoError(t, err)
		objects, err := dynamic.NewForConfig(cfg)
		require.NoError(t, err)
		claims := objects.Resource(control.PersistentVolumeClaims()).Namespace("default")
		taken := objects.Resource(snapshots.Snapshots()).Namespace("default")
		warned := controlled(t, func(out *output) {
			eventually := func(of dynamic.ResourceInterface, name string, want any, field ...string) {
				require.True(t, soon.Is(t, func() bool {
					obj, err := of.Get(t.Context(), name, metav1.GetOptions{})
					if err != nil {
						return false
					}
					is, _, _ := unstructured.NestedFieldNoCopy(obj.Object, field...)
					return is == want
				}), "%s: %s", name, out)
			}
			create := func(of dynamic.ResourceInterface, text string) {
				obj := &unstructured.Unstructured{}
				require.NoError(t, json.Unmarshal([]byte(text), obj))
				_, err := of.Create(t.Context(), obj, metav1.CreateOptions{})
				require.NoError(t, err)
			}
			volumeOf := func(claim string) string {
				eventually(claims, claim, "Bound", "status", "phase")
				obj, err := client.CoreV1().PersistentVolumeClaims("default").Get(t.Context(), claim, metav1.GetOptions{})
				require.NoError(t, err)
				return filepath.Join(p.Dir, obj.Spec.VolumeName, "file")
			}
			original := volumeOf("data")
			require.NoError(t, os.WriteFile(original, []byte("one"), 0o600))
			create(taken, snapshotOfData)
			eventually(taken, "s1", true, "status", "readyToUse")
			require.NoError(t, os.WriteFile(original, []byte("two"), 0o600))
			create(claims, restoredData)
			restored, err := os.ReadFile(volumeOf("copy"))
			require.NoError(t, err)
			assert.Equal(t, "one", string(restored))

			require.Len(t, p.Snapshots(), 1)
			require.NoError(t, taken.Delete(t.Context(), "s1", metav1.DeleteOptions{}))
			require.True(t, soon.Is(t, func() bool { return len(p.Snapshots()) == 0 }), "%s", out)
			for _, line := range []string{
				"snapshot-controller  creates volumesnapshotcontent snapcontent-",
				"csi-snapshotter/outside.csi.example.com  patches volumesnapshotcontent snapcontent-",
				"snapshot-controller  says of volumesnapshot default/s1: Normal SnapshotReady: Snapshot default/s1 is ready to use.",
			} {
				assert.Contains(t, out.String(), line)
			}
		}, "--kubeconfig", kubeconfig, "--only", "pv-binder,snapshot-controller", "--csi-endpoint", p.Endpoint())
		assert.NotContains(t, warned, "warning:")
	})
}

func TestControlSaysThatTheDefinitionsOfSnapshotsAreMissing(t *testing.T) {
	onServer(t, file(t, "all.yaml", localPathManifests), func(_ kubernetes.Interface, kubeconfig string) {
		code, _, errOut := command(t, "", "control", "--kubeconfig", kubeconfig, "--only", "snapshot-controller")
		assert.Equal(t, exitError, code)
		assert.Equal(t, "error: --only: snapshot-controller: the server does not know VolumeSnapshots: apply the CustomResourceDefinitions of "+
			"external-snapshotter first\n", errOut)
	})
}

func TestControlSaysWhichProvisionersAndDriversItCannotRun(t *testing.T) {
	gone := outside.New(t, outside.Config{})
	kubeconfig := filepath.Join(t.TempDir(), "kubeconfig")
	for want, args := range map[string][]string{
		`--provisioners: there is no provisioner "ceph"; expected one of local-path, nfs, openebs`:                 {"--provisioners", "ceph"},
		`--provisioners: provisioner "csi": the reference driver keeps its volumes in this process`:                {"--provisioners", "csi"},
		`--provisioners: "nfs" is given twice`:                                                                     {"--provisioners", "nfs,nfs"},
		`--csi-endpoint: "x" is not the address of a gRPC server`:                                                  {"--csi-endpoint", "x"},
		"the sidecars that control runs call the driver's controller, and not its nodes: give one address without": {"--csi-endpoint", "unix:///run/{node}.sock"},
		`--kubeconfig: there is no file "` + kubeconfig + `"`: {"--kubeconfig", kubeconfig, "--csi-endpoint",
			gone.Endpoint()},
	} {
		code, _, errOut := command(t, "", append([]string{"control"}, args...)...)
		assert.NotZero(t, code)
		assert.Contains(t, errOut, want)
	}
	onServer(t, file(t, "all.yaml", localPathManifests), func(_ kubernetes.Interface, kubeconfig string) {
		code, _, errOut := command(t, "", "control", "--kubeconfig", kubeconfig, "--csi-endpoint", gone.Endpoint())
		assert.Equal(t, exitError, code)
		assert.Contains(t, errOut, "error: --csi-endpoint "+gone.Endpoint()+": no driver says who it is there: ")
	})
}
