package snapshotcontroller

import (
	"context"
	"errors"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/storagesim/storagesim/control/snapshots"
)

// checkAndUpdateSnapshotClass checks the class of a snapshot, and gives it the default class if it names
// none. With an error it returns the snapshot as it was.
//
// Upstream: snapshot_controller_base.go checkAndUpdateSnapshotClass, v8.7.
func (c *controller) checkAndUpdateSnapshotClass(ctx context.Context, snapshot *volumeSnapshot) (*volumeSnapshot, error) {
	if name := snapshot.Spec.VolumeSnapshotClassName; name != nil {
		_, err := c.classOf(*name)
		if err != nil {
			c.updateErrorStatus(ctx, snapshot, false, "GetSnapshotClassFailed", fmt.Sprintf("Failed to get snapshot class with error %v", err))
		}
		return snapshot, err
	}
	updated, err := c.setDefaultSnapshotClass(ctx, snapshot)
	if err != nil {
		c.updateErrorStatus(ctx, snapshot, false, "SetDefaultSnapshotClassFailed", fmt.Sprintf("Failed to set default snapshot class with error %v", err))
		return snapshot, err
	}
	return updated, nil
}

// setDefaultSnapshotClass gives a snapshot of a claim the only default class of the volume's driver.
//
// Upstream: snapshot_controller.go SetDefaultSnapshotClass and pvDriverFromSnapshot, v8.7.
func (c *controller) setDefaultSnapshotClass(ctx context.Context, snapshot *volumeSnapshot) (*volumeSnapshot, error) {
	if snapshot.Spec.Source.VolumeSnapshotContentName != nil || snapshots.GroupOf(snapshot) != "" {
		return snapshot, nil
	}
	volume, err := c.volumeOf(ctx, snapshot)
	if err != nil {
		return snapshot, err
	}
	if volume.Spec.CSI == nil {
		return snapshot, fmt.Errorf("snapshotting non-CSI volumes is not supported, snapshot:%s/%s", snapshot.Namespace, snapshot.Name)
	}
	var names []string
	for _, class := range c.classes.All() {
		if class.Annotations[snapshots.AnnDefaultClass] == "true" && class.Driver == volume.Spec.CSI.Driver {
			names = append(names, class.Name)
		}
	}
	switch {
	case len(names) == 0:
		return snapshot, errors.New("cannot find default snapshot class")
	case len(names) > 1:
		return snapshot, fmt.Errorf("%d default snapshot classes were found", len(names))
	}
	updated, err := c.snapshots.API.Patch(ctx, snapshot, snapshots.Op{Op: "replace", Path: "/spec/volumeSnapshotClassName", Value: names[0]})
	if err != nil {
		return snapshot, nil //nolint:nilerr // As upstream: the snapshot is worked on without its class, which fails.
	}
	return updated, nil
}

// classOf is a class in the cache.
func (c *controller) classOf(name string) (*class, error) {
	found, ok := c.classes.Cached(name)
	if !ok {
		return nil, notFound("volumesnapshotclass."+snapshots.Group, name)
	}
	return found, nil
}

// notFound is the error of upstream's listers.
func notFound(resource, name string) error {
	return apierrors.NewNotFound(schema.ParseGroupResource(resource), name)
}
