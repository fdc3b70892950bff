package attachdetach

import (
	"context"
	"maps"
	"slices"

	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/storagesim/storagesim/control"
	"github.com/storagesim/storagesim/internal/readonly"
	"github.com/storagesim/storagesim/internal/typedpatch"
)

// updateNodeStatuses writes the statuses that are due. A write that fails is repeated in the next turn of the loop.
// Upstream: statusupdater/node_status_updater.go UpdateNodeStatuses, v1.37.
func (c *controller) updateNodeStatuses(ctx context.Context) {
	for _, node := range slices.Sorted(maps.Keys(c.actual.due)) {
		if err := c.updateNodeStatusForNode(ctx, node); err != nil {
			c.wake()
		}
	}
}

// updateNodeStatusForNode writes which volumes are attached to a node, if that is due, in any order. A node that does not exist
// needs no status.
// Upstream: statusupdater/node_status_updater.go UpdateNodeStatusForNode, v1.37.
func (c *controller) updateNodeStatusForNode(ctx context.Context, name string) error {
	if !c.actual.due[name] {
		return nil
	}
	delete(c.actual.due, name)
	if _, ok := c.nodes.Get(name); !ok {
		return nil
	}
	var want []v1.AttachedVolume
	for _, volume := range slices.Sorted(maps.Keys(c.actual.reports[name])) {
		want = append(want, v1.AttachedVolume{Name: volume})
	}
	control.Shuffle(c.env, want)
	err := c.patchVolumesAttached(ctx, name, want)
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		c.actual.due[name] = true
	}
	return err
}

// patchVolumesAttached writes a node's status.volumesAttached.
// Upstream: component-helpers node/util PatchNodeStatus, v1.37.
func (c *controller) patchVolumesAttached(ctx context.Context, node string, want []v1.AttachedVolume) error {
	status := map[string]any{"volumesAttached": nil} // which removes the field
	if len(want) > 0 {
		status["volumesAttached"] = want
	}
	ctx = typedpatch.In(readonly.Answers(ctx), typedpatch.Values{"status": status})
	_, err := c.client.CoreV1().Nodes().Patch(ctx, node, types.StrategicMergePatchType, nil, metav1.PatchOptions{}, "status")
	return err
}
