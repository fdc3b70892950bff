package api_test

import (
	"context"
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	clientgofake "k8s.io/client-go/kubernetes/fake"

	"github.com/storagesim/storagesim/api"
	"github.com/storagesim/storagesim/api/fake"
)

// The clientsets that are compared: ours with all semantics, and client-go's
// two fakes without any.
var clientsets = []struct {
	name string
	make func() kubernetes.Interface
}{
	{"api", func() kubernetes.Interface { return fake.New(api.NewServer(api.Config{}), "user") }},
	{"simple", func() kubernetes.Interface { return clientgofake.NewSimpleClientset() }},
	{"newclientset", func() kubernetes.Interface { return clientgofake.NewClientset() }},
}

func benchClaim(name string) *v1.PersistentVolumeClaim {
	class := "fast"
	return &v1.PersistentVolumeClaim{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "default", Labels: map[string]string{"app": "web"}},
		Spec: v1.PersistentVolumeClaimSpec{
			StorageClassName: &class,
			AccessModes:      []v1.PersistentVolumeAccessMode{v1.ReadWriteOnce},
			Resources:        v1.VolumeResourceRequirements{Requests: v1.ResourceList{v1.ResourceStorage: resource.MustParse("5Gi")}},
		},
	}
}

// clearNow and then, as a long test has to: the fakes record every action for
// ever, which is not what is compared here.
func clearNow(i int, client kubernetes.Interface) {
	if c, ok := client.(interface{ ClearActions() }); ok && i%1000 == 0 {
		c.ClearActions()
	}
}

func BenchmarkCreate(b *testing.B) {
	for _, cs := range clientsets {
		b.Run(cs.name, func(b *testing.B) {
			client := cs.make()
			claims := client.CoreV1().PersistentVolumeClaims("default")
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				_, err := claims.Create(context.Background(), benchClaim(fmt.Sprintf("claim-%09d", i)), metav1.CreateOptions{})
				require.NoError(b, err)
				clearNow(i, client)
			}
		})
	}
}

func BenchmarkUpdate(b *testing.B) {
	for _, cs := range clientsets {
		b.Run(cs.name, func(b *testing.B) {
			client := cs.make()
			claims := client.CoreV1().PersistentVolumeClaims("default")
			claim, err := claims.Create(context.Background(), benchClaim("claim"), metav1.CreateOptions{})
			require.NoError(b, err)
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				claim.Annotations = map[string]string{"n": fmt.Sprint(i)}
				claim, err = claims.Update(context.Background(), claim, metav1.UpdateOptions{})
				require.NoError(b, err)
				clearNow(i, client)
			}
		})
	}
}

func BenchmarkUpdateStatus(b *testing.B) {
	for _, cs := range clientsets {
		b.Run(cs.name, func(b *testing.B) {
			client := cs.make()
			claims := client.CoreV1().PersistentVolumeClaims("default")
			claim, err := claims.Create(context.Background(), benchClaim("claim"), metav1.CreateOptions{})
			require.NoError(b, err)
			phases := []v1.PersistentVolumeClaimPhase{v1.ClaimBound, v1.ClaimPending}
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				claim.Status.Phase = phases[i%2]
				claim, err = claims.UpdateStatus(context.Background(), claim, metav1.UpdateOptions{})
				require.NoError(b, err)
				clearNow(i, client)
			}
		})
	}
}

func BenchmarkGet(b *testing.B) {
	for _, cs := range clientsets {
		b.Run(cs.name, func(b *testing.B) {
			client := cs.make()
			claims := client.CoreV1().PersistentVolumeClaims("default")
			_, err := claims.Create(context.Background(), benchClaim("claim"), metav1.CreateOptions{})
			require.NoError(b, err)
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				_, err := claims.Get(context.Background(), "claim", metav1.GetOptions{})
				require.NoError(b, err)
				clearNow(i, client)
			}
		})
	}
}

// BenchmarkList lists 100 claims.
func BenchmarkList(b *testing.B) {
	for _, cs := range clientsets {
		b.Run(cs.name, func(b *testing.B) {
			client := cs.make()
			claims := client.CoreV1().PersistentVolumeClaims("default")
			for i := range 100 {
				_, err := claims.Create(context.Background(), benchClaim(fmt.Sprintf("claim-%03d", i)), metav1.CreateOptions{})
				require.NoError(b, err)
			}
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				_, err := claims.List(context.Background(), metav1.ListOptions{})
				require.NoError(b, err)
				clearNow(i, client)
			}
		})
	}
}

func BenchmarkPatch(b *testing.B) {
	for _, cs := range clientsets {
		b.Run(cs.name, func(b *testing.B) {
			client := cs.make()
			claims := client.CoreV1().PersistentVolumeClaims("default")
			_, err := claims.Create(context.Background(), benchClaim("claim"), metav1.CreateOptions{})
			require.NoError(b, err)
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				patch := fmt.Appendf(nil, `{"metadata":{"annotations":{"n":"%d"}}}`, i)
				_, err := claims.Patch(context.Background(), "claim", types.MergePatchType, patch, metav1.PatchOptions{})
				require.NoError(b, err)
				clearNow(i, client)
			}
		})
	}
}

// BenchmarkPodStatusPatch measures what a kubelet writes when a pod's containers run: its
// phase, its conditions and its containers' statuses.
func BenchmarkPodStatusPatch(b *testing.B) {
	client := fake.New(api.NewServer(api.Config{}), "kubelet")
	pods := client.CoreV1().Pods("default")
	_, err := pods.Create(context.Background(), pod("web"), metav1.CreateOptions{})
	require.NoError(b, err)
	condition := `{"type":"%s","status":"True","lastTransitionTime":"2026-01-01T00:00:00Z","reason":null,"message":null}`
	var conditions []string
	for _, name := range []string{"PodReadyToStartContainers", "Initialized", "Ready", "ContainersReady", "PodScheduled"} {
		conditions = append(conditions, fmt.Sprintf(condition, name))
	}
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		patch := fmt.Appendf(nil, `{"metadata":{"uid":null},"status":{"phase":"Running","hostIP":"10.0.0.1","podIP":"10.1.0.1",
			"$setElementOrder/conditions":[{"type":"PodReadyToStartContainers"},{"type":"Initialized"},{"type":"Ready"},{"type":"ContainersReady"},
				{"type":"PodScheduled"}],
			"conditions":[%s],"containerStatuses":[{"name":"c","image":"busybox","imageID":"busybox","containerID":"containerd://%d",
			"ready":true,"started":true,"restartCount":0,"lastState":{},"state":{"running":{"startedAt":"2026-01-01T00:00:00Z"}}}]}}`,
			strings.Join(conditions, ","), i)
		_, err := pods.Patch(context.Background(), "web", types.StrategicMergePatchType, patch, metav1.PatchOptions{}, "status")
		require.NoError(b, err)
		clearNow(i, client)
	}
}

// BenchmarkWatchersThatNeverRead measures 100,000 writes with ten watchers that never
// read. The simple fake panics at the 101st.
func BenchmarkWatchersThatNeverRead(b *testing.B) {
	for b.Loop() {
		b.ReportMetric(heapAfterWrites(b, 100_000, 10), "MiB-held")
	}
}

// heapAfterWrites returns the additional heap in use after that many writes under
// that many watchers that never read, in MiB.
func heapAfterWrites(tb testing.TB, writes, watchers int) float64 {
	ctx := context.Background()
	before := heap()
	s := api.NewServer(api.Config{})
	client := fake.New(s, "user")
	claims := client.CoreV1().PersistentVolumeClaims("default")
	claim, err := claims.Create(ctx, benchClaim("claim"), metav1.CreateOptions{})
	require.NoError(tb, err)
	for range watchers {
		w, err := claims.Watch(ctx, metav1.ListOptions{})
		require.NoError(tb, err)
		defer w.Stop()
	}
	for i := range writes {
		claim.Annotations = map[string]string{"n": fmt.Sprint(i)}
		claim, err = claims.Update(ctx, claim, metav1.UpdateOptions{})
		require.NoError(tb, err)
	}
	held := heap() - before
	runtime.KeepAlive(s)
	return held
}

func heap() float64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return float64(m.HeapAlloc) / (1 << 20)
}
