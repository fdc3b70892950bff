package api_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/storagesim/storagesim/api"
	"github.com/storagesim/storagesim/api/fake"
)

// aboutConfigMaps returns a request about ConfigMaps in "default".
func aboutConfigMaps(verb, name string) api.Request {
	return api.Request{
		Actor: "me", Verb: verb, Resource: configMaps, Namespace: "default", Name: name,
	}
}

func TestEveryVerbIsARequest(t *testing.T) {
	s, ctx := api.NewServer(api.Config{}), t.Context()
	do := func(req api.Request) runtime.Object {
		t.Helper()
		obj, err := s.Do(ctx, req)
		require.NoError(t, err)
		return obj
	}
	changes, err := s.Watch(ctx, aboutConfigMaps("watch", ""))
	require.NoError(t, err)
	defer changes.Stop()

	req := aboutConfigMaps("create", "")
	req.Object = &v1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "a", Labels: map[string]string{"of": "me"}}, Data: map[string]string{"x": "1"}}
	made := do(req).(*v1.ConfigMap)
	require.NotEmpty(t, made.UID)

	req = aboutConfigMaps("update", "a")
	made.Data["x"] = "2"
	req.Object = made.DeepCopy()
	require.Equal(t, "2", do(req).(*v1.ConfigMap).Data["x"])

	req = aboutConfigMaps("patch", "a")
	req.PatchType, req.Patch = types.MergePatchType, []byte(`{"data": {"y": "3"}}`)
	require.Equal(t, map[string]string{"x": "2", "y": "3"}, do(req).(*v1.ConfigMap).Data)

	req.Write.DryRun = []string{"All"}
	req.Patch = []byte(`{"data": null}`)
	require.Empty(t, do(req).(*v1.ConfigMap).Data)
	require.Len(t, do(aboutConfigMaps("get", "a")).(*v1.ConfigMap).Data, 2)

	req = aboutConfigMaps("list", "")
	req.List.LabelSelector = "of=me"
	require.Len(t, do(req).(*v1.ConfigMapList).Items, 1)

	require.Equal(t, &metav1.Status{
		Status: "Success", Details: &metav1.StatusDetails{Name: "a", Kind: "configmaps", UID: made.UID},
	}, do(aboutConfigMaps("delete", "a")))
	_, err = s.Do(ctx, aboutConfigMaps("get", "a"))
	require.EqualError(t, err, `configmaps "a" not found`)

	req = aboutConfigMaps("create", "")
	req.Object = &v1.ConfigMap{ObjectMeta: metav1.ObjectMeta{GenerateName: "b-"}}
	do(req)
	require.Len(t, do(aboutConfigMaps("deletecollection", "")).(*v1.ConfigMapList).Items, 1)
	require.Empty(t, do(aboutConfigMaps("list", "")).(*v1.ConfigMapList).Items)

	for _, want := range []watch.EventType{watch.Added, watch.Modified, watch.Modified, watch.Deleted, watch.Added, watch.Deleted} {
		require.Equal(t, want, (<-changes.ResultChan()).Type)
	}
}

// Upstream: registry/generic/registry Store.Delete, v1.37, and ReturnDeletedObject of each
// storage.
func TestADeletionIsAnsweredWithTheObjectIfItIsStillThereOrItsKindSaysSo(t *testing.T) {
	s := api.NewServer(api.Config{})
	do := func(verb, resource, namespace, sub string, obj runtime.Object) runtime.Object {
		t.Helper()
		answer, err := s.Do(t.Context(), api.Request{
			Verb: verb, Resource: v1.SchemeGroupVersion.WithResource(resource), Namespace: namespace, Name: "a", Subresource: sub, Object: obj,
		})
		require.NoError(t, err)
		return answer
	}
	held := configMap("a")
	held.Finalizers = []string{"example.com/held"}
	do("create", "configmaps", "default", "", held)
	require.NotNil(t, do("delete", "configmaps", "default", "", nil).(*v1.ConfigMap).DeletionTimestamp)

	do("create", "persistentvolumes", "", "", volume("a"))
	require.NotNil(t, do("delete", "persistentvolumes", "", "", nil).(*v1.PersistentVolume).DeletionTimestamp, "a finalizer protects it")

	do("create", "serviceaccounts", "default", "", &v1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: "a"}})
	require.Equal(t, "a", do("delete", "serviceaccounts", "default", "", nil).(*v1.ServiceAccount).Name, "it is gone, and answered with")

	do("create", "pods", "default", "", pod("a"))
	binding := &v1.Binding{ObjectMeta: metav1.ObjectMeta{Name: "a"}, Target: v1.ObjectReference{Name: "n"}}
	require.Equal(t, "Success", do("create", "pods", "default", "binding", binding).(*metav1.Status).Status)
	require.Equal(t, "Success", do("create", "pods", "default", "eviction", &policyv1.Eviction{ObjectMeta: metav1.ObjectMeta{Name: "a"}}).(*metav1.Status).Status)

	_, err := s.Do(t.Context(),
		api.Request{Verb: "delete", Resource: v1.SchemeGroupVersion.WithResource("pods"), Namespace: "default", Name: "a", Subresource: "status"})
	require.True(t, apierrors.IsMethodNotSupported(err), err)
}

func TestAContextThatHasEndedStoresNothingAndEndsAWatch(t *testing.T) {
	s := api.NewServer(api.Config{})
	ctx, cancel := context.WithCancel(t.Context())
	w, err := s.Watch(ctx, aboutConfigMaps("watch", ""))
	require.NoError(t, err)
	cancel()
	_, open := <-w.ResultChan()
	require.False(t, open)

	req := aboutConfigMaps("create", "")
	req.Object = &v1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "a"}}
	_, err = s.Do(ctx, req)
	require.ErrorIs(t, err, context.Canceled)
	_, err = s.Watch(ctx, aboutConfigMaps("watch", ""))
	require.ErrorIs(t, err, context.Canceled)
	_, err = s.Do(t.Context(), aboutConfigMaps("get", "a"))
	require.True(t, apierrors.IsNotFound(err))

	client := fake.NewWithoutActions(s, "me")
	_, err = client.CoreV1().PersistentVolumes().Create(ctx, &v1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: "pv"}}, metav1.CreateOptions{})
	require.ErrorIs(t, err, context.Canceled)
}

func TestARequestThatMakesNoSenseIsAnError(t *testing.T) {
	s := api.NewServer(api.Config{})
	for says, change := range map[string]func(req *api.Request){
		`unable to parse requirement`:                            func(req *api.Request) { req.Verb, req.List.LabelSelector = "list", "a in (" },
		`invalid selector: 'a'`:                                  func(req *api.Request) { req.Verb, req.List.FieldSelector = "list", "a" },
		`found '', expected: identifier`:                         func(req *api.Request) { req.Verb, req.List.LabelSelector = "deletecollection", "a,!" },
		`verb "proxy" is not supported for configmaps`:           func(req *api.Request) { req.Verb = "proxy" },
		`could not find the requested resource`:                  func(req *api.Request) { req.Resource.Resource = "configmap" },
		`resource name may not be empty`:                         func(req *api.Request) { req.Verb = "delete" },
		`an empty namespace may not be set when a resource name`: func(req *api.Request) { req.Name, req.Namespace = "a", "" },
		`an empty namespace may not be set during creation`:      func(req *api.Request) { req.Verb, req.Namespace = "create", "" },
		`has no scale here`:                                      func(req *api.Request) { req.Name, req.Subresource = "a", "scale" },
	} {
		req := aboutConfigMaps("get", "")
		change(&req)
		_, err := s.Do(t.Context(), req)
		require.ErrorContains(t, err, says)
		require.NotEqual(t, metav1.StatusReasonUnknown, apierrors.ReasonForError(err), says)
	}
	req := aboutConfigMaps("watch", "")
	req.List.LabelSelector = "a in ("
	_, err := s.Watch(t.Context(), req)
	require.True(t, apierrors.IsBadRequest(err), err)
	_, err = s.Do(t.Context(), aboutConfigMaps("create", "a"))
	require.Error(t, err, "there is no object")
}
