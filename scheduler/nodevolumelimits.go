package scheduler

import (
	"slices"

	v1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"

	"github.com/storagesim/storagesim/binding"
	"github.com/storagesim/storagesim/control"
	"github.com/storagesim/storagesim/internal/migration"
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

// nodeVolumeLimits refuses a node if a CSI driver would have to attach more volumes there than its
// CSINode allows; a driver without a count has no limit. A volume counts once, however many pods of
// the node use it. One that is attached to the node and used by no pod there counts a second time
// for the pod that wants it, as upstream: a pod that replaces another at the limit waits until the
// volume is detached.
// Upstream: plugins/nodevolumelimits/csi.go CSILimits, v1.37.
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

// Upstream: nodevolumelimits/csi.go EventsToRegister, v1.37.
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
// Upstream: csi.go isSchedulableAfterAssignedPodDeleted, v1.37.
func isSchedulableAfterVolumesFreed(_, before, _ *v1.Pod) bool {
	return hasPlace(before) && len(claimNames(before)) > 0
}

// isSchedulableAfterVolumeAttachmentDeleted: something is detached, and the pod has
// claims that are not made for it.
// Upstream: csi.go isSchedulableAfterVolumeAttachmentDeleted, v1.37.
func isSchedulableAfterVolumeAttachmentDeleted(pod *v1.Pod, _, _ *storagev1.VolumeAttachment) bool {
	return len(namedClaims(pod)) > 0
}

// limitGrew: of some driver. A driver without a count has the count 0 here, so
// that losing the limit altogether is no help, as upstream.
// Upstream: csi.go isSchedulableAfterCSINodeUpdated, v1.37.
func limitGrew(old, node *storagev1.CSINode) bool {
	return slices.ContainsFunc(node.Spec.Drivers, func(d storagev1.CSINodeDriver) bool {
		was, _ := volumeLimitOf(old, d.Name)
		is, _ := volumeLimitOf(node, d.Name)
		return is > was
	})
}

// PreFilter lists the drivers that a node must have, and what the pod needs attached by drivers that
// have a limit on any node. A claim that is missing is VolumeBinding's to report.
func (p nodeVolumeLimits) PreFilter(c *cycle) *status {
	volumes := p.volumesOf(c.pod, nil)
	for _, v := range volumes {
		if driver, ok := p.drivers.Get(v.driver); ok && driver.Spec.PreventPodSchedulingIfMissing != nil && *driver.Spec.PreventPodSchedulingIfMissing {
			c.installed = addOnce(c.installed, v.driver)
		}
	}
	c.attach = slices.DeleteFunc(volumes, func(v csiVolume) bool { return !p.csiNodes.HasIndex(byLimitedDriver, v.driver) })
	if len(c.attach)+len(c.installed) == 0 {
		return refuse(skip)
	}
	return nil
}

// Filter looks for the drivers, and then counts what is new to the node against what is there. A
// node that has too much already is fine for a pod that brings nothing new.
func (p nodeVolumeLimits) Filter(c *cycle, node *nodeInfo) *status {
	if driver := p.missing(c, node); driver != "" {
		return refuse(unschedulable, driver+" CSI driver is not installed on the node")
	}
	if driver, _, _ := p.overLimit(c, node); driver != "" {
		return refuse(unschedulable, reasonMaxVolumeCount)
	}
	return nil
}

// missing returns the first of the drivers that the node must have and lacks, "" if it has all.
// Upstream: csi.go checkCSIDriverOnNode, v1.37.
func (p nodeVolumeLimits) missing(c *cycle, node *nodeInfo) string {
	for _, driver := range c.installed {
		csiNode, ok := p.csiNodes.Get(node.node.Name)
		if !ok || !slices.ContainsFunc(csiNode.Spec.Drivers, func(d storagev1.CSINodeDriver) bool { return d.Name == driver }) {
			return driver
		}
	}
	return ""
}

// overLimit returns the first driver that would have to attach more volumes than it
// can, "" if there is none.
func (p nodeVolumeLimits) overLimit(c *cycle, node *nodeInfo) (driver string, attached, limit int) {
	csiNode, ok := p.csiNodes.Get(node.node.Name)
	if !ok || len(limitedDrivers(csiNode)) == 0 {
		return "", 0, 0
	}
	used := p.usedOn(node)
	brought := slices.DeleteFunc(slices.Clone(c.attach), func(v csiVolume) bool { return slices.Contains(used, v) })
	if len(brought) == 0 {
		return "", 0, 0
	}
	there := p.attachedTo(node, used)
	for _, want := range brought {
		limit, ok := volumeLimitOf(csiNode, want.driver)
		sameDriver := func(v csiVolume) bool { return v.driver == want.driver }
		if attached := count(there, sameDriver); ok && attached+count(brought, sameDriver) > limit {
			return want.driver, attached, limit
		}
	}
	return "", 0, 0
}

// usedOn returns the volumes of the pods on the node, assumed ones included.
// Upstream: csi.go Filter, v1.37.
func (p nodeVolumeLimits) usedOn(node *nodeInfo) []csiVolume {
	var list []csiVolume
	for _, placed := range node.volumePods {
		list = p.volumesOf(placed.pod, list)
	}
	return list
}

// attachedTo returns the volumes used on the node and those that are attached there, or are to be
// attached or detached.
// Upstream: csi.go getNodeVolumeAttachmentInfo, v1.37.
func (p nodeVolumeLimits) attachedTo(node *nodeInfo, used []csiVolume) []csiVolume {
	list := slices.Clone(used)
	for _, attachment := range p.attachments.ByIndex(byNode, node.node.Name) {
		name := attachment.Spec.Source.PersistentVolumeName
		if name == nil {
			continue
		}
		if pv, ok := p.volumes.Get(*name); ok {
			if source := limitedSource(pv); source != nil {
				list = addOnce(list, csiVolume{driver: source.Driver, handle: source.VolumeHandle})
			}
		}
	}
	return list
}

// volumesOf adds the CSI volumes of the pod's claims to the list, and those of its own whose plugin a CSI driver has replaced, each once.
// Upstream: csi.go filterAttachableVolumes and checkAttachableInlineVolume, v1.37.
func (p nodeVolumeLimits) volumesOf(pod *v1.Pod, list []csiVolume) []csiVolume {
	for _, key := range claimKeys(pod) {
		if claim, ok := p.claims.Get(key); ok {
			if v, ok := p.volumeOf(claim); ok {
				list = addOnce(list, v)
			}
		}
	}
	for i := range pod.Spec.Volumes {
		if v := &pod.Spec.Volumes[i]; countsAsCSI(migration.OfInline(v)) {
			if pv, err := migration.Inline(v, pod.Namespace); err == nil {
				list = addOnce(list, csiVolume{driver: pv.Spec.CSI.Driver, handle: pv.Spec.CSI.VolumeHandle})
			}
		}
	}
	return list
}

// volumeOf returns the claim's volume, or, while there is none, the one that its
// class will have made.
// Upstream: csi.go getCSIDriverInfo, getCSIDriverInfoFromSC, v1.37.
func (p nodeVolumeLimits) volumeOf(claim *v1.PersistentVolumeClaim) (csiVolume, bool) {
	if pv, ok := p.volumes.Get(claim.Spec.VolumeName); ok {
		source := limitedSource(pv)
		if source == nil {
			return csiVolume{}, false
		}
		return csiVolume{driver: source.Driver, handle: source.VolumeHandle}, true
	}
	class, ok := p.classes.Get(binding.GetPersistentVolumeClaimClass(claim))
	if !ok {
		return csiVolume{}, false // without a class it is bound before it is scheduled
	}
	driver := class.Provisioner
	if countsAsCSI(driver) {
		driver = migration.Driver(driver)
	}
	return csiVolume{driver: driver, claim: control.Key(claim)}, true
}

// limitedSource returns the source of a volume that counts against the limit of a CSI driver; nil for any other volume.
// Upstream: csi.go getCSIDriverInfo, v1.37.2.
func limitedSource(pv *v1.PersistentVolume) *v1.CSIPersistentVolumeSource {
	if pv.Spec.CSI == nil && countsAsCSI(migration.OfVolume(pv)) {
		if csi, err := migration.Volume(pv); err == nil {
			return csi.Spec.CSI
		}
	}
	return pv.Spec.CSI
}

// countsAsCSI reports whether the volumes of a plugin that a CSI driver has replaced count as the driver's. vSphere's and Azure Files' do not.
// Upstream: nodevolumelimits/utils.go isCSIMigrationOn, v1.37.2.
func countsAsCSI(plugin string) bool {
	switch plugin {
	case "kubernetes.io/gce-pd", "kubernetes.io/aws-ebs", "kubernetes.io/azure-disk", "kubernetes.io/cinder", "kubernetes.io/portworx-volume":
		return true
	}
	return false
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
