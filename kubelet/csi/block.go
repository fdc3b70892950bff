package csi

import (
	"context"
	"errors"
	"io/fs"
	"path"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/storagesim/storagesim/binding"
	"github.com/storagesim/storagesim/csi/socket"
	"github.com/storagesim/storagesim/volume"
)

// device is a raw device as one pod has it. For the node alone the pod is empty.
//
// Upstream: csi_block.go csiBlockMapper, v1.37.
type device struct {
	podVolume
	spec *volume.Spec // nil for what is only taken away
	pod  *v1.Pod
}

var (
	_ volume.CustomBlockVolumeMapper   = (*device)(nil)
	_ volume.CustomBlockVolumeUnmapper = (*device)(nil)
)

// devices is the directory of everything about raw devices.
const devices = "volumeDevices"

// devicesDir returns that directory, or one in it.
func (plugin *csiPlugin) devicesDir(names ...string) string {
	return path.Join(append([]string{plugin.host.GetPluginDir(PluginName), devices}, names...)...)
}

// dataDir has the file that says what device it is.
//
// Upstream: csi_util.go getVolumeDeviceDataDir, v1.37.
func (d *device) dataDir() string { return d.plugin.devicesDir(d.fileName(), "data") }

// GetStagingPath returns the path at which the device is staged.
func (d *device) GetStagingPath() string { return d.plugin.devicesDir("staging", d.specName) }

func (d *device) publishDir() string  { return d.plugin.devicesDir("publish", d.specName) }
func (d *device) publishPath() string { return path.Join(d.publishDir(), string(d.podUID)) }
func (d *device) fileName() string    { return volume.EscapeQualifiedName(d.specName) }

// GetGlobalMapPath returns the directory of the node's links to the device.
func (d *device) GetGlobalMapPath(*volume.Spec) (string, error) {
	return d.plugin.devicesDir(d.fileName(), "dev"), nil
}

// GetPodDeviceMapPath returns the pod's own link.
func (d *device) GetPodDeviceMapPath() (dir, name string) {
	return d.plugin.host.GetPodVolumeDeviceDir(d.podUID, volume.EscapeQualifiedName(PluginName)), d.specName
}

// NewBlockVolumeMapper makes a mapper, and notes on the disk what it is of.
//
// Upstream: csi_plugin.go NewBlockVolumeMapper, v1.37.
func (plugin *csiPlugin) NewBlockVolumeMapper(spec *volume.Spec, pod *v1.Pod) (volume.BlockVolumeMapper, error) {
	source, err := getPVSourceFromSpec(spec)
	if err != nil {
		return nil, err
	}
	d := &device{podVolume{plugin, pod.UID, spec.Name(), source.Driver, source.VolumeHandle}, spec, pod}
	if err := plugin.host.GetFS().MkdirAll(d.dataDir(), 0o750); err != nil {
		return nil, failf("failed to create data dir %s:  %w", d.dataDir(), err)
	}
	node := string(plugin.host.GetNodeName())
	err = plugin.saveVolumeData(d.dataDir(), volumeData{
		SpecVolID: d.specName, VolumeHandle: d.handle, DriverName: d.driver, NodeName: node, AttachmentID: binding.AttachmentName(d.handle, d.driver, node),
	})
	if err != nil {
		plugin.cleanUp("attacher.MountDevice", d.dataDir())
		return nil, failf("csi.NewBlockVolumeMapper failed to save volume info data: %w", err)
	}
	return d, nil
}

// NewBlockVolumeUnmapper reads from the disk what device it is.
//
// Upstream: csi_plugin.go NewBlockVolumeUnmapper, v1.37.
func (plugin *csiPlugin) NewBlockVolumeUnmapper(name string, podUID types.UID) (volume.BlockVolumeUnmapper, error) {
	d := &device{podVolume: podVolume{plugin: plugin, podUID: podUID, specName: name}}
	data, err := plugin.loadVolumeData(d.dataDir())
	if err != nil {
		return nil, failf("unmapper failed to load volume data file [%s]: %w", d.dataDir(), err)
	}
	d.driver, d.handle = data.DriverName, data.VolumeHandle
	return d, nil
}

// ConstructBlockVolumeSpec makes of that file a spec.
//
// Upstream: csi_plugin.go ConstructBlockVolumeSpec, v1.37.
func (plugin *csiPlugin) ConstructBlockVolumeSpec(_ types.UID, name, mapPath string) (*volume.Spec, error) {
	d := &device{podVolume: podVolume{plugin: plugin, specName: name}}
	data, err := plugin.loadVolumeData(d.dataDir())
	if err != nil {
		return nil, failf("plugin.ConstructBlockVolumeSpec failed loading volume data using [%s]: %w", mapPath, err)
	}
	return constructPVSpec(data, v1.PersistentVolumeBlock), nil
}

// SetUpDevice asks the driver to stage the device, if the driver stages volumes.
//
// Upstream: csi_block.go SetUpDevice and stageVolumeForBlock, v1.37.
func (d *device) SetUpDevice(ctx context.Context) (string, error) {
	source, err := getPVSourceFromSpec(d.spec)
	if err != nil {
		return "", failf("blockMapper.SetUpDevice failed to get CSI persistent source: %w", err)
	}
	ctx = d.plugin.operation(ctx)
	published, err := d.plugin.getPublishContext(ctx, source.VolumeHandle, source.Driver)
	if err != nil {
		return "", transientf("blockMapper.SetupDevice failed to get volume attachment: %v", err)
	}
	c, err := d.plugin.client(d.driver)
	if err != nil {
		return "", transientf("blockMapper.SetUpDevice failed to get CSI client: %v", err)
	}
	staging, err := d.stage(ctx, c, source, published)
	if err != nil && volume.IsFinal(err) {
		if err := d.cleanupOrphanDeviceFiles(); err != nil {
			d.plugin.note("Failed to clean up block volume directory " + err.Error())
		}
	}
	return staging, err
}

func (d *device) stage(ctx context.Context, c *client, source *v1.CSIPersistentVolumeSource, published map[string]string) (string, error) {
	stages, err := c.supports(ctx, socket.StageUnstageVolume)
	if err != nil {
		return "", volume.Unansweredf(PluginName+": blockMapper.stageVolumeForBlock failed to check STAGE_UNSTAGE_VOLUME capability: %v", err)
	}
	if !stages {
		return "", nil
	}
	request := &socket.StageRequest{
		VolumeId: d.handle, PublishContext: published, StagingTargetPath: d.GetStagingPath(), VolumeContext: source.VolumeAttributes,
	}
	if ref := source.NodeStageSecretRef; ref != nil {
		if request.Secrets, err = d.plugin.getCredentials(ctx, ref); err != nil {
			return "", transientf("failed to get NodeStageSecretRef %s/%s: %v", ref.Namespace, ref.Name, err)
		}
	}
	if err := d.plugin.host.GetFS().MkdirAll(d.GetStagingPath(), 0o750); err != nil {
		return "", failf("blockMapper.stageVolumeForBlock failed to create dir %s: %w", d.GetStagingPath(), err)
	}
	return d.GetStagingPath(), c.stage(ctx, request, capability{fsType: fsTypeBlockName, accessMode: accessModeOf(d.spec)})
}

// MapPodDevice asks the driver to publish the device, and returns its path.
//
// Upstream: csi_block.go MapPodDevice and publishVolumeForBlock, v1.37.
func (d *device) MapPodDevice(ctx context.Context) (string, error) {
	source, err := getPVSourceFromSpec(d.spec)
	if err != nil {
		return "", failf("blockMapper.MapPodDevice failed to get CSI persistent source: %w", err)
	}
	ctx = d.plugin.operation(ctx)
	request := &socket.PublishRequest{
		VolumeId: d.handle, StagingTargetPath: d.GetStagingPath(), TargetPath: d.publishPath(), Readonly: d.spec.ReadOnly, VolumeContext: source.VolumeAttributes,
	}
	if request.PublishContext, err = d.plugin.getPublishContext(ctx, source.VolumeHandle, source.Driver); err != nil {
		return "", transientf("blockMapper.MapPodDevice failed to get volume attachment: %v", err)
	}
	c, err := d.plugin.client(d.driver)
	if err != nil {
		return "", transientf("blockMapper.MapPodDevice failed to get CSI client: %v", err)
	}
	if d.plugin.podInfoEnabled(d.driver) {
		mode, _ := lifecycleMode(d.spec) // it has a source
		request.VolumeContext = merge(request.VolumeContext, podInfo(d.pod, mode))
	}
	if ref := source.NodePublishSecretRef; ref != nil {
		if request.Secrets, err = d.plugin.getCredentials(ctx, ref); err != nil {
			return "", transientf("blockMapper.publishVolumeForBlock failed to get NodePublishSecretRef %s/%s: %v", ref.Namespace, ref.Name, err)
		}
	}
	if err := d.plugin.host.GetFS().MkdirAll(d.publishDir(), 0o750); err != nil {
		return "", failf("blockMapper.publishVolumeForBlock failed to create dir %s:  %w", d.publishDir(), err)
	}
	if err := c.publish(ctx, request, capability{fsType: fsTypeBlockName, accessMode: accessModeOf(d.spec)}); err != nil {
		return "", err
	}
	return d.publishPath(), nil
}

// UnmapPodDevice asks the driver to unpublish the device, even if nothing of it is visible.
//
// Upstream: csi_block.go UnmapPodDevice, v1.37.
func (d *device) UnmapPodDevice(ctx context.Context) error {
	c, err := d.plugin.client(d.driver)
	if err != nil {
		return transientf("blockMapper.UnmapPodDevice failed to get CSI client: %v", err)
	}
	if err := c.unpublish(d.plugin.operation(ctx), d.handle, d.publishPath()); err != nil {
		return failf("blockMapper.unpublishVolumeForBlock failed: %w", err)
	}
	return nil
}

// TearDownDevice asks the driver to unstage the device, and removes its files and directories.
//
// Upstream: csi_block.go TearDownDevice and unstageVolumeForBlock, v1.37.
func (d *device) TearDownDevice(ctx context.Context) error {
	c, err := d.plugin.client(d.driver)
	if err != nil {
		return transientf("blockMapper.TearDownDevice failed to get CSI client: %v", err)
	}
	ctx, disk := d.plugin.operation(ctx), d.plugin.host.GetFS()
	if _, err := disk.Lstat(d.GetStagingPath()); err == nil {
		stages, err := c.supports(ctx, socket.StageUnstageVolume)
		if err != nil {
			return failf("blockMapper.unstageVolumeForBlock failed to check STAGE_UNSTAGE_VOLUME capability: %w", err)
		}
		if stages {
			if err := c.unstage(ctx, d.handle, d.GetStagingPath()); err != nil {
				return failf("blockMapper.unstageVolumeForBlock failed: %w", err)
			}
			if err := disk.RemoveAll(d.GetStagingPath()); err != nil {
				return failf("blockMapper.unstageVolumeForBlock failed to remove staging path after NodeUnstageVolume() error [%s]: %w", d.GetStagingPath(), err)
			}
		}
	} else if !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := d.cleanupOrphanDeviceFiles(); err != nil {
		d.plugin.note("Failed to clean up block volume directory " + err.Error())
	}
	return nil
}

// cleanupOrphanDeviceFiles removes the directories that were made for the device. No pod has
// it any more.
//
// Upstream: csi_block.go cleanupOrphanDeviceFiles, v1.37.
func (d *device) cleanupOrphanDeviceFiles() error {
	disk := d.plugin.host.GetFS()
	for _, dir := range []string{d.publishDir(), d.GetStagingPath()} {
		if err := disk.Remove(dir); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return failf("failed to remove directory [%s]: %w", dir, err)
		}
	}
	return disk.RemoveAll(d.plugin.devicesDir(d.fileName()))
}
