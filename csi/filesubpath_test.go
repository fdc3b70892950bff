package csi_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/storagesim/storagesim"
	"github.com/storagesim/storagesim/storagesimtest"
)

// A file of a volume can be the subPath of a container, wherever the volume's files are, and goes with the pod.
func TestAFileOfACSIVolumeIsMountedAsASubPath(t *testing.T) {
	for name, disks := range map[string]storagesim.Disks{"memory": storagesim.MemoryDisks, "directories": storagesim.DirectoryDisks} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := watch(storagesimtest.New(t, storagesim.Config{Disks: disks}))
			w.Apply(`
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: data}
spec: {storageClassName: csi, accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}
---
apiVersion: v1
kind: Pod
metadata: {name: web}
spec:
  initContainers:
  - {name: init, image: busybox, command: [sh, -c, "echo before > /data/my.cnf"], volumeMounts: [{name: data, mountPath: /data}]}
  containers:
  - name: c
    image: busybox
    command: [sh, -c, "cat /etc/my.cnf; echo after > /etc/my.cnf; cat /data/my.cnf; sleep infinity"]
    volumeMounts: [{name: data, mountPath: /etc/my.cnf, subPath: my.cnf}, {name: data, mountPath: /data}]
  volumes: [{name: data, persistentVolumeClaim: {claimName: data}}]
`)
			w.Settle()
			log, err := w.Cluster.Cluster.Machine("pod/web").Logs("c", false)
			require.NoError(t, err, w.Story())
			require.Equal(t, "before\nafter\n", log)
			w.Delete("pod/web")
			w.Delete("pvc/data")
			w.Settle()
			require.Empty(t, w.broken)
			require.NotContains(t, w.Story(), "fails")
		})
	}
}
