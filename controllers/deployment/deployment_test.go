package deployment_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/storagesim/storagesim"
	"github.com/storagesim/storagesim/internal/podstatus"
	"github.com/storagesim/storagesim/internal/seedtest"
	"github.com/storagesim/storagesim/internal/workload"
	"github.com/storagesim/storagesim/storagesimtest"
	"github.com/storagesim/storagesim/trace"
)

var ctx = context.Background()

type cluster struct{ *storagesimtest.Cluster }

func newCluster(t testing.TB, seed uint64) cluster {
	t.Helper()
	return cluster{storagesimtest.New(t, storagesim.Config{Seed: seed, Disks: storagesim.MemoryDisks, Nodes: storagesim.Nodes("node-1", "node-2")})}
}

// web returns the manifest of a Deployment of so many pods, with more of its spec.
func web(replicas int, more string) string {
	return fmt.Sprintf(`
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  replicas: %d
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      terminationGracePeriodSeconds: 1
      containers: [{name: c, image: "busybox:1", command: [sleep, "3600"]}]
%s`, replicas, more)
}

func (c cluster) deployment() *appsv1.Deployment {
	c.T.Helper()
	d, err := c.Client().AppsV1().Deployments("default").Get(ctx, "web", metav1.GetOptions{})
	require.NoError(c.T, err)
	return d
}

func (c cluster) patch(patch string) {
	c.T.Helper()
	_, err := c.Client().AppsV1().Deployments("default").Patch(ctx, "web", types.StrategicMergePatchType, []byte(patch), metav1.PatchOptions{})
	require.NoError(c.T, err)
}

// image changes the template.
func (c cluster) image(image string) {
	c.T.Helper()
	c.patch(`{"spec":{"template":{"spec":{"containers":[{"name":"c","image":"` + image + `"}]}}}}`)
}

func (c cluster) sets() []appsv1.ReplicaSet {
	c.T.Helper()
	list, err := c.Client().AppsV1().ReplicaSets("default").List(ctx, metav1.ListOptions{})
	require.NoError(c.T, err)
	return list.Items
}

// images returns the number of pods that are not being deleted, and of ready ones, by image.
func (c cluster) images() (all, ready map[string]int) {
	c.T.Helper()
	list, err := c.Client().CoreV1().Pods("default").List(ctx, metav1.ListOptions{})
	require.NoError(c.T, err)
	all, ready = map[string]int{}, map[string]int{}
	for i := range list.Items {
		if pod := &list.Items[i]; pod.DeletionTimestamp == nil {
			image := pod.Spec.Containers[0].Image
			all[image]++
			if podstatus.IsReady(pod) {
				ready[image]++
			}
		}
	}
	return all, ready
}

// wanted returns how many pods the ReplicaSets are to have. The limits hold for it: a pod too many may be deleted after a new one is made.
func (c cluster) wanted() (n int) {
	c.T.Helper()
	list, err := c.Client().AppsV1().ReplicaSets("default").List(ctx, metav1.ListOptions{})
	require.NoError(c.T, err)
	for i := range list.Items {
		n += int(*list.Items[i].Spec.Replicas)
	}
	return n
}

func sum(counts map[string]int) (n int) {
	for _, count := range counts {
		n += count
	}
	return n
}

func reasonOf(d *appsv1.Deployment, kind appsv1.DeploymentConditionType) string {
	for _, c := range d.Status.Conditions {
		if c.Type == kind {
			return string(c.Status) + " " + c.Reason
		}
	}
	return ""
}

func (c cluster) events() (list []string) {
	for _, entry := range c.Trace().Records() {
		if e, ok := entry.Record.(trace.Event); ok {
			list = append(list, e.Reason+": "+e.Message)
		}
	}
	return list
}

func TestARollingUpdateKeepsItsLimitsInEveryOrder(t *testing.T) {
	limits := []struct {
		surge, unavailable string
		most, least        int
	}{{"1", "0", 5, 4}, {"0", "1", 4, 3}, {"50%", "25%", 6, 3}, {"25%", "0", 5, 4}}
	seedtest.Each(t, 24, func(t testing.TB, seed uint64) {
		limit := limits[seed%uint64(len(limits))]
		c := newCluster(t, seed)
		c.Apply(web(4, fmt.Sprintf("  strategy: {rollingUpdate: {maxSurge: %s, maxUnavailable: %s}}\n", limit.surge, limit.unavailable)))
		c.Settle()
		c.image("busybox:2")
		for range 4000 {
			_, ready := c.images()
			require.LessOrEqual(t, c.wanted(), limit.most)
			require.GreaterOrEqual(t, sum(ready), limit.least)
			stepped, err := c.Engine().Step()
			require.NoError(t, err)
			if !stepped {
				break
			}
			if all, _ := c.images(); all["busybox:2"] == 4 && sum(all) == 4 {
				break
			}
		}
		c.Settle()
		_, ready := c.images()
		require.Equal(t, map[string]int{"busybox:2": 4}, ready)
		d := c.deployment()
		require.Equal(t, []int32{4, 4, 4, 0}, []int32{d.Status.Replicas, d.Status.UpdatedReplicas, d.Status.AvailableReplicas, d.Status.UnavailableReplicas})
		require.Equal(t, d.Generation, d.Status.ObservedGeneration)
		require.Equal(t, "True NewReplicaSetAvailable", reasonOf(d, appsv1.DeploymentProgressing))
		require.Equal(t, "True MinimumReplicasAvailable", reasonOf(d, appsv1.DeploymentAvailable))
		require.Equal(t, "2", d.Annotations["deployment.kubernetes.io/revision"])
	})
}

func TestRecreateNeverHasPodsOfTwoTemplates(t *testing.T) {
	seedtest.Each(t, 12, func(t testing.TB, seed uint64) {
		c := newCluster(t, seed)
		c.Apply(web(3, "  strategy: {type: Recreate}\n"))
		c.Settle()
		c.image("busybox:2")
		for range 4000 {
			list, err := c.Client().CoreV1().Pods("default").List(ctx, metav1.ListOptions{})
			require.NoError(t, err)
			seen := map[string]bool{}
			for _, pod := range list.Items { // also those that are being deleted
				if !workload.HasEnded(&pod) {
					seen[pod.Spec.Containers[0].Image] = true
				}
			}
			require.LessOrEqual(t, len(seen), 1)
			stepped, err := c.Engine().Step()
			require.NoError(t, err)
			if !stepped {
				break
			}
		}
		c.Settle()
		_, ready := c.images()
		require.Equal(t, map[string]int{"busybox:2": 3}, ready)
	})
}

func TestAPausedDeploymentIsScaledAndNotRolledOut(t *testing.T) {
	c := newCluster(t, 0)
	c.Apply(web(2, ""))
	c.Settle()
	c.patch(`{"spec":{"paused":true}}`)
	c.image("busybox:2")
	c.patch(`{"spec":{"replicas":3}}`)
	c.Settle()
	all, _ := c.images()
	require.Equal(t, map[string]int{"busybox:1": 3}, all)
	require.Equal(t, "Unknown DeploymentPaused", reasonOf(c.deployment(), appsv1.DeploymentProgressing))
	c.patch(`{"spec":{"paused":false}}`)
	c.Settle()
	all, _ = c.images()
	require.Equal(t, map[string]int{"busybox:2": 3}, all)
}

// kubectl rollout undo writes the template of an older ReplicaSet.
func TestAnOlderTemplateIsTheSameReplicaSetWithANewRevision(t *testing.T) {
	c := newCluster(t, 0)
	c.Apply(web(1, ""))
	c.Settle()
	first := c.sets()[0].Name
	c.image("busybox:2")
	c.Settle()
	c.image("busybox:1")
	c.Settle()
	require.Len(t, c.sets(), 2)
	for _, set := range c.sets() {
		if set.Name == first {
			require.EqualValues(t, 1, *set.Spec.Replicas)
			require.Equal(t, "3", set.Annotations["deployment.kubernetes.io/revision"])
			require.Equal(t, "1", set.Annotations["deployment.kubernetes.io/revision-history"])
		} else {
			require.Zero(t, *set.Spec.Replicas)
			require.Equal(t, "2", set.Annotations["deployment.kubernetes.io/revision"])
		}
	}
}

func TestOldReplicaSetsBeyondTheLimitAreDeleted(t *testing.T) {
	c := newCluster(t, 0)
	c.Apply(web(1, "  revisionHistoryLimit: 2\n"))
	for i := 2; i < 7; i++ {
		c.Settle()
		c.image(fmt.Sprintf("busybox:%d", i))
	}
	c.Settle()
	require.Len(t, c.sets(), 3)
}

func TestARolloutThatMakesNoProgressTimesOut(t *testing.T) {
	c := newCluster(t, 0)
	c.Apply(web(1, "  progressDeadlineSeconds: 60\n"))
	c.Settle()
	c.patch(`{"spec":{"template":{"spec":{"nodeSelector":{"no":"where"}}}}}`)
	c.Settle()
	require.Equal(t, "True ReplicaSetUpdated", reasonOf(c.deployment(), appsv1.DeploymentProgressing))
	c.RunFor(2 * time.Minute)
	require.Equal(t, "False ProgressDeadlineExceeded", reasonOf(c.deployment(), appsv1.DeploymentProgressing))
	all, ready := c.images()
	require.Equal(t, 2, sum(all))
	require.Equal(t, 1, sum(ready))
}

func TestANewPodCountsOnceItHasBeenReadyForLong(t *testing.T) {
	c := newCluster(t, 0)
	c.Apply(web(1, "  minReadySeconds: 30\n"))
	c.RunFor(20 * time.Second)
	status := c.deployment().Status
	require.Equal(t, []int32{1, 0}, []int32{status.ReadyReplicas, status.AvailableReplicas})
	require.Equal(t, "False MinimumReplicasUnavailable", reasonOf(c.deployment(), appsv1.DeploymentAvailable))
	c.RunFor(20 * time.Second)
	require.EqualValues(t, 1, c.deployment().Status.AvailableReplicas)
}

func TestOrphansAreAdopted(t *testing.T) {
	c := newCluster(t, 0)
	c.Apply(web(2, ""))
	c.Settle()
	orphan := metav1.DeletePropagationOrphan
	require.NoError(t, c.Client().AppsV1().Deployments("default").Delete(ctx, "web", metav1.DeleteOptions{PropagationPolicy: &orphan}))
	c.Settle()
	require.Nil(t, metav1.GetControllerOf(&c.sets()[0]))
	c.Apply(web(2, ""))
	c.Settle()
	require.Len(t, c.sets(), 1)
	require.True(t, metav1.IsControlledBy(&c.sets()[0], c.deployment()))
	all, _ := c.images()
	require.Equal(t, 2, sum(all))
}

func TestAQuotaThatIsUsedUpIsTold(t *testing.T) {
	c := newCluster(t, 0)
	c.Apply("apiVersion: v1\nkind: ResourceQuota\nmetadata: {name: few}\nspec: {hard: {pods: \"1\"}}\n")
	c.Settle()
	c.Apply(web(3, ""))
	c.RunFor(time.Second)
	require.Equal(t, "True FailedCreate", reasonOf(c.deployment(), appsv1.DeploymentReplicaFailure))
	all, _ := c.images()
	require.Equal(t, 1, sum(all))
	require.Contains(t, strings.Join(c.events(), "\n"), "exceeded quota: few, requested: pods=1, used: pods=1, limited: pods=1")
}

func TestASelectorThatDoesNotMatchIsRefused(t *testing.T) {
	c := newCluster(t, 0)
	err := c.Cluster.Cluster.Apply(strings.Replace(web(1, ""), "matchLabels: {app: web}", "matchLabels: {app: other}", 1))
	require.ErrorContains(t, err, "`selector` does not match template `labels`")
	require.True(t, apierrors.IsInvalid(err) || strings.Contains(err.Error(), "is invalid"))
	c.Settle()
	require.Empty(t, c.sets())
}

func TestADeploymentOfMorePodsThanTheNodesTakeComesToRest(t *testing.T) {
	c := newCluster(t, 0)
	c.Apply(web(600, ""))
	c.Settle()
	all, ready := c.images()
	require.Equal(t, 600, sum(all))
	require.Equal(t, 220, sum(ready), "110 on each node")
	require.EqualValues(t, 220, c.deployment().Status.AvailableReplicas)
}

func TestDeletingADeploymentDeletesAll(t *testing.T) {
	c := newCluster(t, 0)
	c.Apply(web(2, ""))
	c.Settle()
	c.Delete("deploy/web")
	c.Settle()
	require.Empty(t, c.sets())
	list, err := c.Client().CoreV1().Pods("default").List(ctx, metav1.ListOptions{})
	require.NoError(t, err)
	require.Empty(t, list.Items)
}

func TestThereIsNoStepInAClusterWithoutDeployments(t *testing.T) {
	c := newCluster(t, 0)
	c.Settle()
	for _, actor := range []string{storagesim.Deployments, storagesim.ReplicaSets} {
		follows, err := c.Engine().Follows(actor)
		require.NoError(t, err)
		require.Len(t, follows, 1, actor)
	}
	for _, entry := range c.Trace().Records() {
		require.NotContains(t, []string{storagesim.Deployments, storagesim.ReplicaSets}, entry.Actor)
	}
}
