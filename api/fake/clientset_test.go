package fake_test

import (
	"encoding/json"
	"errors"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	clienttesting "k8s.io/client-go/testing"

	"github.com/storagesim/storagesim/api"
	"github.com/storagesim/storagesim/api/fake"
)

// runtimeObject is the type that reactors return.
type runtimeObject = runtime.Object

func TestWhatStandsBeforeTheServerSeesEveryCallAndMayRefuseItOrChangeItsOutcome(t *testing.T) {
	s, user := newServer()
	var calls []string
	lost := errors.New("connection lost")
	c := fake.NewWithoutActions(gated{
		Server: s,
		before: func(req *api.Request) error {
			calls = append(calls, req.Actor+": "+req.String())
			if req.ObjectName() == "refused" {
				return lost
			}
			return nil
		},
		after: func(req *api.Request, err error) error {
			if req.ObjectName() == "answer-lost" {
				return lost
			}
			return err
		},
	}, "controller")
	maps := c.CoreV1().ConfigMaps("default")
	_, err := maps.Create(ctx, configMap("refused"), metav1.CreateOptions{})
	assert.ErrorIs(t, err, lost)
	_, err = user.CoreV1().ConfigMaps("default").Get(ctx, "refused", metav1.GetOptions{})
	assert.True(t, apierrors.IsNotFound(err), "the server never heard of it")
	_, err = maps.Create(ctx, configMap("answer-lost"), metav1.CreateOptions{})
	assert.ErrorIs(t, err, lost)
	_, err = user.CoreV1().ConfigMaps("default").Get(ctx, "answer-lost", metav1.GetOptions{})
	assert.NoError(t, err, "it was created all the same")
	_, err = maps.Create(ctx, &v1.ConfigMap{ObjectMeta: metav1.ObjectMeta{GenerateName: "gen-"}}, metav1.CreateOptions{})
	require.NoError(t, err)
	_, _ = maps.List(ctx, metav1.ListOptions{})
	_, _ = c.CoreV1().PersistentVolumes().Patch(ctx, "pv", types.MergePatchType, []byte("{}"), metav1.PatchOptions{}, "status")
	_ = c.CoreV1().Pods("default").Bind(ctx, &v1.Binding{ObjectMeta: metav1.ObjectMeta{Name: "web", Namespace: "default"}, Target: v1.ObjectReference{Name: "n"}},
		metav1.CreateOptions{})
	_ = maps.DeleteCollection(ctx, metav1.DeleteOptions{}, metav1.ListOptions{})
	w, err := c.CoreV1().PersistentVolumes().Watch(ctx, metav1.ListOptions{})
	require.NoError(t, err)
	w.Stop()
	assert.Equal(t, []string{
		"controller: create configmaps default/refused",
		"controller: create configmaps default/answer-lost",
		"controller: create configmaps default/gen-",
		"controller: list configmaps in default",
		"controller: patch persistentvolumes/status pv",
		"controller: create pods/binding default/web",
		"controller: deletecollection configmaps in default",
		"controller: watch persistentvolumes",
	}, calls)
	assert.LessOrEqual(t, len(c.Actions()), 1, "this client does not keep its actions")
}

func TestAClientIsUsableAgainAfterAPanicBeforeTheServer(t *testing.T) {
	s, _ := newServer()
	crash := true
	c := fake.NewWithoutActions(gated{
		Server: s,
		before: func(*api.Request) error {
			if crash {
				panic("crashed")
			}
			return nil
		},
		after: func(_ *api.Request, err error) error { return err },
	}, "controller")
	assert.PanicsWithValue(t, "crashed", func() { createMap(t, c, configMap("a")) })
	crash = false
	createMap(t, c, configMap("a"))
}

func TestACallMayWaitWhileOthersUseTheSameClient(t *testing.T) {
	s, _ := newServer()
	waiting, release := make(chan struct{}), make(chan struct{})
	c := fake.NewWithoutActions(gated{
		Server: s,
		before: func(req *api.Request) error {
			if req.ObjectName() == "slow" {
				close(waiting)
				<-release
			}
			return nil
		},
		after: func(_ *api.Request, err error) error { return err },
	}, "controller")
	var wg sync.WaitGroup
	wg.Go(func() { _, _ = c.CoreV1().ConfigMaps("default").Create(ctx, configMap("slow"), metav1.CreateOptions{}) })
	<-waiting
	createMap(t, c, configMap("quick"))
	close(release)
	wg.Wait()
}

func TestAPrependedReactorAnswersInsteadOfTheServer(t *testing.T) {
	s, c := newServer()
	c.PrependReactor("update", "configmaps", func(action clienttesting.Action) (bool, runtimeObject, error) {
		return true, nil, apierrors.NewServiceUnavailable("not today")
	})
	m := createMap(t, c, configMap("a"))
	_, err := c.CoreV1().ConfigMaps("default").Update(ctx, m, metav1.UpdateOptions{})
	assert.True(t, apierrors.IsServiceUnavailable(err))
	updateMap(t, fake.New(s, "another"), m, "x")
	assert.Len(t, c.Actions(), 2)
}

func TestRecordedActionsAreForgottenBeforeTheyFillTheMemory(t *testing.T) {
	_, c := newServer()
	for range 5000 {
		_, _ = c.CoreV1().ConfigMaps("default").Get(ctx, "a", metav1.GetOptions{})
	}
	assert.LessOrEqual(t, len(c.Actions()), 1000)
}

func TestTheWriterOfAWriteIsTheClientsName(t *testing.T) {
	s, c := newServer()
	seen := writes(s)
	m := createMap(t, c, configMap("a"))
	updateMap(t, fake.New(s, "kube-scheduler"), m, "1")
	assert.Equal(t, "user", (*seen)[0].Actor)
	assert.Equal(t, "kube-scheduler", (*seen)[1].Actor)
}

func TestDiscoveryListsTheResources(t *testing.T) {
	_, c := newServer()
	list, err := c.Discovery().ServerResourcesForGroupVersion("v1")
	require.NoError(t, err)
	found := map[string]metav1.APIResource{}
	for _, r := range list.APIResources {
		found[r.Name] = r
	}
	assert.True(t, found["pods"].Namespaced)
	assert.False(t, found["persistentvolumes"].Namespaced)
	assert.Equal(t, "PersistentVolumeClaim", found["persistentvolumeclaims"].Kind)
	assert.Contains(t, found, "pods/status")
	version, err := c.Discovery().ServerVersion()
	require.NoError(t, err)
	assert.Equal(t, "1.37 v1.37.2", version.Major+"."+version.Minor+" "+version.GitVersion)
	_, err = c.Discovery().ServerResourcesForGroupVersion("example.com/v1")
	assert.True(t, apierrors.IsNotFound(err))
}

func TestTheTrackerSeedsTheServer(t *testing.T) {
	_, c := newServer()
	pv := volume("pv")
	pv.Status.Phase = v1.VolumeAvailable
	require.NoError(t, c.Tracker().Add(&v1.List{Items: []runtime.RawExtension{{Object: pv}, {Object: configMap("a")}}}))
	got, err := c.CoreV1().PersistentVolumes().Get(ctx, "pv", metav1.GetOptions{})
	require.NoError(t, err)
	assert.Equal(t, v1.VolumeAvailable, got.Status.Phase)
	assert.NotEmpty(t, got.UID)
	stored, err := c.Tracker().Get(v1.SchemeGroupVersion.WithResource("persistentvolumes"), "", "pv")
	require.NoError(t, err)
	assert.Equal(t, got, stored, "with its UID, version, defaults and status")
	require.NoError(t, c.Tracker().Delete(configMaps, "default", "a"))
	assert.True(t, apierrors.IsNotFound(c.Tracker().Delete(configMaps, "default", "a")))
	assert.Error(t, c.Tracker().Add(nil))
	assert.True(t, apierrors.IsBadRequest(c.Tracker().Create(configMaps, nil, "default")))
}

func TestAnUnknownResourceOrSubresourceIsNotFoundInWords(t *testing.T) {
	_, c := newServer()
	gvr := schema.GroupVersionResource{Group: "example.com", Version: "v1", Resource: "things"}
	_, err := c.Invokes(clienttesting.NewGetAction(gvr, "default", "x"), nil)
	assert.True(t, apierrors.IsNotFound(err), err)
	assert.EqualError(t, err, "the server could not find the requested resource: it has no things in example.com/v1")
	createMap(t, c, configMap("a"))
	_, err = c.CoreV1().ConfigMaps("default").Patch(ctx, "a", types.MergePatchType, []byte(`{"data":{"a":"b"}}`), metav1.PatchOptions{}, "status")
	assert.True(t, apierrors.IsNotFound(err), err)
	assert.ErrorContains(t, err, "configmaps has no status here")
}

// Upstream: registry/storage/csinode/strategy.go with the gate CSIVolumeHealth off, v1.37.
func TestTheStatusOfACSINodeStaysEmpty(t *testing.T) {
	_, c := newServer()
	nodes := c.StorageV1().CSINodes()
	_, err := nodes.Create(ctx, &storagev1.CSINode{ObjectMeta: metav1.ObjectMeta{Name: "n"}}, metav1.CreateOptions{})
	require.NoError(t, err)
	const health = `{"metadata":{"labels":{"a":"b"}},"status":{"storageHealth":[{"name":"x.example.com"}]}}`
	node, err := nodes.Patch(ctx, "n", types.MergePatchType, []byte(health), metav1.PatchOptions{}, "status")
	require.NoError(t, err)
	data, err := json.Marshal(node)
	require.NoError(t, err)
	assert.Contains(t, string(data), `"status":{}`)
	assert.Empty(t, node.Labels, "status is written alone")
}
