package shelf

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc/codes"

	"github.com/storagesim/storagesim"
	"github.com/storagesim/storagesim/csi/call"
	"github.com/storagesim/storagesim/storagesimtest"
)

const manifests = `
apiVersion: storage.k8s.io/v1
kind: StorageClass
metadata: {name: shelf}
provisioner: csi.shelf.example.com
---
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: data}
spec: {accessModes: [ReadWriteOnce], storageClassName: shelf, resources: {requests: {storage: 1Gi}}}
---
apiVersion: v1
kind: Pod
metadata: {name: web}
spec:
  containers: [{name: web, image: busybox, volumeMounts: [{name: data, mountPath: /data}]}]
  volumes: [{name: data, persistentVolumeClaim: {claimName: data}}]
`

// live has a pod get a volume and lose it again; faults strike on the way.
func live(t *testing.T, cfg storagesim.Config, faults ...call.Fault) {
	cfg.Disks = storagesim.MemoryDisks
	c := storagesimtest.New(t, cfg)
	c.InstallCSIDriver(New().Driver())
	c.RunFor(10 * time.Second) // the kubelet registers it
	for _, f := range faults {
		c.Inject(f)
	}
	c.Apply(manifests)
	c.RunFor(10 * time.Minute)
	require.Equal(t, "Running", string(c.Pod("web").Status.Phase))
	c.Delete("pod/web", "pvc/data")
	c.RunFor(10 * time.Minute)
	c.RequireNoLeaks()
}

func TestAPodGetsAVolumeAndLosesItAgain(t *testing.T) { live(t, storagesim.Config{}) }

func TestEveryCallMayFailInEveryWay(t *testing.T) {
	for _, method := range []string{"CreateVolume", "NodePublishVolume", "NodeUnpublishVolume", "DeleteVolume"} {
		for name, fault := range map[string]call.Fault{
			"refused":             {Code: codes.Internal},
			"crash before":        {Crash: true},
			"crash after":         {Crash: true, After: true},
			"the answer is lost":  {After: true},
			"no answer":           {Hang: true},
			"no answer, but done": {Hang: true, After: true},
			"slow":                {Delay: 20 * time.Second},
		} {
			t.Run(method+" "+name, func(t *testing.T) {
				fault.Method = method
				live(t, storagesim.Config{}, fault)
			})
		}
	}
}

func TestManyOrdersOfEvents(t *testing.T) {
	for seed := range uint64(20) {
		live(t, storagesim.Config{Seed: seed + 1}, call.Fault{Skip: int(seed), After: true})
	}
}
