package kubelet_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"

	"github.com/storagesim/storagesim/engine"
	"github.com/storagesim/storagesim/kubelet"
)

// asDevice has the pod's container use a volume as a raw device.
func asDevice(p *v1.Pod) *v1.Pod {
	c := &p.Spec.Containers[0]
	c.VolumeDevices = []v1.VolumeDevice{{Name: c.VolumeMounts[0].Name, DevicePath: "/dev/xvda"}}
	c.VolumeMounts = nil
	return p
}

// semantics 5.2: Block and Filesystem must agree with volumeDevices and
// volumeMounts; and what is not mapped here is refused by name.
func TestABlockVolumeIsRefusedByName(t *testing.T) {
	block, filesystem := v1.PersistentVolumeBlock, v1.PersistentVolumeFilesystem
	for want, c := range map[string]struct {
		mode   *v1.PersistentVolumeMode
		device bool
	}{
		"volume data has volumeMode Block: this kubelet maps no devices, which takes privilege; plugin \"kubernetes.io/local-volume\" would map it at /var/lib/kubelet/pods/": {&block, true},
		"volume data has volumeMode Block, but is specified in volumeMounts":                                                                                                  {&block, false},
		"volume data has volumeMode Filesystem, but is specified in volumeDevices":                                                                                            {&filesystem, true},
	} {
		w := newWorld(t, engine.Config{}, kubelet.Config{})
		w.boundVolume("data", func(pv *v1.PersistentVolume) { pv.Spec.VolumeMode = c.mode })
		p := pod("web", claim("data"))
		if c.device {
			p = asDevice(p)
		}
		w.create(p)
		require.NoError(t, w.e.RunFor(time.Minute))
		require.Equal(t, v1.PodPending, w.get("web").Status.Phase)
		w.requireEvent("web", "FailedMount", want)
		require.Empty(t, w.mounts())
		w.delete("web")
		w.settle()
		w.requireNothingLeft()
	}
}
