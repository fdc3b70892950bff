package attachdetach

import (
	"fmt"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
)

// isMultiAttachAllowed reports whether a volume may be attached to several nodes at once. An unknown volume may, and
// so may one without access modes.
// Upstream: volume/util IsMultiAttachAllowed, v1.37.
func isMultiAttachAllowed(pv *v1.PersistentVolume) bool {
	return pv == nil || len(pv.Spec.AccessModes) == 0 ||
		slices.Contains(pv.Spec.AccessModes, v1.ReadWriteMany) || slices.Contains(pv.Spec.AccessModes, v1.ReadOnlyMany)
}

// reportMultiAttachError emits events for the pods that wait for a volume: they name the pods that have it.
// Upstream: reconciler.go reportMultiAttachError, v1.37.
func (c *controller) reportMultiAttachError(v *volumeToAttach, nodes []string) {
	users := c.desired.podsOnNodes(v.volume, slices.DeleteFunc(nodes, func(node string) bool { return node == v.node }))
	for _, pod := range v.scheduledPods() {
		c.recorder.Eventf(pod, v1.EventTypeWarning, "FailedAttachVolume", "Waiting for detach for volume %q %s", v.pv.Name, usedBy(pod, users))
	}
}

// usedBy says which pods use a volume. It counts pods of other namespaces and does not name them.
func usedBy(pod *v1.Pod, users []*v1.Pod) string {
	var local []string
	for _, user := range users {
		if user.Namespace == pod.Namespace {
			local = append(local, user.Name)
		}
	}
	slices.Sort(local) // upstream has them in the order of a map
	elsewhere := len(users) - len(local)
	switch {
	case len(users) == 0:
		return "Volume is already exclusively attached to one node, waiting on detach before it can be attached to another node"
	case len(local) == 0:
		return fmt.Sprintf("Volume is already used by %d pod(s) in different namespaces", elsewhere)
	case elsewhere > 0:
		return fmt.Sprintf("Volume is already used by pod(s) %s and %d pod(s) in different namespaces", strings.Join(local, ", "), elsewhere)
	}
	return "Volume is already used by pod(s) " + strings.Join(local, ", ")
}
