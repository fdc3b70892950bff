package snapshotter

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/storagesim/storagesim/control/snapshots"
)

// createSnapshot makes the driver take a snapshot, or asks how far it is. A crash after the call loses nothing: the next
// try uses the same name.
//
// Upstream: snapshot_controller.go createSnapshotWrapper and groupsnapshot_helper.go createGroupSnapshotWrapper, v8.7.
func (w *worker[S, C]) createSnapshot(ctx context.Context, found C) (C, error) {
	parameters, secrets, err := w.input(ctx, found)
	if err != nil {
		return found, fmt.Errorf("failed to get input parameters to create %s for %s %s: %q", w.Noun, w.ContentNoun, found.GetName(), err.Error())
	}
	if found, err = w.contents.Annotate(ctx, found, w.AnnBeingCreated); err != nil {
		return found, fmt.Errorf("failed to add %sBeingCreated annotation on the %s %s: %q", w.Name, w.ContentNoun, found.GetName(), err.Error())
	}
	if parameters, err = w.passed(parameters, found); err != nil {
		return found, fmt.Errorf("failed to remove CSI Parameters of prefixed keys: %w", err)
	}
	reply, err := w.steps.create(ctx, found, parameters, secrets)
	if err != nil {
		if isFinalError(err) {
			var failed error
			if found, failed = w.contents.RemoveAnnotation(ctx, found, w.AnnBeingCreated); failed != nil {
				return found, fmt.Errorf("failed to remove %sBeingCreated annotation from the %s %s: %w", w.Name, w.ContentNoun, found.GetName(), failed)
			}
		}
		return found, fmt.Errorf("failed to take %s of the %s: %q", w.Noun, w.steps.sources(found), err.Error())
	}
	updated, err := w.updateStatus(ctx, found, reply)
	if err != nil {
		return found, fmt.Errorf("error updating status for volume %s content %s: %w", w.Noun, found.GetName(), err)
	}
	if found, err = w.contents.RemoveAnnotation(ctx, updated, w.AnnBeingCreated); err != nil {
		return found, fmt.Errorf("failed to remove %sBeingCreated annotation on the %s %s: %q", w.Name, w.ContentWord, found.GetName(), err.Error())
	}
	return found, nil
}

// input returns the parameters of the content's class, and the secret that its annotations name.
//
// Upstream: snapshot_controller.go getCSISnapshotInput and groupsnapshot_helper.go getCSIGroupSnapshotInput, v8.7.
func (w *worker[S, C]) input(ctx context.Context, found C) (parameters, secrets map[string]string, err error) {
	name := w.Content(found).Class
	if name == nil {
		return nil, nil, fmt.Errorf("failed to take %[1]s %[2]s without a %[1]s class", w.Noun, found.GetName())
	}
	class, err := w.classes.Named(*name)
	if err != nil {
		return nil, nil, err
	}
	secrets, err = w.credentials(ctx, found)
	return class.Parameters, secrets, err
}

// passed returns the parameters that the driver gets. A key with the sidecar's prefix that the sidecar does not know is
// refused.
//
// Upstream: pkg/utils/util.go RemovePrefixedParameters and snapshot_controller.go createSnapshotWrapper, v8.7.
func (w *worker[S, C]) passed(parameters map[string]string, found C) (map[string]string, error) {
	var known []string
	for _, role := range []snapshots.Role{snapshots.Single().Secrets, snapshots.Single().LookSecrets, snapshots.Groups().Secrets, snapshots.Groups().LookSecrets} {
		known = append(known, role.NameKey, role.NamespaceKey)
	}
	passed := map[string]string{}
	for _, key := range slices.Sorted(maps.Keys(parameters)) {
		switch {
		case !strings.HasPrefix(key, snapshots.ParameterPrefix):
			passed[key] = parameters[key]
		case !slices.Contains(known, key):
			return nil, fmt.Errorf("found unknown parameter key \"%s\" with reserved namespace %s", key, snapshots.ParameterPrefix)
		}
	}
	if w.cfg.ExtraCreateMetadata {
		prefix, ref := snapshots.ParameterPrefix+strings.ToLower(w.Name), w.Content(found).Ref
		passed[prefix+"/name"] = ref.Name
		passed[prefix+"/namespace"] = ref.Namespace
		passed[prefix+"content/name"] = found.GetName()
	}
	return passed, nil
}

// isFinalError reports whether after an error of a call that takes a snapshot nothing can be under way.
//
// Upstream: snapshot_controller.go isCSIFinalError, v8.7.
func isFinalError(err error) bool {
	st, ok := status.FromError(err)
	if !ok {
		return false
	}
	switch st.Code() {
	case codes.Canceled, codes.DeadlineExceeded, codes.Unavailable, codes.ResourceExhausted, codes.Aborted:
		return false
	}
	return true
}
