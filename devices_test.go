package storagesim_test

import (
	"io/fs"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/storagesim/storagesim"
	"github.com/storagesim/storagesim/machine/disk"
	"github.com/storagesim/storagesim/storagesimtest"
)

// deviceVolume returns a local volume on a block device, and its claim. more are fields of the volume's source.
func deviceVolume(more string) string {
	return `
apiVersion: v1
kind: PersistentVolume
metadata: {name: pv-data}
spec:
  capacity: {storage: 1Gi}
  accessModes: [ReadWriteOnce]
  storageClassName: by-hand
  local: {path: /dev/sdb` + more + `}
  nodeAffinity: {required: {nodeSelectorTerms: [{matchExpressions: [{key: kubernetes.io/hostname, operator: In, values: [node-1]}]}]}}
---
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: data}
spec: {accessModes: [ReadWriteOnce], storageClassName: by-hand, resources: {requests: {storage: 1Gi}}}
`
}

// devicePod returns a pod with the claim of deviceVolume; more are fields of its claim source.
func devicePod(name, more string) string {
	return `
apiVersion: v1
kind: Pod
metadata: {name: ` + name + `}
spec:
  containers: [{name: c, image: busybox, command: [sleep, inf], volumeMounts: [{name: v, mountPath: /x}]}]
  volumes: [{name: v, persistentVolumeClaim: {claimName: data` + more + `}}]
`
}

// withDevice returns a cluster of one node with a block device.
func withDevice(t *testing.T, disks storagesim.Disks) (*storagesimtest.Cluster, *disk.Disk) {
	c := storagesimtest.New(t, storagesim.Config{Disks: disks})
	node := c.Machine("node/node-1").Disk()
	c.Must(node.MkdirAll("/dev", 0o755))
	c.Must(node.MakeDevice("/dev/sdb"))
	return c, node
}

// Semantics 5.3 (2).
func TestABlockDeviceIsFormattedOnceAndMountedForItsPods(t *testing.T) {
	const mounts = "/var/lib/kubelet/plugins/kubernetes.io/local-volume/mounts"
	for name, disks := range map[string]storagesim.Disks{"in memory": storagesim.MemoryDisks, "in directories": storagesim.DirectoryDisks} {
		t.Run(name, func(t *testing.T) {
			c, node := withDevice(t, disks)
			c.Apply(deviceVolume(""), devicePod("one", ""), devicePod("two", ""))
			c.Settle()
			c.RequireRunning("one")
			c.RequireRunning("two")
			is, err := node.Formatted("/dev/sdb")
			require.NoError(t, err)
			assert.Equal(t, "ext4", is.Type)
			files, err := node.List(mounts + "/pv-data")
			require.NoError(t, err)
			assert.Equal(t, []string{"lost+found/"}, files, "as mkfs leaves it")
			c.Machine("pod/one").WriteFile("/x/greet", "hello")
			read := func(pod string) string { return c.Machine("pod/" + pod).ReadFile("/x/greet") }
			assert.Equal(t, "hello", read("two"))
			info, err := node.Stat("/dev/sdb")
			require.NoError(t, err)
			assert.Equal(t, fs.ModeDevice, info.Mode().Type(), "it is a device still")

			c.Crash("kubelet/node-1")
			c.Delete("pod/one")
			c.RunFor(2 * time.Minute)
			assert.Equal(t, "hello", read("two"), "found again by the next kubelet, and not unmounted")
			c.Delete("pod/two")
			c.RunFor(2 * time.Minute)
			files, err = node.List(mounts)
			require.NoError(t, err)
			assert.Empty(t, files)
			c.RequireNoLeaks()

			c.Apply(devicePod("three", ""))
			c.Settle()
			assert.Equal(t, "hello", read("three"), "what is formatted is not formatted again")
		})
	}
}

// Upstream: k8s.io/mount-utils SafeFormatAndMount.formatAndMountSensitive, v0.37.2.
func TestADeviceThatCannotBeMountedSaysWhy(t *testing.T) {
	for want, test := range map[string]struct {
		volume, pod, device string
	}{
		"bad superblock on /dev/sdb": {volume: ", fsType: xfs", device: "ext4"},
		"cannot mount unformatted disk /dev/sdb as we are manipulating it in read-only mode": {pod: ", readOnly: true"},
		`format of disk "/dev/sdb" failed: type:("zfs")`:                                     {volume: ", fsType: zfs"},
	} {
		c, node := withDevice(t, storagesim.MemoryDisks)
		if test.device != "" {
			c.Must(node.Format("/dev/sdb", disk.Filesystem{Type: test.device, ID: "a"}))
		}
		c.Apply(deviceVolume(test.volume), devicePod("web", test.pod))
		c.RunFor(time.Minute)
		assert.Contains(t, strings.ReplaceAll(c.Explain("pod/web"), "\n", " "), want)
		c.Delete("pod/web")
		c.RunFor(time.Minute)
	}
}

func TestWhatOverwritesADeviceTakesItsFileSystemWithIt(t *testing.T) {
	c, node := withDevice(t, storagesim.MemoryDisks)
	c.Apply(deviceVolume(", fsType: xfs"), devicePod("web", ""))
	c.Settle()
	c.Machine("pod/web").WriteFile("/x/greet", "hello")
	c.Delete("pod/web")
	c.RunFor(time.Minute)
	before, err := node.Formatted("/dev/sdb")
	require.NoError(t, err)
	c.Must(node.WriteFile("/dev/sdb", make([]byte, 1024), 0o660))
	c.Apply(devicePod("web", ""))
	c.Settle()
	c.RequireRunning("web")
	after, err := node.Formatted("/dev/sdb")
	require.NoError(t, err)
	assert.Equal(t, "xfs", after.Type)
	assert.NotEqual(t, before.ID, after.ID)
	_, err = c.Cluster.Machine("pod/web").ReadFile("/x/greet")
	require.Error(t, err)
}
