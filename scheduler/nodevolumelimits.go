package scheduler

import (
	"slices"

	v1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"

	"github.com/storagesim/storagesim/binding"
	"github.com/storagesim/storagesim/control"
)

// reasonMaxVolumeCount is upstream's ErrReasonMaxVolumeCountExceeded.
const reasonMaxVolumeCount = "node(s) exceed max volume count"

// byNode indexes VolumeAttachments by their node.
const byNode = "node"

// byLimitedDriver indexes CSINodes by the drivers that have a limit there.
const byLimitedDriver = "limited driver"

func limitedDrivers(node *storagev1.CSINode) []string {
	var drivers []string
	for _, d := range node.Spec.Drivers {
		if d.Allocatable != nil && d.Allocatable.Count != nil {
			drivers = addOnce(drivers, d.Name)
		}
	}
	return drivers
}

// nodeVolumeLimits: a CSI driver attaches at most so many volumes to a node as
// its CSINode says; a driver that says nothing has no limit. A volume counts once,
// however many pods use it and whether it is attached already or still to be.
// Upstream: plugins/nodevolumelimits/csi.go CSILimits, v1.36.
type nodeVolumeLimits struct{ *caches }

// csiVolume is one attachment: a volume that exists, or one that a claim without
// a volume will get.
type csiVolume struct {
	driver, handle string
	// claim is the key of the claim, if it has no volume yet. Upstream makes up a
	// random handle for it.
	claim string
}

func (nodeVolumeLimits) Name() string { return "NodeVolumeLimits" }

// Upstream: nodevolumelimits/csi.go EventsToRegister, v1.36.
func (nodeVolumeLimits) EventsToRegister() []registration {
	return []registration{
		upon(added, always[*storagev1.CSINode]),
		upon(updated, func(_ *v1.Pod, before, after *storagev1.CSINode) bool { return limitGrew(before, after) }),
		upon(deleted, isSchedulableAfterVolumesFreed),
		upon(added, isClaimOfPod),
		upon(deleted, isSchedulableAfterVolumeAttachmentDeleted),
	}
}

// isSchedulableAfterVolumesFreed: a pod with claims leaves.
// Upstream: csi.go isSchedulableAfterPodDeleted, v1.36.
func isSchedulableAfterVolumesFreed(_, before, _ *v1.Pod) bool {
	return hasPlace(before) && len(claimNames(before)) > 0
}

// isSchedulableAfterVolumeAttachmentDeleted: something is detached, and the pod has
// claims that are not made for it.
// Upstream: csi.go isSchedulableAfterVolumeAttachmentDeleted, v1.36.
func isSchedulableAfterVolumeAttachmentDeleted(pod *v1.Pod, _, _ *storagev1.VolumeAttachment) bool {
	return len(namedClaims(pod)) > 0
}

// limitGrew: of some driver. A driver without a count has the count 0 here, so
// that losing the limit altogether is no help, as upstream.
// Upstream: csi.go isSchedulableAfterCSINodeUpdated, v1.36.
func limitGrew(old, node *storagev1.CSINode) bool {
	return slices.ContainsFunc(node.Spec.Drivers, func(d storagev1.CSINodeDriver) bool {
		was, _ := volumeLimitOf(old, d.Name)
		is, _ := volumeLimitOf(node, d.Name)
		return is > was
	})
}

// PreFilter lists what the pod needs attached by drivers that have a limit on any node. A
// claim that is missing is VolumeBinding's to report.
func (p nodeVolumeLimits) PreFilter(c *cycle) *status {
	c.attach = slices.DeleteFunc(p.volumesOf(c.pod, nil), func(v csiVolume) bool { return !p.csiNodes.HasIndex(byLimitedDriver, v.driver) })
	if len(c.attach) == 0 {
		return refuse(skip)
	}
	return nil
}

// Filter counts what is new to the node against what is there. A node that has
// too much already is fine for a pod that brings nothing new.
func (p nodeVolumeLimits) Filter(c *cycle, node *nodeInfo) *status {
	if driver, _, _ := p.overLimit(c, node); driver != "" {
		return refuse(unschedulable, reasonMaxVolumeCount)
	}
	return nil
}

// overLimit returns the first driver that would have to attach more volumes than it
// can, "" if there is none.
func (p nodeVolumeLimits) overLimit(c *cycle, node *nodeInfo) (driver string, attached, limit int) {
	csiNode, ok := p.csiNodes.Get(node.node.Name)
	if !ok || len(limitedDrivers(csiNode)) == 0 {
		return "", 0, 0
	}
	there := p.attachedTo(node)
	for _, want := range c.attach {
		limit, ok := volumeLimitOf(csiNode, want.driver)
		if !ok || slices.Contains(there, want) {
			continue
		}
		sameDriver := func(v csiVolume) bool { return v.driver == want.driver }
		attached := count(there, sameDriver)
		brought := count(c.attach, func(v csiVolume) bool { return sameDriver(v) && !slices.Contains(there, v) })
		if attached+brought > limit {
			return want.driver, attached, limit
		}
	}
	return "", 0, 0
}

// attachedTo returns the volumes of the pods on the node, assumed ones included, and
// those attached there for whomever.
// Upstream: csi.go Filter, getNodeVolumeAttachmentInfo, v1.36.
func (p nodeVolumeLimits) attachedTo(node *nodeInfo) []csiVolume {
	var list []csiVolume
	for _, placed := range node.volumePods {
		list = p.volumesOf(placed.pod, list)
	}
	for _, attachment := range p.attachments.ByIndex(byNode, node.node.Name) {
		name := attachment.Spec.Source.PersistentVolumeName
		if name == nil {
			continue
		}
		if pv, ok := p.volumes.Get(*name); ok && pv.Spec.CSI != nil {
			list = addOnce(list, csiVolume{driver: pv.Spec.CSI.Driver, handle: pv.Spec.CSI.VolumeHandle})
		}
	}
	return list
}

// volumesOf adds the CSI volumes of the pod's claims to the list, each once.
// Upstream: csi.go filterAttachableVolumes, v1.36.
func (p nodeVolumeLimits) volumesOf(pod *v1.Pod, list []csiVolume) []csiVolume {
	for _, key := range claimKeys(pod) {
		if claim, ok := p.claims.Get(key); ok {
			if v, ok := p.volumeOf(claim); ok {
				list = addOnce(list, v)
			}
		}
	}
	return list
}

// volumeOf returns the claim's volume, or, while there is none, the one that its
// class will have made.
// Upstream: csi.go getCSIDriverInfo, getCSIDriverInfoFromSC, v1.36.
func (p nodeVolumeLimits) volumeOf(claim *v1.PersistentVolumeClaim) (csiVolume, bool) {
	if pv, ok := p.volumes.Get(claim.Spec.VolumeName); ok {
		if pv.Spec.CSI == nil {
			return csiVolume{}, false
		}
		return csiVolume{driver: pv.Spec.CSI.Driver, handle: pv.Spec.CSI.VolumeHandle}, true
	}
	class, ok := p.classes.Get(binding.GetPersistentVolumeClaimClass(claim))
	if !ok {
		return csiVolume{}, false // without a class it is bound before it is scheduled
	}
	return csiVolume{driver: class.Provisioner, claim: control.Key(claim)}, true
}

// volumeLimitOf returns the number of volumes the driver can attach to the node.
func volumeLimitOf(node *storagev1.CSINode, driver string) (limit int, ok bool) {
	for _, d := range node.Spec.Drivers {
		if d.Name == driver && d.Allocatable != nil && d.Allocatable.Count != nil {
			return int(*d.Allocatable.Count), true
		}
	}
	return 0, false
}

func addOnce[T comparable](list []T, v T) []T {
	if slices.Contains(list, v) {
		return list
	}
	return append(list, v)
}

func count[T any](list []T, f func(T) bool) int {
	n := 0
	for _, v := range list {
		if f(v) {
			n++
		}
	}
	return n
}
