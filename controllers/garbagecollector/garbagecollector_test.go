package garbagecollector_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	v1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/storagesim/storagesim/api/registry"
	"github.com/storagesim/storagesim/controllers/garbagecollector"
	"github.com/storagesim/storagesim/engine"
	"github.com/storagesim/storagesim/internal/rigs/enginetest"
)

var ctx = context.Background()

// cluster is an API server with the garbage collector and no other actor.
type cluster struct{ *enginetest.Rig }

func newCluster(t testing.TB, cfg engine.Config) *cluster {
	t.Helper()
	gc := garbagecollector.New(garbagecollector.Config{Kinds: registry.New().Preferred()})
	return &cluster{enginetest.New(t, cfg, garbagecollector.ActorName, gc)}
}

// atEverySeed runs a scenario in order and under some seeds.
func atEverySeed(t *testing.T, scenario func(c *cluster)) {
	t.Helper()
	enginetest.AtEverySeed(t, 20, func(t testing.TB, cfg engine.Config) {
		t.Helper()
		scenario(newCluster(t, cfg))
	})
}

// object makes a config map with these owners.
func (c *cluster) object(name string, owners ...metav1.OwnerReference) *v1.ConfigMap {
	c.Helper()
	cm, err := c.User.CoreV1().ConfigMaps("default").Create(ctx, &v1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Name: name, OwnerReferences: owners},
	}, metav1.CreateOptions{})
	require.NoError(c, err)
	return cm
}

func (c *cluster) patch(name, patch string) {
	c.Helper()
	_, err := c.User.CoreV1().ConfigMaps("default").Patch(ctx, name, types.MergePatchType, []byte(patch), metav1.PatchOptions{})
	require.NoError(c, err)
}

func (c *cluster) delete(name string) { c.deleteWith(name, metav1.DeletePropagationBackground) }

func (c *cluster) deleteWith(name string, policy metav1.DeletionPropagation) {
	c.Helper()
	require.NoError(c, c.User.CoreV1().ConfigMaps("default").Delete(ctx, name, metav1.DeleteOptions{PropagationPolicy: &policy}))
}

// objects returns the names of the existing config maps, joined.
func (c *cluster) objects() string {
	c.Helper()
	list, err := c.User.CoreV1().ConfigMaps("default").List(ctx, metav1.ListOptions{})
	require.NoError(c, err)
	var names []string
	for _, cm := range list.Items {
		names = append(names, cm.Name)
	}
	return strings.Join(names, " ")
}

func (c *cluster) get(name string) *v1.ConfigMap {
	c.Helper()
	cm, err := c.User.CoreV1().ConfigMaps("default").Get(ctx, name, metav1.GetOptions{})
	require.NoError(c, err)
	return cm
}

// owned returns a reference to a config map.
func owned(by *v1.ConfigMap) metav1.OwnerReference {
	return metav1.OwnerReference{APIVersion: "v1", Kind: "ConfigMap", Name: by.Name, UID: by.UID, BlockOwnerDeletion: new(true)}
}

func TestWhatItsOwnersLeaveBehindIsDeletedWithAllThatItOwns(t *testing.T) {
	atEverySeed(t, func(c *cluster) {
		a := c.object("a")
		b := c.object("b", owned(a))
		c.object("c", owned(b))
		c.object("other")
		c.Settle()
		require.Equal(c, "a b c other", c.objects())
		c.delete("a")
		c.Settle()
		require.Equal(c, "other", c.objects())
	})
}

func TestAnObjectStaysWhileOneOfItsOwnersDoes(t *testing.T) {
	atEverySeed(t, func(c *cluster) {
		a, b := c.object("a"), c.object("b")
		c.object("child", owned(a), owned(b))
		c.Settle()
		c.delete("a")
		c.Settle()
		require.Equal(c, "b child", c.objects())
		require.Equal(c, []metav1.OwnerReference{owned(b)}, c.get("child").OwnerReferences, "it no longer names the one that is gone")
		c.delete("b")
		c.Settle()
		require.Empty(c, c.objects())
	})
}

func TestAnOwnerOfTheSameNameIsAnotherOne(t *testing.T) {
	atEverySeed(t, func(c *cluster) {
		a := c.object("a")
		c.Settle()
		c.delete("a")
		c.object("a")
		c.Settle()
		c.object("child", owned(a))
		c.Settle()
		require.Equal(c, "a", c.objects())
	})
}

func TestAnOwnerInAnotherNamespaceIsNone(t *testing.T) {
	c := newCluster(t, engine.Config{})
	elsewhere, err := c.User.CoreV1().ConfigMaps("elsewhere").Create(ctx, &v1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "a"}}, metav1.CreateOptions{})
	if apierrors.IsNotFound(err) {
		_, err = c.User.CoreV1().Namespaces().Create(ctx, &v1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "elsewhere"}}, metav1.CreateOptions{})
		require.NoError(t, err)
		elsewhere, err = c.User.CoreV1().ConfigMaps("elsewhere").Create(ctx, &v1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "a"}}, metav1.CreateOptions{})
	}
	require.NoError(t, err)
	c.Settle()
	c.object("child", owned(elsewhere))
	c.Settle()
	require.Empty(t, c.objects())
}

func TestAClusterScopedObjectWithAnOwnerInANamespaceIsLeftAlone(t *testing.T) {
	c := newCluster(t, engine.Config{})
	_, err := c.User.CoreV1().Nodes().Create(ctx, &v1.Node{ObjectMeta: metav1.ObjectMeta{
		Name: "n", OwnerReferences: []metav1.OwnerReference{{APIVersion: "v1", Kind: "ConfigMap", Name: "a", UID: "1"}},
	}}, metav1.CreateOptions{})
	require.NoError(t, err)
	c.Settle()
	_, err = c.User.CoreV1().Nodes().Get(ctx, "n", metav1.GetOptions{})
	require.NoError(t, err)
}

func TestAnOwnerOfAnUnknownKindIsNamedAndItsObjectStays(t *testing.T) {
	c := newCluster(t, engine.Config{})
	c.object("child", metav1.OwnerReference{APIVersion: "example.com/v1", Kind: "Database", Name: "db", UID: "1"})
	c.Settle()
	require.Equal(t, "child", c.objects())
	require.Contains(t, c.Engine.Trace().String(), "the garbage collector does not know the kind Database of example.com/v1, which owns ConfigMap default/child")
}

func TestObjectsOfEveryKindThatTheCollectorIsGivenAreCollected(t *testing.T) {
	c := newCluster(t, engine.Config{})
	a := c.object("a")
	templates := c.User.ResourceV1().ResourceClaimTemplates("default")
	_, err := templates.Create(ctx, &resourcev1.ResourceClaimTemplate{
		ObjectMeta: metav1.ObjectMeta{Name: "gpu", OwnerReferences: []metav1.OwnerReference{owned(a)}},
	}, metav1.CreateOptions{})
	require.NoError(t, err)
	c.Settle()
	c.delete("a")
	c.Settle()
	_, err = templates.Get(ctx, "gpu", metav1.GetOptions{})
	require.True(t, apierrors.IsNotFound(err), "%v", err)
}

func TestAnOwnerDeletedInTheForegroundGoesLast(t *testing.T) {
	atEverySeed(t, func(c *cluster) {
		a := c.object("a")
		b := c.object("b", owned(a))
		c.object("c", owned(b))
		c.patch("c", `{"metadata":{"finalizers":["example.com/hold"]}}`)
		c.Settle()
		c.deleteWith("a", metav1.DeletePropagationForeground)
		c.Settle()
		require.NotNil(c, c.get("a").DeletionTimestamp, "it waits for b, which waits for c")
		require.Equal(c, []string{"foregroundDeletion"}, c.get("b").Finalizers, "what has dependents is deleted in the foreground as well")
		require.Equal(c, "a b c", c.objects())
		c.patch("c", `{"metadata":{"finalizers":null}}`)
		c.Settle()
		require.Empty(c, c.objects())
	})
}

func TestOnlyDependentsThatBlockHoldAnOwnerUp(t *testing.T) {
	atEverySeed(t, func(c *cluster) {
		a := c.object("a")
		free := owned(a)
		free.BlockOwnerDeletion = nil
		c.object("blocking", owned(a))
		c.object("free", free)
		c.patch("blocking", `{"metadata":{"finalizers":["example.com/hold"]}}`)
		c.patch("free", `{"metadata":{"finalizers":["example.com/hold"]}}`)
		c.Settle()
		c.deleteWith("a", metav1.DeletePropagationForeground)
		c.Settle()
		require.Equal(c, "a blocking free", c.objects())
		c.patch("blocking", `{"metadata":{"ownerReferences":null}}`) // blocks no longer
		c.Settle()
		require.Equal(c, "blocking free", c.objects())
	})
}

func TestACircleOfOwnersDeletedInTheForegroundIsCut(t *testing.T) {
	atEverySeed(t, func(c *cluster) {
		a := c.object("a")
		b := c.object("b", owned(a))
		c.patch("a", fmt.Sprintf(`{"metadata":{"ownerReferences":[{"apiVersion":"v1","kind":"ConfigMap","name":"b","uid":"%s","blockOwnerDeletion":true}]}}`, b.UID))
		c.Settle()
		c.deleteWith("a", metav1.DeletePropagationForeground)
		c.Settle()
		require.Empty(c, c.objects())
	})
}

func TestOrphansStayAndNoLongerNameTheirOwner(t *testing.T) {
	atEverySeed(t, func(c *cluster) {
		a, b := c.object("a"), c.object("b")
		c.object("one", owned(a))
		c.object("two", owned(b), owned(a))
		c.Settle()
		c.deleteWith("a", metav1.DeletePropagationOrphan)
		c.Settle()
		require.Equal(c, "b one two", c.objects())
		require.Empty(c, c.get("one").OwnerReferences)
		require.Equal(c, []metav1.OwnerReference{owned(b)}, c.get("two").OwnerReferences)
	})
}

// A finalizer that a user wrote decides how the object is deleted if the options do not.
func TestAFinalizerWrittenByHandSaysHowAnOwnerIsDeleted(t *testing.T) {
	for finalizer, left := range map[string]string{"foregroundDeletion": "", "orphan": "child"} {
		t.Run(finalizer, func(t *testing.T) {
			c := newCluster(t, engine.Config{})
			c.object("child", owned(c.object("a")))
			c.patch("a", `{"metadata":{"finalizers":["`+finalizer+`"]}}`)
			c.Settle()
			require.NoError(t, c.User.CoreV1().ConfigMaps("default").Delete(ctx, "a", metav1.DeleteOptions{}))
			c.Settle()
			require.Equal(t, left, c.objects())
		})
	}
}

// An owner that waits for a dependent is deleted at once if a user deletes it in the background, or lets it leave its dependents:
// only then they no longer name it.
func TestADeletionInTheForegroundCanBeTurnedIntoAnother(t *testing.T) {
	for policy, references := range map[metav1.DeletionPropagation]int{
		metav1.DeletePropagationBackground: 1, metav1.DeletePropagationOrphan: 0,
	} {
		t.Run(string(policy), func(t *testing.T) {
			atEverySeed(t, func(c *cluster) {
				c.object("child", owned(c.object("a")))
				c.patch("child", `{"metadata":{"finalizers":["example.com/hold"]}}`)
				c.Settle()
				c.deleteWith("a", metav1.DeletePropagationForeground)
				c.Settle()
				require.Equal(c, "a child", c.objects())
				c.deleteWith("a", policy)
				c.Settle()
				require.Equal(c, "child", c.objects())
				require.Len(c, c.get("child").OwnerReferences, references)
			})
		})
	}
}

// By default the API server gives a job the finalizer orphan.
func TestAJobLeavesItsPodsUnlessToldOtherwise(t *testing.T) {
	for _, tt := range []struct {
		options metav1.DeleteOptions
		stays   bool
	}{{metav1.DeleteOptions{}, true}, {metav1.DeleteOptions{PropagationPolicy: new(metav1.DeletePropagationBackground)}, false}} {
		c := newCluster(t, engine.Config{})
		spec := v1.PodSpec{RestartPolicy: v1.RestartPolicyNever, Containers: []v1.Container{{Name: "c", Image: "busybox"}}}
		job, err := c.User.BatchV1().Jobs("default").Create(ctx, &batchv1.Job{
			ObjectMeta: metav1.ObjectMeta{Name: "once"}, Spec: batchv1.JobSpec{Template: v1.PodTemplateSpec{Spec: spec}},
		}, metav1.CreateOptions{})
		require.NoError(t, err)
		_, err = c.User.CoreV1().Pods("default").Create(ctx, &v1.Pod{
			ObjectMeta: metav1.ObjectMeta{Name: "once-1",
				OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(job, batchv1.SchemeGroupVersion.WithKind("Job"))}},
			Spec: spec,
		}, metav1.CreateOptions{})
		require.NoError(t, err)
		c.Settle()
		require.NoError(t, c.User.BatchV1().Jobs("default").Delete(ctx, "once", tt.options))
		c.Settle()
		_, err = c.User.BatchV1().Jobs("default").Get(ctx, "once", metav1.GetOptions{})
		require.True(t, apierrors.IsNotFound(err), "the garbage collector lets it go: %v", err)
		pod, err := c.User.CoreV1().Pods("default").Get(ctx, "once-1", metav1.GetOptions{})
		require.Equal(t, tt.stays, err == nil, err)
		if tt.stays {
			require.Empty(t, pod.OwnerReferences)
		}
	}
}

func TestWhatWasLeftBehindIsDeletedWhereverTheCollectorCrashes(t *testing.T) {
	for n := 0; ; n++ {
		c := newCluster(t, engine.Config{})
		a := c.object("a")
		c.object("b", owned(c.object("child", owned(a))))
		c.Settle()
		require.NoError(t, c.Engine.Inject(engine.Fault{Actor: garbagecollector.ActorName, Skip: n, Crash: true, After: n%2 == 1}))
		c.delete("a")
		c.Settle()
		require.Empty(t, c.objects(), "crash at call %d", n)
		if !strings.Contains(c.Engine.Trace().String(), "is down") {
			require.Greater(t, n, 4)
			return
		}
	}
}

func TestAnObjectChangedMeanwhileIsDeletedUnlessItsOwnersChanged(t *testing.T) {
	for name, tt := range map[string]struct{ patch, want string }{
		"a label":       {`{"metadata":{"labels":{"a":"b"}}}`, "b"},
		"another owner": {`{"metadata":{"ownerReferences":[{"apiVersion":"v1","kind":"ConfigMap","name":"b","uid":"%s"}]}}`, "b child"},
	} {
		t.Run(name, func(t *testing.T) {
			c := newCluster(t, engine.Config{})
			a, b := c.object("a"), c.object("b")
			c.object("child", owned(a))
			c.Settle()
			require.NoError(t, c.Engine.Inject(engine.Fault{Actor: garbagecollector.ActorName, Verb: "delete", Delay: time.Minute}))
			c.delete("a")
			require.NoError(t, c.Engine.RunFor(time.Second))
			require.Equal(t, "b child", c.objects(), "it has looked at the child and is about to delete it")
			c.patch("child", strings.ReplaceAll(tt.patch, "%s", string(b.UID)))
			c.Settle()
			require.Equal(t, tt.want, c.objects())
		})
	}
}

// A StatefulSet's pods are deleted with it, and nothing else.
func TestThePodsOfADeletedStatefulSetGoWithIt(t *testing.T) {
	c := newCluster(t, engine.Config{})
	labels := map[string]string{"app": "db"}
	set, err := c.User.AppsV1().StatefulSets("default").Create(ctx, &appsv1.StatefulSet{
		ObjectMeta: metav1.ObjectMeta{Name: "db"},
		Spec: appsv1.StatefulSetSpec{
			Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: v1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: v1.PodSpec{Containers: []v1.Container{{Name: "c", Image: "busybox"}}}},
		},
	}, metav1.CreateOptions{})
	require.NoError(t, err)
	_, err = c.User.CoreV1().Pods("default").Create(ctx, &v1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: "db-0",
			OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(set, appsv1.SchemeGroupVersion.WithKind("StatefulSet"))}},
		Spec: v1.PodSpec{Containers: []v1.Container{{Name: "c", Image: "busybox"}}},
	}, metav1.CreateOptions{})
	require.NoError(t, err)
	c.Settle()
	require.NoError(t, c.User.AppsV1().StatefulSets("default").Delete(ctx, "db", metav1.DeleteOptions{}))
	c.Settle()
	_, err = c.User.CoreV1().Pods("default").Get(ctx, "db-0", metav1.GetOptions{})
	require.True(t, apierrors.IsNotFound(err))
	require.Contains(t, c.Engine.Trace().String(), "generic-garbage-collector pod default/db-0: its owner is gone: statefulset default/db")
}

func TestAnOwnerWithoutNamespaceIsNamedWithoutOne(t *testing.T) {
	c := newCluster(t, engine.Config{})
	c.object("child", metav1.OwnerReference{APIVersion: "v1", Kind: "Node", Name: "n1", UID: "gone"})
	c.Settle()
	require.Contains(t, c.Engine.Trace().String(), "configmap default/child: its owner is gone: node n1\n")
}
