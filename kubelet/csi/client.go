package csi

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"google.golang.org/grpc/codes"
	v1 "k8s.io/api/core/v1"

	"github.com/storagesim/storagesim/control"
	"github.com/storagesim/storagesim/csi/socket"
	"github.com/storagesim/storagesim/volume"
)

// csiTimeout is the time that an operation may take, all its calls together.
//
// Upstream: csi_plugin.go csiTimeout, v1.37.
const csiTimeout = 2 * time.Minute

// fsTypeBlockName stands for a file system type where there is none, since the volume is a
// raw device.
//
// Upstream: csi_plugin.go fsTypeBlockName, v1.37.
const fsTypeBlockName = "block"

// client calls the node server of one driver.
//
// Upstream: csi_client.go csiDriverClient, v1.37.
type client struct{ socket.Node }

// client returns the client of a registered driver.
//
// Upstream: csi_client.go newCsiDriverClient, v1.37.
func (plugin *csiPlugin) client(driver string) (*client, error) {
	if driver == "" {
		return nil, errors.New("driver name is empty")
	}
	d, ok := plugin.drivers[driver]
	if !ok {
		return nil, fmt.Errorf("driver name %s not found in the list of registered CSI drivers", driver)
	}
	return &client{plugin.node.Transport().Node(plugin.env, socket.At(plugin.node.Machine, d.endpoint))}, nil
}

// operation returns the time that an operation has.
//
// Upstream: csi_util.go createCSIOperationContext, v1.37.
func (plugin *csiPlugin) operation(ctx context.Context) context.Context {
	return control.WithTimeout(ctx, plugin.host, csiTimeout)
}

// supports asks the driver whether it has a capability. If it does not answer, the operation fails
// for good, as upstream: what an earlier attempt has mounted is forgotten.
//
// Upstream: csi_client.go nodeSupportsCapability, v1.37.
func (c *client) supports(ctx context.Context, capability string) (bool, error) {
	has, err := c.Capabilities(ctx)
	if err != nil {
		return false, volume.Unansweredf("%s", err.Error())
	}
	return slices.Contains(has, capability), nil
}

// uncertainUnlessFinal tells errors of the driver after which nothing goes on from others.
//
// Upstream: csi_client.go isFinalError, v1.37, and its callers.
func uncertainUnlessFinal(err error) error {
	if err == nil || isFinalError(err) {
		return err
	}
	return volume.Uncertainf("%s", err.Error())
}

// isFinalError reports whether nothing goes on any more after an error.
//
// Upstream: csi_client.go isFinalError, v1.37.
func isFinalError(err error) bool {
	failure, ok := errors.AsType[socket.Failure](err)
	if !ok {
		return false // it never came to a call, and what an earlier one did is not known
	}
	switch failure.Code() {
	case codes.Canceled, codes.DeadlineExceeded, codes.Unavailable, codes.ResourceExhausted, codes.Aborted:
		return false
	}
	return true
}

// capability describes to the driver how a pod uses a volume.
type capability struct {
	fsType     string // fsTypeBlockName for a raw device
	accessMode v1.PersistentVolumeAccessMode
	mountFlags []string
	fsGroup    *int64 // for a driver that applies it
}

// message says it in the words of CSI. The access mode depends on the driver, which is asked.
//
// Upstream: csi_client.go NodeStageVolume and NodePublishVolume, v1.37.
func (c *client) message(ctx context.Context, want capability) (socket.Capability, error) {
	single, err := c.supports(ctx, socket.SingleNodeMultiWriter)
	if err != nil {
		return socket.Capability{}, err
	}
	message := socket.Capability{AccessMode: asCSIAccessMode(want.accessMode, single)}
	if want.fsType == fsTypeBlockName {
		message.Block = true
		return message, nil
	}
	message.FSType, message.MountFlags = want.fsType, want.mountFlags
	if want.fsGroup != nil {
		message.VolumeMountGroup = fmt.Sprint(*want.fsGroup)
	}
	return message, nil
}

// asCSIAccessMode returns the CSI name of an access mode, for a driver that tells one writer on
// a node from many, or does not.
//
// Upstream: csi_client.go asCSIAccessModeV1 and asSingleNodeMultiWriterCapableCSIAccessModeV1, v1.37.
func asCSIAccessMode(mode v1.PersistentVolumeAccessMode, singleNodeMultiWriter bool) string {
	switch {
	case mode == v1.ReadOnlyMany:
		return "MULTI_NODE_READER_ONLY"
	case mode == v1.ReadWriteMany:
		return "MULTI_NODE_MULTI_WRITER"
	case mode != v1.ReadWriteOnce && mode != v1.ReadWriteOncePod:
		return "UNKNOWN"
	case !singleNodeMultiWriter:
		return "SINGLE_NODE_WRITER"
	case mode == v1.ReadWriteOncePod:
		return "SINGLE_NODE_SINGLE_WRITER"
	}
	return "SINGLE_NODE_MULTI_WRITER"
}

// stage asks the driver to make a volume ready for the node.
//
// Upstream: csi_client.go NodeStageVolume, v1.37.
func (c *client) stage(ctx context.Context, request *socket.StageRequest, want capability) (err error) {
	switch {
	case request.VolumeId == "":
		return errors.New("missing volume id")
	case request.StagingTargetPath == "":
		return errors.New("missing staging target path")
	}
	if request.VolumeCapability, err = c.message(ctx, want); err != nil {
		return err
	}
	return uncertainUnlessFinal(c.Stage(ctx, *request))
}

// publish calls NodePublishVolume, by which the driver gives a volume to a pod.
//
// Upstream: csi_client.go NodePublishVolume, v1.37.
func (c *client) publish(ctx context.Context, request *socket.PublishRequest, want capability) (err error) {
	switch {
	case request.VolumeId == "":
		return errors.New("missing volume id")
	case request.TargetPath == "":
		return errors.New("missing target path")
	}
	if request.VolumeCapability, err = c.message(ctx, want); err != nil {
		return err
	}
	return uncertainUnlessFinal(c.Publish(ctx, *request))
}

// unpublish asks the driver to remove a volume from a pod.
//
// Upstream: csi_client.go NodeUnpublishVolume, v1.37.
func (c *client) unpublish(ctx context.Context, handle, target string) error {
	if handle == "" {
		return errors.New("missing volume id")
	}
	return c.Unpublish(ctx, handle, target)
}

// unstage asks the driver to remove a volume from the node.
//
// Upstream: csi_client.go NodeUnstageVolume, v1.37.
func (c *client) unstage(ctx context.Context, handle, staging string) error {
	if handle == "" {
		return errors.New("missing volume id")
	}
	return c.Unstage(ctx, handle, staging)
}
