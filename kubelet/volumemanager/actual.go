package volumemanager

import (
	"errors"
	"slices"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/storagesim/storagesim/trace"
	"github.com/storagesim/storagesim/volume"
)

// mountState says how sure the kubelet is of a mount.
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
// Upstream: actual_state_of_world.go mountedPod, v1.37.
type mountedVolume struct {
	podVolume
	state  mountState
	plugin volume.VolumePlugin
	spec   *volume.Spec
	// path is the path on the node that containers get.
	path     string
	readOnly bool
	// block: path is a link to a raw device.
	block bool
	// remount: the volume must be set up again to be up to date.
	remount bool
	// reconstructed: it was found on the disk and has not been set up since.
	reconstructed bool
	about         trace.Ref
}

// mountedDevice is a volume that is mounted, or may be, for the whole node.
type mountedDevice struct {
	state  mountState
	plugin volume.DeviceMountableVolumePlugin
	spec   *volume.Spec
	path   string
	// block: it is a raw device.
	block bool
	// reconstructed: it was found on the disk and has not been mounted since.
	reconstructed bool
}

// actualStateOfWorld holds the volumes that are attached and mounted.
//
// Upstream: actual_state_of_world.go, v1.37.
type actualStateOfWorld struct {
	volumes podVolumes[*mountedVolume]
	devices map[v1.UniqueVolumeName]*mountedDevice
	// attached holds the volumes that were found to be attached.
	attached map[v1.UniqueVolumeName]bool
	// mounting holds the volumes that plugins are mounting now, which may take long.
	mounting map[podVolume]bool
	// uncertain is Decisions.Uncertain, final is Decisions.Final.
	uncertain, final func(failure error) bool
}

func newActualStateOfWorld() *actualStateOfWorld {
	return &actualStateOfWorld{
		volumes: newPodVolumes[*mountedVolume](), devices: map[v1.UniqueVolumeName]*mountedDevice{},
		attached: map[v1.UniqueVolumeName]bool{}, mounting: map[podVolume]bool{},
	}
}

// isMounted reports whether the volume is known to be mounted.
func (asw *actualStateOfWorld) isMounted(key podVolume) bool {
	v := asw.volumes.get(key)
	return v != nil && v.state == stateMounted
}

// isUpToDate reports whether the volume is mounted and need not be set up again.
func (asw *actualStateOfWorld) isUpToDate(key podVolume) bool {
	return asw.isMounted(key) && !asw.volumes.get(key).remount
}

// isDeviceMounted reports whether the volume is known to be mounted for the node.
func (asw *actualStateOfWorld) isDeviceMounted(name v1.UniqueVolumeName) bool {
	d := asw.devices[name]
	return d != nil && d.state == stateMounted
}

// isMounting reports whether a plugin is mounting a volume that matches.
func (asw *actualStateOfWorld) isMounting(matches func(podVolume) bool) bool {
	for key := range asw.mounting {
		if matches(key) {
			return true
		}
	}
	return false
}

// podHasVolumes reports whether anything is, or may be, mounted for the pod.
func (asw *actualStateOfWorld) podHasVolumes(uid types.UID) bool {
	return len(asw.volumes.byPod[uid]) > 0
}

// checkReadWriteOncePod refuses a volume that another pod on this node has, if its only access
// mode is ReadWriteOncePod. A volume with other access modes besides may be shared.
//
// Upstream: actual_state_of_world.go IsVolumeMountedElsewhere, v1.37.
func (asw *actualStateOfWorld) checkReadWriteOncePod(v *volumeToMount) error {
	pv := v.spec.PersistentVolume
	if pv == nil || !slices.Equal(pv.Spec.AccessModes, []v1.PersistentVolumeAccessMode{v1.ReadWriteOncePod}) {
		return nil
	}
	if asw.volumes.usedElsewhere(v.podVolume) {
		return errors.New("volume uses the ReadWriteOncePod access mode and is already in use by another pod")
	}
	return nil
}

// markUncertain makes the volume, if it is there, be set up again before it is used.
func (asw *actualStateOfWorld) markUncertain(key podVolume) {
	if v := asw.volumes.get(key); v != nil {
		v.state = stateUncertain
	}
}

// markSetUp records the outcome of setting v up for its pod. After a failure v is uncertain,
// and so torn down when its pod ends, if it may be mounted all the same or if something of it
// is left on the disk. A final failure ends an earlier uncertainty, but not about what was
// found on the disk at the start. It reports whether it has recorded v.
//
// Upstream: operation_generator.go markVolumeErrorState, v1.37.
func (asw *actualStateOfWorld) markSetUp(v *mountedVolume, failure error, left bool) bool {
	v.state = stateMounted
	if failure != nil {
		old := asw.volumes.get(v.podVolume)
		switch {
		case left || old == nil && asw.uncertain(failure):
			v.state, v.reconstructed = stateUncertain, old != nil && old.reconstructed
		case old != nil && old.state == stateUncertain && !old.reconstructed && asw.final(failure):
			asw.volumes.remove(v.podVolume)
			return false
		default:
			return false
		}
	}
	asw.volumes.put(v.podVolume, v)
	return true
}

// markDevice records the outcome of mounting a volume for the node, by the same rules as
// markSetUp.
//
// Upstream: operation_generator.go markDeviceErrorState, v1.37.
func (asw *actualStateOfWorld) markDevice(v *volumeToMount, path string, failure error) {
	old := asw.devices[v.volume]
	device := &mountedDevice{state: stateMounted, plugin: v.device, spec: v.spec, path: path, block: v.block}
	switch {
	case failure == nil:
		asw.devices[v.volume] = device
	case old == nil && asw.uncertain(failure):
		device.state = stateUncertain
		asw.devices[v.volume] = device
	case old != nil && old.state == stateUncertain && !old.reconstructed && asw.final(failure):
		delete(asw.devices, v.volume)
	}
}
