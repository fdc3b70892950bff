package leaks_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/storagesim/storagesim"
	"github.com/storagesim/storagesim/control"
	"github.com/storagesim/storagesim/engine"
	"github.com/storagesim/storagesim/explain/leaks"
	"github.com/storagesim/storagesim/internal/rigs/clustertest"
	"github.com/storagesim/storagesim/provisioner"
	"github.com/storagesim/storagesim/provisioner/openebs"
	"github.com/storagesim/storagesim/storagesimtest"
)

// leaksOf returns the leaks found, without the words that come from Explain.
func leaksOf(t *testing.T, c *storagesimtest.Cluster) []storagesim.Leak {
	t.Helper()
	var found *storagesim.LeakError
	require.ErrorAs(t, c.Cluster.RequireNoLeaks(), &found)
	for i, leak := range found.Leaks {
		require.NotEmpty(t, leak.What)
		require.Contains(t, found.Error(), leak.String())
		require.Contains(t, found.Error(), leak.Known)
		found.Leaks[i].What, found.Leaks[i].Known, found.Leaks[i].Why = "", "", ""
	}
	return found.Leaks
}

// requireLeaks requires that the cluster has these leaks, in this order, and no others.
func requireLeaks(t *testing.T, c *storagesimtest.Cluster, want ...string) {
	t.Helper()
	var found *storagesim.LeakError
	require.ErrorAs(t, c.Cluster.RequireNoLeaks(), &found)
	var lines []string
	for _, leak := range found.Leaks {
		lines = append(lines, leak.String())
	}
	require.Equal(t, want, lines)
}

func shelfWithAVolume(t *testing.T) (*storagesimtest.Cluster, *clustertest.Shelf, string) {
	t.Helper()
	mine := clustertest.NewShelf()
	c := storagesimtest.New(t, storagesim.Config{})
	c.AddProvisioner(clustertest.ShelfName, mine)
	c.Apply(clustertest.ShelfClass, clustertest.ShelfClaim("data"))
	c.Settle()
	c.RequireNoLeaks()
	return c, mine, c.Claim("data").Spec.VolumeName
}

func TestEachKindOfLeakSaysInFieldsWhatItIs(t *testing.T) {
	for name, leak := range map[string]func(t *testing.T) (*storagesimtest.Cluster, []storagesim.Leak){
		"a volume of a backend": func(t *testing.T) (*storagesimtest.Cluster, []storagesim.Leak) {
			c, mine, _ := shelfWithAVolume(t)
			mine.Holds["extra"] = true
			return c, []storagesim.Leak{{Kind: leaks.BackendVolume, Volume: "extra", Provisioner: clustertest.ShelfName, Maker: clustertest.ShelfName}}
		},
		"a volume that the backend lost": func(t *testing.T) (*storagesimtest.Cluster, []storagesim.Leak) {
			c, mine, pv := shelfWithAVolume(t)
			delete(mine.Holds, pv)
			return c, []storagesim.Leak{{Kind: leaks.MissingVolume, Volume: pv, Claim: "default/data", Provisioner: clustertest.ShelfName, Maker: clustertest.ShelfName}}
		},
		"a volume without its claim": func(t *testing.T) (*storagesimtest.Cluster, []storagesim.Leak) {
			c, _, pv := shelfWithAVolume(t)
			c.Inject(engine.Fault{Actor: clustertest.ShelfName, Verb: "delete", Times: -1, Err: errors.New("no")})
			c.Delete("pvc/data")
			c.Settle()
			return c, []storagesim.Leak{
				{Kind: leaks.MissingVolume, Volume: pv, Claim: "default/data", Provisioner: clustertest.ShelfName, Maker: clustertest.ShelfName},
				{Kind: leaks.Volume, Volume: pv, Claim: "default/data", Provisioner: clustertest.ShelfName, Maker: clustertest.ShelfName},
			}
		},
		"a claim without its volume": func(t *testing.T) (*storagesimtest.Cluster, []storagesim.Leak) {
			c, mine, pv := shelfWithAVolume(t)
			c.Stop(storagesim.PVController)
			volumes := c.Client().CoreV1().PersistentVolumes()
			require.NoError(t, volumes.Delete(t.Context(), pv, metav1.DeleteOptions{}))
			volume := c.Volume(pv)
			volume.Finalizers = nil
			_, err := volumes.Update(t.Context(), volume, metav1.UpdateOptions{})
			require.NoError(t, err)
			delete(mine.Holds, pv)
			return c, []storagesim.Leak{{Kind: leaks.Claim, Claim: "default/data", Volume: pv}}
		},
		"an attachment": func(t *testing.T) (*storagesimtest.Cluster, []storagesim.Leak) {
			c, _, pv := shelfWithAVolume(t)
			_, err := c.Client().StorageV1().VolumeAttachments().Create(t.Context(), &storagev1.VolumeAttachment{
				ObjectMeta: metav1.ObjectMeta{Name: "csi-1"},
				Spec: storagev1.VolumeAttachmentSpec{Attacher: "csi.example.com", NodeName: "gone",
					Source: storagev1.VolumeAttachmentSource{PersistentVolumeName: &pv}},
			}, metav1.CreateOptions{})
			require.NoError(t, err)
			return c, []storagesim.Leak{{Kind: leaks.Attachment, Attachment: "csi-1", Machine: "node/gone", Volume: pv}}
		},
		"a helper pod and what it made": func(t *testing.T) (*storagesimtest.Cluster, []storagesim.Leak) {
			c := storagesimtest.New(t, storagesim.Config{Nodes: storagesim.Nodes("node-1")})
			c.AddProvisionController(openebs.Controller(openebs.Config{}))
			c.Inject(engine.Fault{Actor: openebs.ProvisionerName, Resource: "pods", Verb: "delete", Times: -1, Err: errors.New("etcd is down")})
			c.Apply(leakyManifests)
			c.RunFor(10 * time.Second)
			pv := "pvc-" + string(c.Claim("data").UID)
			c.Delete("pod/web", "pvc/data")
			c.RunFor(2 * time.Minute)
			return c, []storagesim.Leak{
				{Kind: leaks.HelperPod, Pod: "openebs/init-" + pv, Machine: "node/node-1", Provisioner: openebs.ProvisionerName, Maker: openebs.ProvisionerName},
				{
					Kind: leaks.Directory, Machine: "node/node-1", Path: "/var/openebs/local/" + pv, Volume: pv,
					Provisioner: openebs.ProvisionerName, Maker: openebs.ProvisionerName,
				},
			}
		},
		"what a node has of a pod": func(t *testing.T) (*storagesimtest.Cluster, []storagesim.Leak) {
			c := storagesimtest.New(t, storagesim.Config{})
			c.Machine("node/node-1").MakeDir("/var/lib/kubelet/pods/gone", 0o755)
			return c, []storagesim.Leak{{Kind: leaks.PodState, Machine: "node/node-1", Path: "/var/lib/kubelet/pods/gone", Maker: "kubelet/node-1"}}
		},
		"a record of a mount": func(t *testing.T) (*storagesimtest.Cluster, []storagesim.Leak) {
			c := storagesimtest.New(t, storagesim.Config{})
			const target = "/var/lib/kubelet/pods/gone/volumes/kubernetes.io~nfs/pv"
			at := "/run/mounts/" + clustertest.MountRecord(target)
			c.Machine("node/node-1").MakeDir("/run/mounts", 0o755)
			c.Machine("node/node-1").WriteFile(at, `{"target": "`+target+`", "source": "/disk"}`)
			return c, []storagesim.Leak{{Kind: leaks.MountRecord, Machine: "node/node-1", Path: at, Maker: "kubelet/node-1"}}
		},
	} {
		t.Run(name, func(t *testing.T) {
			c, want := leak(t)
			require.Equal(t, want, leaksOf(t, c))
		})
	}
}

func TestWhatAProvisionerMadeAndDidNotReportBeforeItCrashedIsALeak(t *testing.T) {
	for name, first := range map[string]bool{"the first volume": true, "a later volume": false} {
		t.Run(name, func(t *testing.T) {
			exports := "/srv"
			if !first {
				exports = "/" // then only the volume before it shows where volumes are made
			}
			c := storagesimtest.New(t, storagesim.Config{NFSServers: []storagesim.NFSServer{{Name: "nas", Exports: []string{exports}}}})
			c.AddProvisionController(provisioner.Config{Name: clustertest.ShelfName, New: func(env control.Env) (provisioner.Provisioner, error) {
				return &clustertest.Slow{Env: env, Server: c.Cluster.Machine("nfs/nas").NFSServer().Disk()}, nil
			}})
			c.Machine("nfs/nas").MakeDir("/srv/pvc-mine", 0o755) // no name of the library's
			c.Apply(clustertest.ShelfClass)
			maker := ""
			if !first {
				maker = clustertest.ShelfName
				c.Apply(clustertest.ShelfClaim("other"))
				c.RunFor(time.Minute)
				require.Equal(t, v1.ClaimBound, c.Claim("other").Status.Phase)
			}
			c.Apply(clustertest.ShelfClaim("data"))
			c.RunFor(5 * time.Second)
			pv := "pvc-" + string(c.Claim("data").UID)
			c.Must(c.Engine().CrashFor(clustertest.ShelfName, time.Minute))
			c.Delete("pvc/data")
			c.RunFor(10 * time.Minute)
			require.Equal(t, []storagesim.Leak{{Kind: leaks.Directory, Machine: "nfs/nas", Path: "/srv/" + pv, Volume: pv, Provisioner: maker, Maker: maker}},
				leaksOf(t, c))
		})
	}
}

func TestAStoryDoesNotTellAssetsAndTheTraceHasThem(t *testing.T) {
	c := storagesimtest.New(t, storagesim.Config{})
	c.AddProvisionController(openebs.Controller(openebs.Config{}))
	c.Apply(clustertest.MainStory...)
	c.Settle()
	pv := c.Claim("local-hostpath-pvc").Spec.VolumeName
	asset := "kubelet/node-1 makes /var/openebs/local/" + pv + " on node/node-1 for pod openebs/init-" + pv
	require.NotContains(t, c.Story(), "makes /var/openebs/local/")
	require.Contains(t, c.Engine().Trace().String(), asset+"\n")
	c.Delete("pod/hello-local-hostpath-pod", "pvc/local-hostpath-pvc")
	c.Settle()
	require.Contains(t, c.Engine().Trace().String(), " removes /var/openebs/local/"+pv+" on node/node-1 for pod openebs/cleanup-"+pv+"\n")
	c.RequireNoLeaks()
}

// retaining makes each volume of a shelf with the policy Retain.
type retaining struct{ *clustertest.Shelf }

func (r retaining) Provision(ctx context.Context, o provisioner.ProvisionOptions) (*v1.PersistentVolume, provisioner.ProvisioningState, error) {
	pv, state, err := r.Shelf.Provision(ctx, o)
	if pv != nil {
		pv.Spec.PersistentVolumeReclaimPolicy = v1.PersistentVolumeReclaimRetain
	}
	return pv, state, err
}

// An administrator who wants to keep a volume changes its policy later, or asks for it in the class.
func TestAVolumeThatIsRetainedAgainstItsClassIsALeak(t *testing.T) {
	for policy, leak := range map[string]string{
		"Delete": "pv NAME (Released), whose claim default/data is gone; it was made with reclaim policy Retain, and its class shelf says Delete " +
			"(made by example.com/shelf)",
		"Retain": "",
	} {
		c := storagesimtest.New(t, storagesim.Config{})
		c.AddProvisioner("example.com/shelf", retaining{clustertest.NewShelf()})
		c.Apply("apiVersion: storage.k8s.io/v1\nkind: StorageClass\nmetadata: {name: shelf}\nprovisioner: example.com/shelf\nreclaimPolicy: "+policy,
			"apiVersion: v1\nkind: PersistentVolumeClaim\nmetadata: {name: data}\n"+
				"spec: {accessModes: [ReadWriteOnce], storageClassName: shelf, resources: {requests: {storage: 1Gi}}}\n")
		c.Settle()
		volume := c.Claim("data").Spec.VolumeName
		c.Delete("pvc/data")
		c.Settle()
		if leak == "" {
			c.RequireNoLeaks()
			continue
		}
		requireLeaks(t, c, strings.ReplaceAll(leak, "NAME", volume))
	}
}
