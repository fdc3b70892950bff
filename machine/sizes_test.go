package machine_test

import (
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/storagesim/storagesim"
	"github.com/storagesim/storagesim/csi/driver"
	"github.com/storagesim/storagesim/machine"
	"github.com/storagesim/storagesim/storagesimtest"
)

// filler is a pod that writes to a volume for ever.
const filler = `
apiVersion: v1
kind: Pod
metadata: {name: filler}
spec:
  nodeName: node-1
  containers:
  - name: c
    image: busybox
    command: [sh, -c, "x=aaaaaaaa; while [ ${#x} -lt 500000 ]; do x=$x$x; done; while :; do i=$((i+1)); for j in 1 2 3 4 5 6 7 8; do echo $x >> /data/$i; done; df /data; sleep 1; done"]
    volumeMounts: [{name: data, mountPath: /data}]
  volumes: [{name: data, VOLUME}]
`

func logOf(t *testing.T, c *storagesimtest.Cluster) string {
	t.Helper()
	log, err := c.Cluster.Machine("pod/filler").Logs("c", false)
	require.NoError(t, err)
	return log
}

func TestAPodCannotFillTheMemoryOfTheMachine(t *testing.T) {
	c := storagesimtest.New(t, storagesim.Config{Disks: storagesim.MemoryDisks})
	c.Apply(strings.ReplaceAll(filler, "VOLUME", "emptyDir: {}"))
	c.RunFor(80 * time.Second)
	space, err := c.Machine("node/node-1").Disk().Space("/")
	require.NoError(t, err)
	require.EqualValues(t, machine.DefaultSize, space.Bytes)
	require.Equal(t, space.Bytes, space.UsedBytes)
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	require.Less(t, m.HeapAlloc, uint64(1<<30))

	log := logOf(t, c)
	require.Contains(t, log, "no space left on device")
	require.Contains(t, log, "/dev/disk 262144 262144 0 100% /data")
	node, err := c.Client().CoreV1().Nodes().Get(t.Context(), "node-1", metav1.GetOptions{})
	require.NoError(t, err)
	require.Equal(t, "256Mi", node.Status.Capacity.StorageEphemeral().String())
	require.Equal(t, "256Mi", node.Status.Allocatable.StorageEphemeral().String())
}

func TestADiskHasTheSizeOfTheConfigurationOrOfTheNodesCapacity(t *testing.T) {
	c := storagesimtest.New(t, storagesim.Config{Disks: storagesim.MemoryDisks, DiskSize: 1 << 20, Nodes: []storagesim.Node{
		{Name: "small"}, {Name: "large", Capacity: v1.ResourceList{v1.ResourceEphemeralStorage: resource.MustParse("1Gi")}},
	}})
	c.Settle()
	for node, size := range map[string]int64{"small": 1 << 20, "large": 1 << 30} {
		space, err := c.Machine("node/" + node).Disk().Space("/")
		require.NoError(t, err)
		require.Equal(t, size, space.Bytes)
		got, err := c.Client().CoreV1().Nodes().Get(t.Context(), node, metav1.GetOptions{})
		require.NoError(t, err)
		require.Equal(t, size, got.Status.Capacity.StorageEphemeral().Value())
	}
	_, err := storagesim.New(storagesim.Config{DiskSize: 1 << 20})
	require.ErrorContains(t, err, "Config.DiskSize: 1048576: only MemoryDisks have a size")
}

func TestAVolumeOfTheReferenceDriverHoldsNoMoreThanItsSize(t *testing.T) {
	c := storagesimtest.New(t, storagesim.Config{Disks: storagesim.MemoryDisks})
	c.InstallCSIDriver(driver.Config{})
	c.Apply(`
apiVersion: storage.k8s.io/v1
kind: StorageClass
metadata: {name: fast}
provisioner: csi.storagesim.io
allowVolumeExpansion: true
---
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: data}
spec:
  storageClassName: fast
  accessModes: [ReadWriteOnce]
  resources: {requests: {storage: 8Mi}}
---` + strings.ReplaceAll(filler, "VOLUME", "persistentVolumeClaim: {claimName: data}"))
	c.RunFor(30 * time.Second)
	require.Regexp(t, `csi.storagesim.io:vol-\w+ 8192 8192 0 100% /data`, logOf(t, c), "its driver mounts it from there")

	claims := c.Client().CoreV1().PersistentVolumeClaims("default")
	claim, err := claims.Get(t.Context(), "data", metav1.GetOptions{})
	require.NoError(t, err)
	claim.Spec.Resources.Requests[v1.ResourceStorage] = resource.MustParse("16Mi")
	_, err = claims.Update(t.Context(), claim, metav1.UpdateOptions{})
	require.NoError(t, err)
	c.RunFor(30 * time.Second)
	require.Regexp(t, `csi.storagesim.io:vol-\w+ 16384 16384 0 100% /data`, logOf(t, c))
}
