package binding

import (
	"cmp"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/labels"
)

// offer is a free volume with what every search looks at, read once.
type offer struct {
	volume          *v1.PersistentVolume
	size            resource.Quantity
	mode            v1.PersistentVolumeMode
	attributesClass string
	// near says that every node at one of the volume's places can reach it.
	near bool
}

func newOffer(volume *v1.PersistentVolume) *offer {
	return &offer{
		volume, capacityOf(volume), volumeMode(volume.Spec.VolumeMode), deref(volume.Spec.VolumeAttributesClassName), asksOnlyForPlace(volume),
	}
}

// bySize orders offers by size and then by name.
func bySize(a, b *offer) int {
	if c := compareSizes(&a.size, &b.size); c != 0 {
		return c
	}
	return cmp.Compare(a.volume.Name, b.volume.Name)
}

// rack holds free volumes, a list in order of size and name for each set of access
// modes; nil where there are none.
type rack [1 << len(knownModes)]*sorted[*offer]

// smallest is the smallest volume with just these modes that passes every filter and
// is smaller than best, which may be nil. Nil if there is none.
func (r *rack) smallest(modes modeSet, want *wanted, node *v1.Node, excluded map[string]*v1.PersistentVolume, best *offer) *offer {
	if r == nil || r[modes] == nil {
		return nil
	}
	tooSmall := func(o *offer) bool { return compareSizes(&o.size, &want.request) < 0 }
	for o := range r[modes].from(tooSmall) {
		if best != nil && bySize(o, best) >= 0 {
			return nil
		}
		if !excludes(excluded, o.volume) && want.takes(o, node) {
			return o
		}
	}
	return nil
}

// anyOf says whether any volume with just these modes is big enough.
func (r *rack) anyOf(modes modeSet, size *resource.Quantity) bool {
	if r == nil || r[modes] == nil {
		return false
	}
	return compareSizes(&r[modes].last().size, size) >= 0
}

// takes is different and unsuitable of a free volume of the claim's class that is big
// enough, and was found among those with the access modes requested and, if there is
// a node, at one of its places.
func (w *wanted) takes(o *offer, node *v1.Node) bool {
	return o.mode == w.mode && o.attributesClass == w.attributesClass &&
		(w.selector == nil || w.selector.Matches(labels.Set(o.volume.Labels))) &&
		(node == nil || (o.near || reachable(o.volume, node)) && (w.knownModes || CheckAccessModes(w.claim, o.volume)))
}

// empty says whether the rack holds no volume.
func (r *rack) empty() bool { return *r == rack{} }

func (r *rack) put(o *offer) {
	modes, _ := modesOf(o.volume.Spec.AccessModes)
	if r[modes] == nil {
		r[modes] = &sorted[*offer]{compare: bySize}
	}
	r[modes].add(o)
}

func (r *rack) take(o *offer) {
	modes, _ := modesOf(o.volume.Spec.AccessModes)
	if r[modes] == nil {
		return
	}
	if r[modes].remove(o); r[modes].empty() {
		r[modes] = nil
	}
}

// putOn puts the volume on the rack of that key, which is made if it is missing.
func putOn(racks map[string]*rack, key string, o *offer) {
	r, found := racks[key]
	if !found {
		r = &rack{}
		racks[key] = r
	}
	r.put(o)
}

// takeFrom takes the volume from the rack of that key, if it is there, and removes
// what has become empty.
func takeFrom(racks map[string]*rack, key string, o *offer) {
	r, found := racks[key]
	if !found {
		return
	}
	if r.take(o); r.empty() {
		delete(racks, key)
	}
}
