package kubelet

import (
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/storagesim/storagesim/trace"
	"github.com/storagesim/storagesim/volume"
)

// mountState is how sure the kubelet is of a mount.
type mountState string

const (
	// stateMounted: SetUp, or MountDevice, succeeded.
	stateMounted mountState = "mounted"
	// stateUncertain: it may be mounted, because the kubelet found it on disk or
	// an attempt ended without an answer. It must be set up again before use and
	// torn down afterwards.
	stateUncertain mountState = "uncertain"
)

// mountedVolume is a volume that is mounted, or may be, for a pod.
//
// Upstream: actual_state_of_world.go mountedPod, v1.36.
type mountedVolume struct {
	podVolume
	state  mountState
	plugin volume.VolumePlugin
	spec   *volume.Spec
	// path is what containers get.
	path     string
	readOnly bool
	// block says that path is a link to a raw device.
	block bool
	// remount says that it must be set up again to be up to date.
	remount bool
	// reconstructed says that it was found on the disk and not set up since.
	reconstructed bool
	about         trace.Ref
}

// mountedDevice is a volume that is mounted, or may be, for the node.
type mountedDevice struct {
	state  mountState
	plugin volume.DeviceMountableVolumePlugin
	spec   *volume.Spec
	path   string
	// block says that it is a raw device.
	block bool
	// reconstructed says that it was found on the disk and not mounted since.
	reconstructed bool
}

// actualStateOfWorld is what is mounted.
//
// Upstream: actual_state_of_world.go, v1.36.
type actualStateOfWorld struct {
	volumes podVolumes[*mountedVolume]
	devices map[v1.UniqueVolumeName]*mountedDevice
}

func newActualStateOfWorld() *actualStateOfWorld {
	return &actualStateOfWorld{volumes: newPodVolumes[*mountedVolume](), devices: map[v1.UniqueVolumeName]*mountedDevice{}}
}

// isMounted says whether the volume is mounted for sure.
func (asw *actualStateOfWorld) isMounted(key podVolume) bool {
	v := asw.volumes.get(key)
	return v != nil && v.state == stateMounted
}

// doubt has a volume be set up again before it is used, if it is there.
func (asw *actualStateOfWorld) doubt(key podVolume) {
	if v := asw.volumes.get(key); v != nil {
		v.state = stateUncertain
	}
}

// isUpToDate says whether the volume is mounted and need not be set up again.
func (asw *actualStateOfWorld) isUpToDate(key podVolume) bool {
	return asw.isMounted(key) && !asw.volumes.get(key).remount
}

// podHasVolumes says whether anything is, or may be, mounted for the pod.
func (asw *actualStateOfWorld) podHasVolumes(uid types.UID) bool {
	return len(asw.volumes.byPod[uid]) > 0
}
