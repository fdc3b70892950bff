package machine_test

import (
	"os"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"
	"unsafe"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"

	"github.com/storagesim/storagesim"
	"github.com/storagesim/storagesim/csi/driver"
	"github.com/storagesim/storagesim/engine"
	"github.com/storagesim/storagesim/internal/rigs/clustertest"
	"github.com/storagesim/storagesim/internal/unshared"
	"github.com/storagesim/storagesim/machine"
	"github.com/storagesim/storagesim/storagesimtest"
)

// kernelMounts returns the mounts below a directory of this machine.
func kernelMounts(t *testing.T, dir string) (list []string) {
	t.Helper()
	table, err := os.ReadFile("/proc/self/mountinfo")
	require.NoError(t, err)
	for line := range strings.Lines(string(table)) {
		if at := strings.Fields(line)[4]; strings.HasPrefix(at, dir+"/") {
			list = append(list, strings.TrimPrefix(at, dir+"/"))
		}
	}
	return list
}

func TestBindNodesOfAClusterMountForReal(t *testing.T) {
	unshared.Test(t, func(t *testing.T) {
		c := withLocalVolume(t, storagesim.Config{RealMounts: true})
		c.Apply(localYAML)
		c.Settle()
		require.Equal(t, v1.PodRunning, c.Pod("web").Status.Phase)
		require.Equal(t, []string{
			"node-1/var/lib/kubelet/pods/" + string(c.Pod("web").UID) + "/volumes/kubernetes.io~local-volume/pv-local",
		}, kernelMounts(t, c.Lab().Dir()))
		c.Machine("pod/web").WriteFile("/data/x", "there")
		require.Equal(t, "there", c.Machine("node/node-1").ReadFile("/data/k8s/localpv/x"))

		c.Inject(machine.Fault{Machine: "node/node-1", Op: "unmount", Times: 3, Err: syscall.EBUSY})
		c.Crash("kubelet/node-1")
		c.Delete("pod/web")
		c.RunFor(time.Minute)
		require.Len(t, clustertest.Strikes(c.Engine().Trace()), 3)
		require.Empty(t, kernelMounts(t, c.Lab().Dir()))
		c.RequireNoLeaks()
	})
}

func TestBindCloseTakesEveryMountAwayAndTheDataStays(t *testing.T) {
	unshared.Test(t, func(t *testing.T) {
		for _, own := range []bool{false, true} {
			cfg := storagesim.Config{RealMounts: true}
			if own {
				cfg.Dir = t.TempDir()
			}
			c := withLocalVolume(t, cfg)
			c.Apply(localYAML)
			c.Settle()
			c.Machine("pod/web").WriteFile("/data/x", "kept")
			c.Crash("kubelet/node-1")
			dir := c.Lab().Dir()
			require.Len(t, kernelMounts(t, dir), 1)
			require.NoError(t, c.Close())
			require.Empty(t, kernelMounts(t, dir))
			if !own {
				require.NoDirExists(t, dir)
				continue
			}
			data, err := os.ReadFile(dir + "/node-1/data/k8s/localpv/x")
			require.NoError(t, err)
			require.Equal(t, "kept", string(data))
		}
	})
}

// rm -rf would go through a mount that is still there.
func TestBindCloseRemovesNothingThatIsStillMounted(t *testing.T) {
	unshared.Test(t, func(t *testing.T) {
		c, err := storagesim.New(storagesim.Config{RealMounts: true})
		require.NoError(t, err)
		require.NoError(t, c.Machine("node/node-1").MakeDir("/data/k8s/localpv", 0o777))
		require.NoError(t, c.Apply(localYAML))
		require.NoError(t, c.Settle())
		require.NoError(t, c.Machine("pod/web").WriteFile("/data/x", "kept"))
		dir := c.Lab().Dir()
		user, err := os.Open(dir + "/node-1/" + kernelMounts(t, dir+"/node-1")[0] + "/x")
		require.NoError(t, err)
		require.ErrorContains(t, c.Close(), "what is mounted stays, and so does "+dir)
		require.FileExists(t, dir+"/node-1/data/k8s/localpv/x")
		require.Error(t, c.Close(), "nor the second time")
		require.FileExists(t, dir+"/node-1/data/k8s/localpv/x")

		_, err = c.Machine("node/node-1").ReadFile("/data/k8s/localpv/x")
		require.ErrorIs(t, err, engine.ErrClosed)

		require.NoError(t, user.Close())
		require.NoError(t, c.Close())
		require.Empty(t, kernelMounts(t, dir))
		require.NoDirExists(t, dir)
	})
}

func TestBindCloseTakesEveryMountAwayWhateverFails(t *testing.T) {
	unshared.Test(t, func(t *testing.T) {
		c := withLocalVolume(t, storagesim.Config{RealMounts: true})
		c.Apply(localYAML)
		c.Settle()
		dir := c.Lab().Dir()
		require.Len(t, kernelMounts(t, dir), 1)
		c.Inject(machine.Fault{Times: -1, Err: syscall.EIO})
		require.NoError(t, c.Close())
		require.Empty(t, kernelMounts(t, dir))
		require.NoDirExists(t, dir)
	})
}

// withoutPrivilege calls f in a thread that may not mount, whatever its process may.
func withoutPrivilege(t *testing.T, f func()) {
	t.Helper()
	const version3, sysAdmin = 0x20080522, 21
	header := struct{ version, pid uint32 }{version: version3}
	var sets [2]struct{ effective, permitted, inheritable uint32 }
	call := func(trap uintptr) syscall.Errno {
		_, _, errno := syscall.RawSyscall(trap, uintptr(unsafe.Pointer(&header)), uintptr(unsafe.Pointer(&sets)), 0)
		return errno
	}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	require.Zero(t, call(syscall.SYS_CAPGET))
	before := sets
	sets[0].effective &^= 1 << sysAdmin
	require.Zero(t, call(syscall.SYS_CAPSET))
	f()
	sets = before
	require.Zero(t, call(syscall.SYS_CAPSET))
}

func TestBindIsTriedBeforeThereIsACluster(t *testing.T) {
	unshared.Test(t, func(t *testing.T) {
		dir := t.TempDir()
		withoutPrivilege(t, func() {
			_, err := storagesim.New(storagesim.Config{RealMounts: true, Dir: dir})
			require.ErrorContains(t, err, "node node-1: Config.RealMounts: mounting /run/storagesim/source on /run/storagesim/target failed: ")
			require.ErrorContains(t, err, "mounting needs CAP_SYS_ADMIN")
		})
		require.NoDirExists(t, dir+"/node-1/run/storagesim")
	})
}

func TestRealMountsAreRefusedInWordsWhereTheyCannotBe(t *testing.T) {
	_, err := storagesim.New(storagesim.Config{RealMounts: true, NFSServers: []storagesim.NFSServer{{Name: nfsServer}}})
	require.ErrorContains(t, err, "Config.NFSServers: with RealMounts there can be none")
	c := storagesimtest.New(t, storagesim.Config{RealMounts: true, NoNodes: true})
	_, err = c.Cluster.AddNFSServer(nfsServer, "/srv")
	require.ErrorContains(t, err, "NFS server "+nfsServer+": with Config.RealMounts there can be none, since real mounts are bind mounts on one node")
	if own, err := os.Readlink("/proc/self/ns/mnt"); err == nil {
		if first, err := os.Readlink("/proc/1/ns/mnt"); err != nil || first != own {
			return // these tests have a namespace of their own
		}
	}
	_, err = storagesim.New(storagesim.Config{RealMounts: true})
	require.ErrorContains(t, err, "node node-1: Config.RealMounts: real ")
}

func TestBindACSIClaimBecomesAVolumeThatTheKernelMountsAndGoesAwayAgain(t *testing.T) {
	unshared.Test(t, func(t *testing.T) {
		c := storagesimtest.New(t, storagesim.Config{RealMounts: true})
		c.InstallCSIDriver(driver.Config{})
		c.Apply(clustertest.CSIManifests)
		c.RunFor(time.Minute)
		require.Equal(t, v1.PodRunning, c.Pod("web").Status.Phase)
		uid, pv := string(c.Pod("web").UID), c.Claim("data").Spec.VolumeName
		mounts := kernelMounts(t, c.Lab().Dir())
		require.Len(t, mounts, 2)
		require.Regexp(t, `^node-1/var/lib/kubelet/plugins/kubernetes.io/csi/csi.storagesim.io/.*/globalmount$`, mounts[0])
		require.Equal(t, "node-1/var/lib/kubelet/pods/"+uid+"/volumes/kubernetes.io~csi/"+pv+"/mount", mounts[1])
		require.Equal(t, "hello\n", c.Machine("pod/web").ReadFile("/data/index.html"))
		c.RequireNoLeaks()
		c.Delete("pod/web", "pvc/data")
		c.RunFor(2 * time.Minute)
		require.Empty(t, kernelMounts(t, c.Lab().Dir()))
		c.RequireNoLeaks()
	})
}
