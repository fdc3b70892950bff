package snapshotcontroller

import (
	"context"
	"fmt"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/storagesim/storagesim/control"
	"github.com/storagesim/storagesim/control/snapshots"
)

// isBoundAndReady reports whether a snapshot only needs to be checked.
func (b *binder[S, C]) isBoundAndReady(snapshot S) bool {
	state := b.Snapshot(snapshot)
	return state.IsReady() && state.Bound() != ""
}

// bound returns the name of the content that a snapshot is bound to, or "".
func (b *binder[S, C]) bound(snapshot S) string { return b.Snapshot(snapshot).Bound() }

// checkBound reports whether the content of a ready snapshot still exists and names the snapshot.
//
// Upstream: snapshot_controller.go syncReadySnapshot and groupsnapshot_controller_helper.go syncReadyGroupSnapshot, v8.7.
func (b *binder[S, C]) checkBound(ctx context.Context, snapshot S) (bool, error) {
	found, ok := b.contents.Newest(b.bound(snapshot))
	switch {
	case !ok:
		return false, b.updateErrorStatus(ctx, snapshot, true, b.Reason+"ContentMissing", b.Name+"Content is missing")
	case !b.RefersTo(found, snapshot):
		return false, b.updateErrorStatus(ctx, snapshot, true, b.Reason+"Misbound", fmt.Sprintf("%[1]sContent is not bound to the %[1]s correctly", b.Name))
	}
	return true, nil
}

// bindAndUpdate writes to a snapshot what its content says.
//
// Upstream: snapshot_controller.go bindandUpdateVolumeSnapshot and groupsnapshot_controller_helper.go
// bindandUpdateVolumeGroupSnapshot, v8.7.
func (b *binder[S, C]) bindAndUpdate(ctx context.Context, snapshot S, found C) error {
	latest, err := b.snapshots.API.Get(ctx, snapshot.GetNamespace(), snapshot.GetName())
	if err != nil {
		return fmt.Errorf("error get %s %s from api server: %w", b.Noun, control.Key(snapshot), err)
	}
	updated, err := b.copyStatus(ctx, latest, found, true)
	if err != nil {
		return err
	}
	b.snapshots.Take(updated)
	return nil
}

// copyStatus writes to a snapshot what its content says. If that fails and notReady is set, the snapshot is not ready.
//
// Upstream: snapshot_controller.go syncUnreadySnapshot and groupsnapshot_controller_helper.go syncUnreadyGroupSnapshot, v8.7.
func (b *binder[S, C]) copyStatus(ctx context.Context, snapshot S, found C, notReady bool) (S, error) {
	updated, err := b.updateStatus(ctx, snapshot, found)
	if err != nil {
		b.fail(ctx, snapshot, notReady, b.Reason+"StatusUpdateFailed", fmt.Sprintf("%s status update failed, %v", b.Reason, err))
	}
	return updated, err
}

// syncPreprovisioned binds a snapshot to the content that it names.
//
// Upstream: snapshot_controller.go syncUnreadySnapshot and groupsnapshot_controller_helper.go syncUnreadyGroupSnapshot, v8.7.
func (b *binder[S, C]) syncPreprovisioned(ctx context.Context, snapshot S) error {
	var none C
	key, name := control.Key(snapshot), *b.Snapshot(snapshot).ContentName
	found, err := b.preprovisionedContent(ctx, snapshot)
	if err != nil {
		return err
	}
	if found == none {
		b.fail(ctx, snapshot, true, b.Reason+"ContentMissing", b.Name+"Content is missing")
		return fmt.Errorf("%s %s requests an non-existing %s %s", b.Noun, key, b.ContentNoun, name)
	}
	bound, err := b.checkAndBind(ctx, snapshot, found)
	if err != nil {
		b.fail(ctx, snapshot, true, b.Reason+"BindFailed", fmt.Sprintf("%s failed to bind %sContent, %v", b.Reason, b.Name, err))
		return fmt.Errorf("%s %s is bound, but %[3]sContent %[4]s is not bound to the %[3]s correctly, %[5]w", b.Noun, key, b.Name, name, err)
	}
	_, err = b.copyStatus(ctx, snapshot, bound, false)
	return err
}

// contentOf returns the content that a snapshot names or that was created for it, or nil if there is none.
func (b *binder[S, C]) contentOf(ctx context.Context, snapshot S) (C, error) {
	if b.Snapshot(snapshot).ContentName != nil {
		return b.preprovisionedContent(ctx, snapshot)
	}
	return b.dynamicContent(ctx, snapshot)
}

// preprovisionedContent returns the content that a snapshot names, or nil if there is none.
//
// Upstream: snapshot_controller.go getPreprovisionedContentFromStore and groupsnapshot_controller_helper.go
// getPreprovisionedGroupSnapshotContentFromStore, v8.7.
func (b *binder[S, C]) preprovisionedContent(ctx context.Context, snapshot S) (C, error) {
	var none C
	key, name := control.Key(snapshot), *b.Snapshot(snapshot).ContentName
	if name == "" {
		return none, fmt.Errorf("empty %sContentName for %s %s", b.Name, b.Noun, key)
	}
	found, ok := b.contents.Newest(name)
	if !ok {
		return none, nil
	}
	state := b.Content(found)
	if !state.Existing {
		b.fail(ctx, snapshot, true, b.Reason+"ContentMismatch", b.Name+"Content is dynamically provisioned while expecting a pre-provisioned one")
		return none, fmt.Errorf("%s %s expects a pre-provisioned %sContent %s but gets a dynamically provisioned one", b.Noun, key, b.Name, name)
	}
	if state.SnapshotKey() != key || state.Ref.UID != "" && state.Ref.UID != snapshot.GetUID() {
		return none, b.misbound(ctx, snapshot, name)
	}
	return found, nil
}

// dynamicContent returns the content that was created for a snapshot, or nil if there is none yet.
//
// Upstream: snapshot_controller.go getDynamicallyProvisionedContentFromStore and groupsnapshot_controller_helper.go
// getDynamicallyProvisionedGroupContentFromStore, v8.7.
func (b *binder[S, C]) dynamicContent(ctx context.Context, snapshot S) (C, error) {
	var none C
	name := b.contentName(snapshot)
	found, ok := b.contents.Newest(name)
	switch {
	case !ok:
		return none, nil
	case b.Content(found).Existing:
		b.fail(ctx, snapshot, true, b.Reason+"ContentMismatch",
			fmt.Sprintf("%sContent %s is pre-provisioned while expecting a dynamically provisioned one", b.Name, name))
		return none, fmt.Errorf("%s %s expects a dynamically provisioned %sContent %s but gets a pre-provisioned one", b.Noun, control.Key(snapshot), b.Name, name)
	case !b.RefersTo(found, snapshot):
		return none, b.misbound(ctx, snapshot, name)
	}
	return found, nil
}

// misbound reports that a content is bound to another snapshot.
func (b *binder[S, C]) misbound(ctx context.Context, snapshot S, name string) error {
	err := fmt.Errorf("%sContent [%s] is bound to a different %s", b.Name, name, b.Noun)
	b.fail(ctx, snapshot, true, b.Reason+"ContentMisbound", err.Error())
	return err
}

// checkAndBind writes the snapshot's UID, and its class, to a content that names the snapshot.
//
// Upstream: snapshot_controller.go checkandBindSnapshotContent and groupsnapshot_controller_helper.go
// checkAndBindGroupSnapshotContent, v8.7.
func (b *binder[S, C]) checkAndBind(ctx context.Context, snapshot S, found C) (C, error) {
	state := b.Content(found)
	if state.Ref.UID != "" && state.Class != nil {
		return found, nil
	}
	ops := []snapshots.Op{replace("/spec/"+b.Field()+"Ref/uid", string(snapshot.GetUID()))}
	if name := b.Snapshot(snapshot).Class; name != nil {
		ops = append(ops, replace("/spec/"+b.Field()+"ClassName", *name))
	}
	updated, err := b.contents.API.Patch(ctx, found, ops...)
	if err != nil {
		return found, err
	}
	b.contents.Take(updated)
	return updated, nil
}

func replace(path string, value any) snapshots.Op {
	return snapshots.Op{Op: "replace", Path: path, Value: value}
}

// removeFinalizers removes finalizers from a snapshot by an update.
func (b *binder[S, C]) removeFinalizers(ctx context.Context, snapshot S, finalizers ...string) error {
	changed := snapshot.DeepCopyObject().(S)
	changed.SetFinalizers(slices.DeleteFunc(changed.GetFinalizers(), func(finalizer string) bool { return slices.Contains(finalizers, finalizer) }))
	_, err := b.snapshots.Update(ctx, changed)
	return err
}

func hasFinalizer(obj metav1.Object, finalizer string) bool {
	return slices.Contains(obj.GetFinalizers(), finalizer)
}
