package snapshotter

import (
	"context"
	"fmt"

	v1 "k8s.io/api/core/v1"

	"github.com/storagesim/storagesim/control/snapshots"
	"github.com/storagesim/storagesim/csi/internal/sidecar"
)

// shouldDelete reports whether a content that is being deleted can go now. One whose snapshot may still be in the making
// waits.
//
// Upstream: snapshot_controller.go shouldDelete and groupsnapshot_helper.go shouldDeleteGroupSnapshotContent, v8.7.
func (w *worker[S, C]) shouldDelete(found C) bool {
	state := w.Content(found)
	switch {
	case found.GetDeletionTimestamp() == nil:
		return false
	case state.Existing && state.Ref.UID == "":
		return true
	case has(found, w.AnnBeingCreated):
		return false
	}
	return has(found, w.AnnBeingDeleted)
}

// deleteSnapshot makes the driver delete the snapshot of a content, and removes the handle from the content.
//
// Upstream: snapshot_controller.go deleteCSISnapshotOperation and clearVolumeContentStatus, and groupsnapshot_helper.go
// deleteCSIGroupSnapshotOperation and clearGroupSnapshotContentStatus, v8.7.
func (w *worker[S, C]) deleteSnapshot(ctx context.Context, found C) (C, error) {
	failed := func(message string) { w.recorder.Event(found, v1.EventTypeWarning, w.Reason+"DeleteError", message) }
	secrets, err := w.credentials(ctx, found)
	if err != nil {
		failed("Failed to get snapshot credentials")
		return found, fmt.Errorf("failed to get input parameters to delete %s for %s %s: %q", w.Noun, w.ContentNoun, found.GetName(), err.Error())
	}
	if err := w.steps.deleteFromStorage(ctx, found, secrets); err != nil {
		failed("Failed to delete " + w.Noun)
		return found, fmt.Errorf("failed to delete %s %q, err: %w", w.Noun, found.GetName(), err)
	}
	latest, err := w.contents.API.Get(ctx, "", found.GetName())
	if err != nil {
		failed("Failed to clear content status")
		return found, fmt.Errorf("error get %s content %s from api server: %w", w.Noun, found.GetName(), err)
	}
	if state := w.Content(latest); state.HasStatus {
		w.steps.clear(&state)
		w.SetContentStatus(latest, state)
	}
	updated, err := w.contents.API.UpdateStatus(ctx, latest)
	if err != nil {
		failed("Failed to clear content status")
		return found, snapshots.UpdateError(found.GetName(), err)
	}
	return updated, nil
}

// credentials returns the values of the secret that a content's annotations name; none if they name none.
//
// Upstream: snapshot_controller.go GetCredentialsFromAnnotation and groupsnapshot_helper.go
// GetCredentialsFromAnnotationForGroupSnapshot, v8.7.
func (w *worker[S, C]) credentials(ctx context.Context, found C) (map[string]string, error) {
	name, named := found.GetAnnotations()[w.AnnDeletionSecretName]
	namespace, spaced := found.GetAnnotations()[w.AnnDeletionSecretNamespace]
	switch {
	case !named || !spaced:
		return nil, nil
	case name == "" || namespace == "":
		return nil, fmt.Errorf("cannot retrieve secrets for %s content %q, err: secret name or namespace not specified", w.Noun, found.GetName())
	}
	values, err := sidecar.Credentials(ctx, w.client, &v1.SecretReference{Name: name, Namespace: namespace})
	if err != nil {
		return nil, fmt.Errorf("cannot get credentials for %s content %q", w.Noun, found.GetName())
	}
	return values, nil
}

// lookSecrets returns the values of the secret that the class names for calls that only look.
//
// Upstream: snapshot_controller.go checkandUpdateContentStatusOperation, groupsnapshot_helper.go
// checkandUpdateGroupSnapshotContentStatusOperation and pkg/utils/util.go GetSecretReference, v8.7.
func (w *worker[S, C]) lookSecrets(ctx context.Context, found C) (map[string]string, error) {
	var none S
	name := w.Content(found).Class
	if name == nil {
		return nil, nil
	}
	class, err := w.classes.Named(*name)
	if err != nil {
		return nil, fmt.Errorf("failed to get %[1]s class %[2]s for %[1]s content %[3]s: %[4]w", w.Noun, *name, found.GetName(), err)
	}
	ref, err := w.SecretOf(w.LookSecrets, class, found.GetName(), none)
	if err != nil {
		return nil, fmt.Errorf("failed to get secret reference for %s content %s: %w", w.Noun, found.GetName(), err)
	}
	values, err := sidecar.Credentials(ctx, w.client, ref)
	if err != nil {
		return nil, fmt.Errorf("failed to get credentials for %s content %s: error getting secret %s in namespace %s: %w", w.Noun, found.GetName(),
			ref.Name, ref.Namespace, err)
	}
	return values, nil
}
