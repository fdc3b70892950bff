package kubelet_test

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

// BenchmarkFiveThousandPods runs n pods on 50 nodes, each with a local volume of
// its own and an emptyDir, from their creation to the last one Running, deletes
// them, and ends when nothing of them is left. Twice the pods should take twice the
// time: compare us/pod. Who binds claims and schedules pods is not there: the
// kubelets' work is measured.
func BenchmarkFiveThousandPods(b *testing.B) {
	for _, n := range []int{5_000, 10_000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			n := clustertest.BenchSize(n)
			for b.Loop() {
				b.StopTimer()
				c := podsWorld(b, n)
				b.StartTimer()
				began := time.Now()
				runAndDeletePods(b, c, n)
				b.ReportMetric(float64(time.Since(began).Microseconds())/float64(n), "us/pod")
				b.StopTimer()
				if err := c.RequireNoLeaks(); err != nil {
					b.Fatal(err)
				}
				if err := c.Close(); err != nil {
					b.Fatal(err)
				}
				b.StartTimer()
			}
		})
	}
}

const benchNodes = 50

// podsWorld returns a cluster of kubelets with n volumes, and claims that have them.
func podsWorld(b *testing.B, n int) *storagesim.Cluster {
	b.Helper()
	names := make([]string, benchNodes)
	for i := range names {
		names[i] = fmt.Sprintf("node-%02d", i)
	}
	c, err := storagesim.New(storagesim.Config{Only: []string{}, Nodes: storagesim.Nodes(names...)})
	if err != nil {
		b.Fatal(err)
	}
	fail := func(err error) {
		if err != nil {
			b.Fatal(err)
		}
	}
	ctx, core := context.Background(), c.Client().CoreV1()
	size := v1.ResourceList{v1.ResourceStorage: resource.MustParse("1Gi")}
	modes := []v1.PersistentVolumeAccessMode{v1.ReadWriteOnce}
	class := "manual"
	for i := range n {
		name, node := fmt.Sprintf("p-%05d", i), names[i%benchNodes]
		fail(c.Machine("node/"+node).MakeDir("/disk/"+name, 0o755))
		pvc, err := core.PersistentVolumeClaims("default").Create(ctx, &v1.PersistentVolumeClaim{
			ObjectMeta: metav1.ObjectMeta{Name: name},
			Spec: v1.PersistentVolumeClaimSpec{
				AccessModes: modes, VolumeName: name, StorageClassName: &class, Resources: v1.VolumeResourceRequirements{Requests: size},
			},
		}, metav1.CreateOptions{})
		fail(err)
		pvc.Status.Phase = v1.ClaimBound
		_, err = core.PersistentVolumeClaims("default").UpdateStatus(ctx, pvc, metav1.UpdateOptions{})
		fail(err)
		_, err = core.PersistentVolumes().Create(ctx, &v1.PersistentVolume{
			ObjectMeta: metav1.ObjectMeta{Name: name},
			Spec: v1.PersistentVolumeSpec{
				AccessModes: modes, Capacity: size, StorageClassName: class,
				ClaimRef:               &v1.ObjectReference{Kind: "PersistentVolumeClaim", Namespace: "default", Name: name, UID: pvc.UID},
				PersistentVolumeSource: v1.PersistentVolumeSource{Local: &v1.LocalVolumeSource{Path: "/disk/" + name}},
				NodeAffinity: &v1.VolumeNodeAffinity{Required: &v1.NodeSelector{NodeSelectorTerms: []v1.NodeSelectorTerm{{
					MatchExpressions: []v1.NodeSelectorRequirement{{Key: v1.LabelHostname, Operator: v1.NodeSelectorOpIn, Values: []string{node}}},
				}}}},
			},
		}, metav1.CreateOptions{})
		fail(err)
	}
	fail(c.Settle())
	return c
}

func runAndDeletePods(b *testing.B, c *storagesim.Cluster, n int) {
	b.Helper()
	fail := func(err error) {
		if err != nil {
			b.Fatal(err)
		}
	}
	ctx, pods := context.Background(), c.Client().CoreV1().Pods("default")
	for i := range n {
		name := fmt.Sprintf("p-%05d", i)
		_, err := pods.Create(ctx, &v1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: v1.PodSpec{
			NodeName: fmt.Sprintf("node-%02d", i%benchNodes),
			Containers: []v1.Container{{Name: "c", Image: "busybox", VolumeMounts: []v1.VolumeMount{
				{Name: "data", MountPath: "/data"}, {Name: "tmp", MountPath: "/tmp"},
			}}},
			Volumes: []v1.Volume{
				{Name: "data", VolumeSource: v1.VolumeSource{PersistentVolumeClaim: &v1.PersistentVolumeClaimVolumeSource{ClaimName: name}}},
				{Name: "tmp", VolumeSource: v1.VolumeSource{EmptyDir: &v1.EmptyDirVolumeSource{}}},
			},
		}}, metav1.CreateOptions{})
		fail(err)
	}
	fail(c.Settle())
	list, err := pods.List(ctx, metav1.ListOptions{})
	fail(err)
	for i := range list.Items {
		if list.Items[i].Status.Phase != v1.PodRunning {
			b.Fatalf("pod %s is %s", list.Items[i].Name, list.Items[i].Status.Phase)
		}
		fail(pods.Delete(ctx, list.Items[i].Name, metav1.DeleteOptions{}))
	}
	fail(c.Settle())
	list, err = pods.List(ctx, metav1.ListOptions{})
	fail(err)
	if len(list.Items) > 0 {
		b.Fatalf("%d pods are left", len(list.Items))
	}
}
