package kubelet

import (
	"context"
	"errors"
	"fmt"
	"slices"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/storagesim/storagesim/volume"
)

// Reasons of events.
//
// Upstream: pkg/kubelet/events/event.go, v1.36.
const (
	volumeResizeFailed      = "VolumeResizeFailed"
	fileSystemResizeFailed  = "FileSystemResizeFailed"
	fileSystemResizeSuccess = "FileSystemResizeSuccessful"
)

// expandInUseVolume has a mounted volume grow. The pod is told of what fails.
//
// Upstream: operation_generator.go GenerateExpandInUseVolumeFunc, v1.36.
func (k *kubelet) expandInUseVolume(ctx context.Context, key podVolume) error {
	v := k.desired.get(key)
	if v == nil || !k.actual.isUpToDate(key) || !k.sizes.needsExpansion(key.volume) {
		return nil
	}
	options, err := k.resizeOptions(v)
	if err == nil {
		options.OldSize, options.NewSize = k.sizes.actual[v.volume], k.sizes.desired[v.volume]
		err = k.doOnlineExpansion(ctx, v, options)
	}
	if err != nil {
		k.recorder.Event(v.about, v1.EventTypeWarning, volumeResizeFailed, err.Error())
	}
	return err
}

// resizeOptions say where a mounted volume is.
func (k *kubelet) resizeOptions(v *volumeToMount) (volume.NodeResizeOptions, error) {
	options := volume.NodeResizeOptions{VolumeSpec: v.spec}
	if v.block {
		return k.deviceResizeOptions(v, options)
	}
	mounter, err := v.plugin.NewMounter(v.spec, v.about)
	if err != nil {
		return options, fmt.Errorf("NodeExpandVolume.NewMounter initialization failed for volume %q : %w", v.spec.Name(), err)
	}
	options.DeviceMountPath = mounter.GetPath()
	if options.DeviceStagePath, err = stagePath(v); err != nil {
		return options, fmt.Errorf("NodeExpandVolume.GetDeviceMountPath failed for volume %q : %w", v.spec.Name(), err)
	}
	return options, nil
}

// stagePath is where the volume is mounted for the node, "" for one that is not.
func stagePath(v *volumeToMount) (string, error) {
	if v.device == nil {
		return "", nil
	}
	mounter, err := v.device.NewDeviceMounter()
	if err != nil {
		return "", err
	}
	return mounter.GetDeviceMountPath(v.spec)
}

// deviceResizeOptions say where a raw device is that a pod has: where its link leads to.
func (k *kubelet) deviceResizeOptions(v *volumeToMount, options volume.NodeResizeOptions) (volume.NodeResizeOptions, error) {
	plugin, ok := v.plugin.(volume.BlockVolumePlugin)
	if !ok {
		return options, fmt.Errorf("MapVolume.FindMapperPluginBySpec failed to find BlockVolumeMapper plugin for volume %q", v.spec.Name())
	}
	mapper, err := plugin.NewBlockVolumeMapper(v.spec, v.about)
	if err != nil {
		return options, fmt.Errorf("MapVolume.NewBlockVolumeMapper initialization failed for volume %q : %w", v.spec.Name(), err)
	}
	if custom, ok := mapper.(volume.CustomBlockVolumeMapper); ok {
		options.DeviceStagePath = custom.GetStagingPath()
	}
	options.DevicePath, err = k.fs.Readlink(k.actual.volumes.get(v.podVolume).path)
	return options, err
}

// doOnlineExpansion expands a volume and notes its size.
//
// Upstream: operation_generator.go doOnlineExpansion, v1.36.
func (k *kubelet) doOnlineExpansion(ctx context.Context, v *volumeToMount, options volume.NodeResizeOptions) error {
	claim, err := k.claimToExpand(ctx, v)
	if err == nil {
		var done bool
		var size resource.Quantity
		if done, size, err = k.nodeExpandVolume(ctx, v, claim, options); done {
			k.sizes.actual[v.volume] = size
		}
	}
	if err != nil {
		return fmt.Errorf("NodeExpandVolume.NodeExpandVolume failed for volume %q : %w", v.spec.Name(), err)
	}
	return nil
}

// claimToExpand reads the claim of a volume, live.
func (k *kubelet) claimToExpand(ctx context.Context, v *volumeToMount) (*v1.PersistentVolumeClaim, error) {
	ref := v.spec.PersistentVolume.Spec.ClaimRef
	claim, err := k.env.Client().CoreV1().PersistentVolumeClaims(ref.Namespace).Get(ctx, ref.Name, metav1.GetOptions{})
	if err != nil {
		return nil, fmt.Errorf("mountVolume.NodeExpandVolume get PVC failed : %w", err)
	}
	return claim, nil
}

// expandVolumeDuringMount has a volume grow that was made larger while no pod had it, and
// notes the size of the others.
//
// Upstream: operation_generator.go expandVolumeDuringMount, v1.36.
func (k *kubelet) expandVolumeDuringMount(ctx context.Context, v *volumeToMount, options volume.NodeResizeOptions) error {
	if expander(v) == nil {
		return nil
	}
	k.syncRegularly()
	claim, err := k.claimToExpand(ctx, v)
	if err != nil {
		return err
	}
	options.OldSize, options.NewSize = claim.Status.Capacity[v1.ResourceStorage], v.spec.PersistentVolume.Spec.Capacity[v1.ResourceStorage]
	if options.OldSize.Cmp(options.NewSize) >= 0 {
		k.sizes.initialize(v.volume, options.OldSize)
		return nil
	}
	done, size, err := k.nodeExpandVolume(ctx, v, claim, options)
	if !done {
		size = options.OldSize
	}
	k.sizes.initialize(v.volume, size)
	return err
}

// nodeExpandVolume has the plugin expand a volume, unless it is for reading only. It says
// whether that is done, and the volume's size then.
//
// Upstream: operation_generator.go nodeExpandVolume, v1.36.
func (k *kubelet) nodeExpandVolume(ctx context.Context, v *volumeToMount, claim *v1.PersistentVolumeClaim, options volume.NodeResizeOptions) (bool, resource.Quantity, error) {
	if v.spec.ReadOnly {
		message := fmt.Sprintf("MountVolume.NodeExpandVolume failed for volume %q requested read-only file system", v.spec.Name())
		k.recorder.Event(v.about, v1.EventTypeWarning, fileSystemResizeFailed, message)
		k.recorder.Event(claim, v1.EventTypeWarning, fileSystemResizeFailed, message)
		return true, claim.Status.Capacity[v1.ResourceStorage], nil
	}
	options.VolumeSpec = v.spec
	e := nodeExpander{kubelet: k, volume: v, claim: claim, options: options, status: claim.Status.AllocatedResourceStatuses[v1.ResourceStorage]}
	if e.status == "" && claim.Status.AllocatedResources == nil {
		return e.expandForOlderResizer(ctx)
	}
	e.options.NewSize = claim.Status.AllocatedResources[v1.ResourceStorage]
	return e.expandOnPlugin(ctx)
}

// nodeExpander expands one volume once.
//
// Upstream: node_expander.go NodeExpander, v1.36.
type nodeExpander struct {
	*kubelet

	volume  *volumeToMount
	claim   *v1.PersistentVolumeClaim
	options volume.NodeResizeOptions
	// status is how far the claim says that it is.
	status v1.ClaimResourceStatus
	// infeasible has a failure be the end of it, so that the controller goes on with what the
	// user has asked for since.
	infeasible bool
	// updated says that the claim has the new size already.
	updated bool
}

// runPreCheck says whether the volume may be expanded on this node now. A volume that
// several nodes can write to is expanded on each, also after the first has written to the
// claim.
//
// Upstream: node_expander.go runPreCheck, v1.36.
func (e *nodeExpander) runPreCheck() bool {
	requested, capacity := e.claim.Spec.Resources.Requests[v1.ResourceStorage], e.claim.Status.Capacity[v1.ResourceStorage]
	e.infeasible = requested.Cmp(e.options.NewSize) != 0 && e.sizes.failed[e.volume.volume]
	e.updated = capacity.Cmp(e.options.NewSize) >= 0 && e.status == ""
	if e.updated && slices.Contains(e.claim.Spec.AccessModes, v1.ReadWriteMany) && !metav1.HasAnnotation(e.claim.ObjectMeta, volume.NodeExpansionNotRequired) {
		return true
	}
	return e.status == v1.PersistentVolumeClaimNodeResizePending || e.status == v1.PersistentVolumeClaimNodeResizeInProgress
}

// expandOnPlugin expands the volume and writes to the claim how that goes.
//
// Upstream: node_expander.go expandOnPlugin, v1.36.
func (e *nodeExpander) expandOnPlugin(ctx context.Context) (bool, resource.Quantity, error) {
	switch {
	case e.runPreCheck():
	case e.updated:
		return true, e.options.NewSize, nil // the controller did all of it
	default:
		return false, e.options.OldSize, nil
	}
	if !e.updated {
		if err := e.patch(ctx, true, func(claim *v1.PersistentVolumeClaim) {
			volume.SetResizeStatus(claim, v1.PersistentVolumeClaimNodeResizeInProgress)
		}); err != nil {
			return false, e.options.OldSize, err
		}
	}
	if _, err := expander(e.volume).NodeExpand(ctx, e.options); err != nil {
		return e.failed(ctx, err)
	}
	e.succeeded()
	if e.updated {
		return true, e.options.NewSize, nil
	}
	if err := e.finish(ctx); err != nil {
		return true, e.options.NewSize, fmt.Errorf("mountVolume.NodeExpandVolume update pvc status failed: %w", err)
	}
	return true, e.options.NewSize, nil
}

// failed writes to the claim what has failed for good.
func (e *nodeExpander) failed(ctx context.Context, failure error) (bool, resource.Quantity, error) {
	name := e.volume.volume
	if _, ok := errors.AsType[*volume.NotSupportedError](failure); ok && e.updated {
		return true, e.options.NewSize, nil
	}
	if volume.IsFinal(failure) {
		e.sizes.failed[name] = true
		e.markFailed(ctx, failure)
	}
	if _, ok := errors.AsType[*volume.InUseError](failure); ok {
		e.sizes.inUse[name] = true
		return false, e.options.OldSize, nil
	}
	return false, e.options.OldSize, failure
}

// markFailed writes a condition. What goes wrong with that is left.
//
// Upstream: resize_util.go MarkNodeExpansionInfeasible and MarkNodeExpansionFailedCondition,
// v1.36.
func (e *nodeExpander) markFailed(ctx context.Context, failure error) {
	_, never := errors.AsType[*volume.InfeasibleError](failure)
	err := e.patch(ctx, false, func(claim *v1.PersistentVolumeClaim) {
		if never || e.infeasible {
			volume.SetResizeStatus(claim, v1.PersistentVolumeClaimNodeResizeInfeasible)
		}
		claim.Status.Conditions = volume.MergeResizeConditions(claim.Status.Conditions, []v1.PersistentVolumeClaimCondition{{
			Type: v1.PersistentVolumeClaimNodeResizeError, Status: v1.ConditionTrue, LastTransitionTime: e.now(),
			Message: fmt.Sprintf("failed to expand pvc with %v", failure),
		}}, true)
	})
	if err != nil {
		e.note(e.volume.ref(), fmt.Sprintf("MountVolume.NodeExpandVolume failed to mark node expansion as failed: %v", err))
	}
}

func (e *nodeExpander) succeeded() {
	message := fmt.Sprintf("MountVolume.NodeExpandVolume succeeded for volume %q %s", e.volume.spec.Name(), e.node.Name)
	e.recorder.Event(e.volume.about, v1.EventTypeNormal, fileSystemResizeSuccess, message)
	e.recorder.Event(e.claim, v1.EventTypeNormal, fileSystemResizeSuccess, message)
}

// finish writes to the claim that it has the new size.
//
// Upstream: resize_util.go MarkNodeExpansionFinishedWithRecovery, v1.36.
func (e *nodeExpander) finish(ctx context.Context) error {
	return e.patch(ctx, true, func(claim *v1.PersistentVolumeClaim) {
		claim.Status.Capacity[v1.ResourceStorage] = e.options.NewSize
		volume.SetResizeStatus(claim, "")
		claim.Status.Conditions = volume.MergeResizeConditions(claim.Status.Conditions, nil, false)
	})
}

func (e *nodeExpander) patch(ctx context.Context, sameVersion bool, change func(*v1.PersistentVolumeClaim)) error {
	claim := e.claim.DeepCopy()
	change(claim)
	patched, err := volume.PatchClaimStatus(ctx, e.env.Client(), e.claim, claim, sameVersion)
	e.claim = patched
	return err
}

// expandForOlderResizer expands a volume of a controller that does not write to the claim how
// far it is.
//
// Upstream: operation_generator.go legacyCallNodeExpandOnPlugin, v1.36.
func (e *nodeExpander) expandForOlderResizer(ctx context.Context) (bool, resource.Quantity, error) {
	if _, err := expander(e.volume).NodeExpand(ctx, e.options); err != nil {
		_, inUse := errors.AsType[*volume.InUseError](err)
		if _, not := errors.AsType[*volume.NotSupportedError](err); !inUse && !not {
			return false, e.options.NewSize, err
		}
		e.sizes.inUse[e.volume.volume] = inUse
		return true, e.options.NewSize, nil
	}
	e.succeeded()
	if capacity := e.claim.Status.Capacity[v1.ResourceStorage]; capacity.Cmp(e.options.NewSize) >= 0 {
		return true, e.options.NewSize, nil
	}
	if err := e.finish(ctx); err != nil {
		return false, e.options.NewSize, fmt.Errorf("mountVolume.NodeExpandVolume update PVC status failed : %w", err)
	}
	return true, e.options.NewSize, nil
}
