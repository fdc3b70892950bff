package explain_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/storagesim/storagesim"
	"github.com/storagesim/storagesim/storagesimtest"
)

// What keeps a pod from a block device is named, also where the kubelet only logs it.
func TestAVolumeThatCannotBeADeviceOrADirectoryIsNamed(t *testing.T) {
	const pv = `
apiVersion: v1
kind: PersistentVolume
metadata: {name: pv-data}
spec: {capacity: {storage: 1Gi}, accessModes: [ReadWriteOnce], storageClassName: by-hand, volumeMode: `
	const claim = `
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: data}
spec: {accessModes: [ReadWriteOnce], storageClassName: by-hand, resources: {requests: {storage: 1Gi}}, volumeMode: `
	const pod = `
apiVersion: v1
kind: Pod
metadata: {name: web}
spec:
  containers: [{name: c, image: busybox, command: [sleep, inf], `
	const volumes = `}]
  volumes: [{name: v, persistentVolumeClaim: {claimName: data}}]
`
	for name, test := range map[string]struct{ pv, mode, use, want string }{
		"a device of a type that no node knows": {", local: {path: /dev/sdb, fsType: zfs}, nodeAffinity: {required: {nodeSelectorTerms: [{matchExpressions: " +
			"[{key: kubernetes.io/hostname, operator: In, values: [node-1]}]}]}}}", "Filesystem", "volumeMounts: [{name: v, mountPath: /x}]",
			`local: failed to mount device /dev/sdb at /var/lib/kubelet/plugins/kubernetes.io/local-volume/mounts/pv-data (fstype: zfs), error ` +
				`format of disk "/dev/sdb" failed: type:("zfs")`},
		"a host path as a device": {", hostPath: {path: /dev/sdb}}", "Block", "volumeDevices: [{name: v, devicePath: /dev/x}]",
			`does not support volumeMode Block; a kubelet only logs that, so that the pod has no event. ` +
				"To do: make volume and claim anew with volumeMode Filesystem, or with a volume that can be a device (local, CSI)."},
	} {
		t.Run(name, func(t *testing.T) {
			c := storagesimtest.New(t, storagesim.Config{Nodes: storagesim.Nodes("node-1")})
			node := c.Machine("node/node-1").Disk()
			c.Must(node.MkdirAll("/dev", 0o755))
			c.Must(node.MakeDevice("/dev/sdb"))
			c.Apply(pv+test.mode+test.pv, claim+test.mode+"}", pod+test.use+volumes)
			c.RunFor(time.Minute)
			require.Contains(t, c.Explain("pod/web"), test.want)
			c.Delete("pod/web")
			c.RunFor(time.Minute)
		})
	}
}
