package csi_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	spec "github.com/container-storage-interface/spec/lib/go/csi"
	"github.com/stretchr/testify/require"
	storagev1 "k8s.io/api/storage/v1"

	"github.com/storagesim/storagesim"
	"github.com/storagesim/storagesim/csi"
	"github.com/storagesim/storagesim/internal/unshared"
	"github.com/storagesim/storagesim/machine/mount"
	"github.com/storagesim/storagesim/storagesimtest"
)

// byOS is a node server that works on the files of the computer it runs on, as drivers do. what, if set, is mounted at
// the target paths.
type byOS struct {
	spec.UnimplementedNodeServer
	node, what string
	made       *[]string
}

func (d byOS) NodeGetInfo(context.Context, *spec.NodeGetInfoRequest) (*spec.NodeGetInfoResponse, error) {
	return &spec.NodeGetInfoResponse{NodeId: d.node}, nil
}

func (d byOS) NodeGetCapabilities(context.Context, *spec.NodeGetCapabilitiesRequest) (*spec.NodeGetCapabilitiesResponse, error) {
	return &spec.NodeGetCapabilitiesResponse{}, nil
}

func (d byOS) NodePublishVolume(_ context.Context, req *spec.NodePublishVolumeRequest) (*spec.NodePublishVolumeResponse, error) {
	at := req.GetTargetPath()
	*d.made = append(*d.made, at)
	err := os.MkdirAll(at, 0o755)
	if err == nil {
		err = os.WriteFile(filepath.Join(at, "made"), []byte("by the driver"), 0o644)
	}
	if err == nil && d.what != "" {
		err = syscall.Mount(d.what, at, "", syscall.MS_BIND, "")
	}
	return &spec.NodePublishVolumeResponse{}, err
}

func (d byOS) NodeUnpublishVolume(_ context.Context, req *spec.NodeUnpublishVolumeRequest) (*spec.NodeUnpublishVolumeResponse, error) {
	if d.what != "" {
		_ = syscall.Unmount(req.GetTargetPath(), 0)
	}
	return &spec.NodeUnpublishVolumeResponse{}, errors.Join(os.Remove(filepath.Join(req.GetTargetPath(), "made")), os.Remove(req.GetTargetPath()))
}

// driverByOS returns a driver with inline volumes only, and the paths that it was given.
func driverByOS(real bool, what string) (csi.Driver, *[]string) {
	attach, made := false, &[]string{}
	return csi.Driver{
		Name: "real.example.com", RealPaths: real,
		Spec: storagev1.CSIDriverSpec{AttachRequired: &attach, VolumeLifecycleModes: []storagev1.VolumeLifecycleMode{storagev1.VolumeLifecycleEphemeral}},
		Node: func(h csi.Host) (spec.NodeServer, error) { return byOS{node: h.Node, what: what, made: made}, nil },
	}, made
}

const inlinePod = `
apiVersion: v1
kind: Pod
metadata: {name: web}
spec:
  containers: [{name: web, image: busybox, volumeMounts: [{name: data, mountPath: /data}]}]
  volumes: [{name: data, csi: {driver: real.example.com}}]
`

func TestADriverInThisProcessCanUseRealPaths(t *testing.T) {
	c := storagesimtest.New(t, storagesim.Config{Disks: storagesim.DirectoryDisks})
	d, made := driverByOS(true, "")
	c.InstallCSIDriver(d)
	c.RunFor(10 * time.Second)
	c.Apply(inlinePod)
	c.RunFor(time.Minute)
	require.Equal(t, "by the driver", c.Machine("pod/web").ReadFile("/data/made"))
	require.True(t, strings.HasPrefix((*made)[0], c.Lab().Dir()+"/node-1/var/lib/kubelet/pods/"), (*made)[0])
	c.Delete("pod/web")
	c.RunFor(time.Minute)
	c.RequireNoLeaks()
}

// It made /var/lib/kubelet/pods on the developer's computer, and all tests passed.
func TestADriverThatUsesRealPathsUnaskedIsToldSo(t *testing.T) {
	unshared.Test(t, func(t *testing.T) {
		require.NoError(t, syscall.Mount("none", "/var", "tmpfs", 0, "")) // only this process sees what it makes there
		defer func() { require.NoError(t, syscall.Unmount("/var", syscall.MNT_DETACH)) }()
		for _, disks := range []storagesim.Disks{storagesim.DirectoryDisks, storagesim.MemoryDisks} {
			c := storagesimtest.New(t, storagesim.Config{Disks: disks})
			d, made := driverByOS(false, "")
			c.InstallCSIDriver(d)
			c.RunFor(10 * time.Second)
			c.Apply(inlinePod)
			c.RunFor(time.Minute)
			require.FileExists(t, (*made)[0]+"/made", "it is on this computer")
			require.Equal(t, "Pending", string(c.Pod("web").Status.Phase))
			require.Contains(t, c.Story(), "the driver answers OK, and "+(*made)[0]+
				" is on this computer and not on the disk of node/node-1: it works with real paths. Set csi.Driver.RealPaths")
		}
	})
}

func TestRealPathsNeedRealFiles(t *testing.T) {
	c := storagesimtest.New(t, storagesim.Config{Disks: storagesim.MemoryDisks})
	d, _ := driverByOS(true, "")
	require.ErrorContains(t, c.Cluster.InstallCSIDriver(d), "csi.Driver real.example.com: RealPaths: the files of node node-1 are in memory")
	d.Node, d.NodeEndpoint = nil, func(string) string { return "unix:///x" }
	require.ErrorContains(t, d.Check(), "RealPaths is for drivers with Node")
}

// mounting returns a cluster with a pod for which a driver has mounted data, a directory with the file "kept", and where.
func mounting(t *testing.T, cfg storagesim.Config) (c *storagesim.Cluster, data, at string) {
	t.Helper()
	data = t.TempDir()
	require.NoError(t, os.WriteFile(data+"/kept", []byte("kept"), 0o644))
	c, err := storagesim.New(cfg)
	require.NoError(t, err)
	d, made := driverByOS(true, data)
	require.NoError(t, c.InstallCSIDriver(d))
	require.NoError(t, c.RunFor(10*time.Second))
	require.NoError(t, c.Apply(inlinePod))
	require.NoError(t, c.RunFor(time.Minute))
	at = (*made)[0]
	require.FileExists(t, at+"/kept")
	return c, data, at
}

func TestCloseKeepsWhatADriverHasMounted(t *testing.T) {
	unshared.Test(t, func(t *testing.T) {
		c, data, at := mounting(t, storagesim.Config{})
		for range 2 {
			var left *mount.MountedError
			err := c.Close()
			require.ErrorAs(t, err, &left)
			require.Equal(t, []string{at}, left.Mounts)
			require.ErrorContains(t, err, "umount "+at+" && rm -r "+c.Lab().Dir())
			require.FileExists(t, at+"/kept")
		}
		require.NoError(t, syscall.Unmount(at, 0))
		require.NoError(t, c.Close(), "when it is unmounted, Close goes on")
		require.NoDirExists(t, c.Lab().Dir())
		require.FileExists(t, data+"/kept")
	})
}

// The end of a run by a panic is Close, too, and so is that of a test.
func TestAPanicLeavesWhatADriverHasMounted(t *testing.T) {
	unshared.Test(t, func(t *testing.T) {
		c, data, at := mounting(t, storagesim.Config{})
		var err error
		require.Panics(t, func() {
			defer func() { err = c.Close() }()
			panic("a bug")
		})
		require.ErrorContains(t, err, "umount "+at)
		require.FileExists(t, data+"/kept")
		require.NoError(t, syscall.Unmount(at, 0))
		require.NoError(t, c.Close())
	})
}

// t.TempDir is removed by package testing, which goes through mounts.
func TestCloseDetachesWhatIsMountedInADirectoryOfTheCallers(t *testing.T) {
	unshared.Test(t, func(t *testing.T) {
		for _, busy := range []bool{false, true} {
			dir := t.TempDir()
			before := dir + "/node-1/data/before"
			require.NoError(t, os.MkdirAll(before, 0o755))
			require.NoError(t, syscall.Mount(t.TempDir(), before, "", syscall.MS_BIND, ""))
			c, data, at := mounting(t, storagesim.Config{Dir: dir})
			if busy {
				user, err := os.Open(at + "/kept")
				require.NoError(t, err)
				defer user.Close()
			}
			require.NoError(t, c.Close())
			require.NoFileExists(t, at+"/kept")
			require.Len(t, mount.Mounted(dir), 1, "what was mounted there before New is the caller's")
			require.NoError(t, syscall.Unmount(before, 0))
			require.NoError(t, os.RemoveAll(dir))
			require.FileExists(t, data+"/kept")
		}
	})
}

// The files of a file system in memory end with its last mount.
func TestCloseFailsForTheLastMountOfAFileSystemInMemory(t *testing.T) {
	unshared.Test(t, func(t *testing.T) {
		dir := t.TempDir()
		c, _, at := mounting(t, storagesim.Config{Dir: dir})
		require.NoError(t, os.MkdirAll(dir+"/node-1/memory", 0o755))
		require.NoError(t, syscall.Mount("none", dir+"/node-1/memory", "tmpfs", 0, ""))
		require.NoError(t, os.WriteFile(dir+"/node-1/memory/kept", nil, 0o644))
		err := c.Close()
		require.ErrorContains(t, err, "Config.Dir: what removes it later, such as t.TempDir, goes through mounts: "+dir+" stays: ")
		require.ErrorContains(t, err, "umount "+dir+"/node-1/memory")
		require.FileExists(t, dir+"/node-1/memory/kept")
		require.NoFileExists(t, at+"/kept", "the other one is gone")
		require.NoError(t, syscall.Unmount(dir+"/node-1/memory", 0))
		require.NoError(t, c.Close())
	})
}

// Where the system does not tell what is mounted, as without /proc, nothing is removed in which a driver may have
// mounted.
func TestCloseRemovesNothingWhereItCannotKnow(t *testing.T) {
	unshared.Test(t, func(t *testing.T) {
		c, data, at := mounting(t, storagesim.Config{})
		other, err := storagesim.New(storagesim.Config{})
		require.NoError(t, err)
		require.NoError(t, syscall.Mount("none", "/proc", "tmpfs", 0, ""))
		failure := c.Close()
		require.NoError(t, other.Close(), "without such a driver there are no mounts")
		require.NoError(t, syscall.Unmount("/proc", 0))
		require.EqualError(t, failure, c.Lab().Dir()+
			" stays: this system does not tell what is mounted there, and CSI driver real.example.com may have mounted its volumes; unmount them, and remove it")
		require.FileExists(t, data+"/kept")
		require.NoError(t, syscall.Unmount(at, 0))
		require.NoError(t, c.Close())
		require.NoDirExists(t, c.Lab().Dir())
	})
}

// A disk that is full, or read-only, at the end.
func TestCloseOnADiskThatIsFullOrReadOnly(t *testing.T) {
	unshared.Test(t, func(t *testing.T) {
		disk := t.TempDir()
		require.NoError(t, syscall.Mount("none", disk, "tmpfs", 0, "size=2m"))
		defer func() { require.NoError(t, syscall.Unmount(disk, 0)) }()
		t.Setenv("TMPDIR", disk)
		c, err := storagesim.New(storagesim.Config{})
		require.NoError(t, err)
		full := os.WriteFile(disk+"/full", make([]byte, 4<<20), 0o644)
		require.ErrorIs(t, full, syscall.ENOSPC)
		require.NoError(t, c.Close(), "full")
		require.NoDirExists(t, c.Lab().Dir())
		require.NoError(t, os.Remove(disk+"/full"))

		c, err = storagesim.New(storagesim.Config{})
		require.NoError(t, err)
		require.NoError(t, syscall.Mount("", disk, "", syscall.MS_REMOUNT|syscall.MS_RDONLY, "size=2m"))
		err = c.Close()
		require.ErrorIs(t, err, syscall.EROFS)
		require.ErrorContains(t, err, "remove "+c.Lab().Dir())
		require.NoError(t, syscall.Mount("", disk, "", syscall.MS_REMOUNT, "size=2m"))
		require.NoError(t, c.Close(), "when it can be written again")
		require.NoDirExists(t, c.Lab().Dir())
	})
}
