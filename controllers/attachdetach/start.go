package attachdetach

import (
	v1 "k8s.io/api/core/v1"
)

// start fills both worlds from the API, and follows it from then on.
// Upstream: attach_detach_controller.go populateActualStateOfWorld and
// populateDesiredStateOfWorld, v1.37.
func (c *controller) start() {
	c.started = true
	for node := range c.nodes.All() {
		for _, v := range node.Status.VolumesAttached {
			if _, _, err := splitUniqueName(v.Name); err == nil {
				c.mark(place{v.Name, node.Name}, nil, attached)
			}
		}
		delete(c.actual.due, node.Name) // its status lists them already
	}
	if c.cfg.InUseLast {
		c.processVolumeAttachments()
	}
	for node := range c.nodes.All() {
		c.nodeUpdated(nil, node)
	}
	if !c.cfg.InUseLast {
		c.processVolumeAttachments() // as new volumes they count as in use
	}
	for pod := range c.pods.All() {
		c.processPod(pod)
		c.learnVolumes(pod)
	}
	c.follow()
}

// learnVolumes adds the PersistentVolumes of a pod to the actual state: the status of nodes names only volumes.
func (c *controller) learnVolumes(pod *v1.Pod) {
	for i := range pod.Spec.Volumes {
		if pv, _ := c.attachable(pod, &pod.Spec.Volumes[i]); pv != nil {
			if at := (place{uniqueVolumeName(pv.Spec.CSI), pod.Spec.NodeName}); c.actual.state(at) == attached {
				c.mark(at, pv, attached)
			}
		}
	}
}

// processVolumeAttachments records the volumes of VolumeAttachments that no node's status lists as uncertain. The
// loop attaches them if they are needed, else it detaches them.
// Upstream: attach_detach_controller.go processVolumeAttachments, v1.37.
func (c *controller) processVolumeAttachments() {
	for va := range c.attachments.All() {
		if va.Spec.Source.PersistentVolumeName == nil || !c.cfg.remembers(va) {
			continue
		}
		pv, ok := c.volumes.Get(*va.Spec.Source.PersistentVolumeName)
		if !ok || !c.canAttach(translated(pv)) {
			continue
		}
		pv = translated(pv)
		if at := (place{uniqueVolumeName(pv.Spec.CSI), va.Spec.NodeName}); c.actual.state(at) == detached {
			c.mark(at, pv, uncertain)
		}
	}
}
