package resourcequota_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/storagesim/storagesim/controllers/resourcequota"
	"github.com/storagesim/storagesim/engine"
	"github.com/storagesim/storagesim/internal/rigs/enginetest"
	"github.com/storagesim/storagesim/trace"
)

var ctx = context.Background()

// cluster is an API server with the controller of quotas and no other actor.
type cluster struct{ *enginetest.Rig }

func newCluster(t testing.TB, cfg engine.Config) cluster {
	t.Helper()
	return cluster{enginetest.New(t, cfg, resourcequota.ActorName, resourcequota.New())}
}

// quota makes a quota from pairs of a name and a limit.
func (c cluster) quota(name string, hard ...string) {
	c.Helper()
	q := &v1.ResourceQuota{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: v1.ResourceQuotaSpec{Hard: v1.ResourceList{}}}
	for i := 0; i < len(hard); i += 2 {
		q.Spec.Hard[v1.ResourceName(hard[i])] = resource.MustParse(hard[i+1])
	}
	_, err := c.User.CoreV1().ResourceQuotas("default").Create(ctx, q, metav1.CreateOptions{})
	require.NoError(c, err)
}

// used returns what a quota says is used, by name.
func (c cluster) used(name string) map[string]string {
	c.Helper()
	q, err := c.User.CoreV1().ResourceQuotas("default").Get(ctx, name, metav1.GetOptions{})
	require.NoError(c, err)
	list := map[string]string{}
	for name, quantity := range q.Status.Used {
		list[string(name)] = quantity.String()
	}
	return list
}

func (c cluster) claim(name, size string) error {
	_, err := c.User.CoreV1().PersistentVolumeClaims("default").Create(ctx, &v1.PersistentVolumeClaim{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: v1.PersistentVolumeClaimSpec{
			AccessModes: []v1.PersistentVolumeAccessMode{v1.ReadWriteOnce},
			Resources:   v1.VolumeResourceRequirements{Requests: v1.ResourceList{v1.ResourceStorage: resource.MustParse(size)}},
		},
	}, metav1.CreateOptions{})
	return err
}

func (c cluster) deleteClaim(name string) {
	c.Helper()
	claims := c.User.CoreV1().PersistentVolumeClaims("default")
	_, err := claims.Patch(ctx, name, types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`), metav1.PatchOptions{})
	require.NoError(c, err)
	require.NoError(c, claims.Delete(ctx, name, metav1.DeleteOptions{}))
}

// writes returns the number of requests that the controller has made.
func (c cluster) writes() (n int) {
	for _, entry := range c.Engine.Trace().Entries() {
		if w, ok := entry.Record.(trace.Write); ok && w.Actor == resourcequota.ActorName {
			n++
		}
	}
	return n
}

// semantics 8.3 (10), (11).
func TestAQuotaCountsWhatThereIsAndWhatGoes(t *testing.T) {
	enginetest.AtEverySeed(t, 20, func(t testing.TB, cfg engine.Config) {
		c := newCluster(t, cfg)
		require.NoError(t, c.claim("early", "2Gi"))
		c.quota("few", "requests.storage", "5Gi", "count/persistentvolumeclaims", "2", "configmaps", "3", "count/jobs.batch", "4")
		c.Settle()
		require.Equal(t, map[string]string{"requests.storage": "2Gi", "count/persistentvolumeclaims": "1", "configmaps": "0", "count/jobs.batch": "0"}, c.used("few"))

		require.NoError(t, c.claim("late", "3Gi"))
		require.Equal(t, "5Gi", c.used("few")["requests.storage"], "the API server has charged it")
		require.True(t, apierrors.IsForbidden(c.claim("more", "1Gi")))
		c.Settle()
		c.deleteClaim("early")
		require.Equal(t, "5Gi", c.used("few")["requests.storage"], "the controller has not heard of it yet")
		c.Settle()
		require.Equal(t, map[string]string{"requests.storage": "3Gi", "count/persistentvolumeclaims": "1", "configmaps": "0", "count/jobs.batch": "0"}, c.used("few"))
		require.NoError(t, c.claim("more", "2Gi"))
	})
}

// semantics 8.3 (12).
func TestAPodThatHasEndedTakesNoMoreThanItsPlace(t *testing.T) {
	c := newCluster(t, engine.Config{})
	c.quota("few", "pods", "1", "count/pods", "2")
	c.Settle()
	pods := c.User.CoreV1().Pods("default")
	pod, err := pods.Create(ctx, &v1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "job"}, Spec: v1.PodSpec{Containers: []v1.Container{{Name: "c", Image: "busybox"}}}},
		metav1.CreateOptions{})
	require.NoError(t, err)
	c.Settle()
	require.Equal(t, map[string]string{"pods": "1", "count/pods": "1"}, c.used("few"))
	pod.Status.Phase = v1.PodSucceeded
	_, err = pods.UpdateStatus(ctx, pod, metav1.UpdateOptions{})
	require.NoError(t, err)
	c.Settle()
	require.Equal(t, map[string]string{"pods": "0", "count/pods": "1"}, c.used("few"))
}

// semantics 8.3 (13).
func TestWhatWasChargedInVainIsForgottenInFiveMinutes(t *testing.T) {
	c := newCluster(t, engine.Config{})
	c.quota("few", "persistentvolumeclaims", "5")
	require.NoError(t, c.claim("data", "1Gi"))
	c.Settle()
	require.True(t, apierrors.IsAlreadyExists(c.claim("data", "1Gi")))
	c.Settle()
	require.Equal(t, map[string]string{"persistentvolumeclaims": "2"}, c.used("few"))
	require.NoError(t, c.Engine.RunFor(5*time.Minute))
	require.Equal(t, map[string]string{"persistentvolumeclaims": "1"}, c.used("few"))
}

func TestThereIsNoStepInAClusterWithoutQuotas(t *testing.T) {
	c := newCluster(t, engine.Config{})
	require.NoError(t, c.claim("data", "1Gi"))
	_, waits := c.Engine.NextTimer()
	require.False(t, waits)
	require.Zero(t, c.writes())
	follows, err := c.Engine.Follows(resourcequota.ActorName)
	require.NoError(t, err)
	require.Equal(t, []string{"resourcequotas"}, follows)
}

func TestAQuotaThatIsRightIsNotWritten(t *testing.T) {
	c := newCluster(t, engine.Config{})
	c.quota("few", "persistentvolumeclaims", "5")
	c.Settle()
	require.NoError(t, c.claim("data", "1Gi"))
	c.Settle()
	require.NoError(t, c.Engine.RunFor(20*time.Minute))
	require.Equal(t, 1, c.writes())
}
