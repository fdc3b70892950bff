package snapshotcontroller

import (
	"context"
	"errors"
	"fmt"

	"github.com/storagesim/storagesim/control"
	"github.com/storagesim/storagesim/control/snapshots"
)

// checkAndUpdateClass checks the class of a snapshot. A snapshot without one gets the default class. With an error it
// returns the snapshot as it was.
//
// Upstream: snapshot_controller_base.go checkAndUpdateSnapshotClass and checkAndUpdateGroupSnapshotClass, v8.7.
func (b *binder[S, C]) checkAndUpdateClass(ctx context.Context, snapshot S) (S, error) {
	if name := b.Snapshot(snapshot).Class; name != nil {
		_, err := b.classes.Named(*name)
		if err != nil {
			b.fail(ctx, snapshot, false, "Get"+b.Reason+"ClassFailed", fmt.Sprintf("%s to get %s class with error %v", b.Failed, b.Noun, err))
		}
		return snapshot, err
	}
	updated, err := b.setDefaultClass(ctx, snapshot)
	if err != nil {
		b.fail(ctx, snapshot, false, "SetDefault"+b.Reason+"ClassFailed", fmt.Sprintf("Failed to set default %s class with error %v", b.Noun, err))
		return snapshot, err
	}
	return updated, nil
}

// setDefaultClass gives a snapshot of claims the only default class of the first volume's driver.
//
// Upstream: snapshot_controller.go SetDefaultSnapshotClass and pvDriverFromSnapshot, and
// groupsnapshot_controller_helper.go SetDefaultGroupSnapshotClass and pvDriverFromGroupSnapshot, v8.7.
func (b *binder[S, C]) setDefaultClass(ctx context.Context, snapshot S) (S, error) {
	if b.Snapshot(snapshot).ContentName != nil || snapshots.GroupOf(snapshot) != "" {
		return snapshot, nil
	}
	volumes, err := b.steps.volumesOf(ctx, snapshot)
	if err != nil {
		return snapshot, err
	}
	source := volumes[0].Spec.CSI
	if source == nil {
		return snapshot, fmt.Errorf("snapshotting non-CSI volumes is not supported, %s:%s", b.Noun, control.Key(snapshot))
	}
	var names []string
	for _, class := range b.classes.All() {
		if class.Annotations[b.AnnDefaultClass] == "true" && class.Driver == source.Driver {
			names = append(names, class.Name)
		}
	}
	switch {
	case len(names) == 0:
		return snapshot, errors.New("cannot find default " + b.Noun + " class")
	case len(names) > 1:
		return snapshot, fmt.Errorf("%d default snapshot classes were found", len(names))
	}
	return b.steps.setClass(ctx, snapshot, names[0])
}
