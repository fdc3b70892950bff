package csi

import (
	"context"
	"errors"
	"fmt"
	"time"

	csipb "github.com/container-storage-interface/spec/lib/go/csi"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	v1 "k8s.io/api/core/v1"

	"github.com/storagesim/storagesim/control"
	"github.com/storagesim/storagesim/volume"
)

// csiTimeout is how long an operation may take, all its calls together.
//
// Upstream: csi_plugin.go csiTimeout, v1.36.
const csiTimeout = 2 * time.Minute

// fsTypeBlockName stands for a file system type where there is none, since the volume is a
// raw device.
//
// Upstream: csi_client.go fsTypeBlockName, v1.36.
const fsTypeBlockName = "block"

// client calls the node server of one driver.
//
// Upstream: csi_client.go csiDriverClient, v1.36.
type client struct{ csipb.NodeClient }

// client is that of a driver that is registered.
//
// Upstream: csi_client.go newCsiDriverClient, v1.36.
func (plugin *csiPlugin) client(driver string) (*client, error) {
	if driver == "" {
		return nil, errors.New("driver name is empty")
	}
	d, ok := plugin.drivers[driver]
	if !ok {
		return nil, fmt.Errorf("driver name %s not found in the list of registered CSI drivers", driver)
	}
	return &client{csipb.NewNodeClient(plugin.node.Dial(plugin.env, d.endpoint))}, nil
}

// operation is the time that an operation has.
//
// Upstream: csi_util.go createCSIOperationContext, v1.36.
func (plugin *csiPlugin) operation(ctx context.Context) context.Context {
	return control.WithTimeout(ctx, plugin.host, csiTimeout)
}

// supports asks the driver whether it has a capability.
//
// Upstream: csi_client.go nodeSupportsCapability, v1.36.
func (c *client) supports(ctx context.Context, capability csipb.NodeServiceCapability_RPC_Type) (bool, error) {
	answer, err := c.NodeGetCapabilities(ctx, &csipb.NodeGetCapabilitiesRequest{})
	if err != nil {
		return false, uncertainUnlessFinal(err)
	}
	for _, has := range answer.GetCapabilities() {
		if has.GetRpc() != nil && has.GetRpc().GetType() == capability {
			return true, nil
		}
	}
	return false, nil
}

// uncertainUnlessFinal tells errors of the driver after which nothing goes on from others.
//
// Upstream: csi_client.go isFinalError, v1.36, and its callers.
func uncertainUnlessFinal(err error) error {
	if err == nil || isFinalError(err) {
		return err
	}
	return volume.Uncertainf("%s", err.Error())
}

// isFinalError says whether nothing goes on any more after an error.
//
// Upstream: csi_client.go isFinalError, v1.36.
func isFinalError(err error) bool {
	st, ok := status.FromError(err)
	if !ok {
		return false // it never came to a call, and what an earlier one did is not known
	}
	switch st.Code() {
	case codes.Canceled, codes.DeadlineExceeded, codes.Unavailable, codes.ResourceExhausted, codes.Aborted:
		return false
	}
	return true
}

// capability is what a volume is to be for a pod, as the driver is told.
type capability struct {
	fsType     string // fsTypeBlockName for a raw device
	accessMode v1.PersistentVolumeAccessMode
	mountFlags []string
	fsGroup    *int64 // for a driver that applies it
}

// message makes the CSI message. The access mode depends on the driver, which is asked.
//
// Upstream: csi_client.go NodeStageVolume and NodePublishVolume, v1.36.
func (c *client) message(ctx context.Context, want capability) (*csipb.VolumeCapability, error) {
	single, err := c.supports(ctx, csipb.NodeServiceCapability_RPC_SINGLE_NODE_MULTI_WRITER)
	if err != nil {
		return nil, err
	}
	message := &csipb.VolumeCapability{AccessMode: &csipb.VolumeCapability_AccessMode{Mode: asCSIAccessMode(want.accessMode, single)}}
	if want.fsType == fsTypeBlockName {
		message.AccessType = &csipb.VolumeCapability_Block{Block: &csipb.VolumeCapability_BlockVolume{}}
		return message, nil
	}
	mount := &csipb.VolumeCapability_MountVolume{FsType: want.fsType, MountFlags: want.mountFlags}
	if want.fsGroup != nil {
		mount.VolumeMountGroup = fmt.Sprint(*want.fsGroup)
	}
	message.AccessType = &csipb.VolumeCapability_Mount{Mount: mount}
	return message, nil
}

// asCSIAccessMode is the CSI name of an access mode, for a driver that tells one writer on
// a node from many, or does not.
//
// Upstream: csi_client.go asCSIAccessModeV1 and asSingleNodeMultiWriterCapableCSIAccessModeV1, v1.36.
func asCSIAccessMode(mode v1.PersistentVolumeAccessMode, singleNodeMultiWriter bool) csipb.VolumeCapability_AccessMode_Mode {
	switch {
	case mode == v1.ReadOnlyMany:
		return csipb.VolumeCapability_AccessMode_MULTI_NODE_READER_ONLY
	case mode == v1.ReadWriteMany:
		return csipb.VolumeCapability_AccessMode_MULTI_NODE_MULTI_WRITER
	case mode != v1.ReadWriteOnce && mode != v1.ReadWriteOncePod:
		return csipb.VolumeCapability_AccessMode_UNKNOWN
	case !singleNodeMultiWriter:
		return csipb.VolumeCapability_AccessMode_SINGLE_NODE_WRITER
	case mode == v1.ReadWriteOncePod:
		return csipb.VolumeCapability_AccessMode_SINGLE_NODE_SINGLE_WRITER
	}
	return csipb.VolumeCapability_AccessMode_SINGLE_NODE_MULTI_WRITER
}

// stage has the driver make a volume ready for the node.
//
// Upstream: csi_client.go NodeStageVolume, v1.36.
func (c *client) stage(ctx context.Context, request *csipb.NodeStageVolumeRequest, want capability) (err error) {
	switch {
	case request.VolumeId == "":
		return errors.New("missing volume id")
	case request.StagingTargetPath == "":
		return errors.New("missing staging target path")
	}
	if request.VolumeCapability, err = c.message(ctx, want); err != nil {
		return err
	}
	_, err = c.NodeStageVolume(ctx, request)
	return uncertainUnlessFinal(err)
}

// publish has the driver give a volume to a pod.
//
// Upstream: csi_client.go NodePublishVolume, v1.36.
func (c *client) publish(ctx context.Context, request *csipb.NodePublishVolumeRequest, want capability) (err error) {
	switch {
	case request.VolumeId == "":
		return errors.New("missing volume id")
	case request.TargetPath == "":
		return errors.New("missing target path")
	}
	if request.VolumeCapability, err = c.message(ctx, want); err != nil {
		return err
	}
	_, err = c.NodePublishVolume(ctx, request)
	return uncertainUnlessFinal(err)
}

// unpublish has the driver take a volume away from a pod.
//
// Upstream: csi_client.go NodeUnpublishVolume, v1.36.
func (c *client) unpublish(ctx context.Context, handle, target string) error {
	if handle == "" {
		return errors.New("missing volume id")
	}
	_, err := c.NodeUnpublishVolume(ctx, &csipb.NodeUnpublishVolumeRequest{VolumeId: handle, TargetPath: target})
	return err
}

// unstage has the driver take a volume off the node.
//
// Upstream: csi_client.go NodeUnstageVolume, v1.36.
func (c *client) unstage(ctx context.Context, handle, staging string) error {
	if handle == "" {
		return errors.New("missing volume id")
	}
	_, err := c.NodeUnstageVolume(ctx, &csipb.NodeUnstageVolumeRequest{VolumeId: handle, StagingTargetPath: staging})
	return err
}
