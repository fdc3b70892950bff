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

// shouldDelete says whether a content that is being deleted can go now. One whose snapshot may still be in
// the making waits.
//
// Upstream: snapshot_controller.go shouldDelete, v8.7.
func shouldDelete(found *content) bool {
	switch {
	case found.DeletionTimestamp == nil:
		return false
	case found.Spec.Source.SnapshotHandle != nil && found.Spec.VolumeSnapshotRef.UID == "":
		return true
	case metav1.HasAnnotation(found.ObjectMeta, snapshots.AnnBeingCreated):
		return false
	}
	return metav1.HasAnnotation(found.ObjectMeta, snapshots.AnnBeingDeleted)
}

// delete deletes the snapshot of a content with the policy Delete, and lets the content go. That of a group is
// deleted with the group.
//
// Upstream: snapshot_controller.go syncContent, v8.7.
func (c *controller) delete(ctx context.Context, found *content) (err error) {
	if found.Spec.DeletionPolicy == snapshotv1.VolumeSnapshotContentDelete && found.Status != nil && found.Status.SnapshotHandle != nil && !ofGroup(found) {
		if found, err = c.deleteSnapshot(ctx, found); err != nil {
			return err
		}
	}
	return c.contents.RemoveContentFinalizer(ctx, found, snapshots.ContentFinalizer)
}

// deleteSnapshot calls DeleteSnapshot, and removes the handle.
//
// Upstream: snapshot_controller.go deleteCSISnapshotOperation and clearVolumeContentStatus, v8.7.
func (c *controller) deleteSnapshot(ctx context.Context, found *content) (*content, error) {
	failed := func(message string) { c.recorder.Event(found, v1.EventTypeWarning, "SnapshotDeleteError", message) }
	secrets, err := c.credentials(ctx, found)
	if err != nil {
		failed("Failed to get snapshot credentials")
		return found, fmt.Errorf("failed to get input parameters to delete snapshot for content %s: %q", found.Name, err.Error())
	}
	_, err = c.driver.DeleteSnapshot(control.WithTimeout(ctx, c.env, c.cfg.Timeout), &csi.DeleteSnapshotRequest{SnapshotId: *found.Status.SnapshotHandle, Secrets: secrets})
	if err != nil {
		failed("Failed to delete snapshot")
		return found, fmt.Errorf("failed to delete snapshot %q, err: failed to delete snapshot content %s: %q", found.Name, found.Name, err.Error())
	}
	latest, err := c.contents.API.Get(ctx, "", found.Name)
	if err != nil {
		failed("Failed to clear content status")
		return found, fmt.Errorf("error get snapshot content %s from api server: %w", found.Name, err)
	}
	if latest.Status != nil {
		latest.Status.SnapshotHandle, latest.Status.ReadyToUse, latest.Status.CreationTime, latest.Status.RestoreSize = nil, nil, nil, nil
	}
	updated, err := c.contents.API.UpdateStatus(ctx, latest)
	if err != nil {
		failed("Failed to clear content status")
		return found, snapshots.UpdateError(found.Name, err)
	}
	return updated, nil
}

// credentials are those of the secret that a content's annotations name; none if they name none.
//
// Upstream: snapshot_controller.go GetCredentialsFromAnnotation, v8.7.
func (c *controller) credentials(ctx context.Context, found *content) (map[string]string, error) {
	return c.annotated(ctx, found, "snapshot content", snapshots.AnnDeletionSecretName, snapshots.AnnDeletionSecretNamespace)
}

// annotated are the values of the secret that two annotations name; none if they are not there. what is what the
// object is called in errors.
func (c *controller) annotated(ctx context.Context, found metav1.Object, what, nameKey, namespaceKey string) (map[string]string, error) {
	name, named := found.GetAnnotations()[nameKey]
	namespace, spaced := found.GetAnnotations()[namespaceKey]
	switch {
	case !named || !spaced:
		return nil, nil
	case name == "" || namespace == "":
		return nil, fmt.Errorf("cannot retrieve secrets for %s %q, err: secret name or namespace not specified", what, found.GetName())
	}
	values, err := sidecar.Credentials(ctx, c.client, &v1.SecretReference{Name: name, Namespace: namespace})
	if err != nil {
		return nil, fmt.Errorf("cannot get credentials for %s %q", what, found.GetName())
	}
	return values, nil
}

// listSecrets are those for ListSnapshots, which the class names.
//
// Upstream: snapshot_controller.go checkandUpdateContentStatusOperation and pkg/utils/util.go GetSecretReference, v8.7.
func (c *controller) listSecrets(ctx context.Context, found *content) (map[string]string, error) {
	if ofGroup(found) { // it has no class
		values, err := c.credentials(ctx, found)
		if err != nil {
			return nil, fmt.Errorf("failed to get credentials from annotation for snapshot content %s: %w", found.Name, err)
		}
		return values, nil
	}
	if found.Spec.VolumeSnapshotClassName == nil {
		return nil, nil
	}
	class, err := c.classOf(*found.Spec.VolumeSnapshotClassName)
	if err != nil {
		return nil, fmt.Errorf("failed to get snapshot class %s for snapshot content %s: %w", *found.Spec.VolumeSnapshotClassName, found.Name, err)
	}
	ref, err := snapshots.SecretOf(snapshots.SnapshotterList(), class, found.Name, nil)
	if err != nil {
		return nil, fmt.Errorf("failed to get secret reference for snapshot content %s: %w", found.Name, err)
	}
	values, err := sidecar.Credentials(ctx, c.client, ref)
	if err != nil {
		return nil, fmt.Errorf("failed to get credentials for snapshot content %s: error getting secret %s in namespace %s: %w", found.Name, ref.Name, ref.Namespace, err)
	}
	return values, nil
}
