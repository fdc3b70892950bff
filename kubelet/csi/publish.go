package csi

import (
	"context"
	"errors"
	"fmt"
	"path"
	"slices"

	v1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"

	"github.com/storagesim/storagesim/binding"
	"github.com/storagesim/storagesim/csi/socket"
	"github.com/storagesim/storagesim/trace"
	"github.com/storagesim/storagesim/volume"
)

// publisher gives a volume to one pod.
//
// Upstream: csi_mounter.go csiMountMgr, v1.37.
type publisher struct {
	podVolume
	spec     *volume.Spec
	pod      *v1.Pod
	mode     storagev1.VolumeLifecycleMode
	readOnly bool
}

func (p *publisher) GetAttributes() volume.Attributes {
	return volume.Attributes{ReadOnly: p.readOnly, Managed: !p.readOnly}
}

// SetUp publishes the volume at the pod's directory.
func (p *publisher) SetUp(ctx context.Context, args volume.MounterArgs) error {
	return p.SetUpAt(ctx, p.GetPath(), args)
}

// SetUpAt has the driver publish the volume at dir, whose parent it makes, and gives it to
// the pod's fsGroup if that is for the kubelet to do. After a final error dir is removed,
// unless the pod may have it from before.
//
// Upstream: csi_mounter.go SetUpAt, v1.37.
func (p *publisher) SetUpAt(ctx context.Context, dir string, args volume.MounterArgs) error {
	c, err := p.plugin.client(p.driver)
	if err != nil {
		return transientf("mounter.SetUpAt failed to get CSI client: %v", err)
	}
	ctx = p.plugin.operation(ctx)
	if err := p.checkLifecycleMode(); err != nil {
		return transientf("mounter.SetupAt failed to check volume lifecycle mode: %v", err)
	}
	request := &socket.PublishRequest{VolumeId: p.handle, TargetPath: dir, Readonly: p.readOnly}
	want, err := p.describe(ctx, c, request)
	if err != nil {
		return err
	}
	parent := path.Dir(dir)
	if err := p.plugin.host.GetFS().MkdirAll(parent, 0o750); err != nil {
		return failf("mounter.SetUpAt failed to create dir %q:  %w", parent, err)
	}
	if err := p.addSecretsAndAttributes(ctx, request); err != nil {
		return err
	}
	groups, err := c.supports(ctx, socket.VolumeMountGroup)
	if err != nil {
		return transientf("mounter.SetUpAt failed to determine if the node service has VOLUME_MOUNT_GROUP capability: %v", err)
	}
	if groups {
		want.fsGroup = args.FsGroup
	}
	if err := p.publish(ctx, c, request, want, args); err != nil || groups {
		return err
	}
	return p.setOwnership(dir, want.fsType, args)
}

// publish notes what is to be published, has it published, and cleans up after a final
// error.
func (p *publisher) publish(ctx context.Context, c *client, request *socket.PublishRequest, want capability, args volume.MounterArgs) error {
	dir := request.TargetPath
	if err := p.plugin.saveVolumeData(path.Dir(dir), p.data()); err != nil {
		p.plugin.cleanUp("mounter.SetUpAt", dir)
		return err
	}
	err := c.publish(ctx, request, want)
	if err != nil && volume.IsFinal(err) && !args.Reconstructed && !args.Remount {
		p.plugin.cleanUp("mounter.SetupAt", dir)
	}
	return err
}

// data returns what a kubelet that starts again must know.
func (p *publisher) data() volumeData {
	node := string(p.plugin.host.GetNodeName())
	return volumeData{
		SpecVolID: p.specName, VolumeHandle: p.handle, DriverName: p.driver, NodeName: node,
		VolumeLifecycleMode: string(p.mode), AttachmentID: binding.AttachmentName(p.handle, p.driver, node),
	}
}

// setOwnership gives the volume to the pod's group. The volume is published by now: what
// fails leaves it so.
func (p *publisher) setOwnership(dir, fsType string, args volume.MounterArgs) error {
	policy, err := p.fsGroupPolicy()
	if err != nil {
		return volume.Uncertainf("%s: mounter.SetupAt failed to check fsGroup policy: %v", PluginName, err)
	}
	if !p.supportsFSGroup(fsType, args.FsGroup, policy) {
		return nil
	}
	err = volume.SetVolumeOwnership(p.plugin.host.GetFS(), dir, p.readOnly, args.FsGroup, args.FSGroupChangePolicy, p.plugin.note)
	if err != nil {
		return volume.Uncertainf("applyFSGroup failed for vol %s: %v", p.handle, err)
	}
	return nil
}

// supportsFSGroup reports whether the kubelet changes the volume's ownership.
//
// Upstream: csi_mounter.go supportsFSGroup, v1.37.
func (p *publisher) supportsFSGroup(fsType string, fsGroup *int64, policy storagev1.FSGroupPolicy) bool {
	switch {
	case fsGroup == nil || policy == storagev1.NoneFSGroupPolicy || p.readOnly:
		return false
	case policy == storagev1.FileFSGroupPolicy:
		return true
	case fsType == "":
		return false
	case p.spec.PersistentVolume != nil:
		return hasReadWriteOnce(p.spec.PersistentVolume.Spec.AccessModes)
	}
	return true // a pod's own volume is always for one writer
}

// fsGroupPolicy returns the driver's.
//
// Upstream: csi_mounter.go getFSGroupPolicy, v1.37.
func (p *publisher) fsGroupPolicy() (storagev1.FSGroupPolicy, error) {
	d, ok := p.plugin.csiDrivers.Get(p.driver)
	switch {
	case !ok:
		return storagev1.ReadWriteOnceWithFSTypeFSGroupPolicy, nil
	case d.Spec.FSGroupPolicy == nil || *d.Spec.FSGroupPolicy == "":
		return "", failf("expected valid fsGroupPolicy, received nil value or empty string")
	}
	return *d.Spec.FSGroupPolicy, nil
}

// checkLifecycleMode refuses a volume of a kind that the driver does not have. Without a
// CSIDriver object only PersistentVolumes are taken.
//
// Upstream: csi_mounter.go supportsVolumeLifecycleMode, v1.37.
func (p *publisher) checkLifecycleMode() error {
	d, ok := p.plugin.csiDrivers.Get(p.driver)
	if !ok {
		if p.mode == storagev1.VolumeLifecyclePersistent {
			return nil
		}
		return fmt.Errorf("volume mode %q not supported by driver %s (no CSIDriver object)", p.mode, p.driver)
	}
	if slices.Contains(d.Spec.VolumeLifecycleModes, p.mode) {
		return nil
	}
	return fmt.Errorf("volume mode %q not supported by driver %s (only supports %q)", p.mode, p.driver, d.Spec.VolumeLifecycleModes)
}

// unpublisher takes a volume away from one pod.
type unpublisher struct{ podVolume }

// TearDown unpublishes the volume at the pod's directory.
func (u *unpublisher) TearDown(ctx context.Context) error { return u.TearDownAt(ctx, u.GetPath()) }

// TearDownAt has the driver unpublish the volume, and removes what the kubelet made for it.
// A driver removes dir itself; where it does not, it is removed if it is empty.
//
// Upstream: csi_mounter.go TearDownAt, v1.37.
func (u *unpublisher) TearDownAt(ctx context.Context, dir string) error {
	c, err := u.plugin.client(u.driver)
	if err != nil {
		return transientf("Unmounter.TearDownAt failed to get CSI client: %v", err)
	}
	if dir == "" {
		return failf("Unmounter.TearDownAt failed: %w", errors.New("missing target path"))
	}
	if err := c.unpublish(u.plugin.operation(ctx), u.handle, dir); err != nil {
		return failf("Unmounter.TearDownAt failed: %w", err)
	}
	if err := u.plugin.removeMountDir(dir); err != nil {
		return failf("Unmounter.TearDownAt failed to clean mount dir [%s]: %w", dir, err)
	}
	return nil
}

// note puts something into the trace, about the node.
func (plugin *csiPlugin) note(text string) {
	plugin.host.Trace(trace.Ref{Kind: "Node", Name: string(plugin.host.GetNodeName())}, text)
}
