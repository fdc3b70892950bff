package snapshots

import (
	"context"
	"embed"
	"slices"
	"time"

	groupv1 "github.com/kubernetes-csi/external-snapshotter/client/v8/apis/volumegroupsnapshot/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/storagesim/storagesim/control"
)

// GroupsGroup is the API group of group snapshots.
const GroupsGroup = "groupsnapshot.storage.k8s.io"

// GroupKind is the kind of a group snapshot.
const GroupKind = "VolumeGroupSnapshot"

// Finalizers and annotations of group snapshots and their members.
//
// Upstream: external-snapshotter pkg/utils/util.go, v8.7.
const (
	groupPrefix = "groupsnapshot.storage.kubernetes.io/"
	// GroupContentFinalizer is on contents of group snapshots that are bound.
	GroupContentFinalizer = groupPrefix + "volumegroupsnapshotcontent-bound-protection"
	// GroupBoundFinalizer is on group snapshots that are bound.
	GroupBoundFinalizer = groupPrefix + "volumegroupsnapshot-bound-protection"
	// InGroupFinalizer is on snapshots that are members of a group snapshot.
	InGroupFinalizer = prefix + "volumesnapshot-in-group-protection"
	// annDefaultGroupClass with "true" marks a default class of group snapshots.
	annDefaultGroupClass = groupPrefix + "is-default-class"
	// AnnGroupBeingCreated is on contents as long as CreateVolumeGroupSnapshot has no final answer.
	AnnGroupBeingCreated = groupPrefix + "volumegroupsnapshot-being-created"
	// AnnGroupBeingDeleted is on contents whose group snapshot is being deleted.
	AnnGroupBeingDeleted = groupPrefix + "volumegroupsnapshot-being-deleted"
	// AnnGroupDeletionSecretName and AnnGroupDeletionSecretNamespace on contents name the secret for
	// DeleteVolumeGroupSnapshot.
	AnnGroupDeletionSecretName      = groupPrefix + "deletion-secret-name"
	AnnGroupDeletionSecretNamespace = groupPrefix + "deletion-secret-namespace"
	// AnnGroupHandle on the contents of members holds the handle of the group snapshot.
	AnnGroupHandle = GroupsGroup + "/volumeGroupSnapshotHandle"
)

//go:embed definitions/groups/*.yaml
var groupDefinitions embed.FS

// GroupDefinitions returns upstream's CustomResourceDefinitions of the three kinds of group snapshots, as YAML.
// Group snapshots work as soon as they are applied to a cluster.
func GroupDefinitions() ([]string, error) { return texts(groupDefinitions, "definitions/groups") }

// GroupSnapshots returns the resource volumegroupsnapshots.
func GroupSnapshots() schema.GroupVersionResource {
	return groupv1.SchemeGroupVersion.WithResource("volumegroupsnapshots")
}

// GroupContents returns the resource volumegroupsnapshotcontents.
func GroupContents() schema.GroupVersionResource {
	return groupv1.SchemeGroupVersion.WithResource("volumegroupsnapshotcontents")
}

// groupClasses returns the resource volumegroupsnapshotclasses.
func groupClasses() schema.GroupVersionResource {
	return groupv1.SchemeGroupVersion.WithResource("volumegroupsnapshotclasses")
}

// Groups returns the Kind of group snapshots: VolumeGroupSnapshot and VolumeGroupSnapshotContent.
func Groups() Kind[*groupv1.VolumeGroupSnapshot, *groupv1.VolumeGroupSnapshotContent] {
	return Kind[*groupv1.VolumeGroupSnapshot, *groupv1.VolumeGroupSnapshotContent]{
		Name: GroupKind, Noun: "group snapshot", ContentNoun: "group snapshot content", ContentWord: "groupSnapshotContent", Reason: "GroupSnapshot",
		Failed: "failed", ContentPrefix: "groupsnapcontent",
		Version: groupv1.SchemeGroupVersion, Secrets: newRole("GroupSnapshotter", "group-snapshotter"),
		LookSecrets:      newRole("GroupSnapshotterGet", "group-snapshotter-get"),
		ContentFinalizer: GroupContentFinalizer, BoundFinalizer: GroupBoundFinalizer,
		AnnDefaultClass: annDefaultGroupClass, AnnBeingCreated: AnnGroupBeingCreated, AnnBeingDeleted: AnnGroupBeingDeleted,
		AnnDeletionSecretName: AnnGroupDeletionSecretName, AnnDeletionSecretNamespace: AnnGroupDeletionSecretNamespace,
		Snapshot: readGroup, Content: readGroupContent, SetStatus: setGroupStatus, SetContentStatus: setGroupContentStatus,
	}
}

func readGroup(g *groupv1.VolumeGroupSnapshot) Snapshot {
	is := Snapshot{Class: g.Spec.VolumeGroupSnapshotClassName, ContentName: g.Spec.Source.VolumeGroupSnapshotContentName}
	if status := g.Status; status != nil {
		is.Status = Status{
			BoundContent: status.BoundVolumeGroupSnapshotContentName, CreationTime: status.CreationTime, ReadyToUse: status.ReadyToUse, Error: status.Error,
		}
	}
	return is
}

func setGroupStatus(g *groupv1.VolumeGroupSnapshot, status Status) {
	g.Status = &groupv1.VolumeGroupSnapshotStatus{
		BoundVolumeGroupSnapshotContentName: status.BoundContent, CreationTime: status.CreationTime, ReadyToUse: status.ReadyToUse, Error: status.Error,
	}
}

func readGroupContent(c *groupv1.VolumeGroupSnapshotContent) Content {
	spec := c.Spec
	is := Content{
		Ref: spec.VolumeGroupSnapshotRef, Class: spec.VolumeGroupSnapshotClassName, Driver: spec.Driver, DeletionPolicy: spec.DeletionPolicy,
		Dynamic: len(spec.Source.VolumeHandles) != 0, Existing: spec.Source.GroupSnapshotHandles != nil,
	}
	if status := c.Status; status != nil {
		is.HasStatus, is.Handle, is.ReadyToUse, is.Error = true, status.VolumeGroupSnapshotHandle, status.ReadyToUse, status.Error
		is.CreationTime, is.Members = status.CreationTime, status.VolumeSnapshotInfoList
	}
	return is
}

// WithGroups calls f, in a task of its own, as soon as the API server has the three kinds of group snapshots in
// version v1: at once, or when their definitions are created. Upstream's programs look once, when they start, and
// then do without group snapshots until they are started again.
//
// Upstream: external-snapshotter cmd/snapshot-controller/main.go ensureVolumeGroupSnapshotCRDsExist, v8.7.
func WithGroups(env control.Env, f func(ctx context.Context)) {
	definitions := control.NewCacheAtOnce[control.Object](env,
		schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"})
	begun := false
	look := func() {
		if begun || !defined(definitions) {
			return
		}
		begun = true
		env.Go("follow group snapshots", func(ctx context.Context) {
			served := func(ctx context.Context) (bool, error) { return served(ctx, env), nil }
			if done, _ := served(ctx); !done && env.PollBackoff(ctx, control.Backoff{First: time.Second, Factor: 2, Max: 30 * time.Second}, served) != nil {
				return
			}
			f(ctx)
		})
	}
	definitions.Handle(control.Handler[control.Object]{Add: func(control.Object) { look() }})
	look()
}

func groupResources() []schema.GroupVersionResource {
	return []schema.GroupVersionResource{GroupSnapshots(), GroupContents(), groupClasses()}
}

// defined reports whether the definitions of the three kinds exist.
func defined(definitions *control.Cache[control.Object]) bool {
	return !slices.ContainsFunc(groupResources(), func(r schema.GroupVersionResource) bool {
		_, there := definitions.Get(r.GroupResource().String())
		return !there
	})
}

// served reports whether discovery has the three kinds.
func served(ctx context.Context, env control.Env) bool {
	resources, _ := env.Objects().Resources(ctx)
	return !slices.ContainsFunc(groupResources(), func(wanted schema.GroupVersionResource) bool {
		return !slices.ContainsFunc(resources, func(r metav1.APIResource) bool {
			return r.Group == wanted.Group && r.Version == wanted.Version && r.Name == wanted.Resource
		})
	})
}

func setGroupContentStatus(c *groupv1.VolumeGroupSnapshotContent, is Content) {
	c.Status = &groupv1.VolumeGroupSnapshotContentStatus{
		VolumeGroupSnapshotHandle: is.Handle, CreationTime: is.CreationTime, ReadyToUse: is.ReadyToUse, Error: is.Error, VolumeSnapshotInfoList: is.Members,
	}
}

// IsGroupReady reports whether a group snapshot is ready to use.
func IsGroupReady(g *groupv1.VolumeGroupSnapshot) bool { return readGroup(g).IsReady() }

// BoundGroupContent returns the name of the content that a group snapshot is bound to, or "".
func BoundGroupContent(g *groupv1.VolumeGroupSnapshot) string { return readGroup(g).Bound() }

// GroupOf returns the name of the group snapshot that owns a snapshot, or "".
//
// Upstream: external-snapshotter pkg/utils/vgs.go getVolumeGroupSnapshotParentObjectName, v8.7.
func GroupOf(s metav1.Object) string {
	for _, owner := range s.GetOwnerReferences() {
		if owner.Kind == GroupKind && owner.APIVersion == groupv1.SchemeGroupVersion.String() {
			return owner.Name
		}
	}
	return ""
}

// GroupOwner returns the reference of a member to its group snapshot.
//
// Upstream: external-snapshotter pkg/utils/vgs.go BuildVolumeGroupSnapshotOwnerReference, v8.7.
func GroupOwner(g *groupv1.VolumeGroupSnapshot) metav1.OwnerReference {
	return metav1.OwnerReference{APIVersion: groupv1.SchemeGroupVersion.String(), Kind: GroupKind, Name: g.Name, UID: g.UID}
}
