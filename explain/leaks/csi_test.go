package leaks_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	spec "github.com/container-storage-interface/spec/lib/go/csi"
	"github.com/stretchr/testify/require"

	"github.com/storagesim/storagesim"
	"github.com/storagesim/storagesim/csi"
	"github.com/storagesim/storagesim/csi/call"
	"github.com/storagesim/storagesim/csi/driver"
	"github.com/storagesim/storagesim/engine"
	"github.com/storagesim/storagesim/explain/leaks"
	"github.com/storagesim/storagesim/internal/rigs/clustertest"
	"github.com/storagesim/storagesim/storagesimtest"
)

// tampered says that a driver holds what the test changes it to.
type tampered struct {
	csi.Inventory
	change func(held *csi.Holdings)
}

func (h *tampered) Holdings() csi.Holdings {
	held := h.Inventory.Holdings()
	if h.change != nil {
		h.change(&held)
	}
	return held
}

// mountedCSI returns a cluster in which the pod web has a volume of the reference driver.
func mountedCSI(t *testing.T) (*storagesimtest.Cluster, *tampered) {
	t.Helper()
	c := storagesimtest.New(t, storagesim.Config{Disks: storagesim.MemoryDisks})
	d, err := driver.New(driver.Config{})
	require.NoError(t, err)
	held := &tampered{Inventory: d.Inventory}
	d.Inventory = held
	c.InstallCSIDriver(d)
	c.Apply(clustertest.CSIManifests)
	c.RunFor(time.Minute)
	c.RequireNoLeaks()
	return c, held
}

func TestWhatACSIDriverHoldsAndNeedNotIsFoundAndNamed(t *testing.T) {
	c, held := mountedCSI(t)
	pv, had := c.Claim("data").Spec.VolumeName, held.Inventory.Holdings()
	id := had.Volumes[0]
	leak := func(kind leaks.Kind, path string) storagesim.Leak {
		return storagesim.Leak{Kind: kind, Handle: id, Volume: pv, Claim: "default/data", Provisioner: driver.Name, Machine: "node/node-1", Path: path}
	}
	for name, test := range map[string]struct {
		change func(held *csi.Holdings)
		want   storagesim.Leak
		what   string
	}{
		"a volume without a PersistentVolume": {
			func(held *csi.Holdings) { held.Volumes = append(held.Volumes, "vol-extra") },
			storagesim.Leak{Kind: leaks.BackendVolume, Handle: "vol-extra", Provisioner: driver.Name},
			"volume vol-extra of driver csi.storagesim.io, for which there is no pv",
		},
		"a PersistentVolume without its volume": {
			func(held *csi.Holdings) { held.Volumes = nil },
			storagesim.Leak{Kind: leaks.MissingVolume, Handle: id, Volume: pv, Claim: "default/data", Provisioner: driver.Name, Maker: "csi-provisioner/" + driver.Name},
			"pv " + pv + " refers to volume " + id + ", which driver csi.storagesim.io does not have",
		},
		"an attachment without a VolumeAttachment": {
			func(held *csi.Holdings) { held.Attached = append(held.Attached, csi.Place{Volume: id, Node: "node-9"}) },
			storagesim.Leak{Kind: leaks.DriverAttachment, Handle: id, Volume: pv, Claim: "default/data", Provisioner: driver.Name},
			"volume " + id + " of driver csi.storagesim.io, attached to node node-9 without a volumeattachment",
		},
		"a staging of a volume that is gone": {
			func(held *csi.Holdings) {
				held.Staged = append(held.Staged, csi.Place{Volume: "vol-gone", Node: "node-1", Path: "/staging"})
			},
			storagesim.Leak{Kind: leaks.Staging, Handle: "vol-gone", Provisioner: driver.Name, Machine: "node/node-1", Path: "/staging"},
			"volume vol-gone of driver csi.storagesim.io, staged on node node-1 at /staging, which no pod there uses",
		},
		"a mount that the driver does not know of": {
			func(held *csi.Holdings) { held.Staged = nil },
			storagesim.Leak{Kind: leaks.Staging, Provisioner: driver.Name, Machine: "node/node-1", Path: had.Staged[0].Path},
			"a mount on node-1 at " + had.Staged[0].Path + ", which driver csi.storagesim.io does not know of",
		},
		"a staging at a path that it was not given": {
			func(held *csi.Holdings) {
				held.Staged = append(held.Staged, csi.Place{Volume: id, Node: "node-1", Path: "/mnt/mine"})
			},
			leak(leaks.Staging, "/mnt/mine"),
			"volume " + id + " of driver csi.storagesim.io, staged on node node-1 at /mnt/mine, a path that the driver was not given; it was given " +
				had.Staged[0].Path,
		},
		"a publication at a path that it was not given": {
			func(held *csi.Holdings) {
				held.Published = append(held.Published, csi.Place{Volume: id, Node: "node-1", Path: had.Published[0].Path + "/deeper"})
			},
			leak(leaks.Publication, had.Published[0].Path+"/deeper"),
			"volume " + id + " of driver csi.storagesim.io, published on node node-1 at " + had.Published[0].Path +
				"/deeper, a path that the driver was not given; for pod default/web it was given " + had.Published[0].Path,
		},
		"a publication for a pod that is gone": {
			func(held *csi.Holdings) {
				held.Published = append(held.Published, csi.Place{Volume: id, Node: "node-1", Path: "/var/lib/kubelet/pods/gone/mount"})
			},
			leak(leaks.Publication, "/var/lib/kubelet/pods/gone/mount"),
			"volume " + id + " of driver csi.storagesim.io, published on node node-1 at /var/lib/kubelet/pods/gone/mount, whose pod is gone",
		},
	} {
		t.Run(name, func(t *testing.T) {
			held.change = test.change
			test.want.What = test.what
			var found *storagesim.LeakError
			require.ErrorAs(t, c.Cluster.RequireNoLeaks(), &found)
			require.True(t, slices.ContainsFunc(found.Leaks, func(l storagesim.Leak) bool {
				l.Why = ""
				return l == test.want
			}), "%+v", found.Leaks)
			require.Len(t, found.Leaks, 1)
		})
	}
}

// A driver that says it has deleted a volume, and keeps it, is found without any tampering.
func TestAVolumeThatACSIDriverKeepsAfterItsDeletionIsALeak(t *testing.T) {
	c, held := mountedCSI(t)
	id := held.Inventory.Holdings().Volumes[0]
	file, err := c.Cluster.Machine("host/" + driver.Name).ReadFile("/volumes/" + id + "/volume.json")
	require.NoError(t, err)
	c.Delete("pod/web", "pvc/data")
	c.RunFor(2 * time.Minute)
	c.RequireNoLeaks()
	c.Machine("host/"+driver.Name).MakeDir("/volumes/"+id, 0o755)
	c.Machine("host/"+driver.Name).WriteFile("/volumes/"+id+"/volume.json", file)
	require.ErrorContains(t, c.Cluster.RequireNoLeaks(), "volume "+id+" of driver csi.storagesim.io, for which there is no pv")
}

// A driver of an author that mounts where it was not asked to, and says nothing of it.
func TestAMountOfADriverAtAPathThatItWasNotGivenIsALeak(t *testing.T) {
	c := storagesimtest.New(t, storagesim.Config{Disks: storagesim.MemoryDisks})
	d, err := driver.New(driver.Config{})
	require.NoError(t, err)
	node := d.Node
	d.Node = func(h csi.Host) (spec.NodeServer, error) {
		server, err := node(h)
		return straying{server, h}, err
	}
	c.InstallCSIDriver(d)
	c.Apply(clustertest.CSIManifests)
	c.RunFor(time.Minute)
	var found *storagesim.LeakError
	require.ErrorAs(t, c.Cluster.RequireNoLeaks(), &found)
	require.Len(t, found.Leaks, 1)
	require.Equal(t, "a mount on node-1 at /mnt/stray, which driver csi.storagesim.io does not know of", found.Leaks[0].What)
}

// straying is a node server that bind mounts what it stages in a second place.
type straying struct {
	spec.NodeServer
	host csi.Host
}

func (s straying) NodeStageVolume(ctx context.Context, req *spec.NodeStageVolumeRequest) (*spec.NodeStageVolumeResponse, error) {
	answer, err := s.NodeServer.NodeStageVolume(ctx, req)
	if err == nil {
		err = errors.Join(s.host.Machine.Disk().MkdirAll("/mnt/stray", 0o755),
			s.host.Machine.Mounter().Mount(req.StagingTargetPath, "/mnt/stray", "", []string{"bind"}))
	}
	return answer, err
}

// bugs: 1. Upstream's is open; storagesim explore found it in ours, which follows upstream.
func TestAVolumeThatWasMadeForAClaimThatWentWhileTheProvisionerWasDownIsAKnownLeak(t *testing.T) {
	for name, fault := range map[string]func(c *storagesimtest.Cluster, actor string){
		"it crashes before the pv": func(c *storagesimtest.Cluster, actor string) {
			c.Inject(engine.Fault{Actor: actor, Verb: "create", Resource: "pv", Crash: true, Restart: time.Minute})
		},
		"the answer is lost, and it crashes": func(c *storagesimtest.Cluster, actor string) {
			c.Inject(call.Fault{Method: "CreateVolume", After: true})
			c.RunUntil(func() bool { return strings.Contains(c.Story(), "CreateVolume") })
			c.Must(c.Engine().CrashFor(actor, time.Minute))
		},
	} {
		t.Run(name, func(t *testing.T) {
			c := storagesimtest.New(t, storagesim.Config{Disks: storagesim.MemoryDisks})
			d, err := driver.New(driver.Config{})
			require.NoError(t, err)
			c.InstallCSIDriver(d)
			c.Settle()
			c.Apply(`
apiVersion: storage.k8s.io/v1
kind: StorageClass
metadata: {name: csi}
provisioner: csi.storagesim.io
---
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: data}
spec: {storageClassName: csi, accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}
`)
			fault(c, "csi-provisioner/"+d.Name)
			c.RunFor(time.Second)
			c.Delete("pvc/data")
			c.RunFor(10 * time.Minute)
			found, ok := errors.AsType[*storagesim.LeakError](c.Cluster.RequireNoLeaks())
			require.True(t, ok, c.Story())
			require.Len(t, found.Leaks, 1)
			require.Equal(t, leaks.BackendVolume, found.Leaks[0].Kind)
			require.Contains(t, found.Leaks[0].Known, "external-provisioner issue 486", c.Story())
		})
	}
}
