package volume

import (
	"context"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

// BlockVolumePlugin is a plugin whose volumes can also be raw devices, with volumeMode Block.
//
// Upstream: pkg/volume/plugins.go BlockVolumePlugin, v1.37.
type BlockVolumePlugin interface {
	VolumePlugin
	// NewBlockVolumeMapper makes a mapper of the device for a pod.
	NewBlockVolumeMapper(spec *Spec, pod *v1.Pod) (BlockVolumeMapper, error)
	// NewBlockVolumeUnmapper makes an unmapper from what can be known after a
	// restart.
	NewBlockVolumeUnmapper(name string, podUID types.UID) (BlockVolumeUnmapper, error)
	// ConstructBlockVolumeSpec rebuilds a spec, as far as possible, from a pod's volumeDevices
	// directory.
	ConstructBlockVolumeSpec(podUID types.UID, volumeName, mapPath string) (*Spec, error)
}

// BlockVolume is a device of a pod, as links to it. The device itself is neither
// mounted nor formatted.
//
// Upstream: pkg/volume/volume.go BlockVolume, v1.37.
type BlockVolume interface {
	// GetGlobalMapPath returns the directory that has a link for each pod that has the
	// device: plugins/<plugin>/volumeDevices/<volume>.
	GetGlobalMapPath(spec *Spec) (string, error)
	// GetPodDeviceMapPath returns the directory and the name of the pod's own link:
	// pods/<uid>/volumeDevices/<plugin> and the volume's name.
	GetPodDeviceMapPath() (dir, name string)
}

// BlockVolumeMapper gives a pod a device.
type BlockVolumeMapper interface {
	BlockVolume
	// MapPodDevice makes the device ready for the pod and returns its path on the node. It
	// fails if there is no device.
	//
	// Upstream: pkg/volume/volume.go CustomBlockVolumeMapper, v1.37.
	MapPodDevice(ctx context.Context) (string, error)
}

// BlockVolumeUnmapper removes a device from a pod.
type BlockVolumeUnmapper interface{ BlockVolume }

// CustomBlockVolumeMapper is a mapper of devices that are first made ready once for the
// whole node.
//
// Upstream: pkg/volume/volume.go CustomBlockVolumeMapper, v1.37.
type CustomBlockVolumeMapper interface {
	BlockVolumeMapper
	// SetUpDevice makes the device ready for the node and returns the path at which it is staged,
	// "" if it is not staged.
	SetUpDevice(ctx context.Context) (string, error)
	// GetStagingPath returns the path at which the device is staged.
	GetStagingPath() string
}

// CustomBlockVolumeUnmapper undoes what a CustomBlockVolumeMapper did.
//
// Upstream: pkg/volume/volume.go CustomBlockVolumeUnmapper, v1.37.
type CustomBlockVolumeUnmapper interface {
	BlockVolumeUnmapper
	// UnmapPodDevice undoes MapPodDevice.
	UnmapPodDevice(ctx context.Context) error
	// TearDownDevice undoes SetUpDevice.
	TearDownDevice(ctx context.Context) error
}
