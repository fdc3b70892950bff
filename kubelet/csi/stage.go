package csi

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"

	v1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/storagesim/storagesim/binding"
	"github.com/storagesim/storagesim/csi/socket"
	"github.com/storagesim/storagesim/volume"
)

// WaitForAttach looks at the volume's VolumeAttachment.
//
// Upstream: csi_attacher.go WaitForAttach, v1.37.
func (plugin *csiPlugin) WaitForAttach(ctx context.Context, spec *volume.Spec) error {
	source, err := getPVSourceFromSpec(spec)
	if err != nil {
		return failf("attacher.WaitForAttach failed to extract CSI volume source: %w", err)
	}
	name := binding.AttachmentName(source.VolumeHandle, source.Driver, string(plugin.host.GetNodeName()))
	attachment, err := plugin.getAttachment(ctx, name)
	if err != nil {
		return fmt.Errorf("volume %v has GET error for volume attachment %v: %w", source.VolumeHandle, name, err)
	}
	if err := verifyAttachmentStatus(attachment, source.VolumeHandle); err != nil {
		return err
	}
	if !attachment.Status.Attached {
		return fmt.Errorf("volume %v is not attached for volume attachment %v", source.VolumeHandle, name)
	}
	return nil
}

// verifyAttachmentStatus refuses an attachment that goes or that failed.
//
// Upstream: csi_attacher.go verifyAttachmentStatus, v1.37.
func verifyAttachmentStatus(attachment *storagev1.VolumeAttachment, handle string) error {
	switch {
	case attachment.DeletionTimestamp != nil:
		return errors.New("volume attachment is being deleted")
	case attachment.Status.Attached:
		return nil
	case attachment.Status.AttachError != nil:
		return errors.New(attachment.Status.AttachError.Message)
	}
	return nil
}

func (plugin *csiPlugin) getAttachment(ctx context.Context, name string) (*storagev1.VolumeAttachment, error) {
	return plugin.host.GetClient().StorageV1().VolumeAttachments().Get(ctx, name, metav1.GetOptions{})
}

// getPublishContext returns what the driver's controller said when it attached the volume.
//
// Upstream: csi_plugin.go getPublishContext, v1.37.
func (plugin *csiPlugin) getPublishContext(ctx context.Context, handle, driver string) (map[string]string, error) {
	if plugin.skipAttach(driver) {
		return nil, nil
	}
	attachment, err := plugin.getAttachment(ctx, binding.AttachmentName(handle, driver, string(plugin.host.GetNodeName())))
	if err != nil {
		return nil, err
	}
	return attachment.Status.AttachmentMetadata, nil
}

// getCredentials reads a secret for the driver.
//
// Upstream: csi_util.go getCredentialsFromSecret, v1.37.
func (plugin *csiPlugin) getCredentials(ctx context.Context, ref *v1.SecretReference) (map[string]string, error) {
	secret, err := plugin.host.GetClient().CoreV1().Secrets(ref.Namespace).Get(ctx, ref.Name, metav1.GetOptions{})
	if err != nil {
		return nil, failf("failed to find the secret %s in the namespace %s with error: %w", ref.Name, ref.Namespace, err)
	}
	credentials := map[string]string{}
	for key, value := range secret.Data {
		credentials[key] = string(value)
	}
	return credentials, nil
}

// stager stages and unstages volumes.
//
// Upstream: csi_attacher.go csiAttacher, v1.37.
type stager struct{ plugin *csiPlugin }

// GetDeviceMountPath returns the path at which the volume is staged.
func (s *stager) GetDeviceMountPath(spec *volume.Spec) (string, error) {
	where, err := s.plugin.makeDeviceMountPath(spec)
	if err != nil {
		return "", failf("attacher.GetDeviceMountPath failed to make device mount path: %w", err)
	}
	return where, nil
}

// MountDevice asks the driver to stage the volume, if the driver stages volumes (STAGE_UNSTAGE_VOLUME). After a final error it
// removes the directory and the data file that it made.
//
// Upstream: csi_attacher.go MountDevice, v1.37.
func (s *stager) MountDevice(ctx context.Context, spec *volume.Spec, _, where string, args volume.DeviceMounterArgs) error {
	plugin := s.plugin
	source, err := getPVSourceFromSpec(spec)
	if err != nil {
		return failf("attacher.MountDevice failed to get CSIPersistentVolumeSource: %w", err)
	}
	c, err := plugin.client(source.Driver)
	if err != nil {
		return transientf("attacher.MountDevice failed to create newCsiDriverClient: %v", err)
	}
	ctx = plugin.operation(ctx)
	stages, err := c.supports(ctx, socket.StageUnstageVolume)
	if err != nil {
		return err
	}
	request := &socket.StageRequest{VolumeId: source.VolumeHandle, StagingTargetPath: where, VolumeContext: source.VolumeAttributes}
	if request.PublishContext, err = plugin.getPublishContext(ctx, source.VolumeHandle, source.Driver); err != nil {
		return volume.Transientf("%s", err.Error())
	}
	if ref := source.NodeStageSecretRef; ref != nil && stages {
		if request.Secrets, err = plugin.getCredentials(ctx, ref); err != nil {
			return volume.Transientf("fetching NodeStageSecretRef %s/%s failed: %v", ref.Namespace, ref.Name, err)
		}
	}
	want := capability{fsType: source.FSType, accessMode: accessModeOf(spec), mountFlags: spec.PersistentVolume.Spec.MountOptions}
	groups, err := c.supports(ctx, socket.VolumeMountGroup)
	if err != nil {
		return transientf("attacher.MountDevice failed to determine if the node service has VOLUME_MOUNT_GROUP capability: %v", err)
	}
	if groups {
		want.fsGroup = args.FsGroup
	}
	if err := plugin.host.GetFS().MkdirAll(where, 0o750); err != nil {
		return failf("attacher.MountDevice failed to create dir %q:  %w", where, err)
	}
	if !stages {
		return nil
	}
	return s.stage(ctx, c, request, want, volumeData{VolumeHandle: source.VolumeHandle, DriverName: source.Driver})
}

// stage notes what is to be staged, has it staged, and cleans up after a final error.
func (s *stager) stage(ctx context.Context, c *client, request *socket.StageRequest, want capability, data volumeData) error {
	where := request.StagingTargetPath
	err := s.plugin.saveVolumeData(path.Dir(where), data)
	if err != nil {
		err = failf("failed to save volume info data: %w", err)
	} else {
		err = c.stage(ctx, request, want)
	}
	if err != nil && volume.IsFinal(err) {
		s.plugin.cleanUp("attacher.MountDevice", where)
	}
	return err
}

// cleanUp removes a mount's directory after a failure, and notes what it cannot.
func (plugin *csiPlugin) cleanUp(what, where string) {
	if err := plugin.removeMountDir(where); err != nil {
		plugin.note(fmt.Sprintf("%s failed to remove mount dir after error [%s]: %v", what, where, err))
	}
}

// UnmountDevice has the driver unstage what the file beside the directory names.
//
// Upstream: csi_attacher.go UnmountDevice, v1.37.
func (s *stager) UnmountDevice(ctx context.Context, where string) error {
	dir := path.Dir(where)
	data, err := s.plugin.loadVolumeData(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return s.removeUnstaged(where)
	}
	if err != nil {
		return err
	}
	c, err := s.plugin.client(data.DriverName)
	if err != nil {
		return transientf("attacher.UnmountDevice failed to create newCsiDriverClient: %v", err)
	}
	ctx = s.plugin.operation(ctx)
	stages, err := c.supports(ctx, socket.StageUnstageVolume)
	if err != nil {
		return failf("attacher.UnmountDevice failed to check whether STAGE_UNSTAGE_VOLUME set: %w", err)
	}
	if stages {
		if err := c.unstage(ctx, data.VolumeHandle, where); err != nil {
			return failf("attacher.UnmountDevice failed: %w", err)
		}
	}
	if err := s.plugin.removeMountDir(where); err != nil {
		return failf("failed to clean up global mount %s: %w", dir, err)
	}
	return nil
}

// removeUnstaged removes the directory of a volume whose driver has no staging, which has no
// file beside it. Upstream leaves it.
func (s *stager) removeUnstaged(where string) error {
	if _, err := s.plugin.host.GetFS().Lstat(where); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return s.plugin.removeMountDir(where)
}
