package api_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/scheme"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/leaderelection"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
	"k8s.io/client-go/tools/record"
	"k8s.io/client-go/util/retry"

	"github.com/storagesim/storagesim/api"
	"github.com/storagesim/storagesim/api/fake"
)

// What authors of controllers use of client-go, used here as they do.

func TestLeaderElectionWithALeaseHasOneLeaderAtATimeAndTheNextTakesOver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := api.NewServer(api.Config{})
		var leading atomic.Int32
		var history []string
		var mu sync.Mutex
		elect := func(ctx context.Context, id string) {
			c := fake.New(s, id)
			leaderelection.RunOrDie(ctx, leaderelection.LeaderElectionConfig{
				Lock: &resourcelock.LeaseLock{
					LeaseMeta: metav1.ObjectMeta{Name: "lock", Namespace: "kube-system"}, Client: c.CoordinationV1(),
					LockConfig: resourcelock.ResourceLockConfig{Identity: id},
				},
				LeaseDuration: 15 * time.Second, RenewDeadline: 10 * time.Second, RetryPeriod: 2 * time.Second, ReleaseOnCancel: true,
				Callbacks: leaderelection.LeaderCallbacks{
					OnStartedLeading: func(ctx context.Context) {
						assert.EqualValues(t, 1, leading.Add(1))
						mu.Lock()
						history = append(history, id)
						mu.Unlock()
						<-ctx.Done()
						leading.Add(-1)
					},
					OnStoppedLeading: func() {},
				},
			})
		}
		ctx, cancel := context.WithCancel(context.Background())
		first, stopFirst := context.WithCancel(ctx)
		go elect(first, "one")
		time.Sleep(time.Second)
		go elect(ctx, "two")
		time.Sleep(time.Hour)
		stopFirst()
		time.Sleep(time.Minute)
		cancel()
		synctest.Wait()
		assert.Equal(t, []string{"one", "two"}, history)
	})
}

func TestAnEventBroadcasterRecordsAndCounts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := fake.New(api.NewServer(api.Config{}), "provisioner")
		broadcaster := record.NewBroadcaster()
		broadcaster.StartRecordingToSink(&typedcorev1.EventSinkImpl{Interface: c.CoreV1().Events("")})
		recorder := broadcaster.NewRecorder(scheme.Scheme, v1.EventSource{Component: "me"})
		about := createClaim(t, c, claim("a"))
		pv := createVolume(t, c, volume("pv"))
		for range 3 {
			recorder.Event(about, v1.EventTypeNormal, "Provisioning", "working on it")
			time.Sleep(time.Second)
		}
		recorder.Event(pv, v1.EventTypeWarning, "VolumeFailed", "no")
		synctest.Wait()
		broadcaster.Shutdown()
		synctest.Wait()
		events, err := c.CoreV1().Events("default").List(ctx, metav1.ListOptions{FieldSelector: "involvedObject.name=a,reason=Provisioning"})
		require.NoError(t, err)
		require.Len(t, events.Items, 1)
		assert.EqualValues(t, 3, events.Items[0].Count)
		events, err = c.CoreV1().Events("default").List(ctx, metav1.ListOptions{FieldSelector: "involvedObject.kind=PersistentVolume,type=Warning"})
		require.NoError(t, err)
		assert.Len(t, events.Items, 1)
	})
}

func TestManyWritersThatRetryOnConflictLoseNoUpdate(t *testing.T) {
	s, c := newServer()
	createMap(t, c, configMap("counter"))
	const writers, rounds = 8, 25
	var wg sync.WaitGroup
	for i := range writers {
		maps := fake.New(s, fmt.Sprint("writer-", i)).CoreV1().ConfigMaps("default")
		wg.Go(func() {
			for range rounds {
				backoff := wait.Backoff{Steps: 100000, Duration: time.Nanosecond, Factor: 1}
				err := retry.RetryOnConflict(backoff, func() error {
					m, err := maps.Get(ctx, "counter", metav1.GetOptions{})
					if err != nil {
						return err
					}
					if m.Data == nil {
						m.Data = map[string]string{}
					}
					m.Data["n"] += "."
					_, err = maps.Update(ctx, m, metav1.UpdateOptions{})
					return err
				})
				assert.NoError(t, err)
			}
		})
	}
	wg.Wait()
	m, err := c.CoreV1().ConfigMaps("default").Get(ctx, "counter", metav1.GetOptions{})
	require.NoError(t, err)
	assert.Len(t, m.Data["n"], writers*rounds)
}

func TestInformersOfSelectionsInManyNamespacesSeeWhatTheirSelectorsSay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := fake.New(api.NewServer(api.Config{}), "controller")
		for i := range 20 {
			_, err := c.CoreV1().Namespaces().Create(ctx, &v1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprint("ns-", i)}}, metav1.CreateOptions{})
			require.NoError(t, err)
		}
		ctx, cancel := context.WithCancel(context.Background())
		var resyncs atomic.Int32
		byLabel := informers.NewSharedInformerFactoryWithOptions(c, time.Minute, informers.WithTweakListOptions(func(o *metav1.ListOptions) {
			o.LabelSelector = "app in (web, db),!skip"
		}))
		byNode := informers.NewSharedInformerFactoryWithOptions(c, 0, informers.WithNamespace("ns-3"), informers.WithTweakListOptions(func(o *metav1.ListOptions) {
			o.FieldSelector = "spec.nodeName=n1,status.phase!=Succeeded"
		}))
		labelled, onNode := byLabel.Core().V1().Pods(), byNode.Core().V1().Pods()
		_, err := labelled.Informer().AddEventHandler(cache.ResourceEventHandlerFuncs{UpdateFunc: func(old, obj any) {
			if old == obj {
				resyncs.Add(1)
			}
		}})
		require.NoError(t, err)
		onNode.Informer()
		for _, f := range []informers.SharedInformerFactory{byLabel, byNode} {
			f.Start(ctx.Done())
			f.WaitForCacheSync(ctx.Done())
			defer f.Shutdown()
		}
		defer cancel()
		for i := range 20 {
			p := pod("p")
			p.Namespace = fmt.Sprint("ns-", i)
			p.Labels = map[string]string{"app": []string{"web", "db", "other"}[i%3]}
			createPod(t, c, p)
		}
		bind := &v1.Binding{ObjectMeta: metav1.ObjectMeta{Name: "p", Namespace: "ns-3"}, Target: v1.ObjectReference{Kind: "Node", Name: "n1"}}
		require.NoError(t, c.CoreV1().Pods("ns-3").Bind(ctx, bind, metav1.CreateOptions{}))
		synctest.Wait()
		got, err := labelled.Lister().List(labels.Everything())
		require.NoError(t, err)
		assert.Len(t, got, 14)
		got, err = onNode.Lister().List(labels.Everything())
		require.NoError(t, err)
		require.Len(t, got, 1)

		p := got[0].DeepCopy()
		p.Status.Phase = v1.PodSucceeded
		p.Labels["skip"] = "yes"
		_, err = c.CoreV1().Pods("ns-3").UpdateStatus(ctx, p, metav1.UpdateOptions{})
		require.NoError(t, err)
		synctest.Wait()
		got, err = labelled.Lister().List(labels.Everything())
		require.NoError(t, err)
		assert.Len(t, got, 13, "it left the label selection")
		assert.Empty(t, onNode.Informer().GetStore().List(), "it left the field selection")
		time.Sleep(10*time.Minute + time.Second)
		assert.EqualValues(t, 130, resyncs.Load())
	})
}

func TestReactorsMayRefuseChangeObserveOrDelegate(t *testing.T) {
	s, c := newServer()
	boom := errors.New("boom")
	failures := 2
	c.PrependReactor("create", "configmaps", func(action clienttesting.Action) (bool, runtime.Object, error) {
		if failures--; failures >= 0 {
			return true, nil, boom
		}
		return false, nil, nil
	})
	for range 2 {
		_, err := c.CoreV1().ConfigMaps("default").Create(ctx, configMap("a"), metav1.CreateOptions{})
		require.ErrorIs(t, err, boom)
	}
	createMap(t, c, configMap("a"))

	var kept *v1.ConfigMap
	c.PrependReactor("update", "configmaps", func(action clienttesting.Action) (bool, runtime.Object, error) {
		kept = action.(clienttesting.UpdateAction).GetObject().(*v1.ConfigMap)
		kept.Data = map[string]string{"changed": "by the reactor"}
		return false, nil, nil
	})
	m := updateMap(t, c, configMap("a"), "x")
	assert.Equal(t, map[string]string{"changed": "by the reactor"}, m.Data)
	kept.Data["changed"] = "after the write"
	m, err := c.CoreV1().ConfigMaps("default").Get(ctx, "a", metav1.GetOptions{})
	require.NoError(t, err)
	assert.Equal(t, "by the reactor", m.Data["changed"], "a reactor that keeps the object does not hold the stored one")

	c.PrependReactor("*", "secrets", clienttesting.ObjectReaction(c.Tracker()))
	other := fake.New(s, "other").CoreV1().Secrets("default")
	_, err = c.CoreV1().Secrets("default").Create(ctx, &v1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "s"}}, metav1.CreateOptions{})
	require.NoError(t, err)
	got, err := other.Get(ctx, "s", metav1.GetOptions{})
	require.NoError(t, err)
	assert.Equal(t, v1.SecretTypeOpaque, got.Type)
	got.ResourceVersion = ""
	_, err = c.CoreV1().Secrets("default").Create(ctx, got, metav1.CreateOptions{})
	assert.True(t, apierrors.IsAlreadyExists(err), err)
	require.NoError(t, c.CoreV1().Secrets("default").Delete(ctx, "s", metav1.DeleteOptions{}))
	_, err = other.Get(ctx, "s", metav1.GetOptions{})
	assert.True(t, apierrors.IsNotFound(err), err)
}

func TestAReactorOfTheClientsMayBeCalledDirectly(t *testing.T) {
	_, c := newServer()
	createMap(t, c, configMap("a"))
	get := clienttesting.NewGetAction(v1.SchemeGroupVersion.WithResource("configmaps"), "default", "a")
	handled, obj, err := c.ReactionChain[0].React(get)
	require.NoError(t, err)
	assert.True(t, handled)
	assert.Equal(t, "a", nameOf(obj))
}
