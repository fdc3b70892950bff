package kubelet

import (
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/storagesim/storagesim/kubelet/volume"
)

// NewWrapperMounter is a mounter by which one plugin uses another's volume.
//
// Upstream: pkg/kubelet/volume_host.go NewWrapperMounter, v1.36.
func (h volumeHost) NewWrapperMounter(volName string, spec volume.Spec, pod *v1.Pod) (volume.Mounter, error) {
	wrapped := volume.WrappedSpec(volName, spec)
	plugin, err := h.k.plugins.FindPluginBySpec(wrapped)
	if err != nil {
		return nil, err
	}
	return plugin.NewMounter(wrapped, pod)
}

// NewWrapperUnmounter is the unmounter to it.
//
// Upstream: pkg/kubelet/volume_host.go NewWrapperUnmounter, v1.36.
func (h volumeHost) NewWrapperUnmounter(volName string, spec volume.Spec, podUID types.UID) (volume.Unmounter, error) {
	wrapped := volume.WrappedSpec(volName, spec)
	plugin, err := h.k.plugins.FindPluginBySpec(wrapped)
	if err != nil {
		return nil, err
	}
	return plugin.NewUnmounter(wrapped.Name(), podUID)
}
