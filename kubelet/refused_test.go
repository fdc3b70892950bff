package kubelet_test

import (
	"errors"
	"io/fs"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"

	"github.com/storagesim/storagesim/engine"
	"github.com/storagesim/storagesim/kubelet"
	"github.com/storagesim/storagesim/machine/mount"
)

// semantics 5 must 7.
func TestAVolumeOfAnEarlierClaimIsNotMounted(t *testing.T) {
	w := simple(t)
	w.boundVolume("data", func(pv *v1.PersistentVolume) { pv.Spec.ClaimRef.UID = "earlier" })
	w.create(pod("web", claim("data")))
	w.settle()
	require.Equal(t, v1.PodPending, w.get("web").Status.Phase)
	require.Empty(t, w.mounts())
	w.requireEvent("web", "FailedMount",
		"error processing PVC default/data: found PV object pv-data but its pv.Spec.ClaimRef.UID earlier does not point to claim.UID ")
}

// semantics 5 must 11.
func TestALocalVolumeIsRefusedOnANodeFailingItsAffinity(t *testing.T) {
	w := simple(t)
	w.boundVolume("data", func(pv *v1.PersistentVolume) { pv.Spec.NodeAffinity = onNode("node-2") })
	w.create(pod("web", claim("data")))
	w.settle()
	require.Equal(t, v1.PodPending, w.get("web").Status.Phase)
	require.Empty(t, w.mounts())
	w.requireEvent("web", "FailedMount", "MountVolume.NodeAffinity check failed for volume \"pv-data\"")
}

func TestAPodWaitsForItsClaimAndStartsWhenItIsBound(t *testing.T) {
	w := simple(t)
	w.create(pod("web", claim("data")))
	w.settle()
	require.Equal(t, v1.PodPending, w.get("web").Status.Phase)
	require.Equal(t, "ContainerCreating", w.get("web").Status.ContainerStatuses[0].State.Waiting.Reason)
	w.requireEvent("web", "FailedMount", "failed to process volumes=[data]")
	w.boundVolume("data", nil)
	require.NoError(t, w.e.RunFor(5*time.Minute))
	require.Equal(t, v1.PodRunning, w.get("web").Status.Phase)
}

func TestAMissingDirectoryIsReportedAndMountedWhenItAppears(t *testing.T) {
	w := simple(t)
	w.boundVolume("other", nil)
	w.create(pod("web", claim("other")))
	w.settle()
	w.requireEvent("web", "FailedMount", "MountVolume.NewMounter initialization failed for volume \"pv-other\"")
	require.NoError(t, w.node.MkdirAll("/disk/other", 0o755))
	require.NoError(t, w.e.RunFor(5*time.Minute))
	require.Equal(t, v1.PodRunning, w.get("web").Status.Phase)
}

func TestAVolumeKindWithoutAPluginIsNamed(t *testing.T) {
	for kind, source := range map[string]v1.VolumeSource{
		"iscsi":                {ISCSI: &v1.ISCSIVolumeSource{TargetPortal: "10.0.0.1", IQN: "iqn.2001-04.com.example:storage"}},
		"glusterfs":            {Glusterfs: &v1.GlusterfsVolumeSource{EndpointsName: "e", Path: "p"}},
		"rbd":                  {RBD: &v1.RBDVolumeSource{CephMonitors: []string{"m"}, RBDImage: "i"}},
		"cephfs":               {CephFS: &v1.CephFSVolumeSource{Monitors: []string{"m"}}},
		"flocker":              {Flocker: &v1.FlockerVolumeSource{DatasetName: "d"}},
		"quobyte":              {Quobyte: &v1.QuobyteVolumeSource{Registry: "r:1", Volume: "v"}},
		"photonPersistentDisk": {PhotonPersistentDisk: &v1.PhotonPersistentDiskVolumeSource{PdID: "d"}},
		"scaleIO":              {ScaleIO: &v1.ScaleIOVolumeSource{Gateway: "g", System: "s", VolumeName: "v", SecretRef: &v1.LocalObjectReference{Name: "s"}}},
		"storageos":            {StorageOS: &v1.StorageOSVolumeSource{VolumeName: "v"}},
		"gitRepo":              {GitRepo: &v1.GitRepoVolumeSource{Repository: "r"}},
	} {
		t.Run(kind, func(t *testing.T) {
			w := simple(t)
			w.create(pod("web", v1.Volume{Name: "share", VolumeSource: source}))
			w.settle()
			w.requireEvent("web", "FailedMount", `volume "share" of kind `+kind+` is not supported`)
		})
	}
}

func TestAPersistentVolumeOfAKindWithoutAPluginIsNamed(t *testing.T) {
	for kind, source := range map[string]v1.PersistentVolumeSource{
		"glusterfs":            {Glusterfs: &v1.GlusterfsPersistentVolumeSource{EndpointsName: "e", Path: "p"}},
		"rbd":                  {RBD: &v1.RBDPersistentVolumeSource{CephMonitors: []string{"m"}, RBDImage: "i"}},
		"cephfs":               {CephFS: &v1.CephFSPersistentVolumeSource{Monitors: []string{"m"}}},
		"flocker":              {Flocker: &v1.FlockerVolumeSource{DatasetName: "d"}},
		"quobyte":              {Quobyte: &v1.QuobyteVolumeSource{Registry: "r:1", Volume: "v"}},
		"photonPersistentDisk": {PhotonPersistentDisk: &v1.PhotonPersistentDiskVolumeSource{PdID: "d"}},
		"scaleIO":              {ScaleIO: &v1.ScaleIOPersistentVolumeSource{Gateway: "g", System: "s", VolumeName: "v", SecretRef: &v1.SecretReference{Name: "s"}}},
		"storageos":            {StorageOS: &v1.StorageOSPersistentVolumeSource{VolumeName: "v"}},
	} {
		t.Run(kind, func(t *testing.T) {
			w := simple(t)
			w.boundVolume("data", func(pv *v1.PersistentVolume) { pv.Spec.PersistentVolumeSource = source })
			w.create(pod("web", claim("data")))
			w.settle()
			w.requireEvent("web", "FailedMount", "of kind "+kind+" is not supported")
		})
	}
}

func TestAVolumeThatNoContainerUsesIsSkipped(t *testing.T) {
	w := simple(t)
	p := pod("web", v1.Volume{Name: "share",
		VolumeSource: v1.VolumeSource{ISCSI: &v1.ISCSIVolumeSource{TargetPortal: "10.0.0.1", IQN: "iqn.2001-04.com.example:storage"}}})
	p.Spec.Containers[0].VolumeMounts = nil
	w.create(p)
	w.settle()
	require.Equal(t, v1.PodRunning, w.get("web").Status.Phase)
}

// semantics 5 must 3.
func TestAFailedBindMountLeavesNeitherDirectoryNorMount(t *testing.T) {
	failing := true
	w := newWorld(t, engine.Config{}, kubelet.Config{})
	m, err := mount.NewTempDir(mount.Config{Dir: w.node})
	require.NoError(t, err)
	cfg := kubelet.Config{Root: w.node, Mounter: mount.Failing(m, func(op mount.Op) error {
		if failing && op.Verb == mount.VerbMount {
			return errors.New("wrong fs type")
		}
		return nil
	})}
	cfg.Node.Name = "node-2"
	require.NoError(t, w.e.Add("kubelet/node-2", kubelet.New(cfg)))
	w.boundVolume("data", func(pv *v1.PersistentVolume) { pv.Spec.NodeAffinity = onNode("node-2") })
	p := pod("web", claim("data"))
	p.Spec.NodeName = "node-2"
	p = w.create(p)
	w.settle()
	w.requireEvent("web", "FailedMount", `MountVolume.SetUp failed for volume "pv-data" : wrong fs type`)
	_, err = w.node.Lstat("/var/lib/kubelet/pods/" + string(p.UID) + "/volumes/kubernetes.io~local-volume/pv-data")
	require.ErrorIs(t, err, fs.ErrNotExist)
	require.Empty(t, w.mounts())
	failing = false
	require.NoError(t, w.e.RunFor(5*time.Minute))
	require.Equal(t, v1.PodRunning, w.get("web").Status.Phase)
}

func TestMountOptionsThatAPluginDoesNotTakeAreRefused(t *testing.T) {
	w := simple(t)
	w.boundVolume("data", func(pv *v1.PersistentVolume) {
		pv.Spec.PersistentVolumeSource = v1.PersistentVolumeSource{HostPath: &v1.HostPathVolumeSource{Path: "/disk/data"}}
		pv.Spec.MountOptions = []string{"noexec"}
	})
	w.create(pod("web", claim("data")))
	w.settle()
	w.requireEvent("web", "FailedMount",
		`MountVolume.MountOptionSupport check failed for volume "pv-data" : mount options are not supported for this volume type`)
	require.Equal(t, v1.PodPending, w.get("web").Status.Phase)
}
