package api_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/storagesim/storagesim/api"
	"github.com/storagesim/storagesim/api/fake"
	"github.com/storagesim/storagesim/api/store"
	"github.com/storagesim/storagesim/control"
	"github.com/storagesim/storagesim/trace"
)

var ctx = context.Background()

// start is when the tests' clock begins.
var start = time.Date(2026, 1, 2, 3, 4, 5, 678, time.UTC)

// clock is a time that moves when it is told to.
type clock struct {
	mu  sync.Mutex
	now time.Time
}

func newClock() *clock { return &clock{now: start} }

func (c *clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *clock) Advance(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}

// newServer returns a server at the tests' time, and the client of a user.
func newServer() (*api.Server, *fake.Clientset) {
	s := api.NewServer(api.Config{Now: newClock().Now})
	return s, fake.New(s, "user")
}

func claim(name string) *v1.PersistentVolumeClaim {
	class := "manual"
	return &v1.PersistentVolumeClaim{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "default"},
		Spec: v1.PersistentVolumeClaimSpec{
			StorageClassName: &class,
			AccessModes:      []v1.PersistentVolumeAccessMode{v1.ReadWriteOnce},
			Resources:        v1.VolumeResourceRequirements{Requests: v1.ResourceList{v1.ResourceStorage: resource.MustParse("5Gi")}},
		},
	}
}

func volume(name string) *v1.PersistentVolume {
	return &v1.PersistentVolume{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: v1.PersistentVolumeSpec{
			StorageClassName:       "manual",
			AccessModes:            []v1.PersistentVolumeAccessMode{v1.ReadWriteOnce},
			Capacity:               v1.ResourceList{v1.ResourceStorage: resource.MustParse("5Gi")},
			PersistentVolumeSource: v1.PersistentVolumeSource{HostPath: &v1.HostPathVolumeSource{Path: "/tmp/" + name}},
		},
	}
}

func pod(name string) *v1.Pod {
	return &v1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "default"},
		Spec:       v1.PodSpec{Containers: []v1.Container{{Name: "c", Image: "busybox"}}},
	}
}

func podOn(name, node string) *v1.Pod {
	p := pod(name)
	p.Spec.NodeName = node
	return p
}

func configMap(name string) *v1.ConfigMap {
	return &v1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "default"}}
}

func storageClass(name string) *storagev1.StorageClass {
	return &storagev1.StorageClass{ObjectMeta: metav1.ObjectMeta{Name: name}, Provisioner: "example.com/ext"}
}

func createClaim(t testing.TB, c *fake.Clientset, obj *v1.PersistentVolumeClaim) *v1.PersistentVolumeClaim {
	t.Helper()
	created, err := c.CoreV1().PersistentVolumeClaims(obj.Namespace).Create(ctx, obj, metav1.CreateOptions{})
	require.NoError(t, err)
	return created
}

func createVolume(t testing.TB, c *fake.Clientset, obj *v1.PersistentVolume) *v1.PersistentVolume {
	t.Helper()
	created, err := c.CoreV1().PersistentVolumes().Create(ctx, obj, metav1.CreateOptions{})
	require.NoError(t, err)
	return created
}

func createPod(t testing.TB, c *fake.Clientset, obj *v1.Pod) *v1.Pod {
	t.Helper()
	created, err := c.CoreV1().Pods(obj.Namespace).Create(ctx, obj, metav1.CreateOptions{})
	require.NoError(t, err)
	return created
}

func createMap(t testing.TB, c *fake.Clientset, obj *v1.ConfigMap) *v1.ConfigMap {
	t.Helper()
	created, err := c.CoreV1().ConfigMaps(obj.Namespace).Create(ctx, obj, metav1.CreateOptions{})
	require.NoError(t, err)
	return created
}

func updateMap(t testing.TB, c *fake.Clientset, obj *v1.ConfigMap, value string) *v1.ConfigMap {
	t.Helper()
	obj = obj.DeepCopy()
	obj.Data = map[string]string{"value": value}
	updated, err := c.CoreV1().ConfigMaps(obj.Namespace).Update(ctx, obj, metav1.UpdateOptions{})
	require.NoError(t, err)
	return updated
}

// next returns the next event of a watch.
func next(t testing.TB, w watch.Interface) watch.Event {
	t.Helper()
	e, ok := <-w.ResultChan()
	require.True(t, ok, "the watch has ended")
	return e
}

// drain reads a cursor to its end.
func drain(t testing.TB, c *store.Cursor) []control.Change {
	t.Helper()
	var changes []control.Change
	for {
		change, ok, err := c.Next()
		require.NoError(t, err)
		if !ok {
			return changes
		}
		changes = append(changes, change)
	}
}

// said returns changes in short: "ADDED a", "DELETED a".
func said(changes []control.Change) []string {
	var lines []string
	for _, c := range changes {
		lines = append(lines, string(c.Type)+" "+nameOf(c.Object))
	}
	return lines
}

func nameOf(obj runtime.Object) string { return obj.(metav1.Object).GetName() }

// writes records what a server reports.
func writes(s *api.Server) *[]trace.Write {
	var all []trace.Write
	s.OnWrite(func(w trace.Write) { all = append(all, w) })
	return &all
}
