package snapshotcontroller

import (
	"context"
	"errors"
	"fmt"

	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/storagesim/storagesim/control"
	"github.com/storagesim/storagesim/control/snapshots"
)

// contentName returns the name of the content that is created for a snapshot.
//
// Upstream: pkg/utils/util.go GetDynamicSnapshotContentNameForSnapshot and
// GetDynamicSnapshotContentNameForGroupSnapshot, v8.7.
func (b *binder[S, C]) contentName(snapshot S) string {
	return b.ContentPrefix + "-" + string(snapshot.GetUID())
}

// createContent creates the content of a snapshot.
//
// Upstream: snapshot_controller.go createSnapshotContent and groupsnapshot_controller_helper.go
// createGroupSnapshotContent, v8.7.
func (b *binder[S, C]) createContent(ctx context.Context, snapshot S) (C, error) {
	var none C
	wanted, err := b.contentFor(ctx, snapshot)
	if err != nil {
		return none, err
	}
	made, err := b.contents.API.Create(ctx, wanted)
	if apierrors.IsAlreadyExists(err) {
		made, err = wanted, nil
	}
	if err != nil {
		b.recorder.Event(snapshot, v1.EventTypeWarning, "Create"+b.Reason+"ContentFailed",
			fmt.Sprintf("Error creating volume %[1]s content object for %[1]s %[2]s: %[3]v.", b.Noun, control.Key(snapshot), err))
		return none, snapshots.UpdateError(control.Key(snapshot), err)
	}
	b.recorder.Event(snapshot, v1.EventTypeNormal, "Creating"+b.Reason,
		fmt.Sprintf("Waiting for a %s %s to be created by the CSI driver.", b.Noun, control.Key(snapshot)))
	if made != wanted {
		b.contents.Take(made)
	}
	return made, nil
}

// failedToCreate reports the error of creating a content, and returns it.
func (b *binder[S, C]) failedToCreate(ctx context.Context, snapshot S, err error) error {
	b.fail(ctx, snapshot, true, b.Reason+"ContentCreationFailed", fmt.Sprintf("%s to create %s content with error %v", b.Failed, b.Noun, err))
	return err
}

// contentFor returns the content to create for a snapshot.
//
// Upstream: snapshot_controller.go createSnapshotContent and groupsnapshot_controller_helper.go
// createGroupSnapshotContent, v8.7.
func (b *binder[S, C]) contentFor(ctx context.Context, snapshot S) (C, error) {
	var none C
	class, volumes, secret, err := b.input(ctx, snapshot)
	if err != nil {
		return none, fmt.Errorf("failed to get input parameters to create %s %s: %q", b.Noun, snapshot.GetName(), err.Error())
	}
	wanted, err := b.steps.newContent(snapshot, class, volumes)
	if err != nil {
		return none, err
	}
	if secret != nil {
		wanted.SetAnnotations(map[string]string{b.AnnDeletionSecretName: secret.Name, b.AnnDeletionSecretNamespace: secret.Namespace})
	}
	return wanted, nil
}

// input returns the class of a snapshot, the volumes of its claims, and where its secret is.
//
// Upstream: snapshot_controller.go getCreateSnapshotInput and groupsnapshot_controller_helper.go
// getCreateGroupSnapshotInput, v8.7.
func (b *binder[S, C]) input(ctx context.Context, snapshot S) (class *class, volumes []*v1.PersistentVolume, secret *v1.SecretReference, err error) {
	name := b.Snapshot(snapshot).Class
	if name == nil {
		return nil, nil, nil, fmt.Errorf("failed to take %[1]s %[2]s without a %[1]s class", b.Noun, snapshot.GetName())
	}
	if class, err = b.classes.Named(*name); err != nil {
		return nil, nil, nil, err
	}
	if volumes, err = b.steps.volumesOf(ctx, snapshot); err != nil {
		return nil, nil, nil, err
	}
	secret, err = b.SecretOf(b.Secrets, class, b.contentName(snapshot), snapshot)
	return class, volumes, secret, err
}

// reference returns the reference of a content to its snapshot.
func (b *binder[S, C]) reference(snapshot S) v1.ObjectReference {
	return v1.ObjectReference{
		APIVersion: b.Version.String(), Kind: b.Name, Namespace: snapshot.GetNamespace(), Name: snapshot.GetName(), UID: snapshot.GetUID(),
		ResourceVersion: snapshot.GetResourceVersion(),
	}
}

// volumeOfClaim returns the volume of a claim of which something is to be taken.
//
// Upstream: snapshot_controller.go getVolumeFromVolumeSnapshot and isVolumeBoundToClaim, v8.7.
func (c *controller) volumeOfClaim(ctx context.Context, claim *v1.PersistentVolumeClaim, taken string) (*v1.PersistentVolume, error) {
	if claim.Status.Phase != v1.ClaimBound {
		return nil, fmt.Errorf("the PVC %s is not yet bound to a PV, will not attempt to take a %s", claim.Name, taken)
	}
	name := claim.Spec.VolumeName
	volume, err := c.client.CoreV1().PersistentVolumes().Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return nil, fmt.Errorf("failed to retrieve PV %s from the API server: %q", name, err.Error())
	}
	ref := volume.Spec.ClaimRef
	if ref == nil || ref.Name != claim.Name || ref.Namespace != claim.Namespace || ref.UID != "" && ref.UID != claim.UID {
		return nil, errors.New("claim in dataSource not bound or invalid")
	}
	return volume, nil
}
