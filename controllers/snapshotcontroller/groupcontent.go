package snapshotcontroller

import (
	"context"
	"errors"
	"fmt"
	"slices"

	groupv1 "github.com/kubernetes-csi/external-snapshotter/client/v8/apis/volumegroupsnapshot/v1"
	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/storagesim/storagesim/control"
	"github.com/storagesim/storagesim/control/snapshots"
)

// groupContentName is the name of the content that is made for a group snapshot.
//
// Upstream: pkg/utils/util.go GetDynamicSnapshotContentNameForGroupSnapshot, v8.7.
func groupContentName(group *groupSnapshot) string { return "groupsnapcontent-" + string(group.UID) }

func hasFinalizer(obj metav1.Object, finalizer string) bool {
	return slices.Contains(obj.GetFinalizers(), finalizer)
}

// createGroupSnapshotContent makes the content.
//
// Upstream: groupsnapshot_controller_helper.go createGroupSnapshotContent, v8.7. It does not protect the claims.
func (g *groupController) createGroupSnapshotContent(ctx context.Context, group *groupSnapshot) (*groupContent, error) {
	wanted, err := g.groupContentFor(ctx, group)
	if err != nil {
		return nil, err
	}
	made, err := g.groupContents.API.Create(ctx, wanted)
	if apierrors.IsAlreadyExists(err) {
		made, err = wanted, nil
	}
	if err != nil {
		return nil, g.refuse(group, fmt.Sprintf("Error creating volume group snapshot content object for group snapshot %s: %v.", control.Key(group), err),
			snapshots.UpdateError(control.Key(group), err))
	}
	g.recorder.Event(group, v1.EventTypeNormal, "CreatingGroupSnapshot", fmt.Sprintf("Waiting for a group snapshot %s to be created by the CSI driver.", control.Key(group)))
	if made != wanted {
		g.groupContents.Take(made)
	}
	return made, nil
}

// refuse tells that the content is not made, and returns why.
func (g *groupController) refuse(group *groupSnapshot, message string, err error) error {
	g.recorder.Event(group, v1.EventTypeWarning, "CreateGroupSnapshotContentFailed", message)
	return err
}

// groupContentFor is the content of a group snapshot, as it is to be made.
//
// Upstream: groupsnapshot_controller_helper.go getCreateGroupSnapshotInput and createGroupSnapshotContent, v8.7.
func (g *groupController) groupContentFor(ctx context.Context, group *groupSnapshot) (*groupContent, error) {
	class, volumes, secret, err := g.groupInput(ctx, group)
	if err != nil {
		return nil, fmt.Errorf("failed to get input parameters to create group snapshot %s: %q", group.Name, err.Error())
	}
	handles, err := g.handlesOf(group, class, volumes)
	if err != nil {
		return nil, err
	}
	wanted := &groupContent{
		TypeMeta:   metav1.TypeMeta{APIVersion: groupv1.SchemeGroupVersion.String(), Kind: "VolumeGroupSnapshotContent"},
		ObjectMeta: metav1.ObjectMeta{Name: groupContentName(group)},
		Spec: groupv1.VolumeGroupSnapshotContentSpec{
			VolumeGroupSnapshotRef: v1.ObjectReference{
				APIVersion: groupv1.SchemeGroupVersion.String(), Kind: snapshots.GroupKind, Namespace: group.Namespace, Name: group.Name, UID: group.UID,
				ResourceVersion: group.ResourceVersion,
			},
			Source:                       groupv1.VolumeGroupSnapshotContentSource{VolumeHandles: handles},
			VolumeGroupSnapshotClassName: &class.Name, DeletionPolicy: class.DeletionPolicy, Driver: class.Driver,
		},
	}
	if secret != nil {
		metav1.SetMetaDataAnnotation(&wanted.ObjectMeta, snapshots.AnnGroupDeletionSecretName, secret.Name)
		metav1.SetMetaDataAnnotation(&wanted.ObjectMeta, snapshots.AnnGroupDeletionSecretNamespace, secret.Namespace)
	}
	return wanted, nil
}

// groupInput are the class of a group snapshot, the volumes of its claims, and where its secret is.
//
// Upstream: groupsnapshot_controller_helper.go getCreateGroupSnapshotInput, v8.7.
func (g *groupController) groupInput(ctx context.Context, group *groupSnapshot) (class *groupClass, volumes []*v1.PersistentVolume, secret *v1.SecretReference, err error) {
	if group.Spec.VolumeGroupSnapshotClassName == nil {
		return nil, nil, nil, fmt.Errorf("failed to take group snapshot %s without a group snapshot class", group.Name)
	}
	if class, err = g.groupClassOf(*group.Spec.VolumeGroupSnapshotClassName); err != nil {
		return nil, nil, nil, err
	}
	if volumes, err = g.volumesOfGroup(ctx, group); err != nil {
		return nil, nil, nil, err
	}
	secret, err = snapshots.GroupSecretOf(snapshots.GroupSnapshotter(), class, groupContentName(group), group)
	return class, volumes, secret, err
}

// handlesOf are the handles of the volumes, which must be of the class's driver.
//
// Upstream: groupsnapshot_controller_helper.go createGroupSnapshotContent, v8.7.
func (g *groupController) handlesOf(group *groupSnapshot, class *groupClass, volumes []*v1.PersistentVolume) ([]string, error) {
	var handles []string
	for _, volume := range volumes {
		source := volume.Spec.CSI
		if source == nil {
			return nil, g.refuse(group, "Cannot snapshot a non-CSI volume: "+volume.Name,
				fmt.Errorf("cannot snapshot a non-CSI volume for group snapshot %s: %s", control.Key(group), volume.Name))
		}
		if source.Driver != class.Driver {
			message := fmt.Sprintf("Volume CSI driver (%s) mismatch with VolumeGroupSnapshotClass (%s) %s: %s", source.Driver, class.Driver, control.Key(group), volume.Name)
			return nil, g.refuse(group, message, snapshots.UpdateError(control.Key(group), errors.New(message)))
		}
		handles = append(handles, source.VolumeHandle)
	}
	return handles, nil
}

// volumesOfGroup are the volumes of the claims that a group snapshot is to be taken of.
//
// Upstream: groupsnapshot_controller_helper.go getVolumesFromVolumeGroupSnapshot, v8.7.
func (g *groupController) volumesOfGroup(ctx context.Context, group *groupSnapshot) ([]*v1.PersistentVolume, error) {
	claims, err := g.claimsOfGroup(ctx, group)
	if err != nil {
		return nil, err
	}
	var volumes []*v1.PersistentVolume
	for i := range claims {
		volume, err := g.volumeOfClaim(ctx, &claims[i], "group snapshot")
		if err != nil {
			return nil, err
		}
		volumes = append(volumes, volume)
	}
	return volumes, nil
}

// claimsOfGroup are the claims that the selector chooses, at least one.
//
// Upstream: groupsnapshot_controller_helper.go getClaimsFromVolumeGroupSnapshot, v8.7, which looks at the selector's
// matchLabels only.
func (g *groupController) claimsOfGroup(ctx context.Context, group *groupSnapshot) ([]v1.PersistentVolumeClaim, error) {
	selector := group.Spec.Source.Selector
	if selector == nil {
		return nil, errors.New("the group snapshot source selector is not specified") // Upstream's program crashes.
	}
	list, err := g.client.CoreV1().PersistentVolumeClaims(group.Namespace).List(ctx, metav1.ListOptions{LabelSelector: labels.Set(selector.MatchLabels).String()})
	if err != nil {
		return nil, fmt.Errorf("failed to list PVCs with label selector %s: %q", metav1.FormatLabelSelector(selector), err.Error())
	}
	if len(list.Items) == 0 {
		return nil, fmt.Errorf("label selector %s for group snapshot not applied to any PVC", metav1.FormatLabelSelector(selector))
	}
	return list.Items, nil
}

// syncGroupSnapshotContent protects a content that is bound, and has its group snapshot follow its status.
//
// Upstream: groupsnapshot_controller_helper.go syncGroupSnapshotContent, v8.7.
func (g *groupController) syncGroupSnapshotContent(ctx context.Context, found *groupContent) error {
	source := found.Spec.Source
	if (source.GroupSnapshotHandles == nil) == (len(source.VolumeHandles) == 0) {
		err := errors.New("Exactly one of GroupSnapshotHandles and VolumeHandles should be specified")
		g.recorder.Event(found, v1.EventTypeWarning, "GroupContentValidationError", err.Error())
		return err
	}
	if found.Spec.VolumeGroupSnapshotRef.UID == "" {
		return nil // the group snapshot will bind it
	}
	if added, err := g.groupContents.AddContentFinalizer(ctx, found, snapshots.GroupContentFinalizer); added || err != nil {
		return err
	}
	group, ok := g.groupSnapshots.Newest(groupKey(found))
	if ok && group.UID == found.Spec.VolumeGroupSnapshotRef.UID && needsUpdateGroupSnapshotStatus(group, found) {
		g.groupQueue.Add(groupKey(found))
	}
	return nil
}

// needsUpdateGroupSnapshotStatus says whether a content may have news for its group snapshot.
//
// Upstream: groupsnapshot_controller_helper.go needsUpdateGroupSnapshotStatus, v8.7, which compares where readyToUse
// is kept, not what it is: two of them always differ.
func needsUpdateGroupSnapshotStatus(group *groupSnapshot, found *groupContent) bool {
	is, has := group.Status, found.Status
	switch {
	case has == nil:
		return false
	case is == nil || is.BoundVolumeGroupSnapshotContentName == nil:
		return true
	case is.CreationTime == nil && has.CreationTime != nil:
		return true
	}
	return has.ReadyToUse != nil
}

// updateGroupSnapshotStatus writes to the group snapshot what its content says, and returns it as it is then.
//
// Upstream: groupsnapshot_controller_helper.go updateGroupSnapshotStatus, v8.7.
func (g *groupController) updateGroupSnapshotStatus(ctx context.Context, group *groupSnapshot, found *groupContent) (*groupSnapshot, error) {
	key := control.Key(group)
	latest, err := g.groupSnapshots.API.Get(ctx, group.Namespace, group.Name)
	if err != nil {
		return nil, fmt.Errorf("error get group snapshot %s from api server: %w", key, err)
	}
	changed := latest.DeepCopy()
	if !followGroup(changed, found) {
		return latest, nil
	}
	if (latest.Status == nil || latest.Status.CreationTime == nil) && changed.Status.CreationTime != nil {
		g.recorder.Event(group, v1.EventTypeNormal, "GroupSnapshotCreated", fmt.Sprintf("GroupSnapshot %s was successfully created by the CSI driver.", key))
	}
	if !snapshots.IsGroupReady(latest) && snapshots.IsGroupReady(changed) {
		g.recorder.Event(group, v1.EventTypeNormal, "GroupSnapshotReady", fmt.Sprintf("GroupSnapshot %s is ready to use.", key))
	}
	updated, err := g.groupSnapshots.API.UpdateStatus(ctx, changed)
	if err != nil {
		return nil, snapshots.UpdateError(key, err)
	}
	return updated, nil
}

// followGroup has the group snapshot's status follow the content, and says whether that changes anything.
//
// Upstream: groupsnapshot_controller_helper.go updateGroupSnapshotStatus, v8.7. As for a snapshot, an error is always
// written anew.
func followGroup(group *groupSnapshot, found *groupContent) (changed bool) {
	has := groupv1.VolumeGroupSnapshotContentStatus{}
	if found.Status != nil {
		has = *found.Status
	}
	if group.Status == nil {
		group.Status = &groupv1.VolumeGroupSnapshotStatus{}
	}
	status := group.Status
	if status.BoundVolumeGroupSnapshotContentName == nil {
		status.BoundVolumeGroupSnapshotContentName, changed = &found.Name, true
	}
	if status.CreationTime == nil && has.CreationTime != nil {
		status.CreationTime, changed = has.CreationTime.DeepCopy(), true
	}
	ready := has.ReadyToUse != nil && *has.ReadyToUse
	if status.ReadyToUse == nil || *status.ReadyToUse != ready {
		status.ReadyToUse, changed = &ready, true
		if ready {
			status.Error = nil
		}
	}
	if status.Error != nil || has.Error != nil {
		status.Error, changed = has.Error.DeepCopy(), true
	}
	return changed
}
