package openebs_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/storagesim/storagesim"
	"github.com/storagesim/storagesim/internal/rigs/clustertest"
	"github.com/storagesim/storagesim/provisioner/openebs"
	"github.com/storagesim/storagesim/trace"
)

// BenchmarkClaimToRunningPod takes n claims with a pod each from their creation to
// the last pod Running, through OpenEBS and its helper pods, which the kubelets of
// ten nodes run. It reports, for each claim, the real and the virtual time and the
// steps it takes, and how the real time is shared among the actors.
func BenchmarkClaimToRunningPod(b *testing.B) {
	for _, n := range []int{1, 100, 1000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			n, sum := clustertest.BenchSize(n), stopwatch{}
			for b.Loop() {
				claimsToRunningPods(b, n, &sum)
			}
			sum.report(b, n)
		})
	}
}

// stopwatch adds up what runs took.
type stopwatch struct {
	spent   map[string]time.Duration // by kind of actor
	virtual time.Duration
	steps   uint64
}

func (w *stopwatch) report(b *testing.B, n int) {
	claims := float64(b.N * n)
	var total time.Duration
	for _, d := range w.spent {
		total += d
	}
	b.ReportMetric(float64(total.Microseconds())/claims, "µs/claim")
	b.ReportMetric(w.virtual.Seconds()/claims, "virtual-s/claim")
	b.ReportMetric(float64(w.steps)/claims, "steps/claim")
	for kind, d := range w.spent {
		b.ReportMetric(100*float64(d)/float64(total), kind+"-%")
	}
	b.ReportMetric(0, "ns/op")
}

// kindOf groups actors: all kubelets are one.
func kindOf(actor string) string {
	switch {
	case strings.HasPrefix(actor, "kubelet/"):
		return "kubelets"
	case actor == openebs.ProvisionerName:
		return "openebs"
	case actor == storagesim.Scheduler:
		return "scheduler"
	case actor == storagesim.PVController:
		return "pv-controller"
	}
	return "others"
}

func claimsToRunningPods(b *testing.B, n int, sum *stopwatch) {
	b.StopTimer()
	var nodes []string
	for i := range 10 {
		nodes = append(nodes, fmt.Sprintf("node-%d", i))
	}
	c, err := storagesim.New(storagesim.Config{Nodes: storagesim.Nodes(nodes...)})
	if err != nil {
		b.Fatal(err)
	}
	defer c.Close()
	if err := c.AddProvisionController(openebs.Controller(openebs.Config{})); err != nil {
		b.Fatal(err)
	}
	if err := c.Apply(clustertest.MainStory[0]); err != nil {
		b.Fatal(err)
	}
	if err := c.Settle(); err != nil {
		b.Fatal(err)
	}
	for i := range n {
		createClaimAndPod(b, c, i)
	}
	began, steps, told := c.Now(), c.Engine().Steps(), c.Engine().Trace().Len()
	if sum.spent == nil {
		sum.spent = map[string]time.Duration{}
	}
	running := 0
	b.StartTimer()
	last := time.Now()
	err = c.RunUntil(func() bool {
		now := time.Now()
		sum.spent[kindOf(c.Engine().LastActor())] += now.Sub(last)
		log := c.Engine().Trace()
		for _, entry := range log.Since(told) {
			if w, ok := entry.Record.(trace.Write); ok && startsPod(w) {
				running++
			}
		}
		told = log.Len()
		last = time.Now()
		return running == n
	})
	b.StopTimer()
	if err != nil {
		b.Fatal(err)
	}
	sum.virtual += c.Now().Sub(began)
	sum.steps += c.Engine().Steps() - steps
	b.StartTimer()
}

// startsPod reports whether a write reports a pod of ours as running.
func startsPod(w trace.Write) bool {
	after, isPod := w.New.(*v1.Pod)
	before, _ := w.Old.(*v1.Pod)
	return isPod && w.Err == nil && after.Namespace == metav1.NamespaceDefault && before != nil &&
		after.Status.Phase == v1.PodRunning && before.Status.Phase != v1.PodRunning
}

func createClaimAndPod(b *testing.B, c *storagesim.Cluster, i int) {
	ctx, core, name, class := context.Background(), c.Client().CoreV1(), fmt.Sprintf("data-%04d", i), "openebs-hostpath"
	claim := &v1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: v1.PersistentVolumeClaimSpec{
		StorageClassName: &class, AccessModes: []v1.PersistentVolumeAccessMode{v1.ReadWriteOnce},
		Resources: v1.VolumeResourceRequirements{Requests: v1.ResourceList{v1.ResourceStorage: resource.MustParse("1Gi")}},
	}}
	if _, err := core.PersistentVolumeClaims(metav1.NamespaceDefault).Create(ctx, claim, metav1.CreateOptions{}); err != nil {
		b.Fatal(err)
	}
	pod := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: v1.PodSpec{
		Containers: []v1.Container{{Name: "c", Image: "nginx", VolumeMounts: []v1.VolumeMount{{Name: "data", MountPath: "/data"}}}},
		Volumes: []v1.Volume{{Name: "data", VolumeSource: v1.VolumeSource{
			PersistentVolumeClaim: &v1.PersistentVolumeClaimVolumeSource{ClaimName: name},
		}}},
	}}
	if _, err := core.Pods(metav1.NamespaceDefault).Create(ctx, pod, metav1.CreateOptions{}); err != nil {
		b.Fatal(err)
	}
}
