// Package snapshots helps controllers to work on snapshots, the custom resources of external-snapshotter v8. The
// types are upstream's, of github.com/kubernetes-csi/external-snapshotter/client/v8. In the server and in caches the
// objects are unstructured; a Client and a Store convert them.
//
// Begin with Kind in kind.go, which says what snapshots and group snapshots have in common, and Objects in
// objects.go, by which a controller reads and writes them.
package snapshots

import (
	"embed"
	"time"

	snapshotv1 "github.com/kubernetes-csi/external-snapshotter/client/v8/apis/volumesnapshot/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/storagesim/storagesim/control"
)

// Group is the API group of snapshots.
const Group = "snapshot.storage.k8s.io"

// SnapshotKind is the kind of a snapshot, as a claim's data source names it.
const SnapshotKind = "VolumeSnapshot"

// Finalizers and annotations.
//
// Upstream: external-snapshotter pkg/utils/util.go, v8.7.
const (
	prefix = "snapshot.storage.kubernetes.io/"
	// ContentFinalizer is on contents that are bound.
	ContentFinalizer = prefix + "volumesnapshotcontent-bound-protection"
	// BoundFinalizer is on snapshots that are bound.
	BoundFinalizer = prefix + "volumesnapshot-bound-protection"
	// RestoredFinalizer is on snapshots that a volume is being restored from. It is the csi-provisioner's.
	RestoredFinalizer = "provisioner.storage.kubernetes.io/volumesnapshot-as-source-protection"
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
	// AnnDeletionSecretName and AnnDeletionSecretNamespace on contents name the secret for DeleteSnapshot.
	AnnDeletionSecretName      = prefix + "deletion-secret-name"
	AnnDeletionSecretNamespace = prefix + "deletion-secret-namespace"
	// AnnAllowVolumeModeChange with "true" on a content allows to restore it in another volume mode.
	AnnAllowVolumeModeChange = prefix + "allow-volume-mode-change"
)

// ParameterPrefix begins the parameters of a class that are for the sidecar, not for the driver.
//
// Upstream: external-snapshotter pkg/utils/util.go, v8.7.
const ParameterPrefix = "csi.storage.k8s.io/"

// definitions holds upstream's files.
//
//go:embed definitions/*.yaml
var definitions embed.FS

// Definitions returns upstream's CustomResourceDefinitions of the three kinds, as YAML.
func Definitions() ([]string, error) { return texts(definitions, "definitions") }

// texts returns the files of a folder.
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

// Snapshots returns the resource volumesnapshots.
func Snapshots() schema.GroupVersionResource { return in("volumesnapshots") }

// Contents returns the resource volumesnapshotcontents.
func Contents() schema.GroupVersionResource { return in("volumesnapshotcontents") }

// SnapshotClient returns a client for snapshots.
func SnapshotClient(env control.Env) Client[*snapshotv1.VolumeSnapshot] {
	return Client[*snapshotv1.VolumeSnapshot]{Objects: env.Objects(), Resource: Snapshots()}
}

// ContentClient returns a client for contents.
func ContentClient(env control.Env) Client[*snapshotv1.VolumeSnapshotContent] {
	return Client[*snapshotv1.VolumeSnapshotContent]{Objects: env.Objects(), Resource: Contents()}
}

// Single returns the Kind of snapshots of one volume: VolumeSnapshot and VolumeSnapshotContent.
func Single() Kind[*snapshotv1.VolumeSnapshot, *snapshotv1.VolumeSnapshotContent] {
	return Kind[*snapshotv1.VolumeSnapshot, *snapshotv1.VolumeSnapshotContent]{
		Name: SnapshotKind, Noun: "snapshot", ContentNoun: "content", ContentWord: "content", Reason: "Snapshot", Failed: "Failed", ContentPrefix: "snapcontent",
		Version: snapshotv1.SchemeGroupVersion, Secrets: newRole("Snapshotter", "snapshotter"), LookSecrets: newRole("SnapshotterList", "snapshotter-list"),
		ContentFinalizer: ContentFinalizer, BoundFinalizer: BoundFinalizer,
		AnnDefaultClass: AnnDefaultClass, AnnBeingCreated: AnnBeingCreated, AnnBeingDeleted: AnnBeingDeleted,
		AnnDeletionSecretName: AnnDeletionSecretName, AnnDeletionSecretNamespace: AnnDeletionSecretNamespace,
		Snapshot: readSnapshot, Content: readContent, SetStatus: setStatus, SetContentStatus: setContentStatus,
	}
}

func readSnapshot(s *snapshotv1.VolumeSnapshot) Snapshot {
	is := Snapshot{Class: s.Spec.VolumeSnapshotClassName, ContentName: s.Spec.Source.VolumeSnapshotContentName}
	if status := s.Status; status != nil {
		is.Status = Status{
			BoundContent: status.BoundVolumeSnapshotContentName, CreationTime: status.CreationTime, ReadyToUse: status.ReadyToUse,
			RestoreSize: status.RestoreSize, Group: status.VolumeGroupSnapshotName, Error: status.Error,
		}
	}
	return is
}

func setStatus(s *snapshotv1.VolumeSnapshot, status Status) {
	s.Status = &snapshotv1.VolumeSnapshotStatus{
		BoundVolumeSnapshotContentName: status.BoundContent, CreationTime: status.CreationTime, ReadyToUse: status.ReadyToUse,
		RestoreSize: status.RestoreSize, VolumeGroupSnapshotName: status.Group, Error: status.Error,
	}
}

func readContent(c *snapshotv1.VolumeSnapshotContent) Content {
	spec := c.Spec
	is := Content{
		Ref: spec.VolumeSnapshotRef, Class: spec.VolumeSnapshotClassName, Driver: spec.Driver, DeletionPolicy: spec.DeletionPolicy,
		Dynamic: spec.Source.VolumeHandle != nil, Existing: spec.Source.SnapshotHandle != nil,
	}
	if status := c.Status; status != nil {
		is.HasStatus, is.Handle, is.ReadyToUse, is.Error = true, status.SnapshotHandle, status.ReadyToUse, status.Error
		is.RestoreSize, is.GroupHandle = status.RestoreSize, status.VolumeGroupSnapshotHandle
		if status.CreationTime != nil {
			is.CreationTime = &metav1.Time{Time: time.Unix(0, *status.CreationTime)}
		}
	}
	return is
}

func setContentStatus(c *snapshotv1.VolumeSnapshotContent, is Content) {
	c.Status = &snapshotv1.VolumeSnapshotContentStatus{
		SnapshotHandle: is.Handle, ReadyToUse: is.ReadyToUse, RestoreSize: is.RestoreSize, VolumeGroupSnapshotHandle: is.GroupHandle, Error: is.Error,
	}
	if is.CreationTime != nil {
		nanoseconds := is.CreationTime.UnixNano()
		c.Status.CreationTime = &nanoseconds
	}
}

// IsReady reports whether a snapshot can be restored.
func IsReady(s *snapshotv1.VolumeSnapshot) bool { return readSnapshot(s).IsReady() }

// BoundContent returns the name of the content that a snapshot is bound to, or "".
func BoundContent(s *snapshotv1.VolumeSnapshot) string { return readSnapshot(s).Bound() }
