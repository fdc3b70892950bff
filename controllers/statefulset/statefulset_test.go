package statefulset_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/storagesim/storagesim/controllers/statefulset"
	"github.com/storagesim/storagesim/engine"
	"github.com/storagesim/storagesim/internal/rigs/enginetest"
	"github.com/storagesim/storagesim/internal/seedtest"
	"github.com/storagesim/storagesim/trace"
)

var ctx = context.Background()

// cluster is an API server with the StatefulSet controller as the only actor. The test plays the kubelets.
type cluster struct{ *enginetest.Rig }

func newCluster(t testing.TB, cfg engine.Config) *cluster {
	t.Helper()
	return &cluster{enginetest.New(t, cfg, statefulset.ActorName, statefulset.New(statefulset.Config{}))}
}

// apply creates the set db with a claim template data.
func (c *cluster) apply(replicas int32, change ...func(*appsv1.StatefulSet)) *appsv1.StatefulSet {
	c.Helper()
	labels := map[string]string{"app": "db"}
	set := &appsv1.StatefulSet{ObjectMeta: metav1.ObjectMeta{Name: "db", Namespace: "default"}}
	set.Spec = appsv1.StatefulSetSpec{
		Replicas: &replicas, ServiceName: "db", Selector: &metav1.LabelSelector{MatchLabels: labels},
		Template: v1.PodTemplateSpec{
			ObjectMeta: metav1.ObjectMeta{Labels: labels, Annotations: map[string]string{"note": "x"}},
			Spec:       v1.PodSpec{Containers: []v1.Container{{Name: "c", Image: "busybox"}}},
		},
		VolumeClaimTemplates: []v1.PersistentVolumeClaim{{
			ObjectMeta: metav1.ObjectMeta{Name: "data"},
			Spec: v1.PersistentVolumeClaimSpec{
				AccessModes: []v1.PersistentVolumeAccessMode{v1.ReadWriteOnce},
				Resources:   v1.VolumeResourceRequirements{Requests: v1.ResourceList{v1.ResourceStorage: resource.MustParse("1Gi")}},
			},
		}},
	}
	for _, f := range change {
		f(set)
	}
	set, err := c.User.AppsV1().StatefulSets("default").Create(ctx, set, metav1.CreateOptions{})
	require.NoError(c, err)
	return set
}

func parallel(set *appsv1.StatefulSet) { set.Spec.PodManagementPolicy = appsv1.ParallelPodManagement }

func (c *cluster) patch(patch string) {
	c.Helper()
	_, err := c.User.AppsV1().StatefulSets("default").Patch(ctx, "db", types.MergePatchType, []byte(patch), metav1.PatchOptions{})
	require.NoError(c, err)
}

func (c *cluster) scale(replicas int) {
	c.Helper()
	c.patch(fmt.Sprintf(`{"spec":{"replicas":%d}}`, replicas))
	c.Settle()
}

// pods and claims return the existing names, joined.
func (c *cluster) pods() string {
	list, err := c.User.CoreV1().Pods("default").List(ctx, metav1.ListOptions{})
	require.NoError(c, err)
	var names []string
	for _, pod := range list.Items {
		names = append(names, pod.Name)
	}
	return strings.Join(names, " ")
}

func (c *cluster) claims() string {
	list, err := c.User.CoreV1().PersistentVolumeClaims("default").List(ctx, metav1.ListOptions{})
	require.NoError(c, err)
	var names []string
	for _, claim := range list.Items {
		names = append(names, claim.Name)
	}
	return strings.Join(names, " ")
}

func (c *cluster) pod(name string) *v1.Pod {
	c.Helper()
	pod, err := c.User.CoreV1().Pods("default").Get(ctx, name, metav1.GetOptions{})
	require.NoError(c, err)
	return pod
}

func (c *cluster) set() *appsv1.StatefulSet {
	c.Helper()
	set, err := c.User.AppsV1().StatefulSets("default").Get(ctx, "db", metav1.GetOptions{})
	require.NoError(c, err)
	return set
}

// becomes plays the kubelet: the pod's phase, and whether it is ready.
func (c *cluster) becomes(name string, phase v1.PodPhase, ready v1.ConditionStatus) {
	c.Helper()
	pod := c.pod(name)
	pod.Status.Phase = phase
	pod.Status.Conditions = []v1.PodCondition{{Type: v1.PodReady, Status: ready, LastTransitionTime: metav1.NewTime(c.Engine.Now())}}
	_, err := c.User.CoreV1().Pods("default").UpdateStatus(ctx, pod, metav1.UpdateOptions{})
	require.NoError(c, err)
	c.Settle()
}

func (c *cluster) runs(names ...string) {
	c.Helper()
	for _, name := range names {
		c.becomes(name, v1.PodRunning, v1.ConditionTrue)
	}
}

func (c *cluster) deletePod(name string) {
	c.Helper()
	require.NoError(c, c.User.CoreV1().Pods("default").Delete(ctx, name, metav1.DeleteOptions{}))
	c.Settle()
}

// said returns the events of an object, without repeats.
func (c *cluster) said(name string) []string {
	var said []string
	for _, entry := range c.Engine.Trace().Entries() {
		if event, ok := entry.Record.(trace.Event); ok && event.About.Name == name && !event.Repeated {
			said = append(said, event.Type+" "+event.Reason+": "+event.Message)
		}
	}
	return said
}

func TestAReplicaIsAPodWithItsNameItsClaimsAndItsOwner(t *testing.T) {
	c := newCluster(t, engine.Config{})
	set := c.apply(1, func(set *appsv1.StatefulSet) {
		set.Spec.Template.Spec.Volumes = []v1.Volume{{Name: "tmp"}, {Name: "data"}} // the claim replaces the second
		set.Spec.VolumeClaimTemplates[0].Labels = map[string]string{"kind": "data", "app": "other"}
	})
	c.Settle()
	pod := c.pod("db-0")
	hash := pod.Labels["controller-revision-hash"]
	require.Equal(t, c.set().Status.UpdateRevision, hash)
	require.Equal(t, map[string]string{
		"app": "db", "statefulset.kubernetes.io/pod-name": "db-0", "apps.kubernetes.io/pod-index": "0", "controller-revision-hash": hash,
	}, pod.Labels)
	require.Equal(t, map[string]string{"note": "x"}, pod.Annotations)
	require.Equal(t, "db-", pod.GenerateName)
	require.Equal(t, "db-0", pod.Spec.Hostname)
	require.Equal(t, "db", pod.Spec.Subdomain)
	require.Equal(t, []metav1.OwnerReference{{
		APIVersion: "apps/v1", Kind: "StatefulSet", Name: "db", UID: set.UID, Controller: new(true), BlockOwnerDeletion: new(true),
	}}, pod.OwnerReferences)
	require.Len(t, pod.Spec.Volumes, 2)
	require.Equal(t, "data-db-0", pod.Spec.Volumes[0].PersistentVolumeClaim.ClaimName)
	require.Equal(t, "tmp", pod.Spec.Volumes[1].Name)

	claim, err := c.User.CoreV1().PersistentVolumeClaims("default").Get(ctx, "data-db-0", metav1.GetOptions{})
	require.NoError(t, err)
	require.Equal(t, map[string]string{"kind": "data", "app": "db"}, claim.Labels)
	require.Empty(t, claim.OwnerReferences)
	require.Equal(t, []string{
		"Normal SuccessfulCreate: Create Claim data-db-0 Pod db-0 in StatefulSet db success",
		"Normal SuccessfulCreate: Create Pod db-0 in StatefulSet db successful",
	}, c.said("db"))
}

func TestOrderedReadyMakesAndDeletesOnePodAfterTheOther(t *testing.T) {
	seedtest.Each(t, 5, func(t testing.TB, seed uint64) {
		c := newCluster(t, engine.Config{Policy: engine.Seeded(seed)})
		c.apply(3)
		c.Settle()
		require.Equal(t, "db-0", c.pods())
		c.becomes("db-0", v1.PodRunning, v1.ConditionFalse)
		require.Equal(t, "db-0", c.pods(), "running is not ready")
		c.runs("db-0")
		require.Equal(t, "db-0 db-1", c.pods())
		c.runs("db-1")
		c.runs("db-2")
		require.EqualValues(t, 3, c.set().Status.ReadyReplicas)

		// The pods are on no node, so a deleted pod is gone at once.
		c.scale(0)
		require.Empty(t, c.pods())
		var deleted []string
		for _, said := range c.said("db") {
			if strings.Contains(said, "SuccessfulDelete") {
				deleted = append(deleted, said)
			}
		}
		require.Equal(t, []string{
			"Normal SuccessfulDelete: Delete Pod db-2 in StatefulSet db successful",
			"Normal SuccessfulDelete: Delete Pod db-1 in StatefulSet db successful",
			"Normal SuccessfulDelete: Delete Pod db-0 in StatefulSet db successful",
		}, deleted)
		require.Equal(t, "data-db-0 data-db-1 data-db-2", c.claims(), "claims are kept")
	})
}

func TestOrderedReadyDeletesNoUnwellPodWhileALowerOneIsUnwellToo(t *testing.T) {
	c := newCluster(t, engine.Config{})
	c.apply(3)
	c.Settle()
	c.runs("db-0", "db-1", "db-2")
	c.becomes("db-1", v1.PodRunning, v1.ConditionFalse)
	c.becomes("db-2", v1.PodRunning, v1.ConditionFalse)
	c.scale(1)
	require.Equal(t, "db-0 db-1 db-2", c.pods(), "db-2 waits for db-1, as upstream")
	c.runs("db-1")
	require.Equal(t, "db-0", c.pods())
}

func TestOrderedReadyDeletesTheUnwellPodItself(t *testing.T) {
	c := newCluster(t, engine.Config{})
	c.apply(2)
	c.Settle()
	c.runs("db-0")
	require.Equal(t, "db-0 db-1", c.pods())
	c.scale(1)
	require.Equal(t, "db-0", c.pods())
}

func TestParallelMakesAndDeletesAllPodsAtOnce(t *testing.T) {
	c := newCluster(t, engine.Config{})
	c.apply(3, parallel)
	c.Settle()
	require.Equal(t, "db-0 db-1 db-2", c.pods())
	require.EqualValues(t, 3, c.set().Status.Replicas)
	require.EqualValues(t, 0, c.set().Status.ReadyReplicas)
	c.scale(1)
	require.Equal(t, "db-0", c.pods())
	c.scale(2)
	require.Equal(t, "db-0 db-1", c.pods())
	require.Equal(t, "data-db-0 data-db-1 data-db-2", c.claims())
}

func TestADeletedOrEndedPodIsReplacedAndKeepsItsClaim(t *testing.T) {
	c := newCluster(t, engine.Config{})
	c.apply(2)
	c.Settle()
	c.runs("db-0", "db-1")
	first := c.pod("db-0").UID
	claim, err := c.User.CoreV1().PersistentVolumeClaims("default").Get(ctx, "data-db-0", metav1.GetOptions{})
	require.NoError(t, err)
	c.deletePod("db-0")
	second := c.pod("db-0").UID
	require.NotEqual(t, first, second)
	for _, phase := range []v1.PodPhase{v1.PodFailed, v1.PodSucceeded} {
		before := c.pod("db-0").UID
		c.becomes("db-0", phase, v1.ConditionFalse)
		require.NotEqual(t, before, c.pod("db-0").UID, phase)
	}
	after, err := c.User.CoreV1().PersistentVolumeClaims("default").Get(ctx, "data-db-0", metav1.GetOptions{})
	require.NoError(t, err)
	require.Equal(t, claim.UID, after.UID)
}

func TestAClaimDeletedUnderAPendingPodIsMadeAgain(t *testing.T) {
	c := newCluster(t, engine.Config{})
	c.apply(1)
	c.Settle()
	claims := c.User.CoreV1().PersistentVolumeClaims("default")
	require.NoError(t, claims.Delete(ctx, "data-db-0", metav1.DeleteOptions{}))
	c.becomes("db-0", v1.PodPending, v1.ConditionFalse)
	_, err := claims.Patch(ctx, "data-db-0", types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`), metav1.PatchOptions{})
	require.NoError(t, err)
	require.NoError(t, c.Engine.RunFor(5*time.Minute)) // its backoff
	require.Contains(t, c.Engine.Trace().String(), "pvc data-db-0 is being deleted")
	claim, err := claims.Get(ctx, "data-db-0", metav1.GetOptions{})
	require.NoError(t, err)
	require.Nil(t, claim.DeletionTimestamp)
}

func TestOrdinalsMayStartAnywhere(t *testing.T) {
	c := newCluster(t, engine.Config{})
	c.apply(2, parallel, func(set *appsv1.StatefulSet) { set.Spec.Ordinals = &appsv1.StatefulSetOrdinals{Start: 5} })
	c.Settle()
	require.Equal(t, "db-5 db-6", c.pods())
	require.Equal(t, "5", c.pod("db-5").Labels["apps.kubernetes.io/pod-index"])
	c.patch(`{"spec":{"ordinals":{"start":6}}}`)
	c.Settle()
	require.Equal(t, "db-6 db-7", c.pods())
}

func TestARollingUpdateReplacesPodsFromTheTopDown(t *testing.T) {
	c := newCluster(t, engine.Config{})
	c.apply(3, func(set *appsv1.StatefulSet) {
		set.Spec.UpdateStrategy.RollingUpdate = &appsv1.RollingUpdateStatefulSetStrategy{Partition: new(int32(1))}
	})
	c.Settle()
	c.runs("db-0", "db-1", "db-2")
	old := c.set().Status.CurrentRevision
	require.EqualValues(t, 3, c.set().Status.CurrentReplicas)
	require.Equal(t, c.set().Generation, c.set().Status.ObservedGeneration)
	image := func(name string) string { return c.pod(name).Spec.Containers[0].Image }
	c.patch(`{"spec":{"template":{"spec":{"containers":[{"name":"c","image":"busybox:2"}]}}}}`)
	c.Settle()
	require.Equal(t, []string{"busybox", "busybox", "busybox:2"}, []string{image("db-0"), image("db-1"), image("db-2")})
	require.Equal(t, old, c.set().Status.CurrentRevision)
	require.NotEqual(t, old, c.set().Status.UpdateRevision)
	require.EqualValues(t, 1, c.set().Status.UpdatedReplicas)
	c.runs("db-2")
	require.Equal(t, "busybox:2", image("db-1"))
	c.runs("db-1")
	require.Equal(t, "busybox", image("db-0"), "below the partition")
	c.patch(`{"spec":{"updateStrategy":{"rollingUpdate":{"partition":0}}}}`)
	c.Settle()
	require.Equal(t, old, c.set().Status.CurrentRevision, "db-0 is not ready yet")
	c.runs("db-0")
	require.Equal(t, c.set().Status.UpdateRevision, c.set().Status.CurrentRevision)
	require.EqualValues(t, 3, c.set().Status.UpdatedReplicas)
}

func TestOnDeleteLeavesThePodsToTheUser(t *testing.T) {
	c := newCluster(t, engine.Config{})
	c.apply(1, func(set *appsv1.StatefulSet) { set.Spec.UpdateStrategy.Type = appsv1.OnDeleteStatefulSetStrategyType })
	c.Settle()
	c.runs("db-0")
	c.patch(`{"spec":{"template":{"spec":{"containers":[{"name":"c","image":"busybox:2"}]}}}}`)
	c.Settle()
	require.Equal(t, "busybox", c.pod("db-0").Spec.Containers[0].Image)
	c.deletePod("db-0")
	require.Equal(t, "busybox:2", c.pod("db-0").Spec.Containers[0].Image)
}

func TestAPodIsAvailableWhenItHasBeenReadyLongEnough(t *testing.T) {
	c := newCluster(t, engine.Config{})
	c.apply(2, func(set *appsv1.StatefulSet) { set.Spec.MinReadySeconds = 30 })
	c.Settle()
	pod := c.pod("db-0")
	pod.Status.Phase = v1.PodRunning
	pod.Status.Conditions = []v1.PodCondition{{Type: v1.PodReady, Status: v1.ConditionTrue, LastTransitionTime: metav1.NewTime(c.Engine.Now())}}
	_, err := c.User.CoreV1().Pods("default").UpdateStatus(ctx, pod, metav1.UpdateOptions{})
	require.NoError(t, err)
	require.NoError(t, c.Engine.RunFor(29*time.Second))
	require.Equal(t, "db-0", c.pods())
	require.EqualValues(t, 1, c.set().Status.ReadyReplicas)
	require.EqualValues(t, 0, c.set().Status.AvailableReplicas)
	require.NoError(t, c.Engine.RunFor(2*time.Second))
	require.Equal(t, "db-0 db-1", c.pods())
	require.EqualValues(t, 1, c.set().Status.AvailableReplicas)
}

func TestARefusedPodOrClaimIsReportedOnTheSet(t *testing.T) {
	for says, fault := range map[string]engine.Fault{
		"Warning FailedCreate: Create Pod db-0 in StatefulSet db failed error: ":                     {Verb: "create", Resource: "pods"},
		"Warning FailedCreate: Create Claim data-db-0 for Pod db-0 in StatefulSet db failed error: ": {Verb: "create", Resource: "persistentvolumeclaims"},
		"Warning FailedDelete: Delete Pod db-0 in StatefulSet db failed error: ":                     {Verb: "delete", Resource: "pods"},
	} {
		c := newCluster(t, engine.Config{})
		fault.Actor, fault.Err = statefulset.ActorName, apierrors.NewInternalError(fmt.Errorf("no"))
		require.NoError(t, c.Engine.Inject(fault))
		c.apply(1)
		c.Settle()
		require.Equal(t, "db-0", c.pods(), "tried again")
		c.scale(0)
		require.Empty(t, c.pods())
		require.Contains(t, strings.Join(c.said("db"), "\n"), says)
	}
}

func TestAPodOfSomebodyElseIsInTheWayAndLeftAlone(t *testing.T) {
	c := newCluster(t, engine.Config{})
	stranger, err := c.User.CoreV1().Pods("default").Create(ctx, &v1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: "db-0", Namespace: "default"},
		Spec:       v1.PodSpec{Containers: []v1.Container{{Name: "c", Image: "busybox"}}},
	}, metav1.CreateOptions{})
	require.NoError(t, err)
	c.apply(1)
	c.Settle()
	require.Equal(t, stranger.UID, c.pod("db-0").UID)
	c.scale(0)
	require.Equal(t, stranger.UID, c.pod("db-0").UID)
	c.scale(1)
	c.deletePod("db-0")
	require.NoError(t, c.Engine.RunFor(10*time.Minute))
	require.NotEqual(t, stranger.UID, c.pod("db-0").UID)
}

// The API server refuses new volumes of a pod. Upstream: stateful_pod_control.go UpdateStatefulPod, v1.37.
// Conformance: made/set_adopts_pod_without_volumes_parallel.
func TestAnAdoptedPodWithoutItsVolumesCannotBeMended(t *testing.T) {
	c := newCluster(t, engine.Config{})
	_, err := c.User.CoreV1().Pods("default").Create(ctx, &v1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: "db-0", Namespace: "default", Labels: map[string]string{"app": "db"}},
		Spec:       v1.PodSpec{Containers: []v1.Container{{Name: "c", Image: "busybox"}}},
	}, metav1.CreateOptions{})
	require.NoError(t, err)
	c.apply(2, parallel)
	c.Settle()
	require.Equal(t, "db-0", c.pods(), "the next batch waits for the first")
	require.Equal(t, "data-db-0", c.claims())
	require.Contains(t, strings.Join(c.said("db"), "\n"),
		`Warning FailedUpdate: Update Pod db-0 in StatefulSet db failed error: Pod "db-0" is invalid: spec: Forbidden: `)
	c.deletePod("db-0")
	require.NoError(t, c.Engine.RunFor(20*time.Minute)) // its backoff
	require.Equal(t, "db-0 db-1", c.pods())
}

// Upstream: stateful_set_utils.go identityMatches and updateIdentity, v1.37. Conformance: made/set_restores_labels_orderedready.
func TestALabelThatNamesAPodIsRestored(t *testing.T) {
	c := newCluster(t, engine.Config{})
	c.apply(1)
	c.Settle()
	change := func(labels string) map[string]string {
		_, err := c.User.CoreV1().Pods("default").Patch(ctx, "db-0", types.MergePatchType, []byte(`{"metadata":{"labels":`+labels+`}}`), metav1.PatchOptions{})
		require.NoError(t, err)
		c.Settle()
		return c.pod("db-0").Labels
	}
	require.NotContains(t, change(`{"statefulset.kubernetes.io/pod-name":null}`), appsv1.StatefulSetPodNameLabel, "it is waited for")
	c.runs("db-0")
	require.Equal(t, "db-0", c.pod("db-0").Labels[appsv1.StatefulSetPodNameLabel])
	require.NotContains(t, change(`{"apps.kubernetes.io/pod-index":null}`), appsv1.PodIndexLabel, "that one alone is not missed")
	labels := change(`{"statefulset.kubernetes.io/pod-name":"other"}`)
	require.Equal(t, "db-0", labels[appsv1.StatefulSetPodNameLabel])
	require.Equal(t, "0", labels[appsv1.PodIndexLabel])
	require.Contains(t, c.said("db"), "Normal SuccessfulUpdate: Update Pod db-0 in StatefulSet db successful")
}

func TestASetOfTheSameNameDoesNotTakeTheOldOnesPods(t *testing.T) {
	c := newCluster(t, engine.Config{})
	c.apply(1)
	c.Settle()
	require.NoError(t, c.User.AppsV1().StatefulSets("default").Delete(ctx, "db", metav1.DeleteOptions{}))
	old := c.pod("db-0").UID
	c.apply(1)
	c.Settle()
	require.Equal(t, old, c.pod("db-0").UID)
	require.EqualValues(t, 0, c.set().Status.Replicas)
	c.deletePod("db-0")
	require.NoError(t, c.Engine.RunFor(10*time.Minute))
	require.NotEqual(t, old, c.pod("db-0").UID)
}

func TestTheSetConvergesWhereverTheControllerCrashes(t *testing.T) {
	seedtest.Each(t, 3, func(t testing.TB, seed uint64) {
		for n := range 60 {
			c := newCluster(t, engine.Config{Policy: engine.Seeded(seed)})
			c.apply(2, parallel)
			for range n {
				_, err := c.Engine.Step()
				require.NoError(t, err)
			}
			require.NoError(t, c.Engine.Crash(statefulset.ActorName))
			c.Settle()
			require.Equal(t, "db-0 db-1", c.pods(), "step %d", n)
			require.Equal(t, "data-db-0 data-db-1", c.claims())
			require.EqualValues(t, 2, c.set().Status.Replicas)
			c.scale(0)
			require.Empty(t, c.pods())
			require.EqualValues(t, 0, c.set().Status.Replicas)
		}
	})
}

// deletions counts the controller's deletes of a pod.
func (c *cluster) deletions(pod string) int {
	n := 0
	for _, entry := range c.Engine.Trace().Entries() {
		if w, ok := entry.Record.(trace.Write); ok && w.Actor == statefulset.ActorName && w.Verb == "delete" && w.Name == pod {
			n++
		}
	}
	return n
}

func (c *cluster) patchPod(name, patch string) {
	c.Helper()
	_, err := c.User.CoreV1().Pods("default").Patch(ctx, name, types.MergePatchType, []byte(patch), metav1.PatchOptions{})
	require.NoError(c, err)
	c.Settle()
}

func TestAPodThatIsBeingDeletedIsWaitedForAndNotDeletedAgain(t *testing.T) {
	for name, end := range map[string]func(c *cluster){
		"it has ended": func(c *cluster) { c.becomes("db-0", v1.PodFailed, v1.ConditionFalse) },
		"it is outdated": func(c *cluster) {
			c.patch(`{"spec":{"template":{"metadata":{"annotations":{"note":"y"}}}}}`)
			c.Settle()
		},
		"it is too much": func(c *cluster) { c.scale(0) },
	} {
		t.Run(name, func(t *testing.T) {
			c := newCluster(t, engine.Config{})
			c.apply(1, parallel)
			c.Settle()
			c.runs("db-0")
			c.patchPod("db-0", `{"metadata":{"finalizers":["example.com/wait"]}}`)
			end(c)
			require.NotNil(t, c.pod("db-0").DeletionTimestamp)
			c.patchPod("db-0", `{"metadata":{"labels":{"touched":"yes"}}}`)
			require.Equal(t, 1, c.deletions("db-0"))
		})
	}
}

func TestASetThatIsBeingDeletedMakesNoPods(t *testing.T) {
	c := newCluster(t, engine.Config{})
	c.apply(1, func(set *appsv1.StatefulSet) { set.Finalizers = []string{"example.com/wait"} })
	c.Settle()
	require.NoError(t, c.User.AppsV1().StatefulSets("default").Delete(ctx, "db", metav1.DeleteOptions{}))
	c.deletePod("db-0")
	require.Empty(t, c.pods())
	require.EqualValues(t, 0, c.set().Status.Replicas, "it still counts")
}

func TestAnOwnedPodWithoutAReplicasNameIsLeftAlone(t *testing.T) {
	c := newCluster(t, engine.Config{})
	set := c.apply(0)
	for _, name := range []string{"db-01", "db-x", "other-0"} {
		_, err := c.User.CoreV1().Pods("default").Create(ctx, &v1.Pod{
			ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "default", OwnerReferences: []metav1.OwnerReference{
				*metav1.NewControllerRef(set, appsv1.SchemeGroupVersion.WithKind("StatefulSet")),
			}},
			Spec: v1.PodSpec{Containers: []v1.Container{{Name: "c", Image: "busybox"}}},
		}, metav1.CreateOptions{})
		require.NoError(t, err)
	}
	c.Settle()
	require.Equal(t, "db-01 db-x other-0", c.pods())
}

func TestAClaimThatIsThereAlreadyIsTakenEvenIfTheCacheLags(t *testing.T) {
	c := newCluster(t, engine.Config{})
	c.Settle()
	require.NoError(t, c.Engine.Hold(statefulset.ActorName, "persistentvolumeclaims"))
	c.apply(1)
	template := c.set().Spec.VolumeClaimTemplates[0]
	claim, err := c.User.CoreV1().PersistentVolumeClaims("default").Create(ctx, &v1.PersistentVolumeClaim{
		ObjectMeta: metav1.ObjectMeta{Name: "data-db-0", Namespace: "default"}, Spec: template.Spec,
	}, metav1.CreateOptions{})
	require.NoError(t, err)
	c.Settle()
	require.Empty(t, c.pods())
	require.NoError(t, c.Engine.Release(statefulset.ActorName, "persistentvolumeclaims"))
	require.NoError(t, c.Engine.RunFor(10*time.Minute))
	require.Equal(t, claim.UID, func() types.UID {
		claim, err := c.User.CoreV1().PersistentVolumeClaims("default").Get(ctx, "data-db-0", metav1.GetOptions{})
		require.NoError(t, err)
		return claim.UID
	}())
	require.Equal(t, "db-0", c.pods())
	require.NotContains(t, strings.Join(c.said("db"), "\n"), "Create Claim")
}

func TestAnUpdateMayReplaceAsManyPodsAtOnceAsItsStrategySays(t *testing.T) {
	for most, want := range map[int32]string{1: "busybox busybox busybox:2", 2: "busybox busybox:2 busybox:2"} {
		c := newCluster(t, engine.Config{})
		c.apply(3, parallel, func(set *appsv1.StatefulSet) {
			set.Spec.UpdateStrategy.RollingUpdate = &appsv1.RollingUpdateStatefulSetStrategy{MaxUnavailable: new(intstr.FromInt32(most))}
		})
		c.Settle()
		c.runs("db-0", "db-1", "db-2")
		c.patch(`{"spec":{"template":{"spec":{"containers":[{"name":"c","image":"busybox:2"}]}}}}`)
		c.Settle()
		var images []string
		for _, name := range []string{"db-0", "db-1", "db-2"} {
			images = append(images, c.pod(name).Spec.Containers[0].Image)
		}
		require.Equal(t, want, strings.Join(images, " "))
	}
}

func TestTheCountOfCollisionsIsKept(t *testing.T) {
	c := newCluster(t, engine.Config{})
	c.apply(1)
	c.Settle()
	set := c.set()
	set.Status.CollisionCount = new(int32(2))
	_, err := c.User.AppsV1().StatefulSets("default").UpdateStatus(ctx, set, metav1.UpdateOptions{})
	require.NoError(t, err)
	c.Settle()
	c.runs("db-0")
	require.EqualValues(t, 2, *c.set().Status.CollisionCount)
	require.EqualValues(t, 1, c.set().Status.ReadyReplicas)
}
