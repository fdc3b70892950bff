package kubelet

import (
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/storagesim/storagesim/control"
	"github.com/storagesim/storagesim/kubelet/volume"
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
	about    control.Ref
}

// mountedDevice is a volume that is mounted, or may be, for the node.
type mountedDevice struct {
	state  mountState
	plugin volume.DeviceMountableVolumePlugin
	path   string
}

// actualStateOfWorld is what is mounted.
type actualStateOfWorld struct {
	volumes map[podVolume]*mountedVolume
	devices map[v1.UniqueVolumeName]*mountedDevice
}

func newActualStateOfWorld() *actualStateOfWorld {
	return &actualStateOfWorld{volumes: map[podVolume]*mountedVolume{}, devices: map[v1.UniqueVolumeName]*mountedDevice{}}
}

// isMounted says whether the volume is mounted for sure.
func (asw *actualStateOfWorld) isMounted(key podVolume) bool {
	v := asw.volumes[key]
	return v != nil && v.state == stateMounted
}

// usesVolume says whether any pod has the volume, for sure or not.
func (asw *actualStateOfWorld) usesVolume(name v1.UniqueVolumeName) bool {
	for key := range asw.volumes {
		if key.volume == name {
			return true
		}
	}
	return false
}

// podHasVolumes says whether anything is, or may be, mounted for the pod.
func (asw *actualStateOfWorld) podHasVolumes(uid types.UID) bool {
	for key := range asw.volumes {
		if key.pod == uid {
			return true
		}
	}
	return false
}

// list is all mounts in order of pod and volume.
func (asw *actualStateOfWorld) list() []*mountedVolume {
	list := make([]*mountedVolume, 0, len(asw.volumes))
	for _, v := range asw.volumes {
		list = append(list, v)
	}
	slices.SortFunc(list, func(a, b *mountedVolume) int {
		if c := strings.Compare(string(a.pod), string(b.pod)); c != 0 {
			return c
		}
		return strings.Compare(string(a.volume), string(b.volume))
	})
	return list
}

// deviceNames are the volumes mounted for the node, sorted.
func (asw *actualStateOfWorld) deviceNames() []v1.UniqueVolumeName {
	names := make([]v1.UniqueVolumeName, 0, len(asw.devices))
	for name := range asw.devices {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}
