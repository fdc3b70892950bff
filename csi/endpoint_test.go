package csi_test

import (
	"context"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/storagesim/storagesim"
	"github.com/storagesim/storagesim/csi"
	csidriver "github.com/storagesim/storagesim/csi/driver"
	"github.com/storagesim/storagesim/internal/rigs/outside"
	"github.com/storagesim/storagesim/internal/rigs/soon"
	"github.com/storagesim/storagesim/live"
	"github.com/storagesim/storagesim/storagesimtest"
)

func TestMain(m *testing.M) {
	outside.Main()
	os.Exit(m.Run())
}

// outsideClass returns a class of the driver in another process; parameters are one line of YAML.
func outsideClass(name, parameters string) string {
	return "apiVersion: storage.k8s.io/v1\nkind: StorageClass\nmetadata: {name: " + name + "}\nprovisioner: outside.csi.example.com\nparameters: " +
		parameters + "\n"
}

func claimOf(name, class string) string {
	return `
---
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: ` + name + `}
spec:
  accessModes: [ReadWriteOnce]
  storageClassName: ` + class + `
  resources: {requests: {storage: 1Gi}}
`
}

// outsidePod prints what the driver put into its volume.
const outsidePod = `
---
apiVersion: v1
kind: Pod
metadata: {name: web}
spec:
  containers:
  - name: web
    image: busybox
    command: [sh, -c, "cat /data/volume; sleep 3600"]
    volumeMounts: [{name: data, mountPath: /data}]
  volumes:
  - name: data
    persistentVolumeClaim: {claimName: data}
`

// withOutside returns a cluster on this computer's disk, with a driver in another process.
func withOutside(t *testing.T) (*storagesimtest.Cluster, *outside.Process) {
	t.Helper()
	p := outside.Start(t, outside.Config{})
	c := storagesimtest.New(t, storagesim.Config{Disks: storagesim.DirectoryDisks})
	d, err := csi.AtEndpoint(t.Context(), p.Endpoint())
	require.NoError(t, err)
	c.InstallCSIDriver(d)
	return c, p
}

func logsOf(t *testing.T, c *storagesimtest.Cluster) string {
	t.Helper()
	text, err := c.Cluster.Machine("pod/web").Logs("web", false)
	require.NoError(t, err)
	return text
}

func TestAClaimOfADriverInAnotherProcessBecomesAMountedVolumeAndGoesAwayAgain(t *testing.T) {
	c, p := withOutside(t)
	c.Apply(outsideClass("outside", "{}") + claimOf("data", "outside") + outsidePod)
	c.RunFor(time.Minute)
	require.Equal(t, v1.PodRunning, c.Pod("web").Status.Phase)
	require.Len(t, p.Volumes(), 1)
	require.Equal(t, p.Volumes()[0], logsOf(t, c), "the pod sees what the driver made at the path that it was given")
	require.Contains(t, c.Story(), "target_path /var/lib/kubelet/pods/", "the story has paths on the node")
	c.Delete("pod/web", "pvc/data")
	c.RunFor(2 * time.Minute)
	require.Empty(t, p.Volumes())
	c.RequireNoLeaks()
}

func TestADriverInAnotherProcessThatIsKilledGoesOnWhenItIsBack(t *testing.T) {
	c, p := withOutside(t)
	c.Apply(outsideClass("outside", "{}") + claimOf("data", "outside"))
	c.RunFor(time.Minute)
	p.Kill()
	c.Apply(outsidePod)
	c.RunFor(time.Minute)
	require.Equal(t, v1.PodPending, c.Pod("web").Status.Phase)
	require.Contains(t, c.Story(), "(fault: the driver at "+p.Endpoint()+" is not there, or its connection broke)")
	require.Contains(t, c.Story(), "dial unix "+p.Socket+": connect: connection refused")
	p.Start()
	c.RunFor(5 * time.Minute)
	require.Equal(t, v1.PodRunning, c.Pod("web").Status.Phase)
	c.Delete("pod/web", "pvc/data")
	c.RunFor(5 * time.Minute)
	require.Empty(t, p.Volumes())
	c.RequireNoLeaks()
}

func TestAnEndpointWhereNoDriverCanBeIsRefusedByName(t *testing.T) {
	c, p := withOutside(t)
	gone := outside.New(t, outside.Config{})
	for endpoint, want := range map[string]string{
		gone.Endpoint(): `csi.AtEndpoint: ` + gone.Endpoint() + `: GetPluginInfo: rpc error: code = Unavailable desc = connection error: ` +
			`desc = "transport: Error while dialing: dial unix ` + gone.Socket + `: connect: no such file or directory"`,
		"/run/csi.sock": `csi.AtEndpoint: "/run/csi.sock" is not the address of a gRPC server: expected unix:// and the absolute path of a ` +
			`socket, or tcp://HOST:PORT`,
		"unix://csi": `csi.AtEndpoint: "unix://csi" is not the address of a gRPC server: expected unix:// and the absolute path of a ` +
			`socket, or tcp://HOST:PORT`,
		"tcp://here": `csi.AtEndpoint: "tcp://here" is not the address of a gRPC server: expected unix:// and the absolute path of a ` +
			`socket, or tcp://HOST:PORT`,
		"unix:///" + strings.Repeat("x", 107): `csi.AtEndpoint: unix:///` + strings.Repeat("x", 107) +
			`: the path of the socket has 108 bytes; a unix socket's may have at most 107`,
	} {
		_, err := csi.AtEndpoint(t.Context(), endpoint)
		require.EqualError(t, err, want)
	}
	at := func(endpoint string) func(string) string { return func(string) string { return endpoint } }
	for want, d := range map[string]csi.Driver{
		`csi.Driver.Name: a driver called "outside.csi.example.com" is ` +
			`installed already`: {Name: p.Name, Endpoint: p.Endpoint()},
		`csi.Driver x: Endpoint: "csi.sock" is not the address of a gRPC server: expected unix:// and the absolute path of a socket, or tcp://HOST:PORT`: {Name: "x",
			Endpoint: "csi.sock"},
		`csi.Driver x: NodeEndpoint("node-1"): "csi.sock" is not the address of a gRPC server: expected unix:// and the absolute path of a socket, ` +
			`or tcp://HOST:PORT`: {Name: "x", NodeEndpoint: at("csi.sock")},
	} {
		require.EqualError(t, c.Cluster.InstallCSIDriver(d), want)
	}
	memory := storagesimtest.New(t, storagesim.Config{Disks: storagesim.MemoryDisks})
	require.EqualError(t, memory.Cluster.InstallCSIDriver(csi.Driver{Name: "x", NodeEndpoint: at(p.Endpoint())}),
		"csi.Driver x: its server for node node-1 runs in another process, at "+p.Endpoint()+
			", which cannot reach files in memory; set Config.Disks to DirectoryDisks")
}

func TestADriverInAnotherProcessWithAnotherNameIsNotUsed(t *testing.T) {
	p := outside.Start(t, outside.Config{})
	c := storagesimtest.New(t, storagesim.Config{Disks: storagesim.DirectoryDisks})
	c.InstallCSIDriver(csi.Driver{Name: "csi.example.com", Endpoint: p.Endpoint()})
	c.RunFor(time.Minute)
	require.Contains(t, c.Story(),
		`cannot start: GetPluginInfo: the driver says that its name is "outside.csi.example.com"; it was installed as "csi.example.com"`)
}

func TestInALiveRunOneSlowCallDoesNotHoldUpAnotherClaim(t *testing.T) {
	c, p := withOutside(t)
	c.Apply(outsideClass("slow", `{waits: "yes"}`) + "---\n" + outsideClass("fast", "{}"))
	c.Settle()
	driver := live.Start(c.Engine())
	bound := func(name string) func() bool {
		return func() bool {
			claim, err := c.Client().CoreV1().PersistentVolumeClaims("default").Get(context.Background(), name, metav1.GetOptions{})
			return err == nil && claim.Status.Phase == v1.ClaimBound
		}
	}
	require.True(t, driver.Do(func() { c.Apply(claimOf("slow", "slow")) }))
	require.True(t, soon.Is(t, p.Waits))
	require.True(t, driver.Do(func() { c.Apply(claimOf("fast", "fast")) }))
	require.True(t, soon.Is(t, bound("fast")), "while CreateVolume of the other waits")
	require.False(t, bound("slow")())
	p.GoOn()
	require.True(t, soon.Is(t, bound("slow")))
	require.NoError(t, driver.Stop())
}

// The csi-provisioner waits 10 s for CreateVolume.
func TestInALiveRunADriverInAnotherProcessIsToldHowLongItsCallerWaits(t *testing.T) {
	for want, isLive := range map[string]bool{"10s": true, "for ever": false} {
		c, _ := withOutside(t)
		c.Apply(outsideClass("telling", `{tellsTime: "yes"}`))
		c.Settle()
		waits := func() string {
			list, err := c.Client().CoreV1().PersistentVolumes().List(context.Background(), metav1.ListOptions{})
			if err != nil || len(list.Items) == 0 {
				return ""
			}
			return list.Items[0].Spec.CSI.VolumeAttributes["waits"]
		}
		if isLive {
			driver := live.Start(c.Engine())
			require.True(t, driver.Do(func() { c.Apply(claimOf("data", "telling")) }))
			require.True(t, soon.Is(t, func() bool { return waits() != "" }))
			require.NoError(t, driver.Stop())
		} else {
			c.Apply(claimOf("data", "telling"))
			c.RunFor(time.Minute)
		}
		require.Equal(t, want, waits())
	}
}

func TestInALiveRunTheReferenceDriverServesSeveralCallersAtOnce(t *testing.T) {
	c := storagesimtest.New(t, storagesim.Config{Nodes: storagesim.Nodes("node-1", "node-2"), Disks: storagesim.MemoryDisks})
	c.InstallCSIDriver(csidriver.Config{})
	c.Settle()
	driver := live.StartAt(c.Engine(), 60)
	names := []string{"a", "b", "c", "d", "e", "f"}
	require.True(t, driver.Do(func() {
		c.Apply("apiVersion: storage.k8s.io/v1\nkind: StorageClass\nmetadata: {name: csi}\nprovisioner: csi.storagesim.io\n")
		for _, name := range names {
			c.Apply(claimOf(name, "csi") + strings.NewReplacer("name: web}", "name: "+name+"}", "claimName: data", "claimName: "+name, "cat /data/volume; ",
				"").Replace(outsidePod))
		}
	}))
	all := func(want v1.PodPhase) func() bool {
		return func() bool {
			pods, err := c.Client().CoreV1().Pods("default").List(context.Background(), metav1.ListOptions{})
			return err == nil && len(pods.Items) == len(names) && !slices.ContainsFunc(pods.Items, func(p v1.Pod) bool { return p.Status.Phase != want })
		}
	}
	require.True(t, soon.Is(t, all(v1.PodRunning)))
	require.True(t, driver.Do(func() {
		for _, name := range names {
			c.Delete("pod/"+name, "pvc/"+name)
		}
	}))
	require.True(t, soon.Is(t, func() bool {
		volumes, err := c.Client().CoreV1().PersistentVolumes().List(context.Background(), metav1.ListOptions{})
		return err == nil && len(volumes.Items) == 0
	}))
	require.NoError(t, driver.Stop())
	c.Settle()
	c.RequireNoLeaks()
}
