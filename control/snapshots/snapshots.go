// Package snapshots is what controllers need to work on snapshots: the custom resources of
// external-snapshotter v8 as Go objects, read from a cache or from the API server, and written.
//
// The types are upstream's, of github.com/kubernetes-csi/external-snapshotter/client/v8. In the
// server and in caches they are unstructured; a Client and a Store convert them.
package snapshots

import (
	"embed"

	snapshotv1 "github.com/kubernetes-csi/external-snapshotter/client/v8/apis/volumesnapshot/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/storagesim/storagesim/control"
)

// Group is the API group of snapshots.
const Group = "snapshot.storage.k8s.io"

// Kind is the kind of a snapshot, as a claim's data source names it.
const Kind = "VolumeSnapshot"

// Finalizers and annotations.
//
// Upstream: external-snapshotter pkg/utils/util.go, v8.7.
const (
	prefix = "snapshot.storage.kubernetes.io/"
	// ContentFinalizer is on contents that are bound.
	ContentFinalizer = prefix + "volumesnapshotcontent-bound-protection"
	// BoundFinalizer is on snapshots that are bound.
	BoundFinalizer = prefix + "volumesnapshot-bound-protection"
	// AsSourceFinalizer is on snapshots that claims may be restored from.
	AsSourceFinalizer = prefix + "volumesnapshot-as-source-protection"
	// PVCFinalizer is on claims of which a snapshot is being taken.
	PVCFinalizer = prefix + "pvc-as-source-protection"
	// AnnDefaultClass with "true" marks a default class.
	AnnDefaultClass = prefix + "is-default-class"
	// AnnBeingDeleted is on contents whose snapshot is being deleted.
	AnnBeingDeleted = prefix + "volumesnapshot-being-deleted"
	// AnnBeingCreated is on contents as long as CreateSnapshot has no final answer.
	AnnBeingCreated = prefix + "volumesnapshot-being-created"
	// AnnDeletionSecretName and AnnDeletionSecretNamespace say on contents which secret
	// DeleteSnapshot needs.
	AnnDeletionSecretName      = prefix + "deletion-secret-name"
	AnnDeletionSecretNamespace = prefix + "deletion-secret-namespace"
	// AnnAllowVolumeModeChange with "true" on a content allows to restore it in another volume mode.
	AnnAllowVolumeModeChange = prefix + "allow-volume-mode-change"
)

// Keys of a class that name secrets.
//
// Upstream: external-snapshotter pkg/utils/util.go, v8.7.
const (
	ParameterPrefix     = "csi.storage.k8s.io/"
	SecretName          = ParameterPrefix + "snapshotter-secret-name"
	SecretNamespace     = ParameterPrefix + "snapshotter-secret-namespace"
	ListSecretName      = ParameterPrefix + "snapshotter-list-secret-name"
	ListSecretNamespace = ParameterPrefix + "snapshotter-list-secret-namespace"
)

// definitions are those of upstream.
//
//go:embed definitions/*.yaml
var definitions embed.FS

// Definitions are the CustomResourceDefinitions of the three kinds, as YAML.
func Definitions() ([]string, error) { return texts(definitions, "definitions") }

// texts are the files of a folder.
func texts(files embed.FS, folder string) (texts []string, err error) {
	entries, err := files.ReadDir(folder)
	for _, entry := range entries {
		text, failed := files.ReadFile(folder + "/" + entry.Name())
		if failed != nil {
			return nil, failed
		}
		texts = append(texts, string(text))
	}
	return texts, err
}

func in(resource string) schema.GroupVersionResource {
	return snapshotv1.SchemeGroupVersion.WithResource(resource)
}

// Snapshots is the resource volumesnapshots.
func Snapshots() schema.GroupVersionResource { return in("volumesnapshots") }

// Contents is the resource volumesnapshotcontents.
func Contents() schema.GroupVersionResource { return in("volumesnapshotcontents") }

// Classes is the resource volumesnapshotclasses.
func Classes() schema.GroupVersionResource { return in("volumesnapshotclasses") }

// SnapshotClient calls the API for snapshots.
func SnapshotClient(env control.Env) Client[snapshotv1.VolumeSnapshot, *snapshotv1.VolumeSnapshot] {
	return Client[snapshotv1.VolumeSnapshot, *snapshotv1.VolumeSnapshot]{Objects: env.Objects(), Resource: Snapshots()}
}

// ContentClient calls the API for contents.
func ContentClient(env control.Env) Client[snapshotv1.VolumeSnapshotContent, *snapshotv1.VolumeSnapshotContent] {
	return Client[snapshotv1.VolumeSnapshotContent, *snapshotv1.VolumeSnapshotContent]{Objects: env.Objects(), Resource: Contents()}
}

// SnapshotObjects are the snapshots.
func SnapshotObjects(env control.Env) Objects[snapshotv1.VolumeSnapshot, *snapshotv1.VolumeSnapshot] {
	return objectsOf[snapshotv1.VolumeSnapshot, *snapshotv1.VolumeSnapshot](env, Snapshots())
}

// ContentObjects are the contents.
func ContentObjects(env control.Env) Objects[snapshotv1.VolumeSnapshotContent, *snapshotv1.VolumeSnapshotContent] {
	return objectsOf[snapshotv1.VolumeSnapshotContent, *snapshotv1.VolumeSnapshotContent](env, Contents())
}

// ClassStore follows classes.
func ClassStore(env control.Env) *Store[snapshotv1.VolumeSnapshotClass, *snapshotv1.VolumeSnapshotClass] {
	return newStore[snapshotv1.VolumeSnapshotClass, *snapshotv1.VolumeSnapshotClass](env, Classes())
}

// IsReady says whether a snapshot can be restored.
func IsReady(s *snapshotv1.VolumeSnapshot) bool {
	return s.Status != nil && s.Status.ReadyToUse != nil && *s.Status.ReadyToUse
}

// BoundContent is the name of the content that a snapshot is bound to, or "".
func BoundContent(s *snapshotv1.VolumeSnapshot) string {
	if s.Status == nil || s.Status.BoundVolumeSnapshotContentName == nil {
		return ""
	}
	return *s.Status.BoundVolumeSnapshotContentName
}

// RefersTo says whether a content is that of a snapshot: name, namespace and UID agree.
//
// Upstream: external-snapshotter pkg/utils/util.go IsVolumeSnapshotRefSet, v8.7.
func RefersTo(content *snapshotv1.VolumeSnapshotContent, s *snapshotv1.VolumeSnapshot) bool {
	ref := content.Spec.VolumeSnapshotRef
	return refersTo(ref.Name, ref.Namespace, ref.UID, s)
}
