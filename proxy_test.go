package storagesim_test

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	stats "k8s.io/kubelet/pkg/apis/stats/v1alpha1"

	"github.com/storagesim/storagesim"
	"github.com/storagesim/storagesim/csi/driver"
	"github.com/storagesim/storagesim/internal/rigs/clustertest"
	"github.com/storagesim/storagesim/live"
	"github.com/storagesim/storagesim/machine"
	"github.com/storagesim/storagesim/machine/disk"
	"github.com/storagesim/storagesim/storagesimtest"
	"github.com/storagesim/storagesim/trace"
)

const manyVolumes = `
{apiVersion: storage.k8s.io/v1, kind: StorageClass, metadata: {name: csi}, provisioner: csi.storagesim.io}
---
{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: files}, spec: {accessModes: [ReadWriteOnce], storageClassName: csi, resources: {requests: {storage: 1Gi}}}}
---
{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: device}, spec: {accessModes: [ReadWriteOnce], volumeMode: Block, storageClassName: csi,
  resources: {requests: {storage: 2Gi}}}}
---
{apiVersion: v1, kind: PersistentVolume, metadata: {name: disk-a}, spec: {accessModes: [ReadWriteOnce], capacity: {storage: 1Gi}, local: {path: /mnt/disk-a},
  storageClassName: "", claimRef: {name: local, namespace: default}, nodeAffinity: {required: {nodeSelectorTerms: [
  {matchExpressions: [{key: kubernetes.io/hostname, operator: In, values: [node-1]}]}]}}}}
---
{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: local}, spec: {accessModes: [ReadWriteOnce], storageClassName: "", volumeName: disk-a,
  resources: {requests: {storage: 1Gi}}}}
---
{apiVersion: v1, kind: ConfigMap, metadata: {name: settings}, data: {a: b}}
---
{apiVersion: v1, kind: Secret, metadata: {name: password}, stringData: {a: b}}
---
apiVersion: v1
kind: Pod
metadata: {name: web}
spec:
  containers:
  - name: web
    image: busybox
    command: [sh, -c, "head -c 5000 /dev/zero > /files/x; head -c 5000 /dev/zero > /scratch/x; head -c 9000 /dev/zero > /x; echo begun; sleep 360000"]
    volumeMounts:
    - {name: files, mountPath: /files}
    - {name: local, mountPath: /local}
    - {name: share, mountPath: /share}
    - {name: scratch, mountPath: /scratch}
    - {name: memory, mountPath: /memory}
    - {name: settings, mountPath: /settings}
    - {name: password, mountPath: /password}
    - {name: labels, mountPath: /labels}
    - {name: host, mountPath: /host}
    volumeDevices: [{name: device, devicePath: /dev/xvda}]
  volumes:
  - {name: files, persistentVolumeClaim: {claimName: files}}
  - {name: device, persistentVolumeClaim: {claimName: device}}
  - {name: local, persistentVolumeClaim: {claimName: local}}
  - {name: share, nfs: {server: nas, path: /share}}
  - {name: scratch, emptyDir: {}}
  - {name: memory, emptyDir: {medium: Memory}}
  - {name: settings, configMap: {name: settings}}
  - {name: password, secret: {secretName: password}}
  - {name: labels, downwardAPI: {items: [{path: name, fieldRef: {fieldPath: metadata.name}}]}}
  - {name: host, hostPath: {path: /var/log, type: DirectoryOrCreate}}
`

// told is a cluster with a pod that has volumes of all kinds.
type told struct {
	*storagesimtest.Cluster
	t      testing.TB
	client *rest.RESTClient
}

func newTold(t *testing.T) told {
	c := storagesimtest.New(t, storagesim.Config{Disks: storagesim.MemoryDisks})
	c.InstallCSIDriver(driver.Config{})
	c.AddNFSServer("nas", "/share")
	require.NoError(t, c.Machine("nfs/nas").Disk().Limit(disk.Limits{Bytes: 4 << 30, Inodes: 1000}))
	c.Machine("node/node-1").MakeDir("/mnt/disk-a", 0o777)
	c.Apply(manyVolumes)
	c.RunFor(3 * time.Minute)
	require.Equal(t, "Running", string(c.Pod("web").Status.Phase))
	return told{c, t, restClient(t, c.RESTConfig("operator"))}
}

func restClient(t testing.TB, cfg *rest.Config) *rest.RESTClient {
	client, err := kubernetes.NewForConfig(cfg)
	require.NoError(t, err)
	return client.CoreV1().RESTClient().(*rest.RESTClient)
}

// get returns the answer of a node's kubelet.
func (c told) get(path string) ([]byte, error) {
	at, query, _ := strings.Cut(path, "?")
	request := c.client.Get().AbsPath("/api/v1/nodes/node-1/proxy/" + at)
	if name, value, ok := strings.Cut(query, "="); ok {
		request.Param(name, value)
	}
	result := request.Do(c.t.Context())
	text, _ := result.Raw() // its error does not have the server's message
	return text, result.Error()
}

// volumes returns how full the volumes of the pod are: used, capacity and available bytes, used inodes, inodes and free ones.
func (c told) volumes() (names []string, full map[string][6]uint64) {
	c.t.Helper()
	text, err := c.get("stats/summary")
	require.NoError(c.t, err)
	var summary stats.Summary
	require.NoError(c.t, json.Unmarshal(text, &summary))
	require.Len(c.t, summary.Pods, 1)
	full = map[string][6]uint64{}
	for _, v := range summary.Pods[0].VolumeStats {
		names = append(names, v.Name)
		full[v.Name] = [6]uint64{*v.UsedBytes, *v.CapacityBytes, *v.AvailableBytes, *v.InodesUsed, *v.Inodes, *v.InodesFree}
	}
	return names, full
}

// calls returns the number of calls of NodeGetVolumeStats.
func (c told) calls() (n int) {
	for _, entry := range c.Trace().Records() {
		if rpc, ok := entry.Record.(trace.RPC); ok && rpc.Method == "NodeGetVolumeStats" {
			n++
		}
	}
	return n
}

// Upstream: volume_stat_calculator.go calcAndStoreStats and the metrics of the plugins, v1.37.2.
func TestAKubeletSaysHowFullTheVolumesOfItsPodsAre(t *testing.T) {
	c := newTold(t)
	names, full := c.volumes()
	require.Equal(t, []string{"scratch", "settings", "files", "device", "local", "share", "memory", "password", "labels"}, names,
		"those that go with the pod first; nothing is known of hostPath")
	space, err := c.Machine("node/node-1").Disk().Space("/")
	require.NoError(t, err)
	size, free := uint64(space.Bytes), uint64(space.Bytes-space.UsedBytes)
	inodes, left := uint64(space.Inodes), uint64(space.Inodes-space.UsedInodes)
	for name, want := range map[string][6]uint64{
		"files":    {5000, 1 << 30, 1<<30 - 5000, 2, 0, 0}, // as the driver says
		"device":   {0, 2 << 30, 2 << 30, 0, 0, 0},
		"local":    {size - free, size, free, inodes - left, inodes, left},
		"share":    {full["share"][0], 4 << 30, 4<<30 - full["share"][0], 1000 - full["share"][5], 1000, full["share"][5]},
		"scratch":  {12 << 10, size, free, 2, inodes, left}, // the directory and two blocks
		"memory":   {4 << 10, size, free, 1, inodes, left},
		"settings": {full["settings"][0], size, free, 5, inodes, left}, // the directories, links and the file that stand for one file
		"password": {full["settings"][0], size, free, 5, inodes, left},
		"labels":   {full["settings"][0], size, free, 5, inodes, left},
	} {
		require.Equal(t, want, full[name], name)
	}
	require.NotZero(t, full["settings"][0])
}

// Upstream: fs_resource_analyzer.go updateCachedPodVolumeStats, v1.37.2.
func TestAKubeletLooksOnceAMinuteHowFullVolumesAre(t *testing.T) {
	c := newTold(t)
	used := func() uint64 {
		_, full := c.volumes()
		return full["files"][0]
	}
	require.Zero(t, c.calls(), "nobody has asked")
	require.EqualValues(t, 5000, used())
	c.Machine("pod/web").WriteFile("/files/y", "12345")
	require.EqualValues(t, 5000, used())
	_, err := c.get("metrics")
	require.NoError(t, err)
	require.Len(t, c.Machine("pod/web").VolumeStats(), 9)
	require.Equal(t, 2, c.calls(), "one of each of the driver's volumes")
	c.RunFor(time.Minute)
	require.EqualValues(t, 5005, used())
	require.Equal(t, 4, c.calls())
}

// Upstream: pkg/kubelet/metrics/collectors/volume_stats.go, v1.37.2.
func TestAKubeletHasMetricsOfTheVolumesOfClaims(t *testing.T) {
	c := newTold(t)
	c.Apply(`{apiVersion: v1, kind: Pod, metadata: {name: also}, spec: {nodeName: node-1, containers: [{name: c, image: busybox, command: [sleep, "100000"],
  volumeMounts: [{name: x, mountPath: /x}]}], volumes: [{name: x, persistentVolumeClaim: {claimName: files}}]}}`)
	c.RunFor(time.Minute)
	text, err := c.get("metrics")
	require.NoError(t, err)
	require.Contains(t, string(text), `# HELP kubelet_volume_stats_capacity_bytes [ALPHA] Capacity in bytes of the volume
# TYPE kubelet_volume_stats_capacity_bytes gauge
kubelet_volume_stats_capacity_bytes{namespace="default",persistentvolumeclaim="device"} 2.147483648e+09
kubelet_volume_stats_capacity_bytes{namespace="default",persistentvolumeclaim="files"} 1.073741824e+09
kubelet_volume_stats_capacity_bytes{namespace="default",persistentvolumeclaim="local"} 2.68435456e+08
# HELP kubelet_volume_stats_inodes [ALPHA] Maximum number of inodes in the volume
`)
	require.Contains(t, string(text), "\nkubelet_volume_stats_used_bytes{namespace=\"default\",persistentvolumeclaim=\"files\"} 5000\n")
	require.NotContains(t, string(text), "scratch")

	c.Delete("pod/web", "pod/also")
	c.RunFor(2 * time.Minute)
	text, err = c.get("metrics")
	require.NoError(t, err)
	require.Empty(t, string(text))
}

// Upstream: pkg/kubelet/server/stats/summary.go and pkg/kubelet/stats/helper.go makePodStorageStats, v1.37.2.
func TestASummaryHasWhatIsOnTheDisksOfTheNodeAndNothingElse(t *testing.T) {
	c := newTold(t)
	text, err := c.get("stats/summary")
	require.NoError(t, err)
	require.True(t, strings.HasPrefix(string(text), "{\n \"node\": {\n  \"nodeName\": \"node-1\","), "%s", text)
	var summary stats.Summary
	require.NoError(t, json.Unmarshal(text, &summary))
	require.EqualValues(t, machine.DefaultSize, *summary.Node.Fs.CapacityBytes)
	require.Nil(t, summary.Node.CPU)
	pod := summary.Pods[0]
	require.Equal(t, stats.PodReference{Name: "web", Namespace: "default", UID: string(c.Pod("web").UID)}, pod.PodRef)
	require.False(t, pod.StartTime.IsZero())
	require.Equal(t, "web", pod.Containers[0].Name)
	require.EqualValues(t, 12<<10, *pod.Containers[0].Rootfs.UsedBytes)
	require.EqualValues(t, len("begun\n"), *pod.Containers[0].Logs.UsedBytes)
	require.Equal(t, *pod.Containers[0].Rootfs.UsedBytes+*pod.Containers[0].Logs.UsedBytes+*pod.VolumeStats[0].UsedBytes+*pod.VolumeStats[1].UsedBytes,
		*pod.EphemeralStorage.UsedBytes)
	require.Nil(t, pod.CPU)
	require.Nil(t, pod.Memory)
	require.Nil(t, pod.Network)

	text, err = c.get("stats/summary?only_cpu_and_memory=true")
	require.NoError(t, err)
	summary = stats.Summary{}
	require.NoError(t, json.Unmarshal(text, &summary))
	require.Nil(t, summary.Node.Fs)
	require.Len(t, summary.Pods, 1)
	require.Empty(t, summary.Pods[0].VolumeStats)
}

// What was known stays, as upstream, where the kubelet waits for the server without an end.
func TestOfAServerThatDoesNotAnswerTheOldNumbersAreTold(t *testing.T) {
	c := newTold(t)
	_, before := c.volumes()
	c.Inject(machine.Fault{Machine: "nfs/nas", Times: -1, Err: disk.ErrSilent})
	c.Machine("pod/web").WriteFile("/files/y", "12345")
	c.RunFor(time.Minute)
	_, silent := c.volumes()
	require.Equal(t, before, silent)
}

// Upstream: pkg/registry/core/node/rest ProxyREST, apimachinery pkg/util/proxy Transport.RoundTrip, v1.37.2.
func TestARequestForAKubeletThatCannotBeAnsweredSaysWhy(t *testing.T) {
	c := newTold(t)
	c.Apply(`{apiVersion: v1, kind: Node, metadata: {name: by-hand}, status: {addresses: [{type: InternalIP, address: 10.9.9.9}]}}`)
	for name, test := range map[string]struct {
		method, path   string
		code           int
		text, location string
	}{
		"posted":       {"POST", "node-1/proxy/stats/summary", 200, "", ""},
		"put":          {"PUT", "node-1/proxy/stats/summary", 405, "405: Method Not Allowed", ""},
		"its port":     {"GET", "node-1:10250/proxy/metrics", 200, "", ""},
		"another port": {"GET", "node-1:10255/proxy/metrics", 503, "error trying to reach service: nothing listens at port 10255 of the node", ""},
		"a slash":      {"GET", "node-1/proxy/metrics/", 200, "", ""},
		"no path":      {"GET", "node-1/proxy/", 404, "the kubelets of this simulation have /stats/summary and /metrics", ""},
		"another path": {"GET", "node-1/proxy/configz", 404, "the kubelets of this simulation have /stats/summary and /metrics", ""},
		"no such node": {"GET", "node-2/proxy/metrics", 404, `nodes "node-2" not found`, ""},
		"no name":      {"GET", "a:b:c:d/proxy/metrics", 400, `invalid node request "a:b:c:d"`, ""},
		"no kubelet":   {"GET", "by-hand/proxy/metrics", 503, "error trying to reach service: dial tcp 10.9.9.9:10250: connect: connection refused", ""},
		"no slash":     {"GET", "node-1/proxy?a=b", 301, "", "/api/v1/nodes/node-1/proxy/?a=b"},
		"deleted":      {"DELETE", "node-1/proxy/metrics", 200, "", ""},
	} {
		r, err := http.NewRequestWithContext(t.Context(), test.method, "http://storagesim/api/v1/nodes/"+test.path, nil)
		require.NoError(t, err)
		answer, err := c.RESTConfig("operator").Transport.RoundTrip(r)
		require.NoError(t, err)
		text, err := io.ReadAll(answer.Body)
		require.NoError(t, err)
		require.Equal(t, test.code, answer.StatusCode, name)
		require.Contains(t, string(text), strings.ReplaceAll(test.text, `"`, `\"`), name)
		require.Equal(t, test.location, answer.Header.Get("Location"), name)
	}
	c.Stop("kubelet/node-1")
	_, err := c.get("metrics")
	require.True(t, apierrors.IsServiceUnavailable(err))
	require.ErrorContains(t, err, "error trying to reach service: dial tcp ")
	require.ErrorContains(t, err, ":10250: connect: connection refused")
	_, err = c.Cluster.Cluster.Machine("nfs/nas").BeginRequest(nil)
	require.EqualError(t, err, `"nfs/nas" is not a node, and kubelets are on nodes; expected node/name`)
}

func TestARequestIsLostWithTheKubeletThatWasToAnswer(t *testing.T) {
	for name, end := range map[string]func(told) error{
		"stopped": func(c told) error { return c.Cluster.Cluster.Stop("kubelet/node-1") },
		"crashed": func(c told) error { return c.Cluster.Cluster.Crash("kubelet/node-1") },
	} {
		c := newTold(t)
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "/stats/summary", nil)
		require.NoError(t, err)
		x, err := c.Machine("node/node-1").BeginRequest(r)
		require.NoError(t, err)
		answer, err := x.Answer()
		require.NoError(t, err, name)
		require.Nil(t, answer, name)
		require.NoError(t, end(c))
		c.RunFor(time.Minute)
		_, err = x.Answer()
		require.EqualError(t, err, "EOF", name)
	}
}

// A program, whose goroutines run beside the driver, asks between the steps. A client of RESTConfig may not.
func TestAProgramReadsWhatAKubeletTells(t *testing.T) {
	live.Bubble(t, func(t *testing.T) {
		c, err := storagesim.New(storagesim.Config{Disks: storagesim.MemoryDisks})
		require.NoError(t, err)
		defer func() { require.NoError(t, c.Close()) }()
		require.NoError(t, c.InstallCSIDriver(driver.Config{}))
		require.NoError(t, c.Apply(clustertest.CSIManifests))
		driver := live.Start(c.Engine())
		defer func() { require.NoError(t, driver.Stop()) }()
		time.Sleep(time.Minute)
		metrics := make(chan string, 1)
		driver.Do(func() {
			err = c.AddProgram(storagesim.Program{Name: "scraper", Run: func(ctx context.Context, cfg *rest.Config) error {
				text, err := restClient(t, cfg).Get().AbsPath("/api/v1/nodes/node-1/proxy/metrics").DoRaw(ctx)
				if err != nil {
					return err
				}
				metrics <- string(text)
				<-ctx.Done()
				return nil
			}})
		})
		require.NoError(t, err)
		require.Contains(t, <-metrics, `kubelet_volume_stats_used_bytes{namespace="default",persistentvolumeclaim="data"} 6`)
		err = restClient(t, c.RESTConfig("beside")).Get().AbsPath("/api/v1/nodes/node-1/proxy/metrics").Do(t.Context()).Error()
		require.ErrorContains(t, err, "nodes/proxy is served by ")
	})
}
