package snapshots

import (
	"context"
	"embed"
	"slices"
	"time"

	groupv1 "github.com/kubernetes-csi/external-snapshotter/client/v8/apis/volumegroupsnapshot/v1"
	snapshotv1 "github.com/kubernetes-csi/external-snapshotter/client/v8/apis/volumesnapshot/v1"
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
	// AnnDefaultGroupClass with "true" marks a default class of group snapshots.
	AnnDefaultGroupClass = groupPrefix + "is-default-class"
	// AnnGroupBeingCreated is on contents as long as CreateVolumeGroupSnapshot has no final answer.
	AnnGroupBeingCreated = groupPrefix + "volumegroupsnapshot-being-created"
	// AnnGroupBeingDeleted is on contents whose group snapshot is being deleted.
	AnnGroupBeingDeleted = groupPrefix + "volumegroupsnapshot-being-deleted"
	// AnnGroupDeletionSecretName and AnnGroupDeletionSecretNamespace say on contents which secret
	// DeleteVolumeGroupSnapshot needs.
	AnnGroupDeletionSecretName      = groupPrefix + "deletion-secret-name"
	AnnGroupDeletionSecretNamespace = groupPrefix + "deletion-secret-namespace"
	// AnnGroupHandle is on the contents of members, and is the handle of the group snapshot.
	AnnGroupHandle = GroupsGroup + "/volumeGroupSnapshotHandle"
)

// GroupSnapshotter is the role of secrets for CreateVolumeGroupSnapshot and DeleteVolumeGroupSnapshot.
func GroupSnapshotter() Role {
	return Role{"GroupSnapshotter", ParameterPrefix + "group-snapshotter-secret-name", ParameterPrefix + "group-snapshotter-secret-namespace"}
}

// GroupSnapshotterGet is the role of secrets for GetVolumeGroupSnapshot.
func GroupSnapshotterGet() Role {
	return Role{"GroupSnapshotterGet", ParameterPrefix + "group-snapshotter-get-secret-name", ParameterPrefix + "group-snapshotter-get-secret-namespace"}
}

//go:embed definitions/groups/*.yaml
var groupDefinitions embed.FS

// GroupDefinitions are upstream's CustomResourceDefinitions of the three kinds of group snapshots, as YAML. A cluster
// has them if they are applied, and group snapshots work as soon as it has.
func GroupDefinitions() ([]string, error) { return texts(groupDefinitions, "definitions/groups") }

// GroupSnapshots is the resource volumegroupsnapshots.
func GroupSnapshots() schema.GroupVersionResource {
	return groupv1.SchemeGroupVersion.WithResource("volumegroupsnapshots")
}

// GroupContents is the resource volumegroupsnapshotcontents.
func GroupContents() schema.GroupVersionResource {
	return groupv1.SchemeGroupVersion.WithResource("volumegroupsnapshotcontents")
}

// GroupClasses is the resource volumegroupsnapshotclasses.
func GroupClasses() schema.GroupVersionResource {
	return groupv1.SchemeGroupVersion.WithResource("volumegroupsnapshotclasses")
}

// GroupSnapshotObjects are the group snapshots.
func GroupSnapshotObjects(env control.Env) Objects[groupv1.VolumeGroupSnapshot, *groupv1.VolumeGroupSnapshot] {
	return objectsOf[groupv1.VolumeGroupSnapshot, *groupv1.VolumeGroupSnapshot](env, GroupSnapshots())
}

// GroupContentObjects are the contents of group snapshots.
func GroupContentObjects(env control.Env) Objects[groupv1.VolumeGroupSnapshotContent, *groupv1.VolumeGroupSnapshotContent] {
	return objectsOf[groupv1.VolumeGroupSnapshotContent, *groupv1.VolumeGroupSnapshotContent](env, GroupContents())
}

// GroupClassStore follows classes of group snapshots.
func GroupClassStore(env control.Env) *Store[groupv1.VolumeGroupSnapshotClass, *groupv1.VolumeGroupSnapshotClass] {
	return newStore[groupv1.VolumeGroupSnapshotClass, *groupv1.VolumeGroupSnapshotClass](env, GroupClasses())
}

// WithGroups calls f, as a task of its own, as soon as the API server has the three kinds of group snapshots in
// version v1: at once, or when their definitions are made. Upstream's programs look once, when they start, and do
// without group snapshots until they are started again.
//
// Upstream: external-snapshotter cmd/snapshot-controller/main.go ensureVolumeGroupSnapshotCRDsExist, v8.7.
func WithGroups(env control.Env, f func(ctx context.Context)) {
	definitions := control.NewCacheAtOnce[control.Object](env, schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"})
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
	return []schema.GroupVersionResource{GroupSnapshots(), GroupContents(), GroupClasses()}
}

// defined says whether there are definitions of the three kinds.
func defined(definitions *control.Cache[control.Object]) bool {
	return !slices.ContainsFunc(groupResources(), func(r schema.GroupVersionResource) bool {
		_, there := definitions.Get(r.GroupResource().String())
		return !there
	})
}

// served says whether discovery tells of the three kinds.
func served(ctx context.Context, env control.Env) bool {
	resources, _ := env.Objects().Resources(ctx)
	return !slices.ContainsFunc(groupResources(), func(wanted schema.GroupVersionResource) bool {
		return !slices.ContainsFunc(resources, func(r metav1.APIResource) bool {
			return r.Group == wanted.Group && r.Version == wanted.Version && r.Name == wanted.Resource
		})
	})
}

// IsGroupReady says whether a group snapshot is ready to use.
//
// Upstream: external-snapshotter pkg/utils/util.go IsGroupSnapshotReady, v8.7.
func IsGroupReady(g *groupv1.VolumeGroupSnapshot) bool {
	return g.Status != nil && g.Status.ReadyToUse != nil && *g.Status.ReadyToUse
}

// BoundGroupContent is the name of the content that a group snapshot is bound to, or "".
func BoundGroupContent(g *groupv1.VolumeGroupSnapshot) string {
	if g.Status == nil || g.Status.BoundVolumeGroupSnapshotContentName == nil {
		return ""
	}
	return *g.Status.BoundVolumeGroupSnapshotContentName
}

// GroupRefersTo says whether a content is that of a group snapshot: name, namespace and UID agree.
//
// Upstream: external-snapshotter pkg/utils/util.go IsVolumeGroupSnapshotRefSet, v8.7.
func GroupRefersTo(content *groupv1.VolumeGroupSnapshotContent, g *groupv1.VolumeGroupSnapshot) bool {
	ref := content.Spec.VolumeGroupSnapshotRef
	return refersTo(ref.Name, ref.Namespace, ref.UID, g)
}

// GroupOf is the name of the group snapshot that owns a snapshot, or "".
//
// Upstream: external-snapshotter pkg/utils/vgs.go getVolumeGroupSnapshotParentObjectName, v8.7.
func GroupOf(s *snapshotv1.VolumeSnapshot) string {
	for _, owner := range s.OwnerReferences {
		if owner.Kind == GroupKind && owner.APIVersion == groupv1.SchemeGroupVersion.String() {
			return owner.Name
		}
	}
	return ""
}

// GroupOwner is the reference that a member has to its group snapshot.
//
// Upstream: external-snapshotter pkg/utils/vgs.go BuildVolumeGroupSnapshotOwnerReference, v8.7.
func GroupOwner(g *groupv1.VolumeGroupSnapshot) metav1.OwnerReference {
	return metav1.OwnerReference{APIVersion: groupv1.SchemeGroupVersion.String(), Kind: GroupKind, Name: g.Name, UID: g.UID}
}
