package scheduler

import (
	"slices"

	v1 "k8s.io/api/core/v1"

	"github.com/storagesim/storagesim/control"
)

const (
	reasonReadWriteOncePod = "node(s) unavailable due to PersistentVolumeClaim with ReadWriteOncePod access mode already in-use by another pod"
	reasonDiskConflict     = "node(s) had no available disk"
)

// volumeRestrictions refuses a ReadWriteOncePod claim that another pod on any node uses,
// and a node where another pod has the same disk, if the disk stands in the pod's manifest.
// Upstream: plugins/volumerestrictions, v1.37.
type volumeRestrictions struct {
	claims  *control.Cache[*v1.PersistentVolumeClaim]
	cluster *clusterState
}

func (volumeRestrictions) Name() string { return "VolumeRestrictions" }

// Upstream: volume_restrictions.go EventsToRegister, v1.37.
func (volumeRestrictions) EventsToRegister() []registration {
	return []registration{
		upon(deleted, isSchedulableAfterUserLeft),
		upon(added, always[*v1.Node]),
		upon(added, isNamedClaim),
	}
}

// isSchedulableAfterUserLeft reports whether the pod that left is of the pod's namespace and used
// one of its disks or claims; ephemeral claims do not count.
// Upstream: volume_restrictions.go isSchedulableAfterAssignedPodDeleted, v1.37.
func isSchedulableAfterUserLeft(pod, before, _ *v1.Pod) bool {
	theirs := namedClaims(before)
	return before.Namespace == pod.Namespace && (disksConflict(pod, before) ||
		slices.ContainsFunc(namedClaims(pod), func(key string) bool { return slices.Contains(theirs, key) }))
}

// isNamedClaim reports whether the pod uses the claim, and the claim is not made for it.
// Upstream: volume_restrictions.go isSchedulableAfterPersistentVolumeClaimAdded and
// volume_zone.go isSchedulableAfterPersistentVolumeClaimChange, v1.37.
func isNamedClaim(pod *v1.Pod, _, after *v1.PersistentVolumeClaim) bool {
	return slices.Contains(namedClaims(pod), control.Key(after))
}

// PreFilter looks for claims that another pod uses. Claims made for the pod
// itself cannot be used by another pod.
func (p volumeRestrictions) PreFilter(c *cycle) *status {
	for _, pc := range claimNames(c.pod) {
		if pc.ephemeral {
			continue
		}
		key := c.pod.Namespace + "/" + pc.name
		claim, ok := p.claims.Get(key)
		if !ok {
			return refuse(unresolvable, claimNotFound(pc))
		}
		if slices.Contains(claim.Spec.AccessModes, v1.ReadWriteOncePod) && p.cluster.claimUsers[key] > 0 {
			c.rwopClaims = append(c.rwopClaims, key)
		}
	}
	if len(c.rwopClaims) == 0 && !slices.ContainsFunc(c.pod.Spec.Volumes, isDisk) {
		return refuse(skip)
	}
	return nil
}

// Filter turns down every node while another pod uses the claim, and the nodes
// that have the disk. Evicting that pod would help.
func (p volumeRestrictions) Filter(c *cycle, node *nodeInfo) *status {
	if slices.ContainsFunc(node.volumePods, func(other *placement) bool { return disksConflict(c.pod, other.pod) }) {
		return refuse(unschedulable, reasonDiskConflict)
	}
	if len(c.rwopClaims) > 0 {
		return refuse(unschedulable, reasonReadWriteOncePod)
	}
	return nil
}

// isDisk: a volume that names a disk and is no claim.
// Upstream: volume_restrictions.go needsRestrictionsCheck, v1.37.
func isDisk(v v1.Volume) bool {
	return v.GCEPersistentDisk != nil || v.AWSElasticBlockStore != nil || v.RBD != nil || v.ISCSI != nil
}

func disksConflict(pod, other *v1.Pod) bool {
	return slices.ContainsFunc(pod.Spec.Volumes, func(v v1.Volume) bool {
		return isDisk(v) && slices.ContainsFunc(other.Spec.Volumes, func(w v1.Volume) bool { return isVolumeConflict(v, w) })
	})
}

// isVolumeConflict: the same disk, unless both only read it; EBS disks conflict
// even then.
// Upstream: volume_restrictions.go isVolumeConflict, v1.37.
func isVolumeConflict(v, w v1.Volume) bool {
	switch {
	case v.GCEPersistentDisk != nil && w.GCEPersistentDisk != nil:
		a, b := v.GCEPersistentDisk, w.GCEPersistentDisk
		return a.PDName == b.PDName && !(a.ReadOnly && b.ReadOnly)
	case v.AWSElasticBlockStore != nil && w.AWSElasticBlockStore != nil:
		return v.AWSElasticBlockStore.VolumeID == w.AWSElasticBlockStore.VolumeID
	case v.ISCSI != nil && w.ISCSI != nil:
		return v.ISCSI.IQN == w.ISCSI.IQN && !(v.ISCSI.ReadOnly && w.ISCSI.ReadOnly)
	case v.RBD != nil && w.RBD != nil:
		a, b := v.RBD, w.RBD
		sameCluster := slices.ContainsFunc(a.CephMonitors, func(m string) bool { return slices.Contains(b.CephMonitors, m) })
		return sameCluster && a.RBDPool == b.RBDPool && a.RBDImage == b.RBDImage && !(a.ReadOnly && b.ReadOnly)
	}
	return false
}
