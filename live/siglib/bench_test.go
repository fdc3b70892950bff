package siglib_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/go-logr/logr"
	v1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/sig-storage-lib-external-provisioner/v13/controller"

	"github.com/storagesim/storagesim"
	"github.com/storagesim/storagesim/live"
	"github.com/storagesim/storagesim/live/siglib"
)

const tenThousand = 10_000

// manyClaims returns ten thousand, or with -short a hundred.
func manyClaims() int {
	if testing.Short() {
		return tenThousand / 100
	}
	return tenThousand
}

// BenchmarkImmediate provisions 10,000 Immediate claims with a provisioner that does
// nothing, from the first create to the last claim Bound: by our controller, and by
// the library's own beside our PV controller, on the same kind of API server.
func BenchmarkImmediate(b *testing.B) {
	b.Run("ours", func(b *testing.B) {
		for b.Loop() {
			cluster := benchCluster(b)
			if err := cluster.AddProvisioner(provisionerName, siglib.Adapt(&nfsProvisioner{})); err != nil {
				b.Fatal(err)
			}
			began := time.Now()
			createClaims(b, cluster)
			if err := cluster.Settle(); err != nil {
				b.Fatal(err)
			}
			b.ReportMetric(float64(manyClaims())/time.Since(began).Seconds(), "claims/s")
			requireBound(b, cluster)
			closeCluster(b, cluster)
		}
	})
	b.Run("library", func(b *testing.B) {
		for b.Loop() {
			cluster := benchCluster(b)
			ctx, cancel := context.WithCancel(logr.NewContext(b.Context(), logr.Discard()))
			pc := controller.NewProvisionController(ctx, cluster.Client(), provisionerName, &nfsProvisioner{}, controller.LeaderElection(false))
			driver := live.Start(cluster.Engine())
			ran := make(chan error, 1)
			go func() { ran <- siglib.Run(ctx, pc) }()
			bound := make(chan struct{})
			go awaitBound(b, cluster, bound)
			began := time.Now()
			createClaims(b, cluster)
			<-bound
			b.ReportMetric(float64(manyClaims())/time.Since(began).Seconds(), "claims/s")
			cancel()
			<-ran
			if err := driver.Stop(); err != nil {
				b.Fatal(err)
			}
			requireBound(b, cluster)
			closeCluster(b, cluster)
		}
	})
}

// benchCluster has a PV controller and the class.
func benchCluster(b *testing.B) *storagesim.Cluster {
	b.Helper()
	cluster, err := storagesim.New(storagesim.Config{
		Start: time.Now(), Only: []string{storagesim.PVController}, NoNodes: true,
	})
	if err != nil {
		b.Fatal(err)
	}
	policy := v1.PersistentVolumeReclaimDelete
	class := &storagev1.StorageClass{
		ObjectMeta: metav1.ObjectMeta{Name: "my-nfs"}, Provisioner: provisionerName, ReclaimPolicy: &policy,
		Parameters: map[string]string{"server": "192.168.203.110", "path": "/data/nfs"},
	}
	if _, err := cluster.Client().StorageV1().StorageClasses().Create(b.Context(), class, metav1.CreateOptions{}); err != nil {
		b.Fatal(err)
	}
	return cluster
}

func createClaims(b *testing.B, cluster *storagesim.Cluster) {
	b.Helper()
	class, claims := "my-nfs", cluster.Client().CoreV1().PersistentVolumeClaims("default")
	for i := range manyClaims() {
		claim := &v1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("c-%06d", i)}, Spec: v1.PersistentVolumeClaimSpec{
			AccessModes: []v1.PersistentVolumeAccessMode{v1.ReadWriteOnce}, StorageClassName: &class,
			Resources: v1.VolumeResourceRequirements{Requests: v1.ResourceList{v1.ResourceStorage: resource.MustParse("1Gi")}},
		}}
		if _, err := claims.Create(b.Context(), claim, metav1.CreateOptions{}); err != nil {
			b.Fatal(err)
		}
	}
}

// awaitBound closes bound when all claims are.
func awaitBound(b *testing.B, cluster *storagesim.Cluster, bound chan<- struct{}) {
	defer close(bound)
	w, err := cluster.Client().CoreV1().PersistentVolumeClaims("default").Watch(b.Context(), metav1.ListOptions{})
	if err != nil {
		b.Error(err)
		return
	}
	defer w.Stop()
	done := map[string]bool{}
	for len(done) < manyClaims() {
		event := <-w.ResultChan()
		claim, ok := event.Object.(*v1.PersistentVolumeClaim)
		if !ok {
			b.Errorf("the watch ends with %v", event)
			return
		}
		if claim.Status.Phase == v1.ClaimBound {
			done[claim.Name] = true
		}
	}
}

func requireBound(b *testing.B, cluster *storagesim.Cluster) {
	b.Helper()
	claims, err := cluster.Client().CoreV1().PersistentVolumeClaims("default").List(b.Context(), metav1.ListOptions{})
	if err != nil {
		b.Fatal(err)
	}
	for i := range claims.Items {
		if claims.Items[i].Status.Phase != v1.ClaimBound {
			b.Fatalf("claim %s is %s", claims.Items[i].Name, claims.Items[i].Status.Phase)
		}
	}
}

func closeCluster(b *testing.B, cluster *storagesim.Cluster) {
	b.Helper()
	if err := cluster.Close(); err != nil {
		b.Fatal(err)
	}
}
