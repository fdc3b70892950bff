package volumemanager

import (
	"context"
	"errors"
	"fmt"
	"slices"

	v1 "k8s.io/api/core/v1"

	"github.com/storagesim/storagesim/machine/disk"
	"github.com/storagesim/storagesim/volume"
)

// VolumeStats says how full one volume of a pod is.
//
// Upstream: k8s.io/kubelet/pkg/apis/stats/v1alpha1 VolumeStats, v0.37.
type VolumeStats struct {
	// Name is the volume's name in the pod, Claim its claim's name, if it has one.
	Name, Claim string
	volume.Metrics
}

// VolumeStats asks the plugin of each mounted volume and raw device how full it is. Volumes whose plugin cannot tell are left out, and those whose
// name in the pod is not wanted; nil wants all. If a server does not answer, the error is disk.ErrSilent.
//
// Upstream: volume_stat_calculator.go calcAndStoreStats, v1.37.2.
func (vm *VolumeManager) VolumeStats(ctx context.Context, pod *v1.Pod, wanted func(name string) bool) (list []VolumeStats, err error) {
	claims := map[string]string{}
	for i := range pod.Spec.Volumes {
		v := &pod.Spec.Volumes[i]
		if v.PersistentVolumeClaim != nil {
			claims[v.Name] = v.PersistentVolumeClaim.ClaimName
		} else if v.Ephemeral != nil {
			claims[v.Name] = pod.Name + "-" + v.Name
		}
	}
	for _, v := range vm.desired.ofPod(pod.UID) {
		m := vm.actual.volumes.get(v.podVolume)
		if m == nil || m.state != stateMounted {
			continue
		}
		names := slices.DeleteFunc(slices.Clone(v.outerNames), func(name string) bool { return wanted != nil && !wanted(name) })
		if len(names) == 0 {
			continue
		}
		provider, err := vm.metricsProvider(m, pod)
		if err != nil || provider == nil {
			continue
		}
		metrics, err := provider.GetMetrics(ctx)
		switch {
		case errors.Is(err, disk.ErrSilent):
			return nil, err
		case err != nil:
			vm.note(m.about, fmt.Sprintf("how full volume %s is cannot be told: %v", names[0], err))
			continue
		}
		for _, name := range names {
			list = append(list, VolumeStats{Name: name, Claim: claims[name], Metrics: *metrics})
		}
	}
	return list, nil
}

// metricsProvider returns the mounter of a mounted volume, or the unmapper of a device, as far as it can say how full the volume is; nil if it cannot. A
// mapper would be made with a write to the disk.
//
// Upstream: kubelet_getters.go ListVolumesForPod and ListBlockVolumesForPod, v1.37.2.
func (vm *VolumeManager) metricsProvider(m *mountedVolume, pod *v1.Pod) (provider volume.MetricsProvider, err error) {
	var of any
	if plugin, ok := m.plugin.(volume.BlockVolumePlugin); m.block && ok {
		of, err = plugin.NewBlockVolumeUnmapper(m.spec.Name(), pod.UID)
	} else if !m.block {
		of, err = m.plugin.NewMounter(m.spec, pod)
	}
	provider, _ = of.(volume.MetricsProvider)
	return provider, err
}
