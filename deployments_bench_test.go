package storagesim_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/storagesim/storagesim"
	"github.com/storagesim/storagesim/internal/rigs/clustertest"
)

// BenchmarkDeployments makes Deployments of one pod, until all are available, and then rolls all of them out anew. ms/deployment and
// ms/rollout are of one.
func BenchmarkDeployments(b *testing.B) {
	names := make([]string, 20)
	for i := range names {
		names[i] = fmt.Sprintf("node-%02d", i)
	}
	for _, n := range []int{100, 1000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			for b.Loop() {
				rollOut(b, names, clustertest.BenchSize(n))
			}
		})
	}
}

func rollOut(b *testing.B, nodes []string, n int) {
	c, err := storagesim.New(storagesim.Config{Nodes: storagesim.Nodes(nodes...), Disks: storagesim.MemoryDisks})
	clustertest.Must(b, err)
	defer func() { _ = c.Close() }()
	deployments, ctx := c.Client().AppsV1().Deployments("default"), context.Background()
	each := func(metric string, do func(name string) error) {
		began := time.Now()
		for i := range n {
			clustertest.Must(b, do(fmt.Sprintf("d-%04d", i)))
		}
		clustertest.Must(b, c.Settle())
		b.ReportMetric(time.Since(began).Seconds()*1e3/float64(n), metric)
		list, err := deployments.List(ctx, metav1.ListOptions{})
		clustertest.Must(b, err)
		for _, d := range list.Items {
			if s := d.Status; s.ObservedGeneration != d.Generation || s.UpdatedReplicas != 1 || s.AvailableReplicas != 1 || s.Replicas != 1 {
				b.Fatalf("%s: %+v", d.Name, s)
			}
		}
	}
	each("ms/deployment", func(name string) error {
		labels := map[string]string{"app": name}
		_, err := deployments.Create(ctx, &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: appsv1.DeploymentSpec{
			Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: v1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: v1.PodSpec{Containers: []v1.Container{{Name: "c", Image: "busybox"}}}},
		}}, metav1.CreateOptions{})
		return err
	})
	each("ms/rollout", func(name string) error {
		_, err := deployments.Patch(ctx, name, types.MergePatchType, []byte(`{"spec":{"template":{"metadata":{"annotations":{"again":"yes"}}}}}`),
			metav1.PatchOptions{})
		return err
	})
}
