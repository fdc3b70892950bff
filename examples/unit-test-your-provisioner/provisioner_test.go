package nfs_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/storagesim/storagesim/storagesimtest"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"

	nfs "example.com/unit-test-your-provisioner"

	"github.com/storagesim/storagesim"
	"github.com/storagesim/storagesim/engine"
	"github.com/storagesim/storagesim/provisioner"
)

const name = "example.com/nfs"

const manifests = `
apiVersion: storage.k8s.io/v1
kind: StorageClass
metadata:
  name: nfs
provisioner: example.com/nfs
volumeBindingMode: WaitForFirstConsumer
mountOptions: [nfsvers=4.1]
---
apiVersion: v1
kind: PersistentVolumeClaim
metadata:
  name: data
spec:
  storageClassName: nfs
  accessModes: [ReadWriteMany]
  resources:
    requests:
      storage: 1Gi
---
apiVersion: v1
kind: Pod
metadata:
  name: web
spec:
  containers:
  - name: web
    image: nginx
    volumeMounts:
    - name: data
      mountPath: /data
  volumes:
  - name: data
    persistentVolumeClaim:
      claimName: data
`

// newCluster returns a cluster of two nodes in which the provisioner runs.
func newCluster(t *testing.T) (*storagesimtest.Cluster, *nfs.Server) {
	c := storagesimtest.New(t, storagesim.Config{Nodes: storagesim.Nodes("node-1", "node-2")})
	server := &nfs.Server{}
	c.AddProvisioner(name, &nfs.Provisioner{Address: "nfs.example.com", Server: server})
	return c, server
}

// requireBound requires that the claim is bound to the only export there is.
func requireBound(t *testing.T, c *storagesimtest.Cluster, server *nfs.Server) {
	claim := c.Claim("default/data")
	require.Equal(t, v1.ClaimBound, claim.Status.Phase)
	require.Equal(t, []string{claim.Spec.VolumeName}, server.Exports())

	volume := c.Volume(claim.Spec.VolumeName)
	require.Equal(t, "/"+volume.Name, volume.Spec.NFS.Path)
	require.Equal(t, []string{"nfsvers=4.1"}, volume.Spec.MountOptions)
}

// requireGone deletes pod and claim and requires that nothing is left.
func requireGone(t *testing.T, c *storagesimtest.Cluster, server *nfs.Server) {
	c.Delete("pod/default/web", "pvc/default/data")
	c.Settle()
	c.RequireNoLeaks() // backend, API objects, mounts and directories agree
	require.Empty(t, server.Exports())
}

func TestAClaimGetsAnExportAndGivesItBack(t *testing.T) {
	c, server := newCluster(t)
	c.Apply(manifests)
	c.Settle()
	requireBound(t, c, server)
	requireGone(t, c, server)
}

// The provisioner's process ends just before, or just after, a call it makes to
// the API server, and comes back 30 s later with its memory gone: once for every
// call there is, each in a cluster of its own.
func TestTheProvisionerMayCrashAtAnyMoment(t *testing.T) {
	crashed := true
	for call := 0; crashed && !t.Failed(); call++ {
		for _, after := range []bool{false, true} {
			t.Run(fmt.Sprintf("call %d, after it %t", call+1, after), func(t *testing.T) {
				c, server := newCluster(t)
				c.Inject(engine.Fault{Actor: name, Skip: call, After: after, Crash: true, Restart: 30 * time.Second})
				c.Apply(manifests)
				c.Settle()
				requireBound(t, c, server)
				requireGone(t, c, server)
				crashed = strings.Contains(c.Story(), "is down")
				require.True(t, crashed || call > 0, "the first call must be one that crashes")
			})
		}
	}
}

// The API server refuses the PersistentVolume three times. The export is there
// already: it must become the claim's volume in the end, and no second one.
func TestTheAPIServerRefusesTheVolume(t *testing.T) {
	c, server := newCluster(t)
	c.Inject(engine.Fault{
		Actor: name, Verb: "create", Resource: "persistentvolumes", Times: 3, Err: errors.New("etcdserver: no leader"),
	})
	c.Apply(manifests)
	c.Settle()
	require.Contains(t, c.Story(), "no leader")
	requireBound(t, c, server)
	requireGone(t, c, server)
}

// The export is made, the answer is lost, and the user deletes the claim before the
// provisioner is asked again. It is asked again all the same, and then the export is
// deleted with its volume.
func TestTheAnswerIsLostAndTheClaimDeleted(t *testing.T) {
	c := storagesimtest.New(t, storagesim.Config{})
	server := &nfs.Server{}
	faulty := &provisioner.Faulty{Provisioner: &nfs.Provisioner{Address: "nfs.example.com", Server: server}}
	faulty.OnProvision(provisioner.Answer{AnswerLost: true})
	c.AddProvisioner(name, faulty)
	c.Apply(manifests)
	c.RunUntil(func() bool { return len(server.Exports()) == 1 })
	requireGone(t, c, server)
}
