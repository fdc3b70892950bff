package csi

import (
	"context"
	"errors"
	"fmt"

	"google.golang.org/grpc/codes"
	v1 "k8s.io/api/core/v1"

	"github.com/storagesim/storagesim/csi/socket"
	"github.com/storagesim/storagesim/volume"
)

// RequiresFSResize returns true: every driver is asked, and one that has nothing to do says so.
//
// Upstream: pkg/volume/csi/expander.go RequiresFSResize, v1.37.
func (plugin *csiPlugin) RequiresFSResize() bool { return true }

// NodeExpand has the driver grow a volume on the node.
//
// Upstream: expander.go NodeExpand and nodeExpandWithClient, v1.37.
func (plugin *csiPlugin) NodeExpand(ctx context.Context, options volume.NodeResizeOptions) (bool, error) {
	source, err := getPVSourceFromSpec(options.VolumeSpec)
	if err != nil {
		return false, failf("Expander.NodeExpand failed to get CSI persistent source: %w", err)
	}
	c, err := plugin.client(source.Driver)
	if err != nil {
		return false, volume.Transientf("%s", err.Error())
	}
	ctx = plugin.operation(ctx)
	expands, err := c.supports(ctx, socket.ExpandVolume)
	switch {
	case err != nil:
		return false, fmt.Errorf("Expander.NodeExpand failed to check if node supports expansion : %w", err)
	case !expands:
		return false, &volume.NotSupportedError{Err: fmt.Errorf("NodeExpand is not supported by the CSI driver %s", source.Driver)}
	}
	request := &socket.ExpandRequest{
		VolumeId: source.VolumeHandle, VolumePath: options.DeviceMountPath, StagingTargetPath: options.DeviceStagePath, RequiredBytes: options.NewSize.Value(),
	}
	if ref := source.NodeExpandSecretRef; ref != nil {
		if request.Secrets, err = plugin.getCredentials(ctx, ref); err != nil {
			return false, fmt.Errorf("expander.NodeExpand failed to get NodeExpandSecretRef %s/%s: %w", ref.Namespace, ref.Name, err)
		}
	}
	pv := options.VolumeSpec.PersistentVolume
	want := capability{fsType: source.FSType, accessMode: v1.ReadWriteOnce, mountFlags: pv.Spec.MountOptions}
	if len(pv.Spec.AccessModes) > 0 {
		want.accessMode = pv.Spec.AccessModes[0]
	}
	if mode := pv.Spec.VolumeMode; mode != nil && *mode == v1.PersistentVolumeBlock {
		want.fsType, request.VolumePath = fsTypeBlockName, options.DevicePath
	}
	if err := c.expand(ctx, request, want); err != nil {
		return false, expandFailure(err)
	}
	return true, nil
}

// expandFailure tells apart what cannot be now, what can never be, and the rest.
//
// Upstream: expander.go inUseError and isInfeasibleError, v1.37.
func expandFailure(err error) error {
	failure, _ := errors.AsType[socket.Failure](err)
	if failure == nil {
		return fmt.Errorf("Expander.NodeExpand failed to expand the volume : %w", err)
	}
	switch failure.Code() {
	case codes.FailedPrecondition:
		return fmt.Errorf("Expander.NodeExpand failed to expand the volume : %w", &volume.InUseError{Err: err})
	case codes.InvalidArgument, codes.OutOfRange, codes.NotFound:
		return &volume.InfeasibleError{Err: fmt.Errorf("Expander.NodeExpand failed to expand the volume %w", err)}
	}
	return fmt.Errorf("Expander.NodeExpand failed to expand the volume : %w", err)
}

// expand has the driver grow a volume.
//
// Upstream: csi_client.go NodeExpandVolume, v1.37.
func (c *client) expand(ctx context.Context, request *socket.ExpandRequest, want capability) (err error) {
	switch {
	case request.VolumeId == "":
		return errors.New("missing volume id")
	case request.VolumePath == "":
		return errors.New("missing volume path")
	case request.RequiredBytes < 0:
		return errors.New("size can not be less than 0")
	}
	if request.VolumeCapability, err = c.message(ctx, want); err != nil {
		return err
	}
	return uncertainUnlessFinal(c.Expand(ctx, *request))
}
