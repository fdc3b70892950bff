package kubelet

import (
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/storagesim/storagesim/kubelet/internal/nodestatus"
	"github.com/storagesim/storagesim/machine/disk"
)

// sized returns the template with the size of the node's disk as ephemeral-storage, unless the template
// says another. A disk without a size is not told.
//
// Upstream: nodestatus/setters.go MachineInfo, v1.37, which adds the capacity of the root file system.
func sized(template *v1.Node, root *disk.Disk) *v1.Node {
	space, err := root.Space("/")
	if err != nil || space.Bytes == 0 {
		return template
	}
	node := template.DeepCopy()
	for _, resources := range []*v1.ResourceList{&node.Status.Capacity, &node.Status.Allocatable} {
		if _, told := (*resources)[v1.ResourceEphemeralStorage]; told || len(*resources) == 0 && resources == &node.Status.Allocatable {
			continue // the default of allocatable is the capacity
		}
		if len(*resources) == 0 {
			*resources = nodestatus.DefaultCapacity()
		}
		(*resources)[v1.ResourceEphemeralStorage] = *resource.NewQuantity(space.Bytes, resource.BinarySI)
	}
	return node
}
