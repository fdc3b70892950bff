package snapshotter

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/container-storage-interface/spec/lib/go/csi"
	snapshotv1 "github.com/kubernetes-csi/external-snapshotter/client/v8/apis/volumesnapshot/v1"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/timestamppb"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/storagesim/storagesim/control"
	"github.com/storagesim/storagesim/control/snapshots"
)

// createSnapshot has the driver take a snapshot, or say how far it is. A crash after CreateSnapshot loses
// nothing: the next try asks for the same name.
//
// Upstream: snapshot_controller.go createSnapshotWrapper, v8.7.
func (c *controller) createSnapshot(ctx context.Context, found *content) (*content, error) {
	parameters, secrets, err := c.input(ctx, found)
	if err != nil {
		return found, fmt.Errorf("failed to get input parameters to create snapshot for content %s: %q", found.Name, err.Error())
	}
	if found, err = c.contents.Annotate(ctx, found, snapshots.AnnBeingCreated); err != nil {
		return found, fmt.Errorf("failed to add VolumeSnapshotBeingCreated annotation on the content %s: %q", found.Name, err.Error())
	}
	ref := found.Spec.VolumeSnapshotRef
	if parameters, err = c.passed(parameters, "volumesnapshot", ref.Namespace, ref.Name, found.Name); err != nil {
		return found, fmt.Errorf("failed to remove CSI Parameters of prefixed keys: %w", err)
	}
	made, err := c.call(ctx, found, parameters, secrets)
	if err != nil {
		if isFinalError(err) {
			var failed error
			if found, failed = c.contents.RemoveAnnotation(ctx, found, snapshots.AnnBeingCreated); failed != nil {
				return found, fmt.Errorf("failed to remove VolumeSnapshotBeingCreated annotation from the content %s: %w", found.Name, failed)
			}
		}
		return found, fmt.Errorf("failed to take snapshot of the volume %s: %q", *found.Spec.Source.VolumeHandle, err.Error())
	}
	updated, err := c.updateStatus(ctx, found, made)
	if err != nil {
		return found, fmt.Errorf("error updating status for volume snapshot content %s: %w", found.Name, err)
	}
	found, err = c.contents.RemoveAnnotation(ctx, updated, snapshots.AnnBeingCreated)
	if err != nil {
		return found, fmt.Errorf("failed to remove VolumeSnapshotBeingCreated annotation on the content %s: %q", found.Name, err.Error())
	}
	return found, nil
}

// input are the parameters of the content's class, and the secret that its annotations name.
//
// Upstream: snapshot_controller.go getCSISnapshotInput, v8.7.
func (c *controller) input(ctx context.Context, found *content) (parameters, secrets map[string]string, err error) {
	name := found.Spec.VolumeSnapshotClassName
	if name == nil {
		return nil, nil, fmt.Errorf("failed to take snapshot %s without a snapshot class", found.Name)
	}
	class, err := c.classOf(*name)
	if err != nil {
		return nil, nil, err
	}
	secrets, err = c.credentials(ctx, found)
	return class.Parameters, secrets, err
}

func (c *controller) classOf(name string) (*class, error) {
	found, ok := c.classes.Cached(name)
	if !ok {
		resource := snapshots.Classes().GroupResource()
		resource.Resource = "volumesnapshotclass" // as upstream's lister calls it
		return nil, apierrors.NewNotFound(resource, name)
	}
	return found, nil
}

// passed are the parameters that the driver gets. A key with the sidecar's prefix that it does not know
// is an error. kind, namespace and name are of the snapshot or group snapshot, content is the name of its content.
//
// Upstream: pkg/utils/util.go RemovePrefixedParameters and snapshot_controller.go createSnapshotWrapper, v8.7.
func (c *controller) passed(parameters map[string]string, kind, namespace, name, content string) (map[string]string, error) {
	var known []string
	for _, role := range []string{"snapshotter-", "snapshotter-list-", "group-snapshotter-", "group-snapshotter-get-"} {
		known = append(known, snapshots.ParameterPrefix+role+"secret-name", snapshots.ParameterPrefix+role+"secret-namespace")
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
	if c.cfg.ExtraCreateMetadata {
		passed[snapshots.ParameterPrefix+kind+"/name"] = name
		passed[snapshots.ParameterPrefix+kind+"/namespace"] = namespace
		passed[snapshots.ParameterPrefix+kind+"content/name"] = content
	}
	return passed, nil
}

// call calls CreateSnapshot.
//
// Upstream: csi_handler.go CreateSnapshot, v8.7.
func (c *controller) call(ctx context.Context, found *content, parameters, secrets map[string]string) (*csi.Snapshot, error) {
	uid := found.Spec.VolumeSnapshotRef.UID
	if uid == "" {
		return nil, fmt.Errorf("cannot create snapshot. Snapshot content %s not bound to a snapshot", found.Name)
	}
	if found.Spec.Source.VolumeHandle == nil {
		return nil, fmt.Errorf("cannot create snapshot. Volume handle not found in snapshot content %s", found.Name)
	}
	answer, err := c.driver.CreateSnapshot(control.WithTimeout(ctx, c.env, c.cfg.Timeout), &csi.CreateSnapshotRequest{
		SourceVolumeId: *found.Spec.Source.VolumeHandle, Name: c.cfg.SnapshotNamePrefix + "-" + string(uid), Parameters: parameters, Secrets: secrets,
	})
	if err == nil && answer.GetSnapshot() == nil {
		err = errors.New("the CSI driver answered CreateSnapshot with neither a snapshot nor an error")
	}
	return answer.GetSnapshot(), err
}

// isFinalError says whether nothing of CreateSnapshot can be under way after an error.
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

// isMember says whether a content was made for a group snapshot, whose driver has taken it already.
//
// Upstream: snapshot_controller.go syncContent, v8.7.
func isMember(found *content) bool {
	return metav1.HasAnnotation(found.ObjectMeta, snapshots.AnnGroupHandle)
}

// ofGroup says whether a content's snapshot is known to be one of a group.
func ofGroup(found *content) bool {
	return found.Status != nil && found.Status.VolumeGroupSnapshotHandle != nil
}

// checkStatus looks how far a snapshot is: one that is there already by ListSnapshots, another by
// CreateSnapshot.
//
// Upstream: snapshot_controller.go checkandUpdateContentStatusOperation and snapshotter.go
// GetSnapshotStatus, v8.7.
func (c *controller) checkStatus(ctx context.Context, found *content) (*content, error) {
	given := found.Spec.Source.SnapshotHandle
	if given == nil && ofGroup(found) {
		given = found.Status.SnapshotHandle
	}
	switch {
	case given == nil && isMember(found):
		return found, nil // the snapshot controller writes its status
	case given == nil:
		return c.createSnapshot(ctx, found)
	}
	secrets, err := c.listSecrets(ctx, found)
	if err != nil {
		return found, err
	}
	handle := *given
	if found.Status != nil && found.Status.SnapshotHandle != nil {
		handle = *found.Status.SnapshotHandle
	}
	is := &csi.Snapshot{SnapshotId: handle, ReadyToUse: true}
	if c.says.Controller[csi.ControllerServiceCapability_RPC_LIST_SNAPSHOTS] {
		list, err := c.driver.ListSnapshots(control.WithTimeout(ctx, c.env, c.cfg.Timeout), &csi.ListSnapshotsRequest{SnapshotId: handle, Secrets: secrets})
		if err == nil && len(list.GetEntries()) == 0 {
			err = fmt.Errorf("can not find snapshot for snapshotID %s", handle)
		}
		if err != nil {
			return found, fmt.Errorf("failed to list snapshot for content %s: %q", found.Name, err.Error())
		}
		is = list.GetEntries()[0].GetSnapshot()
	}
	updated, err := c.updateStatus(ctx, found, &csi.Snapshot{
		SnapshotId: *given, ReadyToUse: is.GetReadyToUse(), SizeBytes: is.GetSizeBytes(), CreationTime: is.GetCreationTime(), GroupSnapshotId: is.GetGroupSnapshotId(),
	})
	if err != nil {
		return found, err
	}
	return updated, nil
}

// updateStatus writes to the content what the driver says.
//
// Upstream: snapshot_controller.go updateSnapshotContentStatus, v8.7.
func (c *controller) updateStatus(ctx context.Context, found *content, is *csi.Snapshot) (*content, error) {
	latest, err := c.contents.API.Get(ctx, "", found.Name)
	if err != nil {
		return nil, fmt.Errorf("error get snapshot content %s from api server: %w", found.Name, err)
	}
	wanted := latest.Status.DeepCopy()
	if wanted == nil {
		wanted = &snapshotv1.VolumeSnapshotContentStatus{}
	}
	if !follow(wanted, is, c.env.Now()) {
		return latest, nil
	}
	updated, err := c.contents.API.PatchStatus(ctx, latest, snapshots.Op{Op: "replace", Path: "/status", Value: wanted})
	if err != nil {
		return latest, snapshots.UpdateError(found.Name, err)
	}
	return updated, nil
}

// follow has a status follow the driver's answer, and says whether that changes anything. Handle, time and
// size stay as they were first.
func follow(to *snapshotv1.VolumeSnapshotContentStatus, is *csi.Snapshot, now time.Time) (changed bool) {
	if to.SnapshotHandle == nil {
		to.SnapshotHandle, changed = &is.SnapshotId, true
	}
	if to.ReadyToUse == nil || *to.ReadyToUse != is.GetReadyToUse() {
		to.ReadyToUse, changed = &is.ReadyToUse, true
		if is.GetReadyToUse() {
			to.Error = nil
		}
	}
	if to.CreationTime == nil {
		to.CreationTime, changed = creationTime(is.GetCreationTime(), now), true
	}
	if to.RestoreSize == nil && is.GetSizeBytes() > 0 {
		to.RestoreSize, changed = &is.SizeBytes, true
	}
	if to.VolumeGroupSnapshotHandle == nil && is.GetGroupSnapshotId() != "" {
		to.VolumeGroupSnapshotHandle, changed = &is.GroupSnapshotId, true
	}
	return changed
}

// creationTime is when a snapshot was taken, in nanoseconds since 1970. Upstream takes none for that
// beginning, and replaces only the year 1.
func creationTime(at *timestamppb.Timestamp, now time.Time) *int64 {
	nanoseconds := at.AsTime().UnixNano()
	if at.AsTime().IsZero() {
		nanoseconds = now.UnixNano()
	}
	return &nanoseconds
}
