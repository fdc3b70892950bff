package kubelet

import (
	"context"
	"errors"
	"fmt"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/storagesim/storagesim/volume"
)

// VolumeStats is how full one volume of a pod is.
//
// Upstream: k8s.io/kubelet/pkg/apis/stats/v1alpha1 VolumeStats, v0.36.
type VolumeStats struct {
	// Name is that of the volume in the pod; Claim the claim's, if it has one.
	Name, Claim string
	volume.Metrics
}

// Server is where others ask the kubelet of one node. It outlives the kubelet's crashes. The zero
// value is ready.
type Server struct{ kubelet *kubelet }

// VolumeStats has the kubelet find out how full a pod's volumes are, in a task of its own, and then
// call answer: with those that can tell, in the order of the pod's spec. It says what keeps the
// kubelet from looking. A kubelet that crashes meanwhile never answers.
//
// Upstream: volume_stat_calculator.go calcAndStoreStats, v1.36, which does that each minute for all
// pods; here it is done on request.
func (s *Server) VolumeStats(uid types.UID, answer func([]VolumeStats)) error {
	k := s.kubelet
	if k == nil {
		return errors.New("the kubelet has not started yet")
	}
	w := k.workers[uid]
	if w == nil || w.pod == nil {
		return fmt.Errorf("kubelet of node %s: it has no pod with uid %s", k.node.Name, uid)
	}
	pod := w.pod
	k.env.Go("volume stats of pod "+pod.Name, func(ctx context.Context) { answer(k.volumeStats(ctx, pod)) })
	return nil
}

// volumeStats asks the plugin of each mounted volume. What cannot be told is noted and left out.
func (k *kubelet) volumeStats(ctx context.Context, pod *v1.Pod) (list []VolumeStats) {
	claims := map[string]string{}
	for i := range pod.Spec.Volumes {
		v := &pod.Spec.Volumes[i]
		if v.PersistentVolumeClaim != nil {
			claims[v.Name] = v.PersistentVolumeClaim.ClaimName
		} else if v.Ephemeral != nil {
			claims[v.Name] = pod.Name + "-" + v.Name
		}
	}
	for _, v := range k.desired.ofPod(pod.UID) {
		m := k.actual.volumes.get(v.podVolume)
		if m == nil || m.block || m.state != stateMounted {
			continue
		}
		mounter, err := m.plugin.NewMounter(m.spec, pod)
		provider, tells := mounter.(volume.MetricsProvider)
		if err != nil || !tells {
			continue
		}
		metrics, err := provider.GetMetrics(ctx)
		if err != nil {
			k.note(m.about, fmt.Sprintf("how full volume %s is cannot be told: %v", v.outerName, err))
			continue
		}
		list = append(list, VolumeStats{Name: v.outerName, Claim: claims[v.outerName], Metrics: *metrics})
	}
	return list
}
