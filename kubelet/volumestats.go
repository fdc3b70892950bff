package kubelet

import (
	"context"
	"errors"
	"fmt"

	"k8s.io/apimachinery/pkg/types"

	"github.com/storagesim/storagesim/kubelet/volumemanager"
)

// VolumeStats says how full one volume of a pod is.
type VolumeStats = volumemanager.VolumeStats

// Server answers requests to the kubelet of one node. It outlives the kubelet's crashes. The zero
// value is ready.
type Server struct{ kubelet *kubelet }

// VolumeStats has the kubelet find out how full a pod's volumes are, in a task of its own, and then
// call answer: with those that can tell, in the order of the pod's spec. It says what keeps the
// kubelet from looking. A kubelet that crashes meanwhile never answers.
//
// Upstream: volume_stat_calculator.go calcAndStoreStats, v1.37, which does that each minute for all
// pods; here it is done on request.
func (s *Server) VolumeStats(uid types.UID, answer func([]VolumeStats)) error {
	k := s.kubelet
	if k == nil {
		return errors.New("the kubelet has not started yet")
	}
	w := k.workers[uid]
	if w == nil || w.pod == nil {
		return fmt.Errorf("kubelet of node %s: it has no pod with uid %s", k.nodeName(), uid)
	}
	pod := w.pod
	k.env.Go("volume stats of pod "+pod.Name, func(ctx context.Context) { answer(k.volumes.VolumeStats(ctx, pod, nil)) })
	return nil
}
