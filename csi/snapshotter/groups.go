package snapshotter

import (
	"context"
	"errors"
	"fmt"

	"github.com/container-storage-interface/spec/lib/go/csi"
	groupv1 "github.com/kubernetes-csi/external-snapshotter/client/v8/apis/volumegroupsnapshot/v1"
	snapshotv1 "github.com/kubernetes-csi/external-snapshotter/client/v8/apis/volumesnapshot/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/storagesim/storagesim/control"
	"github.com/storagesim/storagesim/control/snapshots"
	"github.com/storagesim/storagesim/csi/internal/sidecar"
	"github.com/storagesim/storagesim/trace"
)

type (
	groupContent = groupv1.VolumeGroupSnapshotContent
	groupClass   = groupv1.VolumeGroupSnapshotClass
)

// groupController is the part of the sidecar for group snapshots.
//
// Upstream: external-snapshotter pkg/sidecar-controller/groupsnapshot_helper.go, v8.7.
type groupController struct {
	*controller
	groups        csi.GroupControllerClient
	groupContents snapshots.Objects[groupContent, *groupContent]
	groupClasses  *snapshots.Store[groupClass, *groupClass]
}

// followGroups begins to work on contents of group snapshots, also of a driver that cannot take them: that it cannot
// is then the error of each.
//
// Upstream: cmd/csi-snapshotter/main.go main and supportsGroupControllerCreateVolumeGroupSnapshot, v8.7.
func (c *controller) followGroups(ctx context.Context) {
	g := &groupController{controller: c, groups: csi.NewGroupControllerClient(c.conn)}
	if !sidecar.TakesGroups(control.WithTimeout(ctx, c.env, c.cfg.Timeout), g.groups) {
		c.env.Trace(trace.Decision{About: trace.Ref{Kind: "CSIDriver", Name: c.cfg.Driver}, Text: "cannot take group snapshots: it has no capability CREATE_DELETE_GET_VOLUME_GROUP_SNAPSHOT"})
	}
	g.groupContents, g.groupClasses = snapshots.GroupContentObjects(c.env), snapshots.GroupClassStore(c.env)
	queue := c.newQueue("csi-snapshotter-groupsnapshotcontent", "VolumeGroupSnapshotContent", g.syncGroupSnapshotContentByKey)
	begin(ctx, c, "resync of groups", g.groupContents.Store, queue, g.groupClasses.Synced, func(old, is *groupContent) bool {
		return !groupReady(old) && groupReady(is) || changed(old, is, snapshots.AnnGroupBeingCreated, func(c *groupContent) { c.Status = nil })
	})
}

// Upstream: groupsnapshot_helper.go groupSnapshotContentIsReady, v8.7.
func groupReady(found *groupContent) bool {
	return found.Status != nil && found.Status.ReadyToUse != nil && *found.Status.ReadyToUse
}

// syncGroupSnapshotContentByKey looks at a content of this driver.
//
// Upstream: groupsnapshot_helper.go syncGroupSnapshotContentByKey and updateGroupSnapshotContentInInformerCache, v8.7.
func (g *groupController) syncGroupSnapshotContentByKey(ctx context.Context, key string) error {
	found, ok := g.groupContents.Cached(key)
	if !ok {
		g.groupContents.Forget(key)
		return nil
	}
	if !g.isGroupDriverMatch(found) || !g.groupContents.Take(found) {
		return nil
	}
	return g.syncGroupSnapshotContent(ctx, found)
}

// Upstream: snapshot_controller_base.go isDriverMatch, v8.7.
func (g *groupController) isGroupDriverMatch(found *groupContent) bool {
	source := found.Spec.Source
	if source.GroupSnapshotHandles == nil && len(source.VolumeHandles) == 0 || found.Spec.Driver != g.cfg.Driver {
		return false
	}
	if name := found.Spec.VolumeGroupSnapshotClassName; name != nil {
		if class, ok := g.groupClasses.Cached(*name); ok && class.Driver != g.cfg.Driver {
			return false
		}
	}
	return true
}

// syncGroupSnapshotContent takes or deletes a group snapshot, or looks whether it is ready.
//
// Upstream: groupsnapshot_helper.go syncGroupSnapshotContent, v8.7.
func (g *groupController) syncGroupSnapshotContent(ctx context.Context, found *groupContent) error {
	switch {
	case shouldDeleteGroup(found):
		return g.deleteGroup(ctx, found)
	case len(found.Spec.Source.VolumeHandles) != 0 && found.Status == nil:
		return g.tellGroup(ctx, found, "GroupSnapshotCreationFailed", "Failed to create group snapshot", g.createGroupSnapshot)
	case groupReady(found):
		_, err := g.groupContents.RemoveAnnotation(ctx, found, snapshots.AnnGroupBeingCreated)
		return err
	}
	return g.tellGroup(ctx, found, "GroupSnapshotContentCheckandUpdateFailed", "Failed to check and update group snapshot content", g.checkGroupStatus)
}

// tellGroup does something, and tells of its error in the status and by an event. A group snapshot that is not ready
// is looked at again.
//
// Upstream: groupsnapshot_helper.go createGroupSnapshot and checkandUpdateGroupSnapshotContentStatus, v8.7.
func (g *groupController) tellGroup(ctx context.Context, found *groupContent, reason, what string, do func(context.Context, *groupContent) (*groupContent, error)) error {
	is, err := do(ctx, found)
	if err != nil {
		var before *snapshotv1.VolumeSnapshotError
		if is.Status != nil {
			before = is.Status.Error
		}
		writeError(ctx, g.controller, g.groupContents, is, is.Status != nil, before, reason, fmt.Sprintf("%s: %v", what, err))
		return err
	}
	g.groupContents.Take(is)
	if !groupReady(is) {
		return errNotReady
	}
	return nil
}

// createGroupSnapshot has the driver take a group snapshot, or say how far it is. A crash after
// CreateVolumeGroupSnapshot loses nothing: the next try asks for the same name.
//
// Upstream: groupsnapshot_helper.go createGroupSnapshotWrapper, v8.7.
func (g *groupController) createGroupSnapshot(ctx context.Context, found *groupContent) (*groupContent, error) {
	class, secrets, err := g.groupInput(ctx, found)
	if err != nil {
		return found, fmt.Errorf("failed to get input parameters to create group snapshot for group snapshot content %s: %q", found.Name, err.Error())
	}
	if found, err = g.groupContents.Annotate(ctx, found, snapshots.AnnGroupBeingCreated); err != nil {
		return found, fmt.Errorf("failed to add VolumeGroupSnapshotBeingCreated annotation on the group snapshot content %s: %q", found.Name, err.Error())
	}
	ref := found.Spec.VolumeGroupSnapshotRef
	parameters, err := g.passed(class.Parameters, "volumegroupsnapshot", ref.Namespace, ref.Name, found.Name)
	if err != nil {
		return found, fmt.Errorf("failed to remove CSI Parameters of prefixed keys: %w", err)
	}
	made, err := g.callGroup(ctx, found, parameters, secrets)
	if err != nil {
		return g.notTaken(ctx, found, err)
	}
	updated, err := g.updateGroupStatus(ctx, found, made)
	if err != nil {
		return found, fmt.Errorf("error updating status for volume group snapshot content %s: %w", found.Name, err)
	}
	if found, err = g.groupContents.RemoveAnnotation(ctx, updated, snapshots.AnnGroupBeingCreated); err != nil {
		return found, fmt.Errorf("failed to remove VolumeGroupSnapshotBeingCreated annotation on the groupSnapshotContent %s: %q", found.Name, err.Error())
	}
	return found, nil
}

// notTaken is what remains after an error of CreateVolumeGroupSnapshot: the annotation, unless the error is final.
//
// Upstream: groupsnapshot_helper.go createGroupSnapshotWrapper, v8.7.
func (g *groupController) notTaken(ctx context.Context, found *groupContent, err error) (*groupContent, error) {
	if isFinalError(err) {
		var failed error
		if found, failed = g.groupContents.RemoveAnnotation(ctx, found, snapshots.AnnGroupBeingCreated); failed != nil {
			return found, fmt.Errorf("failed to remove VolumeGroupSnapshotBeingCreated annotation from the group snapshot content %s: %w", found.Name, failed)
		}
	}
	return found, fmt.Errorf("failed to take group snapshot of the volumes %s: %q", found.Spec.Source.VolumeHandles, err.Error())
}

// groupInput are the content's class, and the secret that its annotations name.
//
// Upstream: groupsnapshot_helper.go getCSIGroupSnapshotInput, v8.7.
func (g *groupController) groupInput(ctx context.Context, found *groupContent) (class *groupClass, secrets map[string]string, err error) {
	name := found.Spec.VolumeGroupSnapshotClassName
	if name == nil {
		return nil, nil, fmt.Errorf("failed to take group snapshot %s without a group snapshot class", found.Name)
	}
	if class, err = g.groupClassOf(*name); err != nil {
		return nil, nil, err
	}
	secrets, err = g.groupCredentials(ctx, found)
	return class, secrets, err
}

func (g *groupController) groupClassOf(name string) (*groupClass, error) {
	found, ok := g.groupClasses.Cached(name)
	if !ok {
		resource := snapshots.GroupClasses().GroupResource()
		resource.Resource = "volumegroupsnapshotclass" // as upstream's lister calls it
		return nil, apierrors.NewNotFound(resource, name)
	}
	return found, nil
}

// callGroup calls CreateVolumeGroupSnapshot.
//
// Upstream: csi_handler.go CreateGroupSnapshot, v8.7.
func (g *groupController) callGroup(ctx context.Context, found *groupContent, parameters, secrets map[string]string) (*csi.VolumeGroupSnapshot, error) {
	uid := found.Spec.VolumeGroupSnapshotRef.UID
	switch {
	case uid == "":
		return nil, fmt.Errorf("cannot create group snapshot. Group snapshot content %s not bound to a group snapshot", found.Name)
	case len(found.Spec.Source.VolumeHandles) == 0:
		return nil, fmt.Errorf("cannot create group snapshot. PVCs to be snapshotted not found in group snapshot content %s", found.Name)
	}
	answer, err := g.groups.CreateVolumeGroupSnapshot(control.WithTimeout(ctx, g.env, g.cfg.Timeout), &csi.CreateVolumeGroupSnapshotRequest{
		Name: g.cfg.GroupSnapshotNamePrefix + "-" + string(uid), SourceVolumeIds: found.Spec.Source.VolumeHandles, Secrets: secrets, Parameters: parameters,
	})
	if err == nil && answer.GetGroupSnapshot() == nil {
		err = errors.New("the CSI driver answered CreateVolumeGroupSnapshot with neither a group snapshot nor an error")
	}
	return answer.GetGroupSnapshot(), err
}

// checkGroupStatus looks how far a group snapshot is: one that is there already by GetVolumeGroupSnapshot, another by
// CreateVolumeGroupSnapshot.
//
// Upstream: groupsnapshot_helper.go checkandUpdateGroupSnapshotContentStatusOperation and csi_handler.go
// GetGroupSnapshotStatus, v8.7.
func (g *groupController) checkGroupStatus(ctx context.Context, found *groupContent) (*groupContent, error) {
	handles := found.Spec.Source.GroupSnapshotHandles
	if handles == nil {
		return g.createGroupSnapshot(ctx, found)
	}
	secrets, err := g.getSecrets(ctx, found)
	if err != nil {
		return found, err
	}
	if len(handles.VolumeSnapshotHandles) == 0 {
		return found, fmt.Errorf("cannot list group snapshot %s. No snapshots found in the group snapshot content", found.Name)
	}
	answer, err := g.groups.GetVolumeGroupSnapshot(control.WithTimeout(ctx, g.env, g.cfg.Timeout), &csi.GetVolumeGroupSnapshotRequest{
		GroupSnapshotId: groupHandle(found), SnapshotIds: handles.VolumeSnapshotHandles, Secrets: secrets,
	})
	if err != nil {
		return found, fmt.Errorf("failed to list group snapshot for group snapshot content %s: %q", found.Name, err.Error())
	}
	is := answer.GetGroupSnapshot()
	updated, err := g.updateGroupStatus(ctx, found, &csi.VolumeGroupSnapshot{
		GroupSnapshotId: handles.VolumeGroupSnapshotHandle, ReadyToUse: is.GetReadyToUse(), CreationTime: is.GetCreationTime(),
	})
	if err != nil {
		return found, err
	}
	return updated, nil
}

// groupHandle is the handle of a group snapshot: that of the status or, before there is one, of the source; or "".
func groupHandle(found *groupContent) string {
	if found.Status != nil && found.Status.VolumeGroupSnapshotHandle != nil {
		return *found.Status.VolumeGroupSnapshotHandle
	}
	if handles := found.Spec.Source.GroupSnapshotHandles; handles != nil {
		return handles.VolumeGroupSnapshotHandle
	}
	return ""
}

// updateGroupStatus writes to the content what the driver says.
//
// Upstream: groupsnapshot_helper.go updateGroupSnapshotContentStatus, v8.7.
func (g *groupController) updateGroupStatus(ctx context.Context, found *groupContent, is *csi.VolumeGroupSnapshot) (*groupContent, error) {
	latest, err := g.groupContents.API.Get(ctx, "", found.Name)
	if err != nil {
		return nil, fmt.Errorf("error get group snapshot content %s from api server: %w", found.Name, err)
	}
	changed := latest.DeepCopy()
	if changed.Status == nil {
		changed.Status = &groupv1.VolumeGroupSnapshotContentStatus{}
	}
	at := metav1.Unix(0, *creationTime(is.GetCreationTime(), g.env.Now()))
	if !followGroup(changed.Status, is, at) {
		return latest, nil
	}
	updated, err := g.groupContents.API.UpdateStatus(ctx, changed)
	if err != nil {
		return latest, snapshots.UpdateError(found.Name, err)
	}
	return updated, nil
}

// followGroup has a status follow the driver's answer, and says whether that changes anything. Handle, time and
// members stay as they were first.
func followGroup(to *groupv1.VolumeGroupSnapshotContentStatus, is *csi.VolumeGroupSnapshot, at metav1.Time) (changed bool) {
	if to.VolumeGroupSnapshotHandle == nil {
		to.VolumeGroupSnapshotHandle, changed = &is.GroupSnapshotId, true
	}
	if to.ReadyToUse == nil || *to.ReadyToUse != is.GetReadyToUse() {
		to.ReadyToUse, changed = &is.ReadyToUse, true
		if is.GetReadyToUse() {
			to.Error = nil
		}
	}
	if to.CreationTime == nil {
		to.CreationTime, changed = &at, true
	}
	if len(to.VolumeSnapshotInfoList) == 0 {
		for _, member := range is.GetSnapshots() {
			to.VolumeSnapshotInfoList, changed = append(to.VolumeSnapshotInfoList, infoOf(member)), true
		}
	}
	return changed
}

// infoOf is what a content says of one member.
//
// Upstream: pkg/utils/conversion.go CSITimestampToKubernetes and CSISizeToKubernetes, v8.7.
func infoOf(member *csi.Snapshot) groupv1.VolumeSnapshotInfo {
	info := groupv1.VolumeSnapshotInfo{VolumeHandle: member.GetSourceVolumeId(), SnapshotHandle: member.GetSnapshotId(), ReadyToUse: &member.ReadyToUse}
	if at := member.GetCreationTime(); at != nil {
		nanoseconds := at.AsTime().UnixNano()
		info.CreationTime = &nanoseconds
	}
	if member.GetSizeBytes() != 0 {
		info.RestoreSize = &member.SizeBytes
	}
	return info
}
