package machine_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"

	"github.com/storagesim/storagesim"
	"github.com/storagesim/storagesim/internal/rigs/clustertest"
	"github.com/storagesim/storagesim/kubelet"
	"github.com/storagesim/storagesim/machine"
	"github.com/storagesim/storagesim/provisioner/openebs"
	"github.com/storagesim/storagesim/storagesimtest"
	"github.com/storagesim/storagesim/volume"
)

// podWith returns a pod on node-1 that has a volume at /data.
func podWith(volume string) string {
	return `{apiVersion: v1, kind: Pod, metadata: {name: web}, spec: {nodeName: node-1,
  containers: [{name: c, image: busybox, volumeMounts: [{name: data, mountPath: /data}]}],
  volumes: [{name: data, ` + volume + `}]}}`
}

// What is wrong with a node's directories is found by its kubelet, and by no component before it:
// the claim is bound, the pod is placed, and there it waits.
func TestAVolumesDirectoryIsMissedByTheKubeletAlone(t *testing.T) {
	for name, test := range map[string]struct {
		make, mend func(c *storagesimtest.Cluster)
		event      string
	}{
		"missing": {
			func(*storagesimtest.Cluster) {},
			func(c *storagesimtest.Cluster) { c.Machine("node/node-1").MakeDir("/data/k8s/localpv", 0o777) },
			`MountVolume.NewMounter initialization failed for volume "pv-local" : path "/data/k8s/localpv" does not exist`,
		},
		"a file": {
			func(c *storagesimtest.Cluster) {
				c.Machine("node/node-1").MakeDir("/data/k8s", 0o755)
				c.Machine("node/node-1").WriteFile("/data/k8s/localpv", "in the way")
			},
			func(c *storagesimtest.Cluster) {
				require.NoError(t, os.Remove(filepath.Join(c.Lab().Dir(), "node-1/data/k8s/localpv")))
				c.Machine("node/node-1").MakeDir("/data/k8s/localpv", 0o777)
			},
			`only directory and block device are supported`,
		},
		"below a file": {
			func(c *storagesimtest.Cluster) { c.Machine("node/node-1").WriteFile("/data", "in the way") },
			func(c *storagesimtest.Cluster) {
				require.NoError(t, os.Remove(filepath.Join(c.Lab().Dir(), "node-1/data")))
				c.Machine("node/node-1").MakeDir("/data/k8s/localpv", 0o777)
			},
			`not a directory`,
		},
		"denied": {
			func(c *storagesimtest.Cluster) {
				c.Machine("node/node-1").MakeDir("/data/k8s/localpv", 0o777)
				c.Inject(machine.Fault{Machine: "node/node-1", Path: "/data/k8s", Times: -1, Err: syscall.EACCES})
			},
			func(c *storagesimtest.Cluster) { c.Lab().ClearFaults() },
			`permission denied`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			c := storagesimtest.New(t, storagesim.Config{Disks: storagesim.DirectoryDisks})
			test.make(c)
			c.Apply(localYAML)
			c.Settle()
			require.Equal(t, v1.PodPending, c.Pod("web").Status.Phase)
			require.Equal(t, v1.ClaimBound, c.Claim("data").Status.Phase)
			require.Contains(t, c.Explain("pod/web"), "kubelet said Warning FailedMount")
			require.Contains(t, c.Explain("pod/web"), test.event)
			test.mend(c)
			c.RunFor(3 * time.Minute)
			require.Equal(t, v1.PodRunning, c.Pod("web").Status.Phase)
			c.Delete("pod/web")
			c.Settle()
			c.RequireNoLeaks()
		})
	}
}

// The provisioner makes directories in a pod, which fails; the claim's event says so.
func TestAFullDiskFailsAProvisionersHelperAndTheClaimIsServedWhenThereIsSpace(t *testing.T) {
	c := storagesimtest.New(t, storagesim.Config{Nodes: storagesim.Nodes("node1")})
	c.AddProvisionController(openebs.Controller(openebs.Config{}))
	c.Inject(machine.Fault{Machine: "node/node1", Op: "create", Path: "/var/openebs", Times: -1, Err: syscall.ENOSPC})
	c.Apply(clustertest.MainStory...)
	c.RunFor(2 * time.Minute)
	require.Equal(t, v1.ClaimPending, c.Claim("local-hostpath-pvc").Status.Phase)
	require.Contains(t, c.Explain("pvc/local-hostpath-pvc"), "Warning ProvisioningFailed")
	require.Contains(t, strings.Join(clustertest.Strikes(c.Engine().Trace()), "\n"), "kubelet/node1 cannot mkdir /var/openebs")
	c.Lab().ClearFaults()
	c.RunFor(20 * time.Minute)
	require.Equal(t, v1.PodRunning, c.Pod("hello-local-hostpath-pod").Status.Phase)
	c.Delete("pod/hello-local-hostpath-pod", "pvc/local-hostpath-pvc")
	c.RunFor(5 * time.Minute)
	c.RequireNoLeaks()
}

// scratch is a plugin of an author's own that takes what another takes as well.
type scratch struct{ volume.VolumePlugin }

func (scratch) GetPluginName() string { return "example.com/scratch" }

// defaultPlugin returns the kubelet's plugin of that name.
func defaultPlugin(t *testing.T, name string) volume.VolumePlugin {
	t.Helper()
	plugins := kubelet.DefaultPlugins()
	at := slices.IndexFunc(plugins, func(p volume.VolumePlugin) bool { return p.GetPluginName() == name })
	require.GreaterOrEqual(t, at, 0, name)
	return plugins[at]
}

func TestTwoPluginsForOneVolumeUntilTheKubeletIsStartedWithoutOneOfThem(t *testing.T) {
	installed := true
	c := storagesimtest.New(t, storagesim.Config{VolumePlugins: func() []volume.VolumePlugin {
		if installed {
			return append(kubelet.DefaultPlugins(), scratch{defaultPlugin(t, "kubernetes.io/empty-dir")})
		}
		return kubelet.DefaultPlugins()
	}})
	c.Apply(podWith("emptyDir: {}"))
	c.Settle()
	require.Equal(t, v1.PodPending, c.Pod("web").Status.Phase)
	require.Contains(t, c.Explain("pod/web"), "multiple volume plugins matched: example.com/scratch,kubernetes.io/empty-dir")
	installed = false
	c.Crash("kubelet/node-1")
	c.Settle()
	require.Equal(t, v1.PodRunning, c.Pod("web").Status.Phase)
	c.Delete("pod/web")
	c.Settle()
	c.RequireNoLeaks()
}

func TestAnUnknownPluginUntilTheKubeletIsStartedWithIt(t *testing.T) {
	var installed []volume.VolumePlugin
	c := storagesimtest.New(t, storagesim.Config{VolumePlugins: func() []volume.VolumePlugin { return installed }})
	c.Apply(podWith("emptyDir: {}"))
	c.Settle()
	require.Equal(t, v1.PodPending, c.Pod("web").Status.Phase)
	require.Contains(t, c.Explain("pod/web"), `no volume plugin matched: volume "data" of kind emptyDir is not supported by any plugin of this kubelet`)
	installed = kubelet.DefaultPlugins()
	c.Crash("kubelet/node-1")
	c.Settle()
	require.Equal(t, v1.PodRunning, c.Pod("web").Status.Phase)
}

// The scheduler binds every claim that a pod names; the kubelet mounts those that a
// container uses.
func TestAVolumeThatNoContainerMountsIsBoundAndNotMounted(t *testing.T) {
	c := storagesimtest.New(t, storagesim.Config{}) // there is no /data/k8s/localpv
	c.Apply(strings.Replace(localYAML, ", volumeMounts: [{name: data, mountPath: /data}]", "", 1))
	c.Settle()
	require.Equal(t, v1.ClaimBound, c.Claim("data").Status.Phase)
	require.Equal(t, v1.PodRunning, c.Pod("web").Status.Phase)
	require.NotContains(t, c.Story(), "FailedMount")
	require.NotContains(t, c.Story(), "mounts pv-local")
	c.Delete("pvc/data")
	c.Settle()
	require.NotNil(t, c.Claim("data").DeletionTimestamp, "the pod uses it all the same")
	c.Delete("pod/web")
	c.Settle()
	_, err := c.Cluster.Claim("data")
	require.Error(t, err)
	c.RequireNoLeaks()
}

func TestAContainerThatMountsAVolumeThePodHasNotIsRefused(t *testing.T) {
	c := storagesimtest.New(t, storagesim.Config{})
	err := c.Cluster.Apply(strings.Replace(podWith("emptyDir: {}"), "volumes: [{name: data", "volumes: [{name: date", 1))
	require.ErrorContains(t, err, `spec.containers[0].volumeMounts[0].name: Not found: "data"`)
}

// A kubelet that starts reads what an earlier life has left. That is its own doing, not the user's who broke the disk.
func TestAFaultThatStrikesAKubeletAsItStartsIsToldOfTheKubelet(t *testing.T) {
	c := storagesimtest.New(t, storagesim.Config{Disks: storagesim.MemoryDisks, Nodes: storagesim.Nodes("node1")})
	c.Settle()
	c.Inject(machine.Fault{Machine: "node/node1", Op: "read", Times: -1, Err: syscall.EIO})
	c.Crash("kubelet/node1")
	c.Settle()
	strikes := clustertest.Strikes(c.Engine().Trace())
	require.NotEmpty(t, strikes)
	for _, strike := range strikes {
		require.Contains(t, strike, "kubelet/node1 cannot read ")
	}
}
