package nfs

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"

	v1 "k8s.io/api/core/v1"

	"github.com/storagesim/storagesim/machine/disk"
	"github.com/storagesim/storagesim/trace"
	"github.com/storagesim/storagesim/volume"
)

var _ volume.MountedFrom = (*nfsMounter)(nil)

// nfsMounter mounts an export for one pod.
type nfsMounter struct {
	nfsVolume
	pod                *v1.Pod
	server, exportPath string
	readOnly           bool
	mountOptions       []string
}

// GetAttributes says read-only also for a volume whose mount options do. It is not
// managed: an fsGroup is not applied to a share, whose files belong to others as
// well.
func (m *nfsMounter) GetAttributes() volume.Attributes {
	return volume.Attributes{ReadOnly: m.readOnly || slices.Contains(m.mountOptions, "ro")}
}

// GetSource returns what is mounted, as mount(8) takes it.
func (m *nfsMounter) GetSource() string { return m.server + ":" + m.exportPath }

// GetMetrics says how full the file system of the export is.
//
// Upstream: nfs.go newMounterInternal, v1.37.2.
func (m *nfsMounter) GetMetrics(context.Context) (*volume.Metrics, error) {
	return volume.MetricsStatFS(m.plugin.host.GetFS(), m.GetPath())
}

// SetUp calls SetUpAt with the pod's directory.
func (m *nfsMounter) SetUp(ctx context.Context, args volume.MounterArgs) error {
	return m.SetUpAt(ctx, m.GetPath(), args)
}

// SetUpAt mounts the export on dir. What is mounted already stays; a mount that
// fails leaves neither mount nor directory.
//
// Upstream: nfs.go SetUpAt, v1.37.
func (m *nfsMounter) SetUpAt(_ context.Context, dir string, _ volume.MounterArgs) error {
	mounter := m.plugin.host.GetMounter()
	mounted, err := mounter.IsMountPoint(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) || mounted {
		return err
	}
	if err := m.plugin.host.GetFS().MkdirAll(dir, 0o750); err != nil {
		return err
	}
	var options []string
	if m.readOnly {
		options = append(options, "ro")
	}
	options = volume.JoinMountOptions(m.mountOptions, options)
	err = mounter.MountSensitiveWithoutSystemd(m.GetSource(), dir, fsType, options, nil)
	if err == nil {
		return nil
	}
	if undo := volume.CleanupMountPoint(dir, mounter, m.plugin.host.GetFS()); undo != nil {
		m.plugin.host.Trace(trace.RefOf("Pod", m.pod), fmt.Sprintf("after the failed mount of volume %s: %v", m.volName, undo))
	}
	return err // that of the mount, whatever happened to the clean-up
}

// nfsUnmounter takes an export away from a pod.
type nfsUnmounter struct{ nfsVolume }

// TearDown calls TearDownAt with the pod's directory.
func (u *nfsUnmounter) TearDown(ctx context.Context) error { return u.TearDownAt(ctx, u.GetPath()) }

// TearDownAt unmounts dir and removes it. The data stays on the server, which is asked before: no timeout ends that question.
//
// Upstream: nfs.go TearDownAt, and PathExists in mount-utils CleanupMountWithForce, v1.37.
func (u *nfsUnmounter) TearDownAt(_ context.Context, dir string) error {
	if _, err := u.plugin.host.GetFS().Stat(dir); errors.Is(err, disk.ErrSilent) {
		return err
	}
	return volume.CleanupMountPoint(dir, u.plugin.host.GetMounter(), u.plugin.host.GetFS())
}
