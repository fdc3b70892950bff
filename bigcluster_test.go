package storagesim_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/storagesim/storagesim"
	"github.com/storagesim/storagesim/internal/rigs/clustertest"
	"github.com/storagesim/storagesim/trace"
)

// BenchmarkBigCluster runs pods on many nodes with a kubelet and a memory disk each. Each
// pod has a claim that waits for its first consumer, and there is a local volume for each:
// from the first volume to the last pod Running. All of the control plane runs. kB-held/pod
// counts the memory that the cluster then keeps, nodes included. The largest one keeps a trace of
// the latest 10,000 records only.
func BenchmarkBigCluster(b *testing.B) {
	for _, tt := range []struct{ nodes, pods, traceLimit int }{
		{1_000, 4_000, 0}, {5_000, 20_000, 0}, {5_000, 40_000, 0}, {5_000, 150_000, 10_000},
	} {
		b.Run(fmt.Sprintf("%d/%d", tt.nodes, tt.pods), func(b *testing.B) {
			for b.Loop() {
				fillBigCluster(b, clustertest.BenchSize(tt.nodes), clustertest.BenchSize(tt.pods), tt.traceLimit)
			}
		})
	}
}

const bigClass = `
apiVersion: storage.k8s.io/v1
kind: StorageClass
metadata: {name: local}
provisioner: kubernetes.io/no-provisioner
volumeBindingMode: WaitForFirstConsumer
`

// fillBigCluster returns the records of the run.
func fillBigCluster(b *testing.B, nodes, pods, traceLimit int) []trace.Entry {
	b.StopTimer()
	names := make([]string, nodes)
	for i := range names {
		names[i] = fmt.Sprintf("node-%04d", i)
	}
	began := time.Now()
	c, err := storagesim.New(storagesim.Config{Nodes: storagesim.Nodes(names...), Disks: storagesim.MemoryDisks, TraceLimit: traceLimit})
	clustertest.Must(b, err)
	defer func() { _ = c.Close() }()
	b.ReportMetric(time.Since(began).Seconds(), "s-nodes")
	clustertest.Must(b, c.Apply(bigClass))
	b.StartTimer()
	began = time.Now()
	core, ctx := c.Client().CoreV1(), context.Background()
	for i := range pods {
		name, node := fmt.Sprintf("v-%06d", i), names[i%nodes]
		clustertest.Must(b, c.Machine("node/"+node).MakeDir("/disks/"+name, 0o755))
		_, err := core.PersistentVolumes().Create(ctx, benchLocalVolume(name, node), metav1.CreateOptions{})
		clustertest.Must(b, err)
	}
	for i := range pods {
		name := fmt.Sprintf("p-%06d", i)
		_, err := core.PersistentVolumeClaims("default").Create(ctx, benchClaim(name), metav1.CreateOptions{})
		clustertest.Must(b, err)
		_, err = core.Pods("default").Create(ctx, benchPod(name), metav1.CreateOptions{})
		clustertest.Must(b, err)
	}
	clustertest.Must(b, c.Settle())
	b.StopTimer()
	b.ReportMetric(time.Since(began).Seconds()*1e3/float64(pods), "ms/pod")
	b.ReportMetric(clustertest.HeldBytes()/1e3/float64(pods), "kB-held/pod")
	requireAllRun(b, c, pods)
	b.StartTimer()
	return c.Engine().Trace().Entries()
}

// benchLocalVolume returns a directory of the node's disk.
func benchLocalVolume(name, node string) *v1.PersistentVolume {
	return &v1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: v1.PersistentVolumeSpec{
		AccessModes: []v1.PersistentVolumeAccessMode{v1.ReadWriteOnce}, StorageClassName: "local",
		Capacity:               v1.ResourceList{v1.ResourceStorage: resource.MustParse("1Gi")},
		PersistentVolumeSource: v1.PersistentVolumeSource{Local: &v1.LocalVolumeSource{Path: "/disks/" + name}},
		NodeAffinity:           clustertest.OnNode(node),
	}}
}

// benchClaim returns a claim for such a volume.
func benchClaim(name string) *v1.PersistentVolumeClaim {
	class := "local"
	return &v1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: v1.PersistentVolumeClaimSpec{
		AccessModes: []v1.PersistentVolumeAccessMode{v1.ReadWriteOnce}, StorageClassName: &class,
		Resources: v1.VolumeResourceRequirements{Requests: v1.ResourceList{v1.ResourceStorage: resource.MustParse("1Gi")}},
	}}
}

// benchPod returns a pod that mounts the claim of its name.
func benchPod(name string) *v1.Pod {
	return &v1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: v1.PodSpec{
		Containers: []v1.Container{{Name: "c", Image: "busybox", VolumeMounts: []v1.VolumeMount{{Name: "data", MountPath: "/data"}}}},
		Volumes: []v1.Volume{{Name: "data", VolumeSource: v1.VolumeSource{
			PersistentVolumeClaim: &v1.PersistentVolumeClaimVolumeSource{ClaimName: name},
		}}},
	}}
}

// requireAllRun fails unless there are n pods and all run.
func requireAllRun(b *testing.B, c *storagesim.Cluster, n int) {
	b.Helper()
	list, err := c.Client().CoreV1().Pods("default").List(context.Background(), metav1.ListOptions{})
	clustertest.Must(b, err)
	running := 0
	for i := range list.Items {
		if list.Items[i].Status.Phase == v1.PodRunning {
			running++
		}
	}
	if running != n {
		b.Fatalf("%d of %d pods run", running, n)
	}
}
