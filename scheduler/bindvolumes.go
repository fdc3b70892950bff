package scheduler

import (
	"context"
	"fmt"
	"time"

	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/resourceversion"

	"github.com/storagesim/storagesim/binding"
	"github.com/storagesim/storagesim/control"
	"github.com/storagesim/storagesim/internal/readonly"
)

// bindPollInterval is the interval at which BindPodVolumes looks whether the other actors are
// done. Upstream: binder.go BindPodVolumes, v1.37.
const bindPollInterval = time.Second

// BindPodVolumes writes what was assumed, then waits for the PV controller and
// the provisioners to bind every claim. What is written stays written when it
// fails: the next attempt starts from there.
// Upstream: binder.go BindPodVolumes, v1.37.
func (b *volumeBinder) BindPodVolumes(ctx context.Context, pod *v1.Pod, node string, podVolumes *PodVolumes) error {
	if err := b.bindAPIUpdate(ctx, podVolumes); err != nil {
		return err
	}
	err := b.env.Poll(ctx, bindPollInterval, b.bindTimeout, func(context.Context) (bool, error) {
		return b.checkBindings(pod, node, podVolumes)
	})
	if err != nil {
		return fmt.Errorf("binding volumes: %w", err)
	}
	return nil
}

// bindAPIUpdate writes all volumes, then all claims, and stops at the first
// error. Everything in memory that it did not come to is given back.
// Upstream: binder.go bindAPIUpdate, v1.37.
func (b *volumeBinder) bindAPIUpdate(ctx context.Context, podVolumes *PodVolumes) error {
	core, ctx := b.env.Client().CoreV1(), readonly.Answers(ctx)
	for i, bound := range podVolumes.StaticBindings {
		pv, err := core.PersistentVolumes().Update(ctx, bound.pv, metav1.UpdateOptions{})
		if err != nil {
			b.RevertAssumedPodVolumes(&PodVolumes{podVolumes.StaticBindings[i:], podVolumes.DynamicProvisions})
			return err
		}
		bound.pv = pv
	}
	for i, claim := range podVolumes.DynamicProvisions {
		updated, err := core.PersistentVolumeClaims(claim.Namespace).Update(ctx, claim, metav1.UpdateOptions{})
		if err != nil {
			b.RevertAssumedPodVolumes(&PodVolumes{nil, podVolumes.DynamicProvisions[i:]})
			return err
		}
		podVolumes.DynamicProvisions[i] = updated
	}
	return nil
}

// checkBindings reports whether every claim is bound, or why waiting is in vain.
// It looks at what the API has said, never at what was assumed.
// Upstream: binder.go checkBindings, v1.37.
func (b *volumeBinder) checkBindings(pod *v1.Pod, nodeName string, podVolumes *PodVolumes) (bool, error) {
	node, ok := b.nodes.Get(nodeName)
	if !ok {
		return false, fmt.Errorf("failed to get node %q: %w", nodeName, notFound("node", nodeName))
	}
	if cached, ok := knownPod(b.pods, control.Key(pod)); !ok || b.waitByUID && cached.UID != pod.UID {
		return false, fmt.Errorf("pod does not exist any more: %w", notFound("pod", pod.Name))
	}
	for _, bound := range podVolumes.StaticBindings {
		if done, err := b.checkStaticBinding(bound, node); !done {
			return false, err
		}
	}
	for _, claim := range podVolumes.DynamicProvisions {
		if done, err := b.checkProvisioning(claim, node); !done {
			return false, err
		}
	}
	return true, nil
}

// checkStaticBinding reports whether the PV controller has bound the claim to the volume. It fails if
// the volume no longer names a claim, or if the node cannot reach it.
func (b *volumeBinder) checkStaticBinding(bound *BindingInfo, node *v1.Node) (bool, error) {
	pv, err := b.pvs.GetAPIObj(bound.pv.Name)
	if err != nil {
		return false, fmt.Errorf("failed to check binding: %w", err)
	}
	pvc, err := b.pvcs.GetAPIObj(control.Key(bound.pvc))
	if err != nil {
		return false, fmt.Errorf("failed to check binding: %w", err)
	}
	if older(pv, bound.pv) {
		return false, nil // our own write has not come back yet
	}
	if err := binding.CheckNodeAffinity(pv, node.Labels); err != nil {
		return false, fmt.Errorf("pv %q node affinity doesn't match node %q: %w", pv.Name, node.Name, err)
	}
	if pv.Spec.ClaimRef == nil || pv.Spec.ClaimRef.UID == "" {
		return false, fmt.Errorf("ClaimRef got reset for pv %q", pv.Name)
	}
	return isPVCFullyBound(pvc), nil
}

// checkProvisioning reports whether the claim is bound. It fails if the claim no longer waits for
// this node (a provisioner that cannot serve the node removes selected-node), or if the node
// cannot reach its volume.
func (b *volumeBinder) checkProvisioning(claim *v1.PersistentVolumeClaim, node *v1.Node) (bool, error) {
	pvc, err := b.pvcs.GetAPIObj(control.Key(claim))
	if err != nil {
		return false, fmt.Errorf("failed to check provisioning pvc: %w", err)
	}
	if older(pvc, claim) {
		return false, nil
	}
	if pvc.Annotations == nil {
		return false, fmt.Errorf("selectedNode annotation reset for PVC %q", pvc.Name)
	}
	if pvc.Annotations[binding.AnnSelectedNode] != node.Name {
		return false, fmt.Errorf("provisioning failed for PVC %q", pvc.Name)
	}
	if pvc.Spec.VolumeName != "" {
		pv, err := b.pvs.GetAPIObj(pvc.Spec.VolumeName)
		if err != nil {
			return false, nil //nolint:nilerr // The claim's news came before the volume's: wait for it.
		}
		if err := binding.CheckNodeAffinity(pv, node.Labels); err != nil {
			return false, fmt.Errorf("pv %q node affinity doesn't match node %q: %w", pv.Name, node.Name, err)
		}
	}
	return isPVCFullyBound(pvc), nil
}

// older compares resource versions, which only grow.
func older(a, b control.Object) bool {
	order, err := resourceversion.CompareResourceVersion(a.GetResourceVersion(), b.GetResourceVersion())
	return err == nil && order < 0
}

// notFound returns what a lister says.
func notFound(resource, name string) error {
	return apierrors.NewNotFound(schema.GroupResource{Resource: resource}, name)
}
