package snapshots

import (
	"strings"

	groupv1 "github.com/kubernetes-csi/external-snapshotter/client/v8/apis/volumegroupsnapshot/v1"
	snapshotv1 "github.com/kubernetes-csi/external-snapshotter/client/v8/apis/volumesnapshot/v1"
	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/storagesim/storagesim/control"
)

// Kind describes snapshots or group snapshots, for code that works on both: upstream's names, and the fields that
// both have. S is the type of the snapshots, C that of their contents. Single and Groups return the two kinds.
type Kind[S, C Object] struct {
	// Name is the API kind of a snapshot. With "Content" or "Class" appended, it is that of contents and classes.
	Name string
	// Noun is a snapshot in upstream's messages, ContentNoun its content, ContentWord the content in one other message.
	Noun, ContentNoun, ContentWord string
	// Reason begins the reasons of events. Failed is this word at the beginning of two messages.
	Reason, Failed string
	// ContentPrefix begins the names of contents.
	ContentPrefix string
	// Version is the API group and its version.
	Version schema.GroupVersion
	// ContentFinalizer and BoundFinalizer are on contents and snapshots that are bound.
	ContentFinalizer, BoundFinalizer string
	// AnnDefaultClass is on a default class, the other annotations are on contents.
	AnnDefaultClass, AnnBeingCreated, AnnBeingDeleted string
	AnnDeletionSecretName, AnnDeletionSecretNamespace string
	// Secrets is the role of the secret for calls that create and delete, LookSecrets for those that only look.
	Secrets, LookSecrets Role

	// Snapshot reads the common fields of a snapshot, Content those of a content.
	Snapshot func(S) Snapshot
	Content  func(C) Content
	// SetStatus writes the fields of a snapshot's status, SetContentStatus those of a content's.
	SetStatus        func(S, Status)
	SetContentStatus func(C, Content)
}

// Snapshot holds the fields that snapshots and group snapshots have in common.
type Snapshot struct {
	Class *string // of the spec
	// ContentName is the content that the spec names, of a snapshot that exists already.
	ContentName *string
	Status
}

// Status holds the fields of the status of a snapshot. RestoreSize and Group are nil for a group snapshot.
type Status struct {
	BoundContent *string
	CreationTime *metav1.Time
	ReadyToUse   *bool
	RestoreSize  *resource.Quantity
	Group        *string // name of the group snapshot that the snapshot is a member of
	Error        *snapshotv1.VolumeSnapshotError
}

// IsReady reports whether the snapshot can be restored.
func (s Status) IsReady() bool { return s.ReadyToUse != nil && *s.ReadyToUse }

// Bound returns the name of the content that the snapshot is bound to, or "".
func (s Status) Bound() string {
	if s.BoundContent == nil {
		return ""
	}
	return *s.BoundContent
}

// Content holds the fields that the contents of snapshots and of group snapshots have in common.
type Content struct {
	Ref            v1.ObjectReference // to the snapshot
	Class          *string
	Driver         string
	DeletionPolicy snapshotv1.DeletionPolicy
	// Dynamic means that the source has handles of volumes to take a snapshot of, Existing that it has the handle of a
	// snapshot. A valid content has one of the two.
	Dynamic, Existing bool

	// HasStatus means that there is a status, with the fields below. RestoreSize and GroupHandle are nil for a group snapshot.
	HasStatus    bool
	Handle       *string
	CreationTime *metav1.Time
	ReadyToUse   *bool
	RestoreSize  *int64
	GroupHandle  *string // handle of the group snapshot that the snapshot is a member of
	Error        *snapshotv1.VolumeSnapshotError
	Members      []groupv1.VolumeSnapshotInfo // of a group snapshot
}

// IsReady reports whether the snapshot in the storage can be restored.
func (c Content) IsReady() bool { return c.ReadyToUse != nil && *c.ReadyToUse }

// SnapshotKey returns the key of the snapshot that the content names.
func (c Content) SnapshotKey() string { return c.Ref.Namespace + "/" + c.Ref.Name }

// RefersTo reports whether a content names a snapshot: name, namespace and UID agree.
//
// Upstream: external-snapshotter pkg/utils/util.go IsVolumeSnapshotRefSet and IsVolumeGroupSnapshotRefSet, v8.7.
func (k Kind[S, C]) RefersTo(content C, snapshot S) bool {
	ref := k.Content(content).Ref
	return ref.Name == snapshot.GetName() && ref.Namespace == snapshot.GetNamespace() && ref.UID == snapshot.GetUID()
}

// SnapshotObjects returns the snapshots of this kind.
func (k Kind[S, C]) SnapshotObjects(env control.Env) Objects[S] {
	return objectsOf[S](env, k.resource("s"))
}

// ContentObjects returns their contents.
func (k Kind[S, C]) ContentObjects(env control.Env) Objects[C] {
	return objectsOf[C](env, k.resource("contents"))
}

// Field returns the kind as it begins the names of fields in a content's spec.
func (k Kind[S, C]) Field() string { return strings.ToLower(k.Name[:1]) + k.Name[1:] }

func (k Kind[S, C]) resource(suffix string) schema.GroupVersionResource {
	return k.Version.WithResource(strings.ToLower(k.Name) + suffix)
}

// Class is the type of classes of both kinds, which have the same fields.
type Class = snapshotv1.VolumeSnapshotClass

// ClassStore follows the classes of one kind.
type ClassStore struct {
	*Store[*Class]
	resource schema.GroupResource
}

// ClassStore returns the classes of this kind.
func (k Kind[S, C]) ClassStore(env control.Env) ClassStore {
	return ClassStore{newStore[*Class](env, k.resource("classes")), k.resource("class").GroupResource()}
}

// Named returns a class from the cache. Its error is that of upstream's lister, which calls the resource
// volumesnapshotclass.
func (c ClassStore) Named(name string) (*Class, error) {
	class, ok := c.Cached(name)
	if !ok {
		return nil, apierrors.NewNotFound(c.resource, name)
	}
	return class, nil
}
