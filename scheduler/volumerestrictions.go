package scheduler

import (
	"slices"

	v1 "k8s.io/api/core/v1"

	"github.com/storagesim/storagesim/control"
)

// volumeRestrictions: a ReadWriteOncePod claim that a pod on any node uses is
// nobody else's.
// Upstream: plugins/volumerestrictions, v1.36.
type volumeRestrictions struct {
	claims  *control.Cache[*v1.PersistentVolumeClaim]
	cluster *clusterState
}

func (volumeRestrictions) Name() string { return "VolumeRestrictions" }

// Helps: the pod that uses the claim leaves, or a claim that was missing comes.
func (volumeRestrictions) Helps(pod *v1.Pod, e clusterEvent) bool {
	if other, ok := e.old.(*v1.Pod); ok && e.podLeft() {
		theirs := claimKeys(other)
		return slices.ContainsFunc(claimKeys(pod), func(key string) bool { return slices.Contains(theirs, key) })
	}
	claim, ok := e.new.(*v1.PersistentVolumeClaim)
	return ok && e.old == nil && slices.Contains(claimKeys(pod), control.Key(claim))
}

func (p volumeRestrictions) PreFilter(c *cycle) *status {
	for _, pc := range claimNames(c.pod) {
		key := c.pod.Namespace + "/" + pc.name
		claim, ok := p.claims.Get(key)
		if !ok {
			return refuse(unresolvable, claimNotFound(pc))
		}
		if slices.Contains(claim.Spec.AccessModes, v1.ReadWriteOncePod) && p.cluster.claimUsers[key] > 0 {
			c.rwopClaims = append(c.rwopClaims, key)
		}
	}
	return nil
}

// Filter turns down every node while another pod uses the claim. Evicting that
// pod would help.
func (volumeRestrictions) Filter(c *cycle, _ *nodeInfo) *status {
	if len(c.rwopClaims) == 0 {
		return nil
	}
	return refuse(unschedulable, "node(s) unavailable due to PersistentVolumeClaim with ReadWriteOncePod access mode already in-use by another pod")
}
