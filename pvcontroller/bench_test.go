package pvcontroller_test

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
)

// BenchmarkStaticBinding binds n claims to as many volumes, through API, engine
// and trace, from the first create to the last claim Bound. MB-held counts the
// memory that the cluster then keeps: objects, caches, the log of changes and a trace of
// every write.
func BenchmarkStaticBinding(b *testing.B) {
	for _, n := range []int{10_000, 100_000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			for b.Loop() {
				bindStatically(b, clustertest.BenchSize(n))
			}
		})
	}
}

func bindStatically(b *testing.B, n int) {
	c, err := storagesim.New(storagesim.Config{Only: []string{storagesim.PVController}, NoNodes: true})
	if err != nil {
		b.Fatal(err)
	}
	defer c.Close()
	ctx, core := context.Background(), c.Client().CoreV1()
	size := v1.ResourceList{v1.ResourceStorage: resource.MustParse("1Gi")}
	modes := []v1.PersistentVolumeAccessMode{v1.ReadWriteOnce}
	class := "manual"
	began := time.Now()
	for i := range n {
		name := fmt.Sprintf("v-%06d", i)
		pv := &v1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: v1.PersistentVolumeSpec{
			Capacity: size, AccessModes: modes, StorageClassName: class,
			PersistentVolumeSource: v1.PersistentVolumeSource{HostPath: &v1.HostPathVolumeSource{Path: "/data/" + name}},
		}}
		if _, err := core.PersistentVolumes().Create(ctx, pv, metav1.CreateOptions{}); err != nil {
			b.Fatal(err)
		}
	}
	for i := range n {
		claim := &v1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("c-%06d", i)}, Spec: v1.PersistentVolumeClaimSpec{
			AccessModes: modes, StorageClassName: &class, Resources: v1.VolumeResourceRequirements{Requests: size},
		}}
		if _, err := core.PersistentVolumeClaims("default").Create(ctx, claim, metav1.CreateOptions{}); err != nil {
			b.Fatal(err)
		}
	}
	if err := c.Settle(); err != nil {
		b.Fatal(err)
	}
	b.ReportMetric(float64(n)/time.Since(began).Seconds(), "claims/s")
	b.StopTimer()
	defer b.StartTimer()
	reportHeld(b)
	claims, err := core.PersistentVolumeClaims("default").List(ctx, metav1.ListOptions{})
	if err != nil {
		b.Fatal(err)
	}
	for i := range claims.Items {
		if claims.Items[i].Status.Phase != v1.ClaimBound {
			b.Fatalf("claim %s is %s", claims.Items[i].Name, claims.Items[i].Status.Phase)
		}
	}
}

// reportHeld reports the memory that is still in use.
func reportHeld(b *testing.B) {
	b.Helper()
	b.ReportMetric(clustertest.HeldBytes()/1e6, "MB-held")
}
