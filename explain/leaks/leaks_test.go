package leaks_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"github.com/storagesim/storagesim"
	"github.com/storagesim/storagesim/api/fake"
	"github.com/storagesim/storagesim/engine"
	"github.com/storagesim/storagesim/internal/rigs/clustertest"
	"github.com/storagesim/storagesim/machine/disk"
	"github.com/storagesim/storagesim/machine/mount"
	"github.com/storagesim/storagesim/provisioner"
	"github.com/storagesim/storagesim/provisioner/openebs"
	"github.com/storagesim/storagesim/storagesimtest"
)

func TestWhatANodeHasOfPodsThatAreGoneIsALeak(t *testing.T) {
	dir := t.TempDir()
	c := storagesimtest.New(t, storagesim.Config{Dir: dir})
	c.Apply(clustertest.PodYAML("web", "emptyDir: {}", "mountPath: /data", "[sleep]"))
	c.Settle()
	c.RequireNoLeaks()

	node, err := disk.Open(filepath.Join(dir, "node-1"))
	require.NoError(t, err)
	defer node.Close()
	mounter, err := mount.NewTempDir(mount.Config{Dir: node})
	require.NoError(t, err)
	const target = "/var/lib/kubelet/pods/gone/volumes/kubernetes.io~local-volume/pv"
	require.NoError(t, node.MkdirAll("/disk", 0o755))
	require.NoError(t, node.MkdirAll(target, 0o755))
	require.NoError(t, mounter.Mount("/disk", target, "", []string{"bind"}))
	requireLeaks(t, c,
		"directory /var/lib/kubelet/pods/gone on node-1, whose pod is gone (made by kubelet/node-1)",
		"mount "+target+" on node-1, whose pod is gone (made by kubelet/node-1)")

	require.NoError(t, node.RemoveAll("/var/lib/kubelet/pods/gone"))
	requireLeaks(t, c, "mount record /run/mounts/"+clustertest.MountRecord(target)+" on node-1, whose mount is gone (made by kubelet/node-1)")
	requireLeaks(t, c, "mount record /run/mounts/"+clustertest.MountRecord(target)+
		" on node-1, whose mount is gone (made by kubelet/node-1)") // looking changes nothing
}

func TestAPodOnAnotherNodeIsGoneFromThisOne(t *testing.T) {
	dir := t.TempDir()
	c := storagesimtest.New(t, storagesim.Config{Dir: dir, Nodes: storagesim.Nodes("node-1", "node-2")})
	c.Apply(clustertest.PodYAML("web", "emptyDir: {}", "mountPath: /data", "[sleep]"))
	c.Settle()
	uid := string(c.Pod("web").UID)
	require.NoError(t, os.MkdirAll(filepath.Join(dir, "node-2/var/lib/kubelet/pods", uid), 0o755))
	requireLeaks(t, c, "directory /var/lib/kubelet/pods/"+uid+" on node-2, whose pod is gone (made by kubelet/node-2)")
}

func TestAVolumesDirectoryOnAnotherNodeIsALeak(t *testing.T) {
	c := storagesimtest.New(t, storagesim.Config{Nodes: storagesim.Nodes("node-1", "node-2")})
	c.AddProvisionController(openebs.Controller(openebs.Config{}))
	c.Apply(clustertest.MainStory...)
	c.Settle()
	c.RequireNoLeaks()
	pv := c.Claim("local-hostpath-pvc").Spec.VolumeName
	other := "node-1"
	if c.Pod("hello-local-hostpath-pod").Spec.NodeName == other {
		other = "node-2"
	}
	// As if the provisioner had been there first, before the pod moved.
	helper := &v1.Pod{}
	require.NoError(t, yaml.UnmarshalStrict([]byte(clustertest.PodYAML("helper", clustertest.HostPathYAML("/var/openebs/local", "DirectoryOrCreate"),
		"mountPath: /data", "[mkdir, /data/"+pv+"]")), helper))
	helper.Spec.NodeName = other
	pods := fake.New(c.Engine().Server(), openebs.ProvisionerName).CoreV1().Pods("default")
	_, err := pods.Create(context.Background(), helper, metav1.CreateOptions{})
	require.NoError(t, err)
	c.Settle()
	lost := "directory /var/openebs/local/" + pv + " on " + other + ", which no volume uses (made by openebs.io/local)"
	requireLeaks(t, c, "helper pod default/helper (Succeeded) (made by openebs.io/local)", lost)
	c.Delete("pod/helper")
	c.Settle()
	requireLeaks(t, c, lost)
}

func TestAnAttachmentOfWhatIsGoneIsALeak(t *testing.T) {
	c := storagesimtest.New(t, storagesim.Config{})
	pv := "no-such-volume"
	_, err := c.Client().StorageV1().VolumeAttachments().Create(context.Background(), &storagev1.VolumeAttachment{
		ObjectMeta: metav1.ObjectMeta{Name: "csi-1"},
		Spec: storagev1.VolumeAttachmentSpec{
			Attacher: "csi.example.com", NodeName: "no-such-node", Source: storagev1.VolumeAttachmentSource{PersistentVolumeName: &pv},
		},
	}, metav1.CreateOptions{})
	require.NoError(t, err)
	c.Settle()
	requireLeaks(t, c, "volumeattachment csi-1, whose node no-such-node is gone", "volumeattachment csi-1, whose pv no-such-volume is gone")
}

func TestADirectoryThatAUsersPodMadeIsNoLeak(t *testing.T) {
	c := storagesimtest.New(t, storagesim.Config{})
	c.Apply(clustertest.PodYAML("web", clustertest.HostPathYAML("/srv", "DirectoryOrCreate"), "mountPath: /data", `[mkdir, /data/mine]`))
	c.Settle()
	c.Delete("pod/web")
	c.Settle()
	names := c.Machine("node/node-1").ListDir("/srv")
	require.Equal(t, []string{"mine/"}, names)
	c.RequireNoLeaks()
}

// IgnoredError is for several provisioners of one name: each has a backend of its own.
func TestAVolumeOfAnotherProvisionerOfTheSameNameIsNoLeak(t *testing.T) {
	c := storagesimtest.New(t, storagesim.Config{NoNodes: true})
	mine := clustertest.NewShelf()
	theirs := &provisioner.Faulty{Provisioner: clustertest.NewShelf()}
	theirs.OnProvision(provisioner.Answer{Times: -1, Err: &provisioner.IgnoredError{Reason: "it is not mine"}})
	c.AddProvisioner(clustertest.ShelfName, mine)
	c.AddProvisionController(provisioner.Config{Name: "example.com/other-shelf", AdditionalNames: []string{clustertest.ShelfName}, Provisioner: theirs})
	c.Apply(clustertest.ShelfClass, clustertest.ShelfClaim("data"))
	c.Settle()
	require.Equal(t, v1.ClaimBound, c.Claim("data").Status.Phase)
	c.RequireNoLeaks()

	volume := c.Claim("data").Spec.VolumeName
	delete(mine.Holds, volume)
	requireLeaks(t, c, "pv "+volume+" refers to a volume that the backend of example.com/shelf does not have (made by example.com/shelf)")
}

// kubernetes-csi/external-provisioner 486: nothing was written down before the process
// ended, and the claim that would bring it back to the volume is gone.
func TestWhatAProcessThatEndedLeftBehindIsNamedAsUpstreamsOwnLeak(t *testing.T) {
	const known = "a known leak of the upstream library"
	for name, tt := range map[string]struct {
		crash engine.Fault
		known bool
	}{
		"before it creates the pv": {engine.Fault{Actor: openebs.ProvisionerName, Verb: "create", Resource: "pv", Crash: true, Restart: time.Minute}, true},
		"its requests are refused": {engine.Fault{Actor: openebs.ProvisionerName, Resource: "pods", Verb: "delete", Times: -1, Err: errors.New("etcd is down")},
			false},
	} {
		t.Run(name, func(t *testing.T) {
			c := storagesimtest.New(t, storagesim.Config{})
			c.AddProvisionController(openebs.Controller(openebs.Config{}))
			c.Inject(tt.crash)
			c.Apply(leakyManifests)
			c.RunFor(10 * time.Second)
			c.Delete("pod/web", "pvc/data")
			c.RunFor(2 * time.Minute)
			var leaks *storagesim.LeakError
			require.ErrorAs(t, c.Cluster.RequireNoLeaks(), &leaks)
			found := false
			for _, leak := range leaks.Leaks {
				if strings.HasPrefix(leak.What, "directory ") {
					found = true
					assert.Equal(t, tt.known, strings.HasPrefix(leak.Known, known), leak.String())
					assert.Equal(t, tt.known, strings.Contains(leak.String(), "(made by openebs.io/local); "+known))
				}
			}
			assert.True(t, found, "%v", leaks)
		})
	}
}

const leakyManifests = `
apiVersion: storage.k8s.io/v1
kind: StorageClass
metadata: {name: openebs-hostpath}
provisioner: openebs.io/local
volumeBindingMode: WaitForFirstConsumer
---
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: data}
spec: {storageClassName: openebs-hostpath, accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}
---
apiVersion: v1
kind: Pod
metadata: {name: web}
spec:
  containers: [{name: web, image: nginx, volumeMounts: [{name: data, mountPath: /data}]}]
  volumes: [{name: data, persistentVolumeClaim: {claimName: data}}]
`
