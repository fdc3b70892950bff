package enginetest

import (
	"context"
	"testing"

	snapshotv1 "github.com/kubernetes-csi/external-snapshotter/client/v8/apis/volumesnapshot/v1"
	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/storagesim/storagesim/api"
	"github.com/storagesim/storagesim/api/crd"
	"github.com/storagesim/storagesim/api/fake"
	"github.com/storagesim/storagesim/control"
	"github.com/storagesim/storagesim/control/snapshots"
	"github.com/storagesim/storagesim/engine"
	"github.com/storagesim/storagesim/internal/manifest"
	"github.com/storagesim/storagesim/trace"
)

// SnapshotRig is a Rig whose API server has the definitions of snapshots.
type SnapshotRig struct{ *Rig }

// WithSnapshots makes a SnapshotRig, which is closed when the test ends.
func WithSnapshots(t testing.TB, cfg engine.Config, actor string, factory control.Factory) SnapshotRig {
	t.Helper()
	e := engine.New(cfg)
	t.Cleanup(e.Close)
	require.NoError(t, crd.Install(e.Server(), e.Now))
	r := SnapshotRig{&Rig{TB: t, Engine: e, User: fake.New(e.Server(), "user")}}
	definitions, err := snapshots.Definitions()
	require.NoError(t, err)
	for _, text := range definitions {
		r.Create(text)
	}
	require.NoError(t, e.Add(actor, factory))
	t.Cleanup(func() {
		if t.Failed() {
			t.Log("\n" + e.Trace().Story(engine.Start()))
		}
	})
	return r
}

// Create creates the objects of a manifest, with the status that they have there.
func (r SnapshotRig) Create(text string) {
	r.Helper()
	objects, err := manifest.ParseSet(r.Engine.Server().Registry(), manifest.Source{Name: "manifest", Data: []byte(text)})
	require.NoError(r, err)
	for _, obj := range objects {
		meta := obj.Meta()
		r.do(api.Request{Verb: "create", Resource: obj.Resource.GroupVersionResource(), Namespace: meta.GetNamespace(), Name: meta.GetName(), Object: obj.Object})
	}
}

// Delete deletes an object of snapshots.
func (r SnapshotRig) Delete(resource schema.GroupVersionResource, namespace, name string) {
	r.Helper()
	r.do(api.Request{Verb: "delete", Resource: resource, Namespace: namespace, Name: name})
}

// Snapshot returns the snapshot of that name in the namespace default, nil if there is none.
func (r SnapshotRig) Snapshot(name string) *snapshotv1.VolumeSnapshot {
	r.Helper()
	return Get[snapshotv1.VolumeSnapshot](r, snapshots.Snapshots(), "default", name)
}

// Content returns the content of that name, nil if there is none.
func (r SnapshotRig) Content(name string) *snapshotv1.VolumeSnapshotContent {
	r.Helper()
	return Get[snapshotv1.VolumeSnapshotContent](r, snapshots.Contents(), "", name)
}

// Update writes a changed content, or its subresource, for example "status".
func (r SnapshotRig) Update(content *snapshotv1.VolumeSnapshotContent, subresource string) {
	r.Helper()
	r.Put(snapshots.Contents(), content, subresource)
}

// Put writes a changed object of snapshots or group snapshots, or its subresource.
func (r SnapshotRig) Put(resource schema.GroupVersionResource, obj control.Object, subresource string) {
	r.Helper()
	fields, err := runtime.DefaultUnstructuredConverter.ToUnstructured(obj)
	require.NoError(r, err)
	r.do(api.Request{
		Verb: "update", Resource: resource, Subresource: subresource, Namespace: obj.GetNamespace(), Name: obj.GetName(),
		Object: &unstructured.Unstructured{Object: fields},
	})
}

// DefineGroups makes the definitions of group snapshots.
func (r SnapshotRig) DefineGroups() {
	r.Helper()
	definitions, err := snapshots.GroupDefinitions()
	require.NoError(r, err)
	for _, text := range definitions {
		r.Create(text)
	}
}

// Names returns the names of all objects of a resource, in order; namespace is "" for contents and classes.
func (r SnapshotRig) Names(resource schema.GroupVersionResource, namespace string) (names []string) {
	r.Helper()
	list := r.do(api.Request{Verb: "list", Resource: resource, Namespace: namespace})
	for _, item := range list.(*unstructured.UnstructuredList).Items {
		names = append(names, item.GetName())
	}
	return names
}

// Events returns the events as "TYPE REASON: MESSAGE", in order, repeats in a row only once.
func (r SnapshotRig) Events() (said []string) {
	for _, entry := range r.Engine.Trace().Entries() {
		if e, ok := entry.Record.(trace.Event); ok && !e.Repeated {
			said = append(said, e.Type+" "+e.Reason+": "+e.Message)
		}
	}
	return said
}

// Writes returns what an actor has written, in order: "VERB RESOURCE", or "VERB RESOURCE/SUBRESOURCE".
func (r SnapshotRig) Writes(actor string) (list []string) {
	for _, entry := range r.Engine.Trace().Entries() {
		if w, ok := entry.Record.(trace.Write); ok && w.Actor == actor {
			text := w.Verb + " " + w.Resource.Resource
			if w.Subresource != "" {
				text += "/" + w.Subresource
			}
			list = append(list, text)
		}
	}
	return list
}

func (r SnapshotRig) do(req api.Request) runtime.Object {
	r.Helper()
	obj, err := r.User.(*fake.Clientset).Do(context.Background(), req)
	require.NoError(r, err)
	return obj
}

// Get returns an object of snapshots or group snapshots, nil if there is none.
func Get[T any](r SnapshotRig, resource schema.GroupVersionResource, namespace, name string) *T {
	r.Helper()
	obj, err := r.User.(*fake.Clientset).Do(context.Background(), api.Request{Verb: "get", Resource: resource, Namespace: namespace, Name: name})
	if apierrors.IsNotFound(err) {
		return nil
	}
	require.NoError(r, err)
	typed := new(T)
	require.NoError(r, runtime.DefaultUnstructuredConverter.FromUnstructured(obj.(*unstructured.Unstructured).Object, typed))
	return typed
}
