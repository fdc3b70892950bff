package csi_test

import (
	"fmt"
	"io/fs"
	"testing"
	"time"

	csipb "github.com/container-storage-interface/spec/lib/go/csi"
	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"

	"github.com/storagesim/storagesim/engine"
	"github.com/storagesim/storagesim/machine/disk"
)

func withGroup(p *v1.Pod) *v1.Pod {
	group := int64(2000)
	p.Spec.SecurityContext = &v1.PodSecurityContext{FSGroup: &group}
	return p
}

// semantics 5.5 (7). Seen in csi14_fsgroup_none and csi14_fsgroup_readwriteoncewithfstype_ext4.
func TestThePodsGroupGetsTheVolumeAsThePolicySays(t *testing.T) {
	for _, tt := range []struct {
		policy   storagev1.FSGroupPolicy
		fsType   string
		mode     v1.PersistentVolumeAccessMode
		readOnly bool
		given    bool
	}{
		{storagev1.NoneFSGroupPolicy, "ext4", v1.ReadWriteOnce, false, false},
		{storagev1.FileFSGroupPolicy, "", v1.ReadWriteMany, false, true},
		{storagev1.FileFSGroupPolicy, "", v1.ReadWriteMany, true, false},
		{storagev1.ReadWriteOnceWithFSTypeFSGroupPolicy, "ext4", v1.ReadWriteOnce, false, true},
		{storagev1.ReadWriteOnceWithFSTypeFSGroupPolicy, "ext4", v1.ReadWriteOncePod, false, true},
		{storagev1.ReadWriteOnceWithFSTypeFSGroupPolicy, "", v1.ReadWriteOnce, false, false},
		{storagev1.ReadWriteOnceWithFSTypeFSGroupPolicy, "ext4", v1.ReadWriteMany, false, false},
		{storagev1.ReadWriteOnceWithFSTypeFSGroupPolicy, "ext4", v1.ReadWriteOnce, true, false},
	} {
		t.Run(fmt.Sprintf("%s %s %s read-only %t", tt.policy, tt.fsType, tt.mode, tt.readOnly), func(t *testing.T) {
			spec := noAttach()
			spec.FSGroupPolicy = &tt.policy
			w := withDriver(t, engine.Config{}, spec)
			w.boundVolume("data", func(pv *v1.PersistentVolume) {
				pv.Spec.CSI.FSType, pv.Spec.AccessModes = tt.fsType, []v1.PersistentVolumeAccessMode{tt.mode}
			})
			p := pod("web", claim("data"))
			p.Spec.Volumes[0].PersistentVolumeClaim.ReadOnly = tt.readOnly
			w.create(withGroup(p))
			w.run(5 * time.Second)
			require.Equal(t, v1.PodRunning, w.phase("web"), "%v", w.events("web"))
			info, err := w.disk.Stat("/srv/volumes/vol-data")
			require.NoError(t, err)
			_, gid, _ := disk.Owner(info)
			want := 0
			if tt.given {
				want = 2000
			}
			require.Equal(t, want, gid)
		})
	}
}

func TestADriverThatCanGiveTheVolumeToTheGroupItselfIsToldTheGroup(t *testing.T) {
	spec, policy := noAttach(), storagev1.FileFSGroupPolicy
	spec.FSGroupPolicy = &policy
	w := withDriver(t, engine.Config{}, spec)
	w.driver.capabilities = append(w.driver.capabilities, csipb.NodeServiceCapability_RPC_VOLUME_MOUNT_GROUP)
	w.boundVolume("data", nil)
	w.create(withGroup(pod("web", claim("data"))))
	w.run(5 * time.Second)
	require.Equal(t, v1.PodRunning, w.phase("web"))
	require.Equal(t, "2000", w.stageRequest().VolumeCapability.GetMount().VolumeMountGroup)
	require.Equal(t, "2000", w.publishRequest().VolumeCapability.GetMount().VolumeMountGroup)
	info, err := w.disk.Stat("/srv/volumes/vol-data")
	require.NoError(t, err)
	_, gid, _ := disk.Owner(info)
	require.Zero(t, gid, "the kubelet leaves it alone")
}

// Upstream: volume_linux.go skipPermissionChange, v1.37.
func TestThePodSaysWhetherTheVolumeIsGivenToTheGroupAnew(t *testing.T) {
	for policy, want := range map[v1.PodFSGroupChangePolicy]fs.FileMode{v1.FSGroupChangeAlways: 0o660, v1.FSGroupChangeOnRootMismatch: 0o600} {
		t.Run(string(policy), func(t *testing.T) {
			spec, given := noAttach(), storagev1.FileFSGroupPolicy
			spec.FSGroupPolicy = &given
			w := withDriver(t, engine.Config{}, spec)
			w.boundVolume("data", nil)
			w.create(withGroup(pod("first", claim("data"))))
			w.run(5 * time.Second)
			require.Equal(t, v1.PodRunning, w.phase("first"))
			w.delete("first")
			w.run(time.Minute)
			require.NoError(t, w.disk.WriteFile("/srv/volumes/vol-data/file", nil, 0o600))
			p := withGroup(pod("second", claim("data")))
			p.Spec.SecurityContext.FSGroupChangePolicy = &policy
			w.create(p)
			w.run(time.Minute)
			require.Equal(t, v1.PodRunning, w.phase("second"))
			info, err := w.disk.Stat("/srv/volumes/vol-data/file")
			require.NoError(t, err)
			require.Equal(t, want, info.Mode().Perm())
		})
	}
}
