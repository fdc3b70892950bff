package machine_test

import (
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"

	"github.com/storagesim/storagesim"
	"github.com/storagesim/storagesim/internal/rigs/clustertest"
	"github.com/storagesim/storagesim/machine"
	"github.com/storagesim/storagesim/storagesimtest"
)

// localYAML is a local volume at /data/k8s/localpv on node-1, a claim and a pod that
// has it at /data.
const localYAML = `
apiVersion: storage.k8s.io/v1
kind: StorageClass
metadata: {name: local-storage}
provisioner: kubernetes.io/no-provisioner
volumeBindingMode: WaitForFirstConsumer
---
apiVersion: v1
kind: PersistentVolume
metadata: {name: pv-local}
spec:
  capacity: {storage: 5Gi}
  accessModes: [ReadWriteOnce]
  persistentVolumeReclaimPolicy: Retain
  storageClassName: local-storage
  local: {path: /data/k8s/localpv}
  nodeAffinity:
    required:
      nodeSelectorTerms:
      - matchExpressions: [{key: kubernetes.io/hostname, operator: In, values: [node-1]}]
---
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: data}
spec:
  storageClassName: local-storage
  accessModes: [ReadWriteOnce]
  resources: {requests: {storage: 5Gi}}
---
apiVersion: v1
kind: Pod
metadata: {name: web}
spec:
  containers: [{name: c, image: busybox, volumeMounts: [{name: data, mountPath: /data}]}]
  volumes: [{name: data, persistentVolumeClaim: {claimName: data}}]
`

// withLocalVolume returns a cluster whose node-1 has the volume's directory.
func withLocalVolume(t testing.TB, cfg storagesim.Config) *storagesimtest.Cluster {
	t.Helper()
	cfg.Nodes = storagesim.Nodes("node-1", "node-2")
	c := storagesimtest.New(t, cfg)
	c.Machine("node/node-1").MakeDir("/data/k8s/localpv", 0o777)
	return c
}

// With each kind of fault the pod waits, with the event that says why, and runs when
// the cause is gone.
func TestAPodWaitsForAMachineInTroubleAndThenRuns(t *testing.T) {
	for name, test := range map[string]struct {
		fault machine.Fault
		event string
	}{
		"mount fails": {
			machine.Fault{Op: "mount", Path: "/data/k8s/localpv", Err: syscall.EIO},
			`Warning FailedMount (N times): MountVolume.SetUp failed for volume "pv-local" : input/output error`,
		},
		"mount is corrupted": {
			machine.Fault{Op: "look", Path: "/var/lib/kubelet/pods/*/volumes", Err: syscall.ESTALE},
			`Warning FailedMount (N times): MountVolume.SetUp failed for volume "pv-local" : stale`,
		},
		"disk is full": {
			machine.Fault{Op: "create", Path: "/var/lib/kubelet/pods/*/volumes/kubernetes.io~local-volume", Err: syscall.ENOSPC},
			`Warning FailedMount (N times): MountVolume.SetUp failed for volume "pv-local" : ` +
				`mkdir /var/lib/kubelet/pods/UID/volumes/kubernetes.io~local-volume/pv-local: no space left on device`,
		},
		"directory cannot be read": {
			machine.Fault{Path: "/data", Err: syscall.EACCES},
			`Warning FailedMount (N times): MountVolume.`,
		},
		"file system is read-only": {
			machine.Fault{Op: "change", Path: "/var/lib/kubelet/pods", Err: syscall.EROFS},
			`Warning Failed (N times): error making pod data directories: mkdir /var/lib/kubelet/pods/UID`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			c := withLocalVolume(t, storagesim.Config{})
			fault := test.fault
			fault.Machine, fault.Times = "node/node-1", -1
			c.Inject(fault)
			c.Apply(localYAML)
			c.Settle()
			require.Equal(t, v1.PodPending, c.Pod("web").Status.Phase)
			require.Contains(t, eventsOf(c, "pod/web", string(c.Pod("web").UID)), test.event)

			c.Lab().ClearFaults()
			c.RunFor(3 * time.Minute)
			require.Equal(t, v1.PodRunning, c.Pod("web").Status.Phase)
			c.Machine("pod/web").WriteFile("/data/x", "there")
			require.Equal(t, "there", c.Machine("node/node-1").ReadFile("/data/k8s/localpv/x"))
			c.Delete("pod/web")
			c.Settle()
			c.RequireNoLeaks()
		})
	}
}

var times = regexp.MustCompile(`\(\d+ times\)`)

// eventsOf returns Explain's text about an object, with N and UID for what varies.
func eventsOf(c *storagesimtest.Cluster, ref, uid string) string {
	return times.ReplaceAllString(strings.ReplaceAll(c.Explain(ref), uid, "UID"), "(N times)")
}

func TestABusyVolumeKeepsItsPodUntilItIsFreeAndLosesNothing(t *testing.T) {
	c := withLocalVolume(t, storagesim.Config{})
	c.Apply(localYAML)
	c.Settle()
	c.Machine("pod/web").WriteFile("/data/x", "kept")
	c.Inject(machine.Fault{Machine: "node/node-1", Op: "unmount", Times: -1, Err: syscall.EBUSY})
	c.Delete("pod/web")
	c.RunFor(10 * time.Minute)
	require.NotNil(t, c.Pod("web").DeletionTimestamp)
	require.Contains(t, c.Story(), "cannot unmount /var/lib/kubelet/pods/")
	c.Lab().ClearFaults()
	c.RunFor(3 * time.Minute)
	_, err := c.Cluster.Pod("web")
	require.Error(t, err)
	require.Equal(t, "kept", c.Machine("node/node-1").ReadFile("/data/k8s/localpv/x"))
	c.RequireNoLeaks()
}

// The volume's disk is full, not the node's: pods meet it by what they have mounted.
func TestAFullVolumeIsFullForItsPod(t *testing.T) {
	c := withLocalVolume(t, storagesim.Config{})
	c.Apply(localYAML)
	c.Settle()
	c.Machine("pod/web").WriteFile("/data/x", "kept")
	c.Inject(machine.Fault{Machine: "node/node-1", Op: "create", Path: "/data/k8s/localpv", Times: -1, Err: syscall.ENOSPC})
	require.ErrorIs(t, c.Cluster.Machine("pod/web").WriteFile("/data/y", ""), syscall.ENOSPC)
	require.ErrorIs(t, c.Cluster.Machine("pod/web").WriteFile("/data/x", ""), syscall.ENOSPC)
	require.ErrorIs(t, c.Cluster.Machine("pod/web").MakeDir("/data/dir", 0o755), syscall.ENOSPC)
	require.Equal(t, "kept", c.Machine("pod/web").ReadFile("/data/x"))
	require.NoError(t, c.Cluster.Machine("node/node-1").MakeDir("/data/k8s/localpv", 0o755), "what is there need not be made")
	c.Machine("node/node-1").WriteFile("/elsewhere", "there is space")
	c.Lab().ClearFaults()
	c.Machine("pod/web").WriteFile("/data/y", "there is space")
}

func TestAFullDiskOfAnNFSServerIsFullForAllNodes(t *testing.T) {
	c := storagesimtest.New(t, storagesim.Config{Nodes: storagesim.Nodes("node-1", "node-2")})
	c.AddNFSServer(nfsServer, "/srv")
	share := `{server: 192.168.203.110, path: /srv}`
	c.Apply(nfsPod("one", "node-1", share))
	c.Settle()
	c.Inject(machine.Fault{Machine: "nfs/" + nfsServer, Op: "create", Path: "/srv", Times: -1, Err: syscall.ENOSPC})
	c.Apply(nfsPod("two", "node-2", share)) // mounts an export that is full already
	c.Settle()
	for _, pod := range []string{"pod/one", "pod/two"} {
		require.ErrorIs(t, c.Cluster.Machine(pod).WriteFile("/data/x", ""), syscall.ENOSPC, pod)
	}
	require.Contains(t, clustertest.Strikes(c.Engine().Trace()), "user cannot write /srv/x on nfs/"+nfsServer+": no space left on device")
	c.Lab().ClearFaults()
	c.Machine("pod/one").WriteFile("/data/x", "there is space")
	require.Equal(t, "there is space", c.Machine("pod/two").ReadFile("/data/x"))
}

func TestAKubeletThatCrashesMeetsTheSameTrouble(t *testing.T) {
	c := withLocalVolume(t, storagesim.Config{})
	c.Inject(machine.Fault{Machine: "node/node-1", Op: "mount", Times: -1, Err: syscall.EIO})
	c.Apply(localYAML)
	c.Settle()
	before := len(clustertest.Strikes(c.Engine().Trace()))
	c.Crash("kubelet/node-1")
	c.Settle()
	require.Greater(t, len(clustertest.Strikes(c.Engine().Trace())), before)
	require.Equal(t, v1.PodPending, c.Pod("web").Status.Phase)
	c.Lab().ClearFaults()
	c.RunFor(3 * time.Minute)
	require.Equal(t, v1.PodRunning, c.Pod("web").Status.Phase)
}
