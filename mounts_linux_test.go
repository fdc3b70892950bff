package storagesim_test

import (
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"

	"github.com/storagesim/storagesim"
	"github.com/storagesim/storagesim/internal/unshared"
)

// kernelMounts are the mounts below a directory of this machine.
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

func TestBindTheMainStoryIsToldWithRealMounts(t *testing.T) {
	unshared.Test(t, func(t *testing.T) {
		real, err := playMainStory(storagesim.Config{RealMounts: true}, nil)
		require.NoError(t, err, real)
		links, err := playMainStory(storagesim.Config{}, nil)
		require.NoError(t, err)
		require.Equal(t, links, real)
	})
}

func TestBindNodesOfAClusterMountForReal(t *testing.T) {
	unshared.Test(t, func(t *testing.T) {
		c := withLocalVolume(t, storagesim.Config{RealMounts: true})
		c.Apply(localYAML)
		c.Settle()
		require.Equal(t, v1.PodRunning, c.Pod("web").Status.Phase)
		require.Equal(t, []string{
			"node-1/var/lib/kubelet/pods/" + string(c.Pod("web").UID) + "/volumes/kubernetes.io~local-volume/pv-local",
		}, kernelMounts(t, c.Dir()))
		c.WriteFile("pod/web", "/data/x", "there")
		require.Equal(t, "there", c.ReadFile("node/node-1", "/data/k8s/localpv/x"))

		c.InjectMachine(storagesim.MachineFault{Machine: "node/node-1", Op: "unmount", Times: 3, Err: syscall.EBUSY})
		c.Crash("kubelet/node-1")
		c.Delete("pod/web")
		c.RunFor(time.Minute)
		require.Len(t, strikes(c.Cluster), 3)
		require.Empty(t, kernelMounts(t, c.Dir()))
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
			c.WriteFile("pod/web", "/data/x", "kept")
			c.Crash("kubelet/node-1")
			dir := c.Dir()
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
		require.NoError(t, c.MakeDir("node/node-1", "/data/k8s/localpv", 0o777))
		require.NoError(t, c.Apply(localYAML))
		require.NoError(t, c.Settle())
		require.NoError(t, c.WriteFile("pod/web", "/data/x", []byte("kept")))
		dir := c.Dir()
		user, err := os.Open(dir + "/node-1/" + kernelMounts(t, dir+"/node-1")[0] + "/x")
		require.NoError(t, err)
		require.ErrorContains(t, c.Close(), "what is mounted stays, and so does "+dir)
		require.FileExists(t, dir+"/node-1/data/k8s/localpv/x")
		require.Error(t, c.Close(), "nor the second time")
		require.FileExists(t, dir+"/node-1/data/k8s/localpv/x")

		require.NoError(t, user.Close())
		require.NoError(t, syscall.Unmount(dir+"/node-1/"+kernelMounts(t, dir+"/node-1")[0], 0))
		require.NoError(t, c.Close())
		require.NoDirExists(t, dir)
	})
}

func TestRealMountsAreRefusedInWordsWhereTheyCannotBe(t *testing.T) {
	_, err := storagesim.New(storagesim.Config{RealMounts: true, NFSServers: []storagesim.NFSServer{{Name: nfsServer}}})
	require.ErrorContains(t, err, "Config.NFSServers: with RealMounts there can be none")
	if own, err := os.Readlink("/proc/self/ns/mnt"); err == nil {
		if first, err := os.Readlink("/proc/1/ns/mnt"); err != nil || first != own {
			return // these tests have a namespace of their own
		}
	}
	_, err = storagesim.New(storagesim.Config{RealMounts: true})
	require.ErrorContains(t, err, "node node-1: Config.RealMounts: real ")
}
