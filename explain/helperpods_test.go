package explain_test

import (
	"errors"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/storagesim/storagesim"
	"github.com/storagesim/storagesim/internal/rigs/clustertest"
	"github.com/storagesim/storagesim/machine"
	"github.com/storagesim/storagesim/provisioner/localpath"
	nfsprovisioner "github.com/storagesim/storagesim/provisioner/nfs"
	"github.com/storagesim/storagesim/provisioner/openebs"
	"github.com/storagesim/storagesim/storagesimtest"
)

const (
	explainLocalPath = `
apiVersion: storage.k8s.io/v1
kind: StorageClass
metadata: {name: made}
provisioner: rancher.io/local-path
volumeBindingMode: WaitForFirstConsumer
`
	explainOpenEBS = `
apiVersion: storage.k8s.io/v1
kind: StorageClass
metadata:
  name: made
  annotations: {openebs.io/cas-type: local, cas.openebs.io/config: "- {name: StorageType, value: hostpath}"}
provisioner: openebs.io/local
volumeBindingMode: WaitForFirstConsumer
`
)

// fullDisk returns a cluster whose node has no space below dir, with a pod and its claim.
func fullDisk(t *testing.T, class, dir string) *storagesimtest.Cluster {
	t.Helper()
	c := storagesimtest.New(t, storagesim.Config{})
	c.AddProvisionController(localpath.Controller(localpath.Config{}))
	c.AddProvisionController(openebs.Controller(openebs.Config{}))
	c.Inject(machine.Fault{Machine: "node/node-1", Op: "create", Path: dir, Times: -1, Err: syscall.ENOSPC})
	c.Apply(class, explainClaim("data", "5Gi", ", storageClassName: made"), explainPod("web", "", "data"))
	return c
}

// unwrapped returns a text with the UIDs in it replaced.
func unwrapped(c *storagesimtest.Cluster, ref, uid string) string {
	return strings.ReplaceAll(c.Explain(ref), uid, "UID")
}

func TestExplainFollowsAClaimToTheEventsAndTheContainersOfItsHelperPod(t *testing.T) {
	const full = "no space left on device"
	for name, tt := range map[string]struct {
		class, dir string
		pause      time.Duration
		lines      []string
		said       string // among the events
	}{
		"local-path cannot mount": {explainLocalPath, "/opt", 5 * time.Minute, []string{
			"  helper pod local-path-storage/helper-pod-create-pvc-UID (attempt 3) is Pending on node node-1",
		}, `, pod local-path-storage/helper-pod-create-pvc-UID: kubelet said Warning FailedMount (5 times): MountVolume.SetUp failed for volume "data" : ` +
			`mkdir /opt/local-path-provisioner/: ` + full},
		"local-path between two attempts": {explainLocalPath, "/opt/local-path-provisioner/*", 125 * time.Second, []string{
			"  helper pod local-path-storage/helper-pod-create-pvc-UID is deleted; it was Failed on node node-1",
			"    container helper-pod exited with 1: Error: mkdir: cannot create directory '/opt/local-path-provisioner/pvc-UID_default_data': " + full,
		}, ""},
		"openebs cannot start": {explainOpenEBS, "/var/openebs", time.Minute, []string{
			"  helper pod openebs/init-pvc-UID is Pending on node node-1",
			`    container local-path-init waits: CreateContainerError: failed to generate container spec: failed to mkdir "/var/openebs/local": ` +
				`mkdir /var/openebs/local: ` + full,
		}, "60s ago, pod openebs/init-pvc-UID: default-scheduler said Normal Scheduled: Successfully assigned openebs/init-pvc-UID to node-1"},
		"openebs runs and fails": {explainOpenEBS, "/var/openebs/local/*", time.Minute, []string{
			"  helper pod openebs/init-pvc-UID (attempt 3) is deleted; it was Failed on node node-1",
			"    container local-path-init exited with 1: Error: mkdir: cannot create directory '/data/pvc-UID': " + full,
		}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			c := fullDisk(t, tt.class, tt.dir)
			c.RunFor(tt.pause)
			uid := string(c.Claim("data").UID)
			for _, ref := range []string{"pvc/data", "pod/web"} {
				why := unwrapped(c, ref, uid)
				requireLines(t, why, tt.lines...)
				require.Contains(t, why, tt.said)
				first, _, _ := strings.Cut(why, "\n")
				require.Contains(t, first, full, "the verdict names the cause at the end of the chain")
			}

			c.Lab().ClearFaults()
			c.RunFor(20 * time.Minute)
			c.RequireRunning("web")
			require.NotContains(t, c.Explain("pvc/data"), "\n  helper pod", "what has succeeded needs no explanation")
		})
	}
}

func TestExplainFollowsAReleasedVolumeToTheHelperPodThatCannotDeleteIt(t *testing.T) {
	c := storagesimtest.New(t, storagesim.Config{})
	c.AddProvisionController(openebs.Controller(openebs.Config{}))
	c.Apply(explainOpenEBS, explainClaim("data", "5Gi", ", storageClassName: made"), explainPod("web", "", "data"))
	c.Settle()
	claim := c.Claim("data")
	c.Inject(machine.Fault{Machine: "node/node-1", Op: "remove", Path: "/var/openebs/local", Times: -1, Err: syscall.EROFS})
	c.Delete("pod/web", "pvc/data")
	c.RunFor(time.Minute)
	why := unwrapped(c, "pv/"+claim.Spec.VolumeName, string(claim.UID))
	require.Regexp(t, `(?m)^  helper pod openebs/cleanup-pvc-UID \(attempt \d\) is deleted; it was Failed on node node-1\n    container local-path-cleanup `+
		`exited with 1: Error: .*read-only file system`, why)

	err := c.Cluster.RequireNoLeaks()
	leak, ok := errors.AsType[*storagesim.LeakError](err)
	require.True(t, ok)
	require.Contains(t, leak.Leaks[0].Why, "pv "+claim.Spec.VolumeName+" is Released")
	require.Contains(t, err.Error(), "\n    pv "+claim.Spec.VolumeName+" is Released\n")
	require.Contains(t, err.Error(), "\n        container local-path-cleanup exited with 1: Error: ", "a failing RequireNoLeaks explains the object")
}

// The NFS provisioner makes its directories itself.
func TestExplainSaysThatTheDiskOfTheNFSServerIsFull(t *testing.T) {
	c := storagesimtest.New(t, storagesim.Config{})
	c.AddProvisionController(nfsprovisioner.Controller(c.AddNFSServer("nas", "/srv"), nfsprovisioner.Config{Server: "nas", Path: "/srv"}))
	c.Inject(machine.Fault{Machine: "nfs/nas", Op: "create", Times: -1, Err: syscall.ENOSPC})
	c.Apply("apiVersion: storage.k8s.io/v1\nkind: StorageClass\nmetadata: {name: made}\nprovisioner: k8s-sigs.io/nfs-subdir-external-provisioner\n",
		explainClaim("data", "5Gi", ", storageClassName: made"))
	c.RunFor(time.Minute)
	require.Regexp(t, `(?m)^  \d+s ago, pvc default/data: k8s-sigs.io/nfs-subdir-external-provisioner said Warning ProvisioningFailed .*no space left on device$`,
		c.Explain("pvc/data"))
}

func TestExplainComparesWhatAProvisionerReturnedWithWhatTheClaimAsks(t *testing.T) {
	for name, tt := range map[string]struct {
		change func(*v1.PersistentVolume)
		says   string
	}{
		"a small volume": {func(v *v1.PersistentVolume) { v.Spec.Capacity[v1.ResourceStorage] = resource.MustParse("1Mi") },
			`with capacity 1Mi and access modes [ReadWriteOnce]; the claim asks for 1Gi and [ReadWriteOnce] (storage is "1Mi", it should be "1Gi")`},
		"another access mode": {func(v *v1.PersistentVolume) {
			v.Spec.AccessModes = []v1.PersistentVolumeAccessMode{v1.ReadOnlyMany}
		}, `with capacity 1Gi and access modes [ReadOnlyMany]; the claim asks for 1Gi and [ReadWriteOnce] (spec.accessModes is "ReadOnlyMany", ` +
			`it should be "ReadWriteOnce")`},
		"a block device": {func(v *v1.PersistentVolume) {
			block := v1.PersistentVolumeBlock
			v.Spec.VolumeMode = &block
		}, `(spec.volumeMode is "Block", it should be "Filesystem")`},
	} {
		t.Run(name, func(t *testing.T) {
			c := storagesimtest.New(t, storagesim.Config{})
			c.AddProvisioner(clustertest.ShelfName,
				&clustertest.Rogue{Shelf: clustertest.NewShelf(), Change: func(v *v1.PersistentVolume) (*v1.PersistentVolume, error) { tt.change(v); return v, nil }})
			c.Apply(clustertest.ShelfClass, clustertest.ShelfClaim("bad"))
			c.RunFor(time.Minute)
			claim := c.Claim("bad")
			require.Equal(t, v1.ClaimPending, claim.Status.Phase)
			pv := "pvc-" + string(claim.UID)
			for _, ref := range []string{"pvc/bad", "pv/" + pv} {
				why := c.Explain(ref)
				require.Contains(t, why, "  provisioner example.com/shelf returned pv "+pv+" with capacity ")
				require.Contains(t, why, tt.says)
			}
			require.ErrorContains(t, c.Cluster.RequireBound("bad"), tt.says)
		})
	}
}

func TestExplainSaysWhereAProvisionerPanickedAndWhenItStartsAgain(t *testing.T) {
	c := storagesimtest.New(t, storagesim.Config{})
	c.AddProvisioner("example.com/shelf",
		&clustertest.Rogue{Shelf: clustertest.NewShelf(), Change: func(*v1.PersistentVolume) (*v1.PersistentVolume, error) { panic("oh\nno") }})
	c.Apply(clustertest.ShelfClass, clustertest.ShelfClaim("bad"))
	c.Settle()
	why := c.Explain("pvc/bad")
	require.Regexp(t, `(?m)^  provisioner example.com/shelf panicked at 0:01:10 in Provision of pvc default/bad, at [\w.-]+/helperpods_test\.go:\d+: oh; no$`, why)
	requireLines(t, why, "  example.com/shelf, which makes and deletes volumes, is down until 0:02:30")
	require.Contains(t, c.Explain("pvc/bad"), "example.com/shelf said Normal Provisioning", "the rest is explained as ever")
}

func TestAFailingRequireBoundAndRequireRunningExplainEachObject(t *testing.T) {
	c := storagesimtest.New(t, storagesim.Config{})
	c.Apply(explainClaim("data", "5Gi", ", storageClassName: ''"), explainPod("web", "", "data"), explainPod("fine", ""))
	c.Settle()
	c.RequireRunning("fine")
	require.EqualError(t, c.Cluster.RequireBound("data", "ghost"), "pvc default/data is Pending, not Bound\n"+c.Explain("pvc/data")+
		`pvc default/ghost: persistentvolumeclaims "ghost" not found`)
	require.EqualError(t, c.Cluster.RequireRunning("fine", "default/web"), "pod default/web is Pending, not Running\n"+
		strings.TrimRight(c.Explain("pod/web"), "\n"))
	require.EqualError(t, c.Cluster.RequireRunning(), "no pod is named")

}

// A container that is restarted again and again waits most of the time.
func TestExplainSaysOfAContainerThatIsRestartedHowItEndedLast(t *testing.T) {
	c := storagesimtest.New(t, storagesim.Config{})
	c.Apply("apiVersion: v1\nkind: Pod\nmetadata: {name: web}\nspec:\n  containers: [{name: maker, image: busybox, command: [mkdir, /not/there]}]\n")
	c.RunFor(time.Minute)
	why := c.Explain("pod/web")
	require.Contains(t, why, "  container maker waits: CrashLoopBackOff: back-off ")
	require.Contains(t, why, "  container maker exited with 1: Error: mkdir: ")
	require.ErrorContains(t, c.Cluster.RequireRunning("web"), "container maker of pod default/web does not run\n"+why[:20], "and what the verdict says follows")
}
