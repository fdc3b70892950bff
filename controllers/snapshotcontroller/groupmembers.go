package snapshotcontroller

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"

	groupv1 "github.com/kubernetes-csi/external-snapshotter/client/v8/apis/volumegroupsnapshot/v1"
	snapshotv1 "github.com/kubernetes-csi/external-snapshotter/client/v8/apis/volumesnapshot/v1"
	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/storagesim/storagesim/control"
	"github.com/storagesim/storagesim/control/snapshots"
)

// memberName returns the name of a member or, with the prefix snapcontent, of its content.
//
// Upstream: groupsnapshot_controller_helper.go getSnapshotNameForVolumeGroupSnapshotContent and
// getSnapshotContentNameForVolumeGroupSnapshotContent, v8.7.
func memberName(prefix string, group *groupSnapshot, volumeHandle string) string {
	return fmt.Sprintf("%s-%x", prefix, sha256.Sum256([]byte(string(group.UID)+volumeHandle)))
}

// createSnapshotsForGroupSnapshotContent creates a snapshot and a content for each volume, when the driver has taken
// them.
//
// Upstream: groupsnapshot_controller_helper.go createSnapshotsForGroupSnapshotContent,
// isGroupSnapshotContentReadyForSnapshotCreation and getGroupSnapshotSecret, v8.7.
func (g *groups) createSnapshotsForGroupSnapshotContent(ctx context.Context, found *groupContent, group *groupSnapshot) error {
	status := found.Status
	if status == nil || len(status.VolumeSnapshotInfoList) == 0 || status.VolumeGroupSnapshotHandle == nil {
		return nil
	}
	if group.Spec.VolumeGroupSnapshotClassName == nil {
		return errors.New("getGroupSnapshotSecret: internal error: cannot find reference to volume group snapshot class")
	}
	class, err := g.classes.Named(*group.Spec.VolumeGroupSnapshotClassName)
	if err != nil {
		return fmt.Errorf("getGroupSnapshotSecret: failed to get volume snapshot class %s: %q", *group.Spec.VolumeGroupSnapshotClassName, err.Error())
	}
	secret, err := g.SecretOf(g.Secrets, class, found.Name, nil)
	if err != nil {
		return fmt.Errorf("getGroupSnapshotSecret: failed to get secret reference for group snapshot content %s: %w", found.Name, err)
	}
	for i := range status.VolumeSnapshotInfoList {
		if err := g.createMember(ctx, &status.VolumeSnapshotInfoList[i], found, group, secret); err != nil {
			return fmt.Errorf("createIndividualSnapshotForGroupSnapshot: %w", err)
		}
	}
	return nil
}

// createMember creates the snapshot and the content of one volume, and binds them to each other.
//
// Upstream: groupsnapshot_controller_helper.go createIndividualSnapshotForGroupSnapshot,
// bindSnapshotContentToSnapshot, bindSnapshotToSnapshotContent and updateVolumeSnapshotContentStatus, v8.7.
func (g *groups) createMember(ctx context.Context, info *groupv1.VolumeSnapshotInfo, of *groupContent, group *groupSnapshot, secret *v1.SecretReference) error {
	volume := g.volumeByHandle(of.Spec.Driver, info.VolumeHandle)
	found, err := createOrGet(ctx, g.single.contents.API, memberContent(info.VolumeHandle, of, group, volume, secret))
	if err != nil {
		return fmt.Errorf("creating volumesnapshotcontent %w", err)
	}
	snapshot, err := createOrGet(ctx, g.single.snapshots.API, member(info.VolumeHandle, of, group, volume))
	if err != nil {
		return fmt.Errorf("error creating or fetching volumesnapshot %w", err)
	}
	if _, err := g.single.contents.API.Patch(ctx, found, replace("/spec/volumeSnapshotRef/uid", snapshot.UID)); err != nil {
		return fmt.Errorf("binding volumesnapshotcontent to volumesnapshot %w", err)
	}
	ops := []snapshots.Op{replace("/status", map[string]any{}), replace("/status/boundVolumeSnapshotContentName", found.Name)}
	if _, err := g.single.snapshots.API.PatchStatus(ctx, snapshot, ops...); err != nil {
		return fmt.Errorf("binding volumesnapshot to volumesnapshotcontent %w", err)
	}
	_, err = g.single.contents.API.PatchStatus(ctx, found, replace("/status", map[string]any{}), replace("/status/snapshotHandle", info.SnapshotHandle),
		replace("/status/volumeGroupSnapshotHandle", of.Status.VolumeGroupSnapshotHandle), replace("/status/creationTime", info.CreationTime),
		replace("/status/restoreSize", info.RestoreSize), replace("/status/readyToUse", info.ReadyToUse))
	if err != nil {
		return fmt.Errorf("setting snapshotHandle in volumesnapshotcontent %w", err)
	}
	return nil
}

// createOrGet creates an object, or returns the existing one of that name.
//
// Upstream: groupsnapshot_controller_helper.go createOrGetVolumeSnapshotContent and createOrGetVolumeSnapshot, v8.7.
func createOrGet[P snapshots.Object](ctx context.Context, api snapshots.Client[P], wanted P) (P, error) {
	made, err := api.Create(ctx, wanted)
	if apierrors.IsAlreadyExists(err) {
		made, err = api.Get(ctx, wanted.GetNamespace(), wanted.GetName())
	}
	return made, err
}

// memberContent returns the content to create for a member. volume may be nil.
//
// Upstream: groupsnapshot_controller_helper.go buildVolumeSnapshotContentSpecForGroupSnapshot, v8.7.
func memberContent(volumeHandle string, of *groupContent, group *groupSnapshot, volume *v1.PersistentVolume, secret *v1.SecretReference) *content {
	wanted := &content{
		TypeMeta: metav1.TypeMeta{APIVersion: snapshotv1.SchemeGroupVersion.String(), Kind: "VolumeSnapshotContent"},
		ObjectMeta: metav1.ObjectMeta{
			Name: memberName("snapcontent", group, volumeHandle), Annotations: map[string]string{snapshots.AnnGroupHandle: *of.Status.VolumeGroupSnapshotHandle},
		},
		Spec: snapshotv1.VolumeSnapshotContentSpec{
			VolumeSnapshotRef: v1.ObjectReference{Kind: snapshots.SnapshotKind, Name: memberName("snapshot", group, volumeHandle),
				Namespace: of.Spec.VolumeGroupSnapshotRef.Namespace},
			DeletionPolicy: of.Spec.DeletionPolicy, Driver: of.Spec.Driver,
			Source: snapshotv1.VolumeSnapshotContentSource{VolumeHandle: &volumeHandle},
		},
	}
	if volume != nil {
		wanted.Spec.SourceVolumeMode = volume.Spec.VolumeMode
	}
	if secret != nil {
		metav1.SetMetaDataAnnotation(&wanted.ObjectMeta, snapshots.AnnDeletionSecretName, secret.Name)
		metav1.SetMetaDataAnnotation(&wanted.ObjectMeta, snapshots.AnnDeletionSecretNamespace, secret.Namespace)
	}
	return wanted
}

// member returns the snapshot to create for a member. Its claim is "" if the volume is gone.
//
// Upstream: groupsnapshot_controller_helper.go buildVolumeSnapshotSpecForGroupSnapshot, v8.7.
func member(volumeHandle string, of *groupContent, group *groupSnapshot, volume *v1.PersistentVolume) *volumeSnapshot {
	claim := ""
	if volume != nil && volume.Spec.ClaimRef != nil {
		claim = volume.Spec.ClaimRef.Name
	}
	return &volumeSnapshot{
		TypeMeta: metav1.TypeMeta{APIVersion: snapshotv1.SchemeGroupVersion.String(), Kind: snapshots.SnapshotKind},
		ObjectMeta: metav1.ObjectMeta{
			Name: memberName("snapshot", group, volumeHandle), Namespace: of.Spec.VolumeGroupSnapshotRef.Namespace,
			OwnerReferences: []metav1.OwnerReference{snapshots.GroupOwner(group)}, Finalizers: []string{snapshots.InGroupFinalizer},
		},
		Spec: snapshotv1.VolumeSnapshotSpec{Source: snapshotv1.VolumeSnapshotSource{PersistentVolumeClaimName: &claim}},
	}
}

// volumeByHandle returns the only volume of a driver with that handle, or nil.
//
// Upstream: groupsnapshot_controller_helper.go findPersistentVolumeByCSIDriverHandle, v8.7. Several volumes are only
// logged.
func (g *groups) volumeByHandle(driver, handle string) *v1.PersistentVolume {
	if found := g.volumes.ByIndex(byHandle, handleKey(driver, handle)); len(found) == 1 {
		return found[0]
	}
	return nil
}

// syncUnreadyMember copies the status of the content, which the group snapshot has created, to a member.
//
// Upstream: snapshot_controller.go syncUnreadySnapshot, v8.7.
func (s *singles) syncUnreadyMember(ctx context.Context, snapshot *volumeSnapshot) error {
	name := s.bound(snapshot)
	if name == "" {
		return fmt.Errorf("detected group snapshot member %s with no content, retrying", control.Key(snapshot))
	}
	found, ok := s.contents.Newest(name)
	if !ok {
		return fmt.Errorf("group snapshot member %s requests an non-existing content %s", control.Key(snapshot), name)
	}
	_, err := s.copyStatus(ctx, snapshot, found, false)
	return err
}

// errNoGroups is the error of a member while group snapshots are not followed.
var errNoGroups = errors.New("group snapshots are not followed: their definitions are missing, or were made just now")

// groupOf returns the name of the group snapshot that a content belongs to by its handle, or "".
//
// Upstream: snapshot_controller.go updateSnapshotStatus, v8.7.
func (c *controller) groupOf(found snapshots.Content, key string) (string, error) {
	switch {
	case found.GroupHandle == nil:
		return "", nil
	case c.groups == nil:
		return "", errNoGroups
	}
	for _, group := range c.groups.contents.All() {
		if group.Status != nil && group.Status.VolumeGroupSnapshotHandle != nil && *group.Status.VolumeGroupSnapshotHandle == *found.GroupHandle {
			return group.Spec.VolumeGroupSnapshotRef.Name, nil
		}
	}
	return "", fmt.Errorf("updateSnapshotStatus: cannot find the group snapshot for VolumeSnapshot [%s], will not update snapshot status", key)
}

// leavesGroup reports whether a snapshot that is being deleted was the member of a group snapshot that is gone. As
// long as the group snapshot exists, it returns an error, and the member stays.
//
// Upstream: snapshot_controller.go checkandRemoveSnapshotFinalizersAndCheckandDeleteContent, v8.7.
func (s *singles) leavesGroup(snapshot *volumeSnapshot) (bool, error) {
	switch {
	case snapshot.Status == nil || snapshot.Status.VolumeGroupSnapshotName == nil:
		return false, nil
	case s.groups == nil:
		return false, errNoGroups
	}
	group := snapshot.Namespace + "/" + *snapshot.Status.VolumeGroupSnapshotName
	if _, ok := s.groups.snapshots.Cached(group); !ok {
		return true, nil
	}
	message := fmt.Sprintf("deletion of the individual volume snapshot %s is not allowed as it belongs to group snapshot %s. "+
		"Deleting the group snapshot will trigger the deletion of all the individual volume snapshots that are part of the group.", control.Key(snapshot), group)
	s.recorder.Event(snapshot, v1.EventTypeWarning, "SnapshotDeletePending", message)
	return false, errors.New(message)
}

// addGroupOwnership makes the group snapshot the owner of a member that existed before.
//
// Upstream: snapshot_controller.go addVolumeGroupSnapshotOwnership and vgs.go NeedToAddVolumeGroupSnapshotOwnership, v8.7.
func (s *singles) addGroupOwnership(ctx context.Context, snapshot *volumeSnapshot) error {
	name := snapshot.Status.VolumeGroupSnapshotName
	switch {
	case snapshots.GroupOf(snapshot) != "" || name == nil || *name == "":
		return nil
	case s.groups == nil:
		return errNoGroups
	}
	group, ok := s.groups.snapshots.Cached(snapshot.Namespace + "/" + *name)
	if !ok {
		return notFound("volumegroupsnapshot."+snapshots.GroupsGroup, *name)
	}
	changed := snapshot.DeepCopy()
	changed.OwnerReferences = append(changed.OwnerReferences, snapshots.GroupOwner(group))
	_, err := s.snapshots.API.Update(ctx, changed)
	return err
}
