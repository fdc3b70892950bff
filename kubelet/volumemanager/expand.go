package volumemanager

import (
	"context"
	"fmt"
	"path"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/storagesim/storagesim/volume"
)

// Reasons of events.
//
// Upstream: pkg/kubelet/events/event.go, v1.37.
const (
	volumeResizeFailed      = "VolumeResizeFailed"
	fileSystemResizeFailed  = "FileSystemResizeFailed"
	fileSystemResizeSuccess = "FileSystemResizeSuccessful"
)

// expandOperations expands volumes on the node after the resizer has expanded them at the
// storage.
type expandOperations struct {
	*given
	*states

	populator *populator
}

// expandInUseVolume expands a mounted volume. A failure is an event of the pod.
//
// Upstream: operation_generator.go GenerateExpandInUseVolumeFunc, v1.37.
func (x *expandOperations) expandInUseVolume(ctx context.Context, key podVolume) error {
	v := x.desired.get(key)
	if v == nil || !x.actual.isUpToDate(key) || !x.sizes.needsExpansion(key.volume) {
		return nil
	}
	options, err := x.resizeOptions(v)
	if err == nil {
		options.OldSize, options.NewSize = x.sizes.actual[v.volume], x.sizes.desired[v.volume]
		err = x.doOnlineExpansion(ctx, v, options)
	}
	if err != nil {
		x.recorder.Event(v.about, v1.EventTypeWarning, volumeResizeFailed, err.Error())
	}
	return err
}

// resizeOptions returns the paths of a mounted volume.
func (x *expandOperations) resizeOptions(v *volumeToMount) (volume.NodeResizeOptions, error) {
	var options volume.NodeResizeOptions
	if v.block {
		return x.deviceResizeOptions(v, options)
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

// stagePath returns the path at which the volume is mounted for the node, "" if it is not.
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

// deviceResizeOptions returns the paths of a raw device. The pod's link leads to the device; its text is relative.
func (x *expandOperations) deviceResizeOptions(v *volumeToMount, options volume.NodeResizeOptions) (volume.NodeResizeOptions, error) {
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
	link := x.actual.volumes.get(v.podVolume).path
	text, err := x.fs.Readlink(link)
	options.DevicePath = path.Join(path.Dir(link), text)
	return options, err
}

// doOnlineExpansion expands a volume and records its new size. Where the size could not be written to the claim, the volume is expanded again.
//
// Upstream: operation_generator.go doOnlineExpansion, v1.37.
func (x *expandOperations) doOnlineExpansion(ctx context.Context, v *volumeToMount, options volume.NodeResizeOptions) error {
	claim, err := x.claimToExpand(ctx, v)
	if err == nil {
		var size resource.Quantity
		if size, err = x.nodeExpandVolume(ctx, v, claim, options); err == nil {
			x.sizes.actual[v.volume] = size
		}
	}
	if err != nil {
		return fmt.Errorf("NodeExpandVolume.NodeExpandVolume failed for volume %q : %w", v.spec.Name(), err)
	}
	return nil
}

// claimToExpand reads the claim of a volume from the API server.
func (x *expandOperations) claimToExpand(ctx context.Context, v *volumeToMount) (*v1.PersistentVolumeClaim, error) {
	ref := v.spec.PersistentVolume.Spec.ClaimRef
	claim, err := x.env.Client().CoreV1().PersistentVolumeClaims(ref.Namespace).Get(ctx, ref.Name, metav1.GetOptions{})
	if err != nil {
		return nil, fmt.Errorf("mountVolume.NodeExpandVolume get PVC failed : %w", err)
	}
	return claim, nil
}

// expandVolumeDuringMount expands a volume that was made larger at the storage while no pod had
// it, and records the size of any other.
//
// Upstream: operation_generator.go expandVolumeDuringMount, v1.37.
func (x *expandOperations) expandVolumeDuringMount(ctx context.Context, v *volumeToMount, options volume.NodeResizeOptions) error {
	if expander(v) == nil {
		return nil
	}
	x.populator.syncRegularly(v.pod)
	claim, err := x.claimToExpand(ctx, v)
	if err != nil {
		return err
	}
	options.OldSize, options.NewSize = claim.Status.Capacity[v1.ResourceStorage], v.spec.PersistentVolume.Spec.Capacity[v1.ResourceStorage]
	if options.OldSize.Cmp(options.NewSize) >= 0 {
		x.sizes.initialize(v.volume, options.OldSize)
		return nil
	}
	size, err := x.nodeExpandVolume(ctx, v, claim, options)
	if err != nil {
		size = options.OldSize
	}
	x.sizes.initialize(v.volume, size)
	return err
}

// nodeExpandVolume expands a volume by its plugin, unless it is read-only. It returns the volume's size then.
//
// Upstream: operation_generator.go nodeExpandVolume, v1.37.
func (x *expandOperations) nodeExpandVolume(ctx context.Context, v *volumeToMount, claim *v1.PersistentVolumeClaim,
	options volume.NodeResizeOptions) (resource.Quantity, error) {
	if v.spec.ReadOnly {
		message := fmt.Sprintf("MountVolume.NodeExpandVolume failed for volume %q requested read-only file system", v.spec.Name())
		x.recorder.Event(v.about, v1.EventTypeWarning, fileSystemResizeFailed, message)
		x.recorder.Event(claim, v1.EventTypeWarning, fileSystemResizeFailed, message)
		return claim.Status.Capacity[v1.ResourceStorage], nil
	}
	options.VolumeSpec = v.spec
	e := nodeExpander{
		given: x.given, sizes: x.sizes, volume: v, claim: claim, options: options, status: claim.Status.AllocatedResourceStatuses[v1.ResourceStorage],
	}
	if e.status == "" && claim.Status.AllocatedResources == nil {
		return e.expandForOlderResizer(ctx)
	}
	e.options.NewSize = claim.Status.AllocatedResources[v1.ResourceStorage]
	return e.expandOnPlugin(ctx)
}
