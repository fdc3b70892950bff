// Package clienttest is a suite of tests of what client-go promises to its users: conflicts,
// selectors, pages, watches, patches, preconditions, dry runs, field managers and the reasons
// of errors. It is the same for every way to the API server, so that each way answers alike.
//
//	func TestClients(t *testing.T) { clienttest.Run(t, connect) }
package clienttest

import (
	"context"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes"
	corev1 "k8s.io/client-go/kubernetes/typed/core/v1"

	"github.com/storagesim/storagesim/internal/rigs/soon"
)

// Run runs every test with a client of its own. connect makes a client of a new server on
// which no controllers run; what has to be closed it closes at the test's end.
func Run(t *testing.T, connect func(t *testing.T) kubernetes.Interface) {
	t.Helper()
	for _, tests := range [][]test{objects, errors, deletions, lists, watches, patches, others} {
		for _, c := range tests {
			t.Run(c.name, func(t *testing.T) { c.run(&client{t, t.Context(), connect(t)}) })
		}
	}
}

// test is one promise, as a sentence, and how it is checked.
type test struct {
	name string
	run  func(c *client)
}

// client is the client of one test.
type client struct {
	*testing.T
	ctx context.Context
	kubernetes.Interface
}

func (c *client) maps() corev1.ConfigMapInterface { return c.CoreV1().ConfigMaps("default") }

func (c *client) claims() corev1.PersistentVolumeClaimInterface {
	return c.CoreV1().PersistentVolumeClaims("default")
}

// create creates a ConfigMap with those labels, in pairs.
func (c *client) create(name string, labels ...string) *v1.ConfigMap {
	c.Helper()
	m := configMap(name)
	for i := 0; i < len(labels); i += 2 {
		m.Labels[labels[i]] = labels[i+1]
	}
	made, err := c.maps().Create(c.ctx, m, metav1.CreateOptions{})
	require.NoError(c, err)
	return made
}

// get returns a ConfigMap as it is now.
func (c *client) get(name string) *v1.ConfigMap {
	c.Helper()
	m, err := c.maps().Get(c.ctx, name, metav1.GetOptions{})
	require.NoError(c, err)
	return m
}

// names returns the ConfigMaps that a list has. Those of every namespace are left out.
func (c *client) names(opts metav1.ListOptions) []string {
	c.Helper()
	list, err := c.maps().List(c.ctx, opts)
	require.NoError(c, err)
	return namesOf(list.Items)
}

func namesOf(items []v1.ConfigMap) []string {
	names := []string{}
	for _, m := range items {
		if m.Name != "kube-root-ca.crt" {
			names = append(names, m.Name)
		}
	}
	return names
}

// refused demands an error of that reason.
func (c *client) refused(err error, reason metav1.StatusReason, words ...string) {
	c.Helper()
	require.Error(c, err)
	assert.Equal(c, reason, apierrors.ReasonForError(err), "%v", err)
	for _, text := range words {
		assert.ErrorContains(c, err, text)
	}
}

// watch watches the ConfigMaps until the test ends.
func (c *client) watch(opts metav1.ListOptions) watch.Interface {
	c.Helper()
	w, err := c.maps().Watch(c.ctx, opts)
	require.NoError(c, err)
	c.Cleanup(w.Stop)
	return w
}

// next returns the next event of a watch, which must come.
func (c *client) next(w watch.Interface) watch.Event {
	c.Helper()
	select {
	case e, open := <-w.ResultChan():
		require.True(c, open, "the watch has ended")
		return e
	case <-soon.End(c.T):
		require.Fail(c, "no event comes")
	}
	return watch.Event{}
}

// sees demands that the next event is of that type and about that ConfigMap.
func (c *client) sees(w watch.Interface, kind watch.EventType, name string) *v1.ConfigMap {
	c.Helper()
	e := c.next(w)
	require.Equal(c, kind, e.Type, "%v", e.Object)
	m, ok := e.Object.(*v1.ConfigMap)
	require.True(c, ok, "%T", e.Object)
	require.Equal(c, name, m.Name)
	return m
}

// ends demands that a watch ends, whatever comes before.
func (c *client) ends(w watch.Interface) {
	c.Helper()
	late := soon.End(c.T)
	for {
		select {
		case _, open := <-w.ResultChan():
			if !open {
				return
			}
		case <-late:
			require.Fail(c, "the watch goes on")
		}
	}
}

func configMap(name string) *v1.ConfigMap {
	return &v1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{}}}
}

func claim(name string) *v1.PersistentVolumeClaim {
	return &v1.PersistentVolumeClaim{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: v1.PersistentVolumeClaimSpec{
			StorageClassName: new("manual"), AccessModes: []v1.PersistentVolumeAccessMode{v1.ReadWriteOnce},
			Resources: v1.VolumeResourceRequirements{Requests: v1.ResourceList{v1.ResourceStorage: resource.MustParse("1Gi")}},
		},
	}
}

func pod(name string) *v1.Pod {
	return &v1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: v1.PodSpec{Containers: []v1.Container{{Name: "c", Image: "busybox"}}}}
}
