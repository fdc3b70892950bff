package binding

import (
	"errors"
	"fmt"
	"slices"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Verdict is what became of one volume in the search for a claim's volume.
type Verdict struct {
	// Volume is the volume's name.
	Volume string
	// Chosen is true for the volume that the search found, of which there is at most
	// one.
	Chosen bool
	// Filter is what the volume was passed over by; Passed if it was chosen.
	Filter Filter
	// Reason says so in words, for example "capacity 1Gi is less than the requested
	// 5Gi".
	Reason string
}

// String is a sentence: "pv-1 is passed over: capacity 1Gi is less than the requested
// 5Gi".
func (v Verdict) String() string {
	if v.Chosen {
		return fmt.Sprintf("%s is chosen: %s", v.Volume, v.Reason)
	}
	return fmt.Sprintf("%s is passed over: %s", v.Volume, v.Reason)
}

// Explain gives a verdict on every volume, in the order of volumes. With a node it
// explains FindMatchingVolume, the scheduler's search, without one
// FindBestMatchForClaim, the PV controller's. The parameters are theirs. The reason
// is the first filter that the volume failed. An invalid label selector is an error.
func Explain(claim *v1.PersistentVolumeClaim, volumes []*v1.PersistentVolume, node *v1.Node, excluded map[string]*v1.PersistentVolume, delayBinding bool) ([]Verdict, error) {
	want, err := wantedBy(claim)
	if err != nil {
		return nil, err
	}
	s := search{wanted: want, node: node, excluded: excluded, delayBinding: delayBinding}
	if node != nil {
		s.best, err = FindMatchingVolume(claim, volumes, node, excluded, delayBinding)
		s.findBlocking(volumes)
	} else {
		considered := slices.DeleteFunc(slices.Clone(volumes), func(volume *v1.PersistentVolume) bool {
			return excludes(excluded, volume)
		})
		s.best, err = FindBestMatchForClaim(claim, considered, delayBinding)
	}
	if err != nil {
		return nil, err
	}
	verdicts := make([]Verdict, len(volumes))
	for i, volume := range volumes {
		verdicts[i] = s.verdict(volume)
	}
	return verdicts, nil
}

// search is a search whose outcome is known.
type search struct {
	wanted
	node         *v1.Node
	excluded     map[string]*v1.PersistentVolume
	delayBinding bool
	best         *v1.PersistentVolume // nil if none was found
	blocking     *v1.PersistentVolume // reserved for the claim, but out of the node's reach
}

// findBlocking finds the reserved volume at which FindMatchingVolume gave up.
func (s *search) findBlocking(volumes []*v1.PersistentVolume) {
	for _, volume := range volumes {
		if excludes(s.excluded, volume) || volume.Spec.ClaimRef == nil || s.unfit(volume) != Passed {
			continue
		}
		if !reachable(volume, s.node) {
			s.blocking = volume
		}
		return
	}
}

func (s *search) verdict(volume *v1.PersistentVolume) Verdict {
	if volume == s.best {
		reason := "the smallest that fits"
		if volume.Spec.ClaimRef != nil {
			reason = "it is reserved for the claim"
		}
		return Verdict{Volume: volume.Name, Chosen: true, Reason: reason}
	}
	filter := s.filter(volume)
	return Verdict{Volume: volume.Name, Filter: filter, Reason: s.reason(filter, volume)}
}

// filter is the first filter that the volume fails. Access modes count with a node
// and without: without one they decide which groups are searched.
func (s *search) filter(volume *v1.PersistentVolume) Filter {
	if excludes(s.excluded, volume) {
		return Excluded
	}
	if filter := s.unfit(volume); filter != Passed {
		return filter
	}
	if volume.Spec.ClaimRef == nil {
		if s.node == nil && s.delayBinding {
			return Delayed
		}
		if filter := s.unsuitable(volume, s.node); filter != Passed {
			return filter
		}
	}
	switch {
	case s.node == nil && !inGroup(volume, s.claim):
		return WrongAccessModes
	case !reachable(volume, s.node): // it is reserved for the claim
		return WrongNode
	case s.blocking != nil:
		return Blocked
	}
	return Outranked
}

// inGroup says whether FindBestMatchForClaim looks into the volume's group.
func inGroup(volume *v1.PersistentVolume, claim *v1.PersistentVolumeClaim) bool {
	requested, known := modesOf(claim.Spec.AccessModes)
	offered, _ := modesOf(volume.Spec.AccessModes)
	return known && offered&requested == requested
}

// reason is the filter in words, with the culprit.
func (s *search) reason(filter Filter, volume *v1.PersistentVolume) string {
	switch filter {
	case Excluded:
		return "another claim of the same pod takes it"
	case Claimed:
		return s.claimedBy(volume.Spec.ClaimRef)
	case TooSmall:
		capacity := capacityOf(volume)
		return fmt.Sprintf("capacity %s is less than the requested %s", capacity.String(), s.request.String())
	case WrongMode:
		return fmt.Sprintf("volumeMode is %s, the claim wants %s", volumeMode(volume.Spec.VolumeMode), s.mode)
	case WrongAttributesClass:
		return fmt.Sprintf("volumeAttributesClassName is %q, the claim wants %q", deref(volume.Spec.VolumeAttributesClassName), s.attributesClass)
	case Deleting:
		return "it is being deleted"
	case Delayed:
		return "the claim's class waits for the first consumer, so the scheduler will choose"
	case NotAvailable:
		return fmt.Sprintf("its phase is %q, not Available", volume.Status.Phase)
	case WrongLabels:
		return fmt.Sprintf("its labels do not match the claim's selector %s", metav1.FormatLabelSelector(s.claim.Spec.Selector))
	case WrongClass:
		return fmt.Sprintf("its class is %q, the claim wants %q", GetPersistentVolumeClass(volume), s.class)
	case WrongAccessModes:
		mode, missing := MissingAccessMode(s.claim, volume)
		if !missing {
			return "the claim requests an unknown access mode"
		}
		return fmt.Sprintf("it does not offer %s", mode)
	case WrongNode:
		return s.unreachable(volume)
	case Blocked:
		return fmt.Sprintf("%s is reserved for the claim but cannot be reached from node %s, so no other is considered", s.blocking.Name, s.node.Name)
	case Outranked:
		return s.outranked(volume)
	}
	return "it would do"
}

func (s *search) claimedBy(ref *v1.ObjectReference) string {
	if ref.Namespace == s.claim.Namespace && ref.Name == s.claim.Name {
		return fmt.Sprintf("it belongs to an earlier claim of the same name (UID %s)", ref.UID)
	}
	return fmt.Sprintf("it belongs to claim %s/%s", ref.Namespace, ref.Name)
}

func (s *search) unreachable(volume *v1.PersistentVolume) string {
	var mismatch *NodeAffinityError
	if !errors.As(CheckNodeAffinity(volume, s.node.Labels), &mismatch) {
		return fmt.Sprintf("it cannot be reached from node %s", s.node.Name)
	}
	return fmt.Sprintf("it cannot be reached from node %s: %s", s.node.Name, mismatch.Reason)
}

// outranked says why the chosen volume is better than one that would do.
func (s *search) outranked(volume *v1.PersistentVolume) string {
	if s.best == nil {
		return "it would do"
	}
	size, best := capacityOf(volume), capacityOf(s.best)
	modes, _ := modesOf(volume.Spec.AccessModes)
	fewest, _ := modesOf(s.best.Spec.AccessModes)
	switch {
	case s.node == nil && fewest.len() < modes.len():
		return fmt.Sprintf("it fits, but %s has fewer access modes", s.best.Name)
	case s.best.Spec.ClaimRef != nil:
		return fmt.Sprintf("it fits, but %s is reserved for the claim", s.best.Name)
	case best.Cmp(size) < 0:
		return fmt.Sprintf("it fits, but %s is smaller", s.best.Name)
	}
	return fmt.Sprintf("it fits, but %s comes first", s.best.Name)
}
