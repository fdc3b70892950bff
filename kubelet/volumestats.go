package kubelet

import (
	"context"
	"errors"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/storagesim/storagesim/kubelet/volumemanager"
)

// VolumeStats says how full one volume of a pod is.
type VolumeStats = volumemanager.VolumeStats

// volumeStatsAggPeriod is the interval at which the kubelet finds out how full volumes are.
//
// Upstream: pkg/kubelet/apis/config/v1beta1/defaults.go VolumeStatsAggPeriod, v1.37, to which up to as much is added by chance.
const volumeStatsAggPeriod = time.Minute

// volumeStatCalculator finds out how full the volumes of a pod are, and keeps that for as long as volumeStatsAggPeriod.
//
// Upstream: volume_stat_calculator.go volumeStatCalculator, v1.37.2, which looks by itself after one to two minutes, again and again. Here it looks when
// a client asks and the last look is a minute ago: drivers are called no more often than upstream, and the answer is never older.
type volumeStatCalculator struct {
	// latest holds the result of the last calculation that told something, begun the time at which that began. ended is the time at which the last one
	// ended; zero before the first.
	latest       []VolumeStats
	begun, ended time.Time
	// waiting has the functions to call when the calculation that is under way has ended; nil if none is.
	waiting []func()
}

// calcVolumeStats calls done when it is known how full the volumes of a pod are. A volume whose server does not answer keeps what was known of all.
//
// Upstream: volume_stat_calculator.go StartOnce and calcAndStoreStats, v1.37.2, whose goroutine then waits for the server.
func (k *kubelet) calcVolumeStats(w *podWorker, done func()) {
	s := &w.volumeStats
	switch now := k.env.Now(); {
	case s.waiting != nil:
		s.waiting = append(s.waiting, done)
		return
	case !s.ended.IsZero() && now.Sub(s.ended) < volumeStatsAggPeriod:
		done()
		return
	}
	s.waiting = []func(){done}
	pod, begun := w.pod, k.env.Now()
	k.env.Go("volume stats of pod "+pod.Name, func(ctx context.Context) {
		if list, err := k.volumes.VolumeStats(ctx, pod, nil); err == nil {
			s.latest, s.begun = list, begun
		}
		s.ended = k.env.Now()
		waiting := s.waiting
		s.waiting = nil
		for _, done := range waiting {
			done()
		}
	})
}

// Server answers requests to the kubelet of one node. It outlives the kubelet's crashes. The zero
// value is ready.
type Server struct{ kubelet *kubelet }

// VolumeStats has the kubelet find out how full a pod's volumes are, in a task of its own, and then
// call answer: with those that can tell, in the order of the pod's spec. The kubelet looks no more than once a minute, and gives the same answer until it
// looks again. The error says what keeps the kubelet from looking. A kubelet that crashes meanwhile never answers.
//
// Upstream: fs_resource_analyzer.go GetPodVolumeStats, v1.37.2.
func (s *Server) VolumeStats(uid types.UID, answer func([]VolumeStats)) error {
	k := s.kubelet
	if k == nil {
		return errors.New("the kubelet has not started yet")
	}
	w := k.workers[uid]
	if w == nil || w.pod == nil {
		return fmt.Errorf("kubelet of node %s: it has no pod with uid %s", k.nodeName(), uid)
	}
	k.calcVolumeStats(w, func() { answer(w.volumeStats.latest) })
	return nil
}
