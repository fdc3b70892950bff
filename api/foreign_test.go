package api_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/storagesim/storagesim/api"
	"github.com/storagesim/storagesim/api/internal/strategy"
	"github.com/storagesim/storagesim/api/internal/validation"
	"github.com/storagesim/storagesim/api/registry"
	"github.com/storagesim/storagesim/api/store"
)

// Backup is a kind that client-go does not know.
type Backup struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata"`
	Spec              BackupSpec   `json:"spec"`
	Status            BackupStatus `json:"status"`
}

// BackupSpec is the desired state.
type BackupSpec struct {
	Claim string `json:"claim"`
	Keep  int    `json:"keep"`
}

// BackupStatus is the observed state.
type BackupStatus struct {
	Done bool `json:"done"`
}

// DeepCopyObject implements runtime.Object.
func (b *Backup) DeepCopyObject() runtime.Object {
	copied := *b
	b.ObjectMeta.DeepCopyInto(&copied.ObjectMeta)
	return &copied
}

// BackupList is a list of them.
type BackupList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata"`
	Items           []Backup `json:"items"`
}

// DeepCopyObject implements runtime.Object.
func (l *BackupList) DeepCopyObject() runtime.Object {
	copied := *l
	copied.Items = nil
	for i := range l.Items {
		copied.Items = append(copied.Items, *l.Items[i].DeepCopyObject().(*Backup))
	}
	return &copied
}

var (
	backupGroup = schema.GroupVersion{Group: "example.com", Version: "v1"}
	backups     = backupGroup.WithResource("backups")
)

// withBackups returns a server that has the kind Backup as well.
func withBackups(t *testing.T) *api.Server {
	t.Helper()
	scheme := runtime.NewScheme()
	scheme.AddKnownTypes(backupGroup, &Backup{}, &BackupList{})
	kinds := registry.New()
	require.NoError(t, kinds.Add(scheme, registry.Kind{
		Group: backupGroup.Group, Version: backupGroup.Version, Kind: "Backup", ShortNames: []string{"bak"}, Generations: true,
		Strategy: strategy.Of[*Backup]{Default: func(b *Backup) {
			if b.Spec.Keep == 0 {
				b.Spec.Keep = 3
			}
		}}.Kind(),
		Validation: validation.Kind{Create: func(obj runtime.Object) field.ErrorList {
			if b := obj.(*Backup); b.Spec.Claim == "" {
				return field.ErrorList{field.Required(field.NewPath("spec", "claim"), "")}
			}
			return nil
		}},
		Fields: map[string]func(runtime.Object) string{"spec.claim": func(obj runtime.Object) string { return obj.(*Backup).Spec.Claim }},
	}))
	return api.NewServer(api.Config{Now: newClock().Now, Registry: kinds})
}

func backup(name, claim string) *Backup {
	return &Backup{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: BackupSpec{Claim: claim}}
}

func request(verb, name string, obj runtime.Object) api.Request {
	return api.Request{Actor: "user", Verb: verb, Resource: backups, Namespace: "default", Name: name, Object: obj}
}

func do[T runtime.Object](t *testing.T, s *api.Server, req api.Request) T {
	t.Helper()
	obj, err := s.Do(ctx, req)
	require.NoError(t, err)
	return obj.(T)
}

func TestAKindOfAForeignTypeIsServedLikeAnyOther(t *testing.T) {
	s := withBackups(t)
	created := do[*Backup](t, s, request("create", "", backup("a", "data")))
	require.Equal(t, BackupSpec{Claim: "data", Keep: 3}, created.Spec, "it has its defaults")
	require.Equal(t, int64(1), created.Generation)

	_, err := s.Do(ctx, request("create", "", backup("b", "")))
	require.EqualError(t, err, `Backup.example.com "b" is invalid: spec.claim: Required value`)
	_, err = s.Do(ctx, request("create", "", claim("c")))
	require.ErrorContains(t, err, "PersistentVolumeClaim cannot be handled as a Backup")

	do[*Backup](t, s, request("create", "", backup("b", "other")))
	byClaim := request("list", "", nil)
	byClaim.List.FieldSelector = "spec.claim=data"
	list := do[*BackupList](t, s, byClaim)
	require.Len(t, list.Items, 1)
	require.Equal(t, "a", list.Items[0].Name)

	for patchType, patch := range map[types.PatchType]string{
		types.MergePatchType: `{"spec":{"keep":4}}`, types.JSONPatchType: `[{"op":"replace","path":"/spec/keep","value":5}]`,
		types.StrategicMergePatchType: `{"spec":{"keep":6}}`,
		types.ApplyPatchType:          `{"apiVersion":"example.com/v1","kind":"Backup","metadata":{"name":"a"},"spec":{"keep":7}}`,
	} {
		req := request("patch", "a", nil)
		req.PatchType, req.Patch, req.Write = patchType, []byte(patch), metav1.PatchOptions{FieldManager: "user", Force: new(true)}
		if patchType != types.ApplyPatchType {
			req.Write = metav1.PatchOptions{}
		}
		patched := do[*Backup](t, s, req)
		require.Contains(t, patch, string(rune('0'+patched.Spec.Keep)), patchType)
		require.Equal(t, "data", patched.Spec.Claim, patchType)
	}
}

func TestAKindOfAForeignTypeIsWatchedAndHasAStatus(t *testing.T) {
	s := withBackups(t)
	w, err := s.Watch(t.Context(), request("watch", "", nil))
	require.NoError(t, err)
	created := do[*Backup](t, s, request("create", "", backup("a", "data")))
	created.Status.Done, created.Spec.Keep = true, 9
	status := request("update", "a", created)
	status.Subresource = "status"
	updated := do[*Backup](t, s, status)
	require.True(t, updated.Status.Done)
	require.Equal(t, 3, updated.Spec.Keep, "an update of the status changes nothing else")
	_, err = s.Do(ctx, request("delete", "a", nil))
	require.NoError(t, err)
	for _, want := range []watch.EventType{watch.Added, watch.Modified, watch.Deleted} {
		require.Equal(t, want, (<-w.ResultChan()).Type)
	}
}

func TestDiscoveryTellsOfAForeignKind(t *testing.T) {
	s := withBackups(t)
	found, err := s.Registry().Find("bak")
	require.NoError(t, err)
	require.Equal(t, "backups", found.Name)
	groups := s.Registry().Groups()
	require.Equal(t, metav1.APIGroup{Name: ""}.Name, groups[0].Name, "the core group comes first")
	require.Equal(t, "example.com", groups[len(groups)-1].Name)
	for _, list := range s.Resources() {
		if list.GroupVersion != "example.com/v1" {
			continue
		}
		require.Equal(t, []string{"backups", "backups/status"}, []string{list.APIResources[0].Name, list.APIResources[1].Name})
		require.Equal(t, []string{"bak"}, list.APIResources[0].ShortNames)
		return
	}
	t.Fatal("example.com/v1 is not listed")
}

func TestAnEntryThatIsWrongIsRefusedInWords(t *testing.T) {
	scheme := runtime.NewScheme()
	scheme.AddKnownTypes(backupGroup, &Backup{})
	kinds := registry.New()
	before := len(kinds.All())
	for says, kind := range map[string]registry.Kind{
		`a kind is registered with kind "" and version "v1": both are required`: {Version: "v1"},
		`the kind example.com/v1, Kind=Restore is not in the scheme`:            {Group: "example.com", Version: "v1", Kind: "Restore"},
		`the kind example.com/v1, Kind=Backup has no list in the scheme`:        {Group: "example.com", Version: "v1", Kind: "Backup"},
	} {
		require.ErrorContains(t, kinds.Add(scheme, kind), says)
	}
	require.ErrorContains(t, kinds.Add(nil, registry.Kind{Version: "v1", Kind: "Pod"}), "the kind /v1, Kind=Pod (pods) is registered already")
	require.Len(t, kinds.All(), before, "nothing is registered then")
}

func TestAKindMayComeAndGoWhileTheServerRuns(t *testing.T) {
	s, _ := newServer()
	woken := 0
	cursor := s.Follow(backups, store.Selector{}, func() { woken++ })
	require.Empty(t, cursor.List())
	thing := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "example.com/v1", "kind": "Backup", "metadata": map[string]any{"name": "a"}, "spec": map[string]any{"keep": int64(3)},
	}}
	_, err := s.Do(ctx, request("create", "", thing.DeepCopy()))
	require.True(t, apierrors.IsNotFound(err), "%v", err)

	kind := registry.Kind{Group: "example.com", Version: "v1", Kind: "Backup", Generations: true}
	require.NoError(t, s.Registry().Add(nil, kind))
	_, _, err = cursor.Next()
	require.True(t, apierrors.IsResourceExpired(err), "who follows lists again: %v", err)
	require.Empty(t, cursor.List())
	created := do[*unstructured.Unstructured](t, s, request("create", "", thing.DeepCopy()))
	require.Equal(t, "example.com/v1", created.GetAPIVersion())
	change, ok, err := cursor.Next()
	require.NoError(t, err)
	require.True(t, ok)
	require.Equal(t, watch.Added, change.Type)

	patch := request("patch", "a", nil)
	patch.PatchType, patch.Patch = types.MergePatchType, []byte(`{"spec":{"keep":4},"status":{"done":true}}`)
	patched := do[*unstructured.Unstructured](t, s, patch)
	require.Equal(t, map[string]any{"keep": int64(4)}, patched.Object["spec"])
	require.NotContains(t, patched.Object, "status", "that is a subresource")
	require.Equal(t, int64(2), patched.GetGeneration())
	patch.Subresource, patch.Patch = "status", []byte(`{"spec":{"keep":5},"status":{"done":true}}`)
	patched = do[*unstructured.Unstructured](t, s, patch)
	require.Equal(t, map[string]any{"keep": int64(4)}, patched.Object["spec"])
	require.Equal(t, map[string]any{"done": true}, patched.Object["status"])
	list := do[*unstructured.UnstructuredList](t, s, request("list", "", nil))
	require.Equal(t, "BackupList", list.GetKind())
	require.Len(t, list.Items, 1)
	patch.PatchType = types.StrategicMergePatchType
	_, err = s.Do(ctx, patch)
	require.True(t, apierrors.IsUnsupportedMediaType(err), "as of custom resources: %v", err)

	apply := request("patch", "a", nil)
	apply.PatchType, apply.Write = types.ApplyPatchType, metav1.PatchOptions{FieldManager: "me", Force: new(true)}
	apply.Patch = []byte(`{"apiVersion":"example.com/v1","kind":"Backup","metadata":{"name":"a"},"spec":{"keep":6}}`)
	applied := do[*unstructured.Unstructured](t, s, apply)
	require.Equal(t, map[string]any{"keep": int64(6)}, applied.Object["spec"])
	require.NotEmpty(t, applied.GetManagedFields())
	require.Equal(t, "Backup", applied.GetKind())

	w, err := s.Watch(t.Context(), request("watch", "", nil))
	require.NoError(t, err)
	require.Equal(t, watch.Added, (<-w.ResultChan()).Type)
	require.True(t, s.Registry().Remove(schema.GroupKind{Group: "example.com", Kind: "Backup"}))
	require.Equal(t, watch.Error, (<-w.ResultChan()).Type)
	_, err = s.Do(ctx, request("get", "a", nil))
	require.True(t, apierrors.IsNotFound(err))
	require.NoError(t, s.Registry().Add(nil, kind))
	require.Empty(t, do[*unstructured.UnstructuredList](t, s, request("list", "", nil)).Items, "its objects went with it")
	_, _, err = cursor.Next()
	require.True(t, apierrors.IsResourceExpired(err))
	require.Empty(t, cursor.List())
}
