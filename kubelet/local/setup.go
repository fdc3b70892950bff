package local

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"

	"github.com/storagesim/storagesim/machine/disk"
	"github.com/storagesim/storagesim/trace"
	"github.com/storagesim/storagesim/volume"
)

// localVolumeMounter bind mounts a local volume for one pod.
type localVolumeMounter struct {
	localVolume
	pod          *v1.Pod
	globalPath   string // the volume's data
	readOnly     bool
	mountOptions []string
}

func (m *localVolumeMounter) GetAttributes() volume.Attributes {
	return volume.Attributes{ReadOnly: m.readOnly, Managed: !m.readOnly}
}

// GetMetrics says how full the file system of the directory is.
//
// Upstream: local.go NewMounter, v1.37.2.
func (m *localVolumeMounter) GetMetrics(context.Context) (*volume.Metrics, error) {
	return volume.MetricsStatFS(m.plugin.host.GetFS(), m.GetPath())
}

// SetUp bind mounts the directory to the volume path.
func (m *localVolumeMounter) SetUp(ctx context.Context, args volume.MounterArgs) error {
	return m.SetUpAt(ctx, m.GetPath(), args)
}

// SetUpAt bind mounts the volume's data on dir and gives it to the pod's fsGroup.
//
// Upstream: local.go SetUpAt, v1.37.
func (m *localVolumeMounter) SetUpAt(_ context.Context, dir string, args volume.MounterArgs) error {
	defer m.plugin.locks.lock(m.globalPath)()
	if err := m.checkGlobalPath(); err != nil {
		return err
	}
	mounted, err := m.isMounted(dir)
	if err != nil || mounted {
		return err
	}
	others, err := m.otherPodMounts(args.FsGroup)
	if err != nil {
		return err
	}
	if err := m.plugin.host.GetFS().MkdirAll(dir, 0o750); err != nil {
		return err
	}
	if err := m.bind(dir); err != nil {
		m.cleanUp(dir)
		return err // that of the mount, whatever happened to the clean-up
	}
	return m.setOwnership(dir, args, others)
}

// checkGlobalPath refuses an empty path and one that steps back.
func (m *localVolumeMounter) checkGlobalPath() error {
	if m.globalPath == "" {
		return fmt.Errorf("LocalVolume volume %q path is empty", m.volName)
	}
	if err := volume.ValidatePathNoBacksteps(m.globalPath); err != nil {
		return fmt.Errorf("invalid path: %s %w", m.globalPath, err)
	}
	return nil
}

// isMounted reports whether dir is a mount point already; a missing one is not.
func (m *localVolumeMounter) isMounted(dir string) (bool, error) {
	mounted, err := m.plugin.host.GetMounter().IsMountPoint(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return mounted, err
}

// otherPodMounts returns the other mount points of the volume's data. With an fsGroup only
// pods' mounts count, and a pod that finds another group's volume gets a warning.
func (m *localVolumeMounter) otherPodMounts(fsGroup *int64) ([]string, error) {
	refs, err := m.plugin.host.GetMounter().GetMountRefs(volume.MakeAbsolutePath(m.globalPath))
	if fsGroup == nil {
		return refs, nil // not known is as good as none: no group to apply
	}
	if err != nil {
		return nil, err
	}
	if refs = m.filterPodMounts(refs); len(refs) > 0 {
		err = m.warnOfOtherGroup(*fsGroup)
	}
	return refs, err
}

// filterPodMounts keeps the mounts in pods' directories.
//
// Upstream: local.go filterPodMounts, v1.37.
func (m *localVolumeMounter) filterPodMounts(refs []string) []string {
	pods := m.plugin.host.GetPodsDir() + "/"
	return slices.DeleteFunc(slices.Clone(refs), func(ref string) bool { return !strings.HasPrefix(ref, pods) })
}

// warnOfOtherGroup tells the pod if the volume, in use already, has another GID.
func (m *localVolumeMounter) warnOfOtherGroup(fsGroup int64) error {
	info, err := m.plugin.host.GetFS().Stat(volume.MakeAbsolutePath(m.globalPath))
	if err != nil {
		return fmt.Errorf("failed to check fsGroup for %s (%w)", m.globalPath, err)
	}
	if _, gid, ok := disk.Owner(info); ok && int64(gid) != fsGroup {
		m.plugin.host.GetEventRecorder().Eventf(m.pod, v1.EventTypeWarning, "AlreadyMountedVolume",
			"The requested fsGroup is %d, but the volume %s has GID %d. The volume may not be shareable.", fsGroup, m.volName, gid)
	}
	return nil
}

// bind mounts the whole path, so that one volume can be mounted many times.
func (m *localVolumeMounter) bind(dir string) error {
	options := []string{"bind"}
	if m.readOnly {
		options = append(options, "ro")
	}
	options = volume.JoinMountOptions(options, m.mountOptions)
	return m.plugin.host.GetMounter().MountSensitiveWithoutSystemd(volume.MakeAbsolutePath(m.globalPath), dir, "", options, nil)
}

// cleanUp takes back what a failed mount may have left: unmount if mounted, look
// again, remove the directory. What goes wrong is noted, and left for the next
// attempt.
func (m *localVolumeMounter) cleanUp(dir string) {
	if err := volume.CleanupMountPoint(dir, m.plugin.host.GetMounter(), m.plugin.host.GetFS()); err != nil {
		m.note(fmt.Sprintf("after the failed mount of volume %s: %v", m.volName, err))
	}
}

// setOwnership applies the fsGroup on the first mount of a writable volume only.
func (m *localVolumeMounter) setOwnership(dir string, args volume.MounterArgs, others []string) error {
	if m.readOnly || len(others) > 0 {
		return nil
	}
	return volume.SetVolumeOwnership(m.plugin.host.GetFS(), dir, m.readOnly, args.FsGroup, args.FSGroupChangePolicy, m.note)
}

func (m *localVolumeMounter) note(text string) {
	m.plugin.host.Trace(trace.RefOf("Pod", m.pod), text)
}

// localVolumeUnmounter takes a local volume away from a pod.
type localVolumeUnmounter struct{ localVolume }

// TearDown calls TearDownAt with the pod's directory.
func (u *localVolumeUnmounter) TearDown(ctx context.Context) error {
	return u.TearDownAt(ctx, u.GetPath())
}

// TearDownAt unmounts dir and removes it. The data stays.
//
// Upstream: local.go TearDownAt, v1.37.
func (u *localVolumeUnmounter) TearDownAt(_ context.Context, dir string) error {
	return volume.CleanupMountPoint(dir, u.plugin.host.GetMounter(), u.plugin.host.GetFS())
}
