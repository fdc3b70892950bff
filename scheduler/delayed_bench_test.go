package scheduler_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/storagesim/storagesim"
	"github.com/storagesim/storagesim/binding"
	"github.com/storagesim/storagesim/internal/rigs/clustertest"
	"github.com/storagesim/storagesim/storagesimtest"
)

// BenchmarkDelayedBinding schedules n pods over 1,000 nodes, each with a claim that
// waits for its first consumer, from the first create of a claim until every pod is
// bound to a node and every claim to its volume. All of the control plane runs; the
// nodes are objects without a kubelet. The volumes are local ones, made before, or
// are provisioned on the node chosen.
func BenchmarkDelayedBinding(b *testing.B) {
	for _, tt := range []struct {
		class string
		n     int
	}{{"local", 10_000}, {"local", 20_000}, {"made", 10_000}} {
		b.Run(fmt.Sprintf("%s/%d", tt.class, tt.n), func(b *testing.B) {
			for b.Loop() {
				bindDelayed(b, tt.class, clustertest.BenchSize(tt.n))
			}
		})
	}
}

func bindDelayed(b *testing.B, class string, n int) {
	const nodes = 1_000
	b.StopTimer()
	r := newDelayedRig(b, nodes)
	defer func() { _ = r.Close() }()
	if class == "local" {
		for i := range n {
			r.volume(fmt.Sprintf("v-%06d", i), "1Gi", fmt.Sprintf("node-%04d", i%nodes))
		}
	}
	r.Settle()
	b.StartTimer()
	began := time.Now()
	for i := range n {
		name := fmt.Sprintf("p-%06d", i)
		r.claim(name, "1Gi", class)
		r.pod(name, "", name)
	}
	r.Settle()
	b.StopTimer()
	b.ReportMetric(float64(n)/time.Since(began).Seconds(), "pods/s")
	requireAllPlaced(b, r, n)
	b.StartTimer()
}

// newDelayedRig returns a rig that watches nothing: what it would remember would be
// measured, too.
func newDelayedRig(b *testing.B, nodes int) *rig {
	b.Helper()
	c, err := storagesim.New(storagesim.Config{NoNodes: true})
	clustertest.Must(b, err)
	r := &rig{Cluster: &storagesimtest.Cluster{Cluster: c, T: b}}
	clustertest.Must(b, c.AddProvisioner(rackName, &rack{holds: map[string]bool{}}))
	r.class("local", binding.NotSupportedProvisioner)
	r.class("made", rackName)
	for i := range nodes {
		r.node(fmt.Sprintf("node-%04d", i))
	}
	return r
}

func requireAllPlaced(b *testing.B, r *rig, n int) {
	b.Helper()
	core, ctx := r.Client().CoreV1(), context.Background()
	pods, err := core.Pods("default").List(ctx, metav1.ListOptions{})
	clustertest.Must(b, err)
	claims, err := core.PersistentVolumeClaims("default").List(ctx, metav1.ListOptions{})
	clustertest.Must(b, err)
	placed, bound := 0, 0
	for i := range pods.Items {
		if pods.Items[i].Spec.NodeName != "" {
			placed++
		}
	}
	for i := range claims.Items {
		if claims.Items[i].Status.Phase == v1.ClaimBound {
			bound++
		}
	}
	if placed != n || bound != n {
		b.Fatalf("of %d pods %d have a node, and %d claims are bound", n, placed, bound)
	}
}
