package pvcontroller_test

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"

	"github.com/storagesim/storagesim/engine"
	"github.com/storagesim/storagesim/pvcontroller"
)

func TestTheHostPathDeleterDeletesBelowTmpOnly(t *testing.T) {
	for path, refused := range map[string]bool{
		"/tmp/a": false, "/tmp/a/b": false, "/var/tmp/a": false, // as upstream's pattern
		"/tmp": true, "/tmp/": true, "/data": true, "/": true, "/tmpx/a": true, "": true,
	} {
		var removed []string
		deleter := pvcontroller.NewHostPathDeleter(func(path string) error {
			removed = append(removed, path)
			return nil
		})
		volume := &v1.PersistentVolume{}
		volume.Spec.HostPath = &v1.HostPathVolumeSource{Path: path}
		require.True(t, deleter.CanSupport(volume))
		err := deleter.Delete(ctx, volume)
		if refused {
			require.EqualError(t, err, "host_path deleter only supports /tmp/.+ but received provided "+path)
			require.Empty(t, removed)
			continue
		}
		require.NoError(t, err, path)
		require.Equal(t, []string{path}, removed)
	}
	other := &v1.PersistentVolume{}
	deleter := pvcontroller.NewHostPathDeleter(func(string) error { return errors.New("not to be called") })
	require.False(t, deleter.CanSupport(other))
	require.ErrorContains(t, deleter.Delete(ctx, other), "failed to create deleter for volume \"\": spec.PersistentVolumeSource.HostPath is nil")
}

// withDisk returns a cluster whose controller manager has a disk, with a hostPath volume to
// be deleted whose claim is gone.
func withDisk(t *testing.T, disk map[string]bool, change ...func(*v1.PersistentVolume)) *cluster {
	t.Helper()
	c := newCluster(t, engine.Config{}, pvcontroller.Config{Deleters: map[string]pvcontroller.Deleter{
		pvcontroller.HostPathPlugin: pvcontroller.NewHostPathDeleter(func(path string) error {
			delete(disk, path)
			return nil
		}),
	}})
	c.offered("pv", "5Gi", append(change, policy(v1.PersistentVolumeReclaimDelete))...)
	c.settle()
	c.claimed("data")
	c.settle()
	c.deleteClaim("data")
	c.settle()
	return c
}

func TestAHostPathVolumeIsDeletedFromTheDisk(t *testing.T) {
	for name, change := range map[string]func(*v1.PersistentVolume){
		"made by hand":            func(*v1.PersistentVolume) {},
		"made by the provisioner": annotated("pv.kubernetes.io/provisioned-by=kubernetes.io/host-path"),
	} {
		t.Run(name, func(t *testing.T) {
			disk := map[string]bool{"/tmp/pv": true, "/tmp/other": true}
			c := withDisk(t, disk, change)
			require.Equal(t, map[string]bool{"/tmp/other": true}, disk)
			c.requireGone("pv")
		})
	}
}

func TestAHostPathVolumeElsewhereFailsAndKeepsItsData(t *testing.T) {
	disk := map[string]bool{"/data": true}
	c := withDisk(t, disk, func(volume *v1.PersistentVolume) { volume.Spec.HostPath.Path = "/data" })
	require.Equal(t, map[string]bool{"/data": true}, disk)
	require.Equal(t, v1.VolumeFailed, c.volume("pv").Status.Phase)
	require.Equal(t, "host_path deleter only supports /tmp/.+ but received provided /data", c.volume("pv").Status.Message)
	require.Equal(t, []string{"Warning VolumeFailedDelete"}, c.events("pv"))
}
