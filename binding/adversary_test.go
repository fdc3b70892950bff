package binding_test

import (
	"maps"
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// world draws a question of one of five kinds. In the first nothing is likely to fit;
// the others start from a claim and volumes that fit it and spoil them, one property
// at a time, so that every filter decides often.
func (d dice) world() world {
	w := pick(d, dice.anything, dice.nearMisses, dice.equals, dice.prebound, dice.local)(d)
	for _, volume := range w.Volumes {
		if d.oneIn(4) {
			w.Before = append(w.Before, d.volume(volume.Name))
		}
		if w.Node != nil && d.oneIn(10) {
			w.exclude(volume.Name, pick(d, volume, nil))
		}
	}
	for range d.IntN(3) {
		w.Before = append(w.Before, d.volume("gone-"+volumeName(d.IntN(3))))
	}
	return w
}

func (w *world) exclude(name string, volume *v1.PersistentVolume) {
	if w.Excluded == nil {
		w.Excluded = map[string]*v1.PersistentVolume{}
	}
	w.Excluded[name] = volume
}

// nearMisses draws volumes of which at most two properties do not fit.
func (d dice) nearMisses() world {
	w := d.demanding()
	for i := range 1 + d.IntN(6) {
		volume := d.fitting(w, i)
		for range d.IntN(3) {
			pick(d, spoilers...)(d, volume)
		}
		w.Volumes = append(w.Volumes, volume)
	}
	return w
}

// equals draws volumes of one size, written in several ways, with several sets of modes.
func (d dice) equals() world {
	w := d.demanding()
	same := quantities("2Gi", "2048Mi", "2147483648", "2147483648000m", "2147483648.0")
	for i := range 2 + d.IntN(6) {
		volume := d.fitting(w, i)
		volume.Spec.Capacity[v1.ResourceStorage] = pick(d, same...).DeepCopy()
		if d.oneIn(6) {
			pick(d, spoilers...)(d, volume)
		}
		w.Volumes = append(w.Volumes, volume)
	}
	return w
}

// prebound draws volumes of which many are reserved for the claim, or for one with a
// similar name or UID.
func (d dice) prebound() world {
	w := d.demanding()
	w.Claim.UID = types.UID(pick(d, "1", "1", "1", ""))
	for i := range 1 + d.IntN(6) {
		volume := d.fitting(w, i)
		if !d.oneIn(3) {
			volume.Spec.ClaimRef = &v1.ObjectReference{Namespace: pick(d, "default", "default", "default", "other", ""), Name: pick(d, "data", "data", "data", "logs"),
				UID: types.UID(pick(d, "", "1", "1", "2"))}
		}
		for range d.IntN(3) {
			pick(d, spoilers...)(d, volume)
		}
		w.Volumes = append(w.Volumes, volume)
	}
	return w
}

// local draws volumes of several nodes, with all forms of node affinity.
func (d dice) local() world {
	w := d.demanding()
	host := pick(d, "node-1", "node-2", "node-3", "")
	w.Node = &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: "node-1", Labels: map[string]string{v1.LabelHostname: host, "zone": pick(d, "a", "b", "")}}}
	if d.oneIn(8) {
		delete(w.Node.Labels, pick(d, v1.LabelHostname, "zone"))
	}
	for i := range 2 + d.IntN(14) {
		volume := d.fitting(w, i)
		volume.Spec.NodeAffinity = d.whereabouts()
		if d.oneIn(4) {
			pick(d, spoilers...)(d, volume)
		}
		w.Volumes = append(w.Volumes, volume)
	}
	return w
}

// demanding draws a claim with most fields set, and often a node.
func (d dice) demanding() world {
	claim := d.claim()
	claim.Annotations = nil
	claim.Spec.StorageClassName = pick(d, new("fast"), new("fast"), new(""), nil)
	claim.Spec.Resources.Requests = v1.ResourceList{v1.ResourceStorage: pick(d, quantities("1Gi", "2Gi", "1500m")...)}
	claim.Spec.Selector = pick(d, nil, &metav1.LabelSelector{}, &metav1.LabelSelector{MatchLabels: map[string]string{"disk": "ssd"}}, &metav1.LabelSelector{
		MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "disk", Operator: metav1.LabelSelectorOpIn, Values: []string{"ssd", "nvme"}}},
	})
	w := world{Claim: claim, Delay: d.oneIn(4)}
	if !d.oneIn(3) {
		w.Node = &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: "node-1", Labels: map[string]string{v1.LabelHostname: "node-1", "zone": "a"}}}
	}
	return w
}

// fitting draws a volume that fits the world's claim and node.
func (d dice) fitting(w world, i int) *v1.PersistentVolume {
	claim, size := w.Claim, w.Claim.Spec.Resources.Requests[v1.ResourceStorage].DeepCopy()
	for range d.IntN(3) {
		size.Add(pick(d, sizes[:6]...))
	}
	volume := &v1.PersistentVolume{
		ObjectMeta: metav1.ObjectMeta{Name: volumeName(i), Labels: map[string]string{"disk": "ssd"}},
		Spec: v1.PersistentVolumeSpec{
			Capacity: v1.ResourceList{v1.ResourceStorage: size}, AccessModes: slices.Clone(claim.Spec.AccessModes),
			VolumeMode: claim.Spec.VolumeMode, VolumeAttributesClassName: claim.Spec.VolumeAttributesClassName,
		},
		Status: v1.PersistentVolumeStatus{Phase: v1.VolumeAvailable},
	}
	if claim.Spec.StorageClassName != nil {
		volume.Spec.StorageClassName = *claim.Spec.StorageClassName
	}
	if d.oneIn(2) {
		volume.Spec.AccessModes = append(volume.Spec.AccessModes, pick(d, modes...))
	}
	if d.oneIn(2) {
		onNode("node-1")(volume)
	}
	return volume
}

// spoilers holds functions that change one property, mostly so that the volume no longer
// fits.
var spoilers = []func(dice, *v1.PersistentVolume){
	func(d dice, v *v1.PersistentVolume) {
		v.Spec.ClaimRef = &v1.ObjectReference{Namespace: "default", Name: pick(d, "data", "logs"), UID: types.UID(pick(d, "", "2"))}
	},
	func(d dice, v *v1.PersistentVolume) {
		size := v.Spec.Capacity[v1.ResourceStorage].DeepCopy()
		size.Sub(pick(d, quantities("1", "1m", "1n", "1Gi", "9Gi")...))
		v.Spec.Capacity = v1.ResourceList{v1.ResourceStorage: size}
	},
	func(d dice, v *v1.PersistentVolume) {
		v.Spec.Capacity = pick(d, nil, v1.ResourceList{}, v1.ResourceList{v1.ResourceCPU: resource.MustParse("9Gi")})
	},
	func(d dice, v *v1.PersistentVolume) {
		v.Spec.VolumeMode = pick(d, nil, new(v1.PersistentVolumeBlock), new(v1.PersistentVolumeFilesystem), new(v1.PersistentVolumeMode("")))
	},
	func(d dice, v *v1.PersistentVolume) {
		v.Spec.VolumeAttributesClassName = pick(d, nil, new(""), new("gold"), new("silver"))
	},
	func(_ dice, v *v1.PersistentVolume) { v.DeletionTimestamp = &metav1.Time{Time: time.Unix(1, 0)} },
	func(d dice, v *v1.PersistentVolume) {
		v.Status.Phase = pick(d, v1.VolumePending, v1.VolumeBound, v1.VolumeReleased, v1.VolumeFailed, "")
	},
	func(d dice, v *v1.PersistentVolume) {
		v.Labels = pick(d, nil, map[string]string{"disk": "hdd"}, map[string]string{"disk": ""})
	},
	func(d dice, v *v1.PersistentVolume) { v.Spec.StorageClassName = pick(d, "", "fast", "slow") },
	func(d dice, v *v1.PersistentVolume) {
		v.Annotations = map[string]string{v1.BetaStorageClassAnnotation: pick(d, "", "fast", "slow")}
	},
	func(d dice, v *v1.PersistentVolume) {
		v.Spec.AccessModes = pick(d, nil, v.Spec.AccessModes[:len(v.Spec.AccessModes)/2], []v1.PersistentVolumeAccessMode{pick(d, modes...)},
			slices.Repeat(v.Spec.AccessModes, 2))
	},
	func(_ dice, v *v1.PersistentVolume) { onNode("node-2")(v) },
	func(d dice, v *v1.PersistentVolume) { v.Spec.NodeAffinity = d.affinity() },
}

// whereabouts draws a node affinity like those of local volumes.
func (d dice) whereabouts() *v1.VolumeNodeAffinity {
	in := func(key string, values ...string) v1.NodeSelectorRequirement {
		return v1.NodeSelectorRequirement{Key: key, Operator: v1.NodeSelectorOpIn, Values: values}
	}
	hosts := []string{"node-1", "node-2", "node-3", ""}
	host, zone := in(v1.LabelHostname, pick(d, hosts...)), in("zone", pick(d, "a", "b"))
	term := pick(d,
		[]v1.NodeSelectorRequirement{host}, []v1.NodeSelectorRequirement{host}, []v1.NodeSelectorRequirement{zone},
		[]v1.NodeSelectorRequirement{zone, host}, []v1.NodeSelectorRequirement{host, d.requirement()}, []v1.NodeSelectorRequirement{d.requirement(), zone},
		[]v1.NodeSelectorRequirement{in(v1.LabelHostname, pick(d, hosts...), pick(d, hosts...))},
		[]v1.NodeSelectorRequirement{in(v1.LabelHostname, slices.Repeat(hosts, 1+d.IntN(6))...)},
		[]v1.NodeSelectorRequirement{in(v1.LabelHostname, "node-1", "not a value")},
		[]v1.NodeSelectorRequirement{{Key: v1.LabelHostname, Operator: v1.NodeSelectorOpNotIn, Values: []string{"node-2"}}},
		nil,
	)
	selector := &v1.NodeSelector{NodeSelectorTerms: []v1.NodeSelectorTerm{{MatchExpressions: term}}}
	if d.oneIn(5) {
		selector.NodeSelectorTerms[0].MatchFields = []v1.NodeSelectorRequirement{in("metadata.name", "node-1")}
	}
	if d.oneIn(5) {
		selector.NodeSelectorTerms = append(selector.NodeSelectorTerms,
			pick(d, v1.NodeSelectorTerm{}, v1.NodeSelectorTerm{MatchExpressions: []v1.NodeSelectorRequirement{zone}}))
	}
	return pick(d, nil, &v1.VolumeNodeAffinity{}, &v1.VolumeNodeAffinity{Required: selector}, &v1.VolumeNodeAffinity{Required: selector},
		&v1.VolumeNodeAffinity{Required: selector})
}

// inOrder returns the volumes of the map in order of name.
func inOrder(volumes map[string]*v1.PersistentVolume) []*v1.PersistentVolume {
	list := make([]*v1.PersistentVolume, 0, len(volumes))
	for _, name := range slices.Sorted(maps.Keys(volumes)) {
		list = append(list, volumes[name])
	}
	return list
}
