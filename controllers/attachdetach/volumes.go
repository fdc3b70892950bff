package attachdetach

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/storagesim/storagesim/internal/readonly"
)

// attachVolume runs the operation that attaches a volume. After an error the volume is uncertain: the attacher may
// still be working on it.
// Upstream: operation_generator.go GenerateAttachVolumeFunc, v1.37.
func (c *controller) attachVolume(ctx context.Context, at place, pv *v1.PersistentVolume, pods []*v1.Pod) error {
	if err := c.attach(ctx, pv, at.node); err != nil {
		c.mark(at, pv, uncertain)
		for _, pod := range pods {
			c.recorder.Eventf(pod, v1.EventTypeWarning, "FailedAttachVolume", "AttachVolume.Attach failed for volume %q : %v", pv.Name, err)
		}
		return err
	}
	c.mark(at, pv, attached)
	for _, pod := range pods {
		c.recorder.Eventf(pod, v1.EventTypeNormal, "SuccessfulAttachVolume", "AttachVolume.Attach succeeded for volume %q ", pv.Name)
	}
	return nil
}

// detachVolume runs the operation that detaches a volume. After an error the volume is uncertain, and no event is
// emitted.
// Upstream: operation_generator.go GenerateDetachVolumeFunc, v1.37.
func (c *controller) detachVolume(ctx context.Context, at place, verify bool) error {
	var err error
	pv := c.actual.pvs[at.volume]
	if verify {
		err = c.verifyVolumeIsSafeToDetach(ctx, at)
	}
	if err == nil {
		err = c.detach(ctx, at)
	}
	if err != nil {
		c.mark(at, pv, uncertain)
		c.note(at.volume, fmt.Sprintf("is not detached from node %s: %v", at.node, err))
		return err
	}
	c.mark(at, pv, detached)
	return nil
}

// verifyVolumeIsSafeToDetach asks the API whether the node uses the volume: the cache may be old.
// Upstream: operation_generator.go verifyVolumeIsSafeToDetach, v1.37.
func (c *controller) verifyVolumeIsSafeToDetach(ctx context.Context, at place) error {
	node, err := c.client.CoreV1().Nodes().Get(readonly.Answers(ctx), at.node, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err):
		return nil
	case err != nil:
		return fmt.Errorf("DetachVolume failed fetching node from API server: %w", err)
	case slices.Contains(node.Status.VolumesInUse, at.volume):
		return errors.New("volume is still in use by node, according to Node status")
	}
	return nil
}

// verifyVolumesAreAttached records volumes as detached whose VolumeAttachment is gone or says that they are not
// attached. If they are needed, they are attached again.
// Upstream: reconciler.go syncStates, and operation_generator.go
// GenerateVolumesAreAttachedFunc, v1.37.
func (c *controller) verifyVolumesAreAttached(ctx context.Context) {
	for _, name := range slices.Sorted(maps.Keys(c.actual.volumes)) {
		for _, v := range c.actual.at(name) {
			pv := c.actual.pvs[name]
			if v.state == attached && pv != nil && c.canAttach(pv) && !c.isAttached(ctx, pv, v.node) {
				c.note(name, fmt.Sprintf("is no longer attached to node %s", v.node))
				c.mark(v.place, pv, detached)
			}
		}
	}
}
