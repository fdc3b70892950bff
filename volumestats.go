package storagesim

import (
	"fmt"
	"time"

	"github.com/storagesim/storagesim/engine"
	"github.com/storagesim/storagesim/kubelet"
)

// maxStats is how long the kubelet may take to say how full a pod's volumes are.
const maxStats = 5 * time.Minute

// VolumeStats asks the kubelet of a pod ("web" or "NAMESPACE/web") how full the pod's volumes are, as
// `kubectl get --raw /api/v1/nodes/NODE/proxy/stats/summary` does on a cluster. Those volumes are in
// the answer whose plugin can tell: CSI drivers with GET_VOLUME_STATS, by NodeGetVolumeStats.
// The kubelet's work takes virtual time, if the driver's answer does.
func (c *Cluster) VolumeStats(pod string) (stats []kubelet.VolumeStats, err error) {
	if c.closed {
		return nil, engine.ErrClosed
	}
	p, node, err := c.podOnNode(pod)
	if err != nil {
		return nil, err
	}
	answered := false
	err = c.kubelets[node].Server.VolumeStats(p.UID, func(list []kubelet.VolumeStats) { stats, answered = list, true })
	if err == nil {
		err = c.engine.RunUntil(maxStats, func() bool { return answered })
	}
	if err == nil && !answered {
		err = fmt.Errorf("the kubelet of node %s has not answered after %s of virtual time", node, maxStats)
	}
	return stats, err
}
