package fake_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/storagesim/storagesim/api"
	"github.com/storagesim/storagesim/api/fake"
	"github.com/storagesim/storagesim/trace"
)

var (
	ctx        = context.Background()
	configMaps = v1.SchemeGroupVersion.WithResource("configmaps")
)

// newServer returns a server, and the client of a user.
func newServer() (*api.Server, *fake.Clientset) {
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC) // two servers are compared
	s := api.NewServer(api.Config{Now: func() time.Time { return now }})
	return s, fake.New(s, "user")
}

// gated is a server behind two functions.
type gated struct {
	*api.Server
	before func(req *api.Request) error
	after  func(req *api.Request, err error) error
}

func (g gated) Do(ctx context.Context, req api.Request) (runtime.Object, error) {
	if err := g.before(&req); err != nil {
		return nil, err
	}
	obj, err := g.Server.Do(ctx, req)
	return obj, g.after(&req, err)
}

func (g gated) Watch(ctx context.Context, req api.Request) (watch.Interface, error) {
	if err := g.before(&req); err != nil {
		return nil, err
	}
	w, err := g.Server.Watch(ctx, req)
	return w, g.after(&req, err)
}

func claim(name string) *v1.PersistentVolumeClaim {
	return &v1.PersistentVolumeClaim{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "default"},
		Spec: v1.PersistentVolumeClaimSpec{
			AccessModes: []v1.PersistentVolumeAccessMode{v1.ReadWriteOnce},
			Resources:   v1.VolumeResourceRequirements{Requests: v1.ResourceList{v1.ResourceStorage: resource.MustParse("5Gi")}},
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

func configMap(name string) *v1.ConfigMap {
	return &v1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "default"}}
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

// writes records what a server reports.
func writes(s *api.Server) *[]trace.Write {
	var all []trace.Write
	s.OnWrite(func(w trace.Write) { all = append(all, w) })
	return &all
}
