package drivers

import (
	"bytes"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/storagesim/storagesim"
	"github.com/storagesim/storagesim/csi"
	"github.com/storagesim/storagesim/storagesimtest"
	"github.com/storagesim/storagesim/trace"
)

// manifests returns a class of the driver, a claim of it, and a pod.
func manifests(driver, binding, command string) string {
	return `
apiVersion: storage.k8s.io/v1
kind: StorageClass
metadata: {name: disk}
provisioner: ` + driver + `
volumeBindingMode: ` + binding + `
allowVolumeExpansion: true
---
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: data}
spec:
  storageClassName: disk
  accessModes: [ReadWriteOnce]
  resources: {requests: {storage: 10Gi}}
---
apiVersion: v1
kind: Pod
metadata: {name: web}
spec:
  terminationGracePeriodSeconds: 1
  containers:
  - name: web
    image: busybox
    command: [sh, -c, "` + command + `"]
    volumeMounts: [{name: data, mountPath: /data}]
  volumes: [{name: data, persistentVolumeClaim: {claimName: data}}]
`
}

// life takes a claim to a running pod and deletes both. If the driver makes its
// directories, the pod writes into the volume, and the claim grows. It returns the calls that changed something and
// succeeded, in order, each method once, and where the volume could be reached from. change changes how the driver is
// installed.
func life(t *testing.T, at, binding string, mounts bool, change ...func(*csi.Driver)) (methods []string, where *v1.VolumeNodeAffinity) {
	c := storagesimtest.New(t, storagesim.Config{Disks: storagesim.DirectoryDisks})
	d, err := csi.AtEndpoint(t.Context(), "unix://"+at)
	require.NoError(t, err)
	for _, f := range change {
		f(&d)
	}
	c.InstallCSIDriver(d)
	c.RunFor(5 * time.Second)
	if mounts {
		c.Apply(manifests(d.Name, binding, "echo hello > /data/greeting; cat /data/greeting; sleep 3600"))
	} else {
		c.Apply(manifests(d.Name, binding, "sleep 3600"))
	}
	c.RunFor(time.Minute)
	c.RequireRunning("web")
	where = c.Volume(c.Claim("data").Spec.VolumeName).Spec.NodeAffinity
	if mounts {
		text, err := c.Cluster.Machine("pod/web").Logs("web", false)
		require.NoError(t, err)
		require.Equal(t, "hello\n", text)
		grow(t, c, strings.Split(manifests(d.Name, binding, ""), "---")[1])
	}
	c.Delete("pod/web", "pvc/data")
	c.RunFor(5 * time.Minute)
	volumes, err := c.Client().CoreV1().PersistentVolumes().List(t.Context(), metav1.ListOptions{})
	require.NoError(t, err)
	require.Empty(t, volumes.Items, c.Story())
	c.RequireNoLeaks()
	for _, entry := range c.Trace().Records() {
		rpc, ok := entry.Record.(trace.RPC)
		if ok && rpc.Code == "OK" && slices.Contains(calls(), rpc.Method) && !slices.Contains(methods, rpc.Method) {
			methods = append(methods, rpc.Method)
		}
	}
	return methods, where
}

// grow asks for twice the size.
func grow(t *testing.T, c *storagesimtest.Cluster, claim string) {
	c.Apply(strings.ReplaceAll(claim, "10Gi", "20Gi"))
	c.RunFor(5 * time.Minute)
	require.Equal(t, "20Gi", c.Claim("data").Status.Capacity.Storage().String(), c.Story())
}

// calls returns the calls about a volume that is attached and staged, and grows while a pod uses it.
func calls() []string {
	return []string{
		"CreateVolume", "ControllerPublishVolume", "NodeStageVolume", "NodePublishVolume", "ControllerExpandVolume", "NodeExpandVolume",
		"NodeUnpublishVolume", "NodeUnstageVolume", "ControllerUnpublishVolume", "DeleteVolume",
	}
}

func TestTheMockDriverOfKubernetesTests(t *testing.T) {
	got, where := life(t, start(t, "mock"), "Immediate", true)
	require.Equal(t, calls(), got)
	require.Nil(t, where)
}

func TestTheMockDriverWithoutAttaching(t *testing.T) {
	attaches := func(method string) bool {
		return strings.HasPrefix(method, "ControllerP") || strings.HasPrefix(method, "ControllerU")
	}
	no := false
	got, _ := life(t, start(t, "mock", "-attach=false"), "Immediate", true, func(d *csi.Driver) { d.Spec.AttachRequired = &no })
	require.Equal(t, slices.DeleteFunc(calls(), attaches), got)
}

func TestTheMockDriverWithTopology(t *testing.T) {
	got, where := life(t, start(t, "mock", "-topology"), "WaitForFirstConsumer", true)
	require.Equal(t, calls(), got)
	require.Equal(t, &v1.VolumeNodeAffinity{Required: &v1.NodeSelector{NodeSelectorTerms: []v1.NodeSelectorTerm{{
		MatchExpressions: []v1.NodeSelectorRequirement{{Key: "io.kubernetes.storage.mock/node", Operator: v1.NodeSelectorOpIn, Values: []string{"some-mock-node"}}},
	}}}}, where)
}

func TestTheMockDriverTakesSnapshots(t *testing.T) {
	c := storagesimtest.New(t, storagesim.Config{Disks: storagesim.DirectoryDisks})
	d, err := csi.AtEndpoint(t.Context(), "unix://"+start(t, "mock"))
	require.NoError(t, err)
	c.InstallCSIDriver(d)
	c.Must(c.Lab().InstallSnapshots())
	c.RunFor(5 * time.Second)
	c.Apply(manifests(d.Name, "Immediate", "sleep 3600"), snapshot)
	c.RunFor(time.Minute)
	c.Apply(strings.NewReplacer("name: data", "name: restored", "spec:",
		"spec:\n  dataSource: {apiGroup: snapshot.storage.k8s.io, kind: VolumeSnapshot, name: monday}").
		Replace(strings.Split(manifests(d.Name, "Immediate", ""), "---")[1]))
	c.RunFor(time.Minute)
	c.RequireBound("restored")
	c.Delete("pod/web", "pvc/data", "pvc/restored", "volumesnapshot/monday")
	c.RunFor(5 * time.Minute)
	require.Equal(t, "No resources found\n", c.Get("pv,volumesnapshot,volumesnapshotcontent"), c.Story())
	c.RequireNoLeaks()
	var made []string
	for _, entry := range c.Trace().Records() {
		if rpc, ok := entry.Record.(trace.RPC); ok && rpc.Code == "OK" && slices.Contains([]string{"CreateVolume", "CreateSnapshot", "DeleteSnapshot"}, rpc.Method) {
			made = append(made, rpc.Method)
		}
	}
	require.Equal(t, []string{"CreateVolume", "CreateSnapshot", "CreateVolume", "DeleteSnapshot"}, slices.Compact(made),
		"a volume, its snapshot, and a volume of it")
}

const snapshot = `
apiVersion: snapshot.storage.k8s.io/v1
kind: VolumeSnapshotClass
metadata: {name: mock}
driver: csi-mock.example.com
deletionPolicy: Delete
---
apiVersion: snapshot.storage.k8s.io/v1
kind: VolumeSnapshot
metadata: {name: monday}
spec:
  volumeSnapshotClassName: mock
  source: {persistentVolumeClaimName: data}
`

// The driver makes no directory for a volume inline, nor removes one: the runtime makes it, and the kubelet removes it if it is empty. So the pod
// takes its file away again.
func TestTheMockDriverWithVolumesInline(t *testing.T) {
	c := storagesimtest.New(t, storagesim.Config{Disks: storagesim.DirectoryDisks})
	d, err := csi.AtEndpoint(t.Context(), "unix://"+start(t, "mock"))
	require.NoError(t, err)
	no, yes := false, true
	d.Spec.AttachRequired, d.Spec.PodInfoOnMount = &no, &yes
	d.Spec.VolumeLifecycleModes = []storagev1.VolumeLifecycleMode{storagev1.VolumeLifecycleEphemeral}
	c.InstallCSIDriver(d)
	c.RunFor(5 * time.Second)
	_, pod, _ := strings.Cut(manifests(d.Name, "", "echo hello > /data/greeting; cat /data/greeting; rm /data/greeting; sleep 3600"), "---")
	_, pod, _ = strings.Cut(pod, "---")
	c.Apply(strings.Replace(pod, "persistentVolumeClaim: {claimName: data}", "csi: {driver: "+d.Name+"}", 1))
	c.RunFor(time.Minute)
	c.RequireRunning("web")
	text, err := c.Cluster.Machine("pod/web").Logs("web", false)
	require.NoError(t, err)
	require.Equal(t, "hello\n", text)
	c.Delete("pod/web")
	c.RunFor(5 * time.Minute)
	c.RequireNoLeaks()
	var methods []string
	for _, entry := range c.Trace().Records() {
		if rpc, ok := entry.Record.(trace.RPC); ok && rpc.Code == "OK" && slices.Contains(calls(), rpc.Method) {
			methods = append(methods, rpc.Method)
		}
	}
	require.Equal(t, []string{"NodePublishVolume", "NodeUnpublishVolume"}, methods)
}

// Its mounts are noted and not made, so that nothing may be written where the volume would be: the
// driver removes the directory only if it is empty. Its resize2fs answers nothing, so the volume
// cannot grow; for that reason, too, the first call to stage it fails, and the kubelet's second one
// succeeds.
func TestTheDriverOfGooglesPersistentDisks(t *testing.T) {
	grows := func(method string) bool { return strings.Contains(method, "Expand") }
	got, _ := life(t, start(t, "pd"), "WaitForFirstConsumer", false)
	require.Equal(t, slices.DeleteFunc(calls(), grows), got)
}

// programs returns the directory into which .ci/nightly builds the drivers.
func programs(t *testing.T) string {
	if dir := os.Getenv("DRIVERS"); dir != "" {
		return dir
	}
	cache, err := os.UserCacheDir()
	require.NoError(t, err)
	return filepath.Join(cache, "storagesim", "drivers")
}

// start starts a driver and returns its socket.
func start(t *testing.T, program string, flags ...string) string {
	dir, err := os.MkdirTemp("", "csi") // short, as the paths of sockets must be
	require.NoError(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	at := filepath.Join(dir, "csi.sock")
	cmd, log := exec.CommandContext(t.Context(), filepath.Join(programs(t), program), append(flags, at)...), &bytes.Buffer{}
	cmd.Stdout, cmd.Stderr = log, log
	require.NoError(t, cmd.Start(), "build it with: bash .ci/nightly sidecars")
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		if t.Failed() {
			t.Logf("the driver says:\n%s", log)
		}
	})
	require.Eventually(t, func() bool {
		conn, err := net.DialTimeout("unix", at, time.Second)
		if err == nil {
			_ = conn.Close()
		}
		return err == nil
	}, 20*time.Second, 10*time.Millisecond)
	return at
}
