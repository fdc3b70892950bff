package volumemanager

import (
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

// volumeSizes holds the sizes of the volumes that can grow on the node, by unique name.
//
// Upstream: desired_state_of_world.go and actual_state_of_world.go persistentVolumeSize,
// volumeInUseErrorForExpansion and volumesWithFinalExpansionErrors, v1.37.
type volumeSizes struct {
	// desired is the PersistentVolume's size, actual the volume's size on this node.
	desired, actual map[v1.UniqueVolumeName]resource.Quantity
	// inUse holds volumes that cannot grow while they are in use; failed those whose
	// expansion has failed for good.
	inUse, failed map[v1.UniqueVolumeName]bool
}

func newVolumeSizes() *volumeSizes {
	return &volumeSizes{
		desired: map[v1.UniqueVolumeName]resource.Quantity{}, actual: map[v1.UniqueVolumeName]resource.Quantity{},
		inUse: map[v1.UniqueVolumeName]bool{}, failed: map[v1.UniqueVolumeName]bool{},
	}
}

// initialize sets the size of a volume if it is not known.
//
// Upstream: actual_state_of_world.go InitializeClaimSize, v1.37.
func (s *volumeSizes) initialize(name v1.UniqueVolumeName, size resource.Quantity) {
	if known := s.actual[name]; known.IsZero() {
		s.actual[name] = size
	}
}

// needsExpansion reports whether a volume is smaller than it should be.
//
// Upstream: actual_state_of_world.go volumeNeedsExpansion, v1.37.
func (s *volumeSizes) needsExpansion(name v1.UniqueVolumeName) bool {
	desired, actual := s.desired[name], s.actual[name]
	return !s.inUse[name] && !actual.IsZero() && desired.Cmp(actual) > 0
}

// forget deletes a volume that is not on the node any more.
func (s *volumeSizes) forget(name v1.UniqueVolumeName) {
	delete(s.desired, name)
	delete(s.actual, name)
	delete(s.inUse, name)
	delete(s.failed, name)
}
