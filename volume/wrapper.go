package volume

import (
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

// NewWrapperMounter returns a mounter by which one plugin uses another's volume.
//
// Upstream: pkg/kubelet/volume_host.go NewWrapperMounter, v1.37.
func (pm *VolumePluginMgr) NewWrapperMounter(volName string, spec Spec, pod *v1.Pod) (Mounter, error) {
	wrapped := WrappedSpec(volName, spec)
	plugin, err := pm.FindPluginBySpec(wrapped)
	if err != nil {
		return nil, err
	}
	return plugin.NewMounter(wrapped, pod)
}

// NewWrapperUnmounter returns the unmounter to it.
//
// Upstream: pkg/kubelet/volume_host.go NewWrapperUnmounter, v1.37.
func (pm *VolumePluginMgr) NewWrapperUnmounter(volName string, spec Spec, podUID types.UID) (Unmounter, error) {
	wrapped := WrappedSpec(volName, spec)
	plugin, err := pm.FindPluginBySpec(wrapped)
	if err != nil {
		return nil, err
	}
	return plugin.NewUnmounter(wrapped.Name(), podUID)
}
