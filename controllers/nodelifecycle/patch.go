package nodelifecycle

import (
	"context"
	"encoding/json"
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/storagesim/storagesim/internal/readonly"
)

// Limit and waits for a patch of taints that meets conflicts.
//
// Upstream: pkg/controller/controller_utils.go UpdateTaintBackoff, v1.37, which adds up to
// as much again by chance.
const (
	taintTries = 5
	taintPause = 100 * time.Millisecond
)

// swapNodeControllerTaint adds taints, and then removes others, by one patch each.
// Upstream: pkg/controller/util/node SwapNodeControllerTaint, v1.37.
func (c *controller) swapNodeControllerTaint(ctx context.Context, name string, add, remove []v1.Taint) error {
	now := metav1.NewTime(c.env.Now())
	for i := range add {
		add[i].TimeAdded = &now
	}
	err := c.patchNodeTaints(ctx, name, func(taints []v1.Taint) []v1.Taint { return append(taints, without(add, taints)...) })
	if err != nil {
		return err
	}
	return c.removeTaints(ctx, name, remove...)
}

// removeTaints removes taints from a node.
// Upstream: pkg/controller/controller_utils.go RemoveTaintOffNode, v1.37.
func (c *controller) removeTaints(ctx context.Context, name string, taints ...v1.Taint) error {
	return c.patchNodeTaints(ctx, name, func(have []v1.Taint) []v1.Taint { return without(have, taints) })
}

// patchNodeTaints changes a node's taints. It writes only a change, tries again if another client changes the node
// meanwhile, and ignores a node that is gone.
// Upstream: pkg/controller/controller_utils.go AddOrUpdateTaintOnNode, v1.37.
func (c *controller) patchNodeTaints(ctx context.Context, name string, change func([]v1.Taint) []v1.Taint) error {
	for try := 1; ; try++ {
		err := c.tryPatchNodeTaints(ctx, name, change)
		switch {
		case apierrors.IsNotFound(err):
			return nil
		case !apierrors.IsConflict(err) || try == taintTries:
			return err
		}
		if err := c.env.Sleep(ctx, taintPause); err != nil {
			return err
		}
	}
}

// tryPatchNodeTaints reads a node and patches its taints, unless change leaves them as they are. The patch has the resource
// version that was read: if another client writes the node in between, it fails with a conflict.
// Upstream: pkg/controller/controller_utils.go PatchNodeTaints, v1.37.
func (c *controller) tryPatchNodeTaints(ctx context.Context, name string, change func([]v1.Taint) []v1.Taint) error {
	node, err := c.client.CoreV1().Nodes().Get(readonly.Answers(ctx), name, metav1.GetOptions{})
	if err != nil {
		return err
	}
	taints := change(slices.Clone(node.Spec.Taints))
	if len(without(taints, node.Spec.Taints)) == 0 && len(without(node.Spec.Taints, taints)) == 0 {
		return nil
	}
	var value any // null removes the field
	if len(taints) > 0 {
		value = taints
	}
	patch, err := json.Marshal(map[string]any{
		"metadata": map[string]any{"resourceVersion": node.ResourceVersion},
		"spec":     map[string]any{"taints": value},
	})
	if err == nil {
		_, err = c.client.CoreV1().Nodes().Patch(readonly.Answers(ctx), name, types.StrategicMergePatchType, patch, metav1.PatchOptions{})
	}
	return err
}
