package snapshotter

import (
	"context"
	"fmt"

	"github.com/container-storage-interface/spec/lib/go/csi"
	snapshotv1 "github.com/kubernetes-csi/external-snapshotter/client/v8/apis/volumesnapshot/v1"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/storagesim/storagesim/control"
	"github.com/storagesim/storagesim/control/snapshots"
	"github.com/storagesim/storagesim/csi/internal/sidecar"
)

// shouldDeleteGroup says whether a content that is being deleted can go now.
//
// Upstream: groupsnapshot_helper.go shouldDeleteGroupSnapshotContent, v8.7.
func shouldDeleteGroup(found *groupContent) bool {
	switch {
	case found.DeletionTimestamp == nil:
		return false
	case found.Spec.Source.GroupSnapshotHandles != nil && found.Spec.VolumeGroupSnapshotRef.UID == "":
		return true
	case metav1.HasAnnotation(found.ObjectMeta, snapshots.AnnGroupBeingCreated):
		return false
	}
	return metav1.HasAnnotation(found.ObjectMeta, snapshots.AnnGroupBeingDeleted)
}

// deleteGroup deletes the group snapshot of a content with the policy Delete, and lets the content go.
//
// Upstream: groupsnapshot_helper.go syncGroupSnapshotContent, v8.7.
func (g *groupController) deleteGroup(ctx context.Context, found *groupContent) (err error) {
	if found.Spec.DeletionPolicy == snapshotv1.VolumeSnapshotContentDelete && found.Status != nil && found.Status.VolumeGroupSnapshotHandle != nil {
		if found, err = g.deleteGroupSnapshot(ctx, found); err != nil {
			return err
		}
		if !g.groupContents.Take(found) {
			return nil
		}
	}
	return g.groupContents.RemoveContentFinalizer(ctx, found, snapshots.GroupContentFinalizer)
}

// deleteGroupSnapshot calls DeleteVolumeGroupSnapshot, and removes the handle.
//
// Upstream: groupsnapshot_helper.go deleteCSIGroupSnapshotOperation and clearGroupSnapshotContentStatus, and
// csi_handler.go DeleteGroupSnapshot, v8.7.
func (g *groupController) deleteGroupSnapshot(ctx context.Context, found *groupContent) (*groupContent, error) {
	failed := func(message string) {
		g.recorder.Event(found, v1.EventTypeWarning, "GroupSnapshotDeleteError", message)
	}
	secrets, err := g.groupCredentials(ctx, found)
	if err != nil {
		failed("Failed to get snapshot credentials")
		return found, fmt.Errorf("failed to get input parameters to delete group snapshot for group snapshot content %s: %q", found.Name, err.Error())
	}
	ids := membersOf(found)
	if len(ids) == 0 {
		err = fmt.Errorf("cannot delete group snapshot content %s. No snapshots found in the group snapshot", found.Name)
	} else {
		_, err = g.groups.DeleteVolumeGroupSnapshot(control.WithTimeout(ctx, g.env, g.cfg.Timeout), &csi.DeleteVolumeGroupSnapshotRequest{
			GroupSnapshotId: groupHandle(found), SnapshotIds: ids, Secrets: secrets,
		})
	}
	if err != nil {
		failed("Failed to delete group snapshot")
		return found, fmt.Errorf("failed to delete group snapshot %q, err: %w", found.Name, err)
	}
	latest, err := g.groupContents.API.Get(ctx, "", found.Name)
	if err != nil {
		failed("Failed to clear content status")
		return found, fmt.Errorf("error get group snapshot content %s from api server: %w", found.Name, err)
	}
	if latest.Status != nil {
		latest.Status.VolumeGroupSnapshotHandle, latest.Status.ReadyToUse, latest.Status.CreationTime, latest.Status.Error = nil, nil, nil, nil
	}
	updated, err := g.groupContents.API.UpdateStatus(ctx, latest)
	if err != nil {
		failed("Failed to clear content status")
		return found, snapshots.UpdateError(found.Name, err)
	}
	return updated, nil
}

// membersOf are the handles of the members, which the driver needs to delete them.
//
// Upstream: groupsnapshot_helper.go deleteCSIGroupSnapshotOperation, v8.7.
func membersOf(found *groupContent) (ids []string) {
	for _, member := range found.Status.VolumeSnapshotInfoList {
		ids = append(ids, member.SnapshotHandle)
	}
	if handles := found.Spec.Source.GroupSnapshotHandles; len(ids) == 0 && handles != nil {
		ids = handles.VolumeSnapshotHandles
	}
	return ids
}

// groupCredentials are those of the secret that a content's annotations name; none if they name none.
//
// Upstream: groupsnapshot_helper.go GetCredentialsFromAnnotationForGroupSnapshot, v8.7.
func (g *groupController) groupCredentials(ctx context.Context, found *groupContent) (map[string]string, error) {
	return g.annotated(ctx, found, "group snapshot content", snapshots.AnnGroupDeletionSecretName, snapshots.AnnGroupDeletionSecretNamespace)
}

// getSecrets are those for GetVolumeGroupSnapshot, which the class names.
//
// Upstream: groupsnapshot_helper.go checkandUpdateGroupSnapshotContentStatusOperation, v8.7.
func (g *groupController) getSecrets(ctx context.Context, found *groupContent) (map[string]string, error) {
	if found.Spec.VolumeGroupSnapshotClassName == nil {
		return nil, nil
	}
	class, err := g.groupClassOf(*found.Spec.VolumeGroupSnapshotClassName)
	if err != nil {
		return nil, fmt.Errorf("failed to get group snapshot class %s for group snapshot content %s: %w", *found.Spec.VolumeGroupSnapshotClassName, found.Name, err)
	}
	ref, err := snapshots.GroupSecretOf(snapshots.GroupSnapshotterGet(), class, found.Name, nil)
	if err != nil {
		return nil, fmt.Errorf("failed to get secret reference for group snapshot content %s: %w", found.Name, err)
	}
	values, err := sidecar.Credentials(ctx, g.client, ref)
	if err != nil {
		return nil, fmt.Errorf("failed to get credentials for group snapshot content %s: error getting secret %s in namespace %s: %w", found.Name, ref.Name, ref.Namespace, err)
	}
	return values, nil
}
