package binding

import (
	"fmt"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Verdict tells why one volume was chosen for a claim or passed over.
type Verdict struct {
	// Volume is the volume's name.
	Volume string
	// Chosen reports that the search found this volume. That is true for at most one.
	Chosen bool
	// Filter is the filter that the volume failed; Passed if it was chosen.
	Filter Filter
	// Reason gives the cause in words, for example "capacity 1Gi is less than the
	// requested 5Gi".
	Reason string
}

// String returns a sentence: "pv-1 is passed over: capacity 1Gi is less than the requested
// 5Gi".
func (v Verdict) String() string {
	if v.Chosen {
		return fmt.Sprintf("%s is chosen: %s", v.Volume, v.Reason)
	}
	return fmt.Sprintf("%s is passed over: %s", v.Volume, v.Reason)
}

// Explain returns a verdict on each volume, in the order of volumes: the first filter that
// it fails. With a node it explains FindMatchingVolume, the scheduler's search, without one
// FindBestMatchForClaim, the PV controller's. The parameters have the same meaning as for
// FindMatchingVolume. An invalid label selector is an error.
func Explain(claim *v1.PersistentVolumeClaim, volumes []*v1.PersistentVolume, node *v1.Node, excluded map[string]*v1.PersistentVolume,
	delayBinding bool) ([]Verdict, error) {
	q, err := newQuery(claim, node, excluded, delayBinding)
	if err != nil {
		return nil, err
	}
	e := explanation{query: q}
	if node != nil {
		e.best = q.match(candidates{volumes: volumes}).volume
	} else {
		e.best = q.bestMatch(volumes)
	}
	if e.best == nil {
		e.blocking = e.findBlocking(volumes)
	}
	verdicts := make([]Verdict, len(volumes))
	for i, volume := range volumes {
		verdicts[i] = e.verdict(volume)
	}
	return verdicts, nil
}

// explanation is a query and its answer.
type explanation struct {
	query
	best     *v1.PersistentVolume // nil if no volume fits
	blocking *v1.PersistentVolume // reserved for the claim, but not reachable from the node
}

// findBlocking returns the reserved volume at which match gave up, nil if it did not.
func (e *explanation) findBlocking(volumes []*v1.PersistentVolume) *v1.PersistentVolume {
	for _, volume := range volumes {
		c := newCandidate(volume)
		if c.claimRef != nil && e.filter(&c) == WrongNode {
			return volume
		}
	}
	return nil
}

func (e *explanation) verdict(volume *v1.PersistentVolume) Verdict {
	if volume == e.best {
		reason := "the smallest that fits"
		if volume.Spec.ClaimRef != nil {
			reason = "it is reserved for the claim"
		}
		return Verdict{Volume: volume.Name, Chosen: true, Reason: reason}
	}
	c := newCandidate(volume)
	filter := e.filter(&c)
	switch {
	case filter != Passed:
	case e.node == nil && !(e.knownModes && CheckAccessModes(e.claim, volume)): // its group is not asked
		filter = WrongAccessModes
	case e.blocking != nil:
		filter = Blocked
	default:
		filter = Outranked
	}
	return Verdict{Volume: volume.Name, Filter: filter, Reason: e.reason(filter, &c)}
}

// reason returns in words what the volume failed.
func (e *explanation) reason(filter Filter, c *candidate) string {
	switch filter {
	case Excluded:
		return "another claim of the same pod takes it"
	case Claimed:
		return e.claimedBy(c.claimRef)
	case TooSmall:
		return fmt.Sprintf("capacity %s is less than the requested %s", c.size.String(), e.request.String())
	case WrongMode:
		return fmt.Sprintf("volumeMode is %s, the claim wants %s", c.mode, e.mode)
	case WrongAttributesClass:
		return fmt.Sprintf("volumeAttributesClassName is %q, the claim wants %q", c.attributesClass, e.attributesClass)
	case Deleting:
		return "it is being deleted"
	case Delayed:
		return "the claim's class waits for the first consumer, so the scheduler will choose"
	case NotAvailable:
		return fmt.Sprintf("its phase is %q, not Available", c.volume.Status.Phase)
	case WrongLabels:
		return fmt.Sprintf("its labels do not match the claim's selector %s", metav1.FormatLabelSelector(e.claim.Spec.Selector))
	case WrongClass:
		return fmt.Sprintf("its class is %q, the claim wants %q", c.class, e.class)
	case WrongAccessModes:
		mode, missing := missingAccessMode(e.claim, c.volume)
		if !missing {
			return "the claim requests an unknown access mode"
		}
		return fmt.Sprintf("it does not offer %s", mode)
	case WrongNode:
		return fmt.Sprintf("it cannot be reached from node %s: %s", e.node.Name, mismatch(c.volume.Spec.NodeAffinity.Required, e.node.Labels, ""))
	case Blocked:
		return fmt.Sprintf("%s is reserved for the claim but cannot be reached from node %s, so no other is considered", e.blocking.Name, e.node.Name)
	case Outranked:
		return e.outranked(c)
	}
	return "it would do"
}

func (e *explanation) claimedBy(ref *v1.ObjectReference) string {
	if ref.Namespace == e.claim.Namespace && ref.Name == e.claim.Name {
		return fmt.Sprintf("it belongs to an earlier claim of the same name (UID %s)", ref.UID)
	}
	return fmt.Sprintf("it belongs to claim %s/%s", ref.Namespace, ref.Name)
}

// outranked returns why the chosen volume wins over a candidate that fits.
func (e *explanation) outranked(c *candidate) string {
	best := newCandidate(e.best)
	switch {
	case e.node == nil && best.modes.len() < c.modes.len():
		return fmt.Sprintf("it fits, but %s has fewer access modes", e.best.Name)
	case best.claimRef != nil:
		return fmt.Sprintf("it fits, but %s is reserved for the claim", e.best.Name)
	case compareSizes(&best.size, &c.size) < 0:
		return fmt.Sprintf("it fits, but %s is smaller", e.best.Name)
	}
	return fmt.Sprintf("it fits, but %s comes first", e.best.Name)
}
