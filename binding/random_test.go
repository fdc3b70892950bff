package binding_test

import (
	"math/rand/v2"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// world holds one random question: a claim, volumes in order of name, and a node. The
// values come from small sets, some of them hostile, so that volumes often pass a filter
// and often fail it.
type world struct {
	Claim    *v1.PersistentVolumeClaim
	Volumes  []*v1.PersistentVolume
	Node     *v1.Node
	Excluded map[string]*v1.PersistentVolume
	Delay    bool
	// Before holds earlier versions of the volumes, and deleted volumes.
	Before []*v1.PersistentVolume
}

// dice draws random values. Its methods are named after what they draw.
type dice struct{ *rand.Rand }

func pick[T any](d dice, from ...T) T { return from[d.IntN(len(from))] }

// oneIn reports true once in n draws.
func (d dice) oneIn(n int) bool { return d.IntN(n) == 0 }

var (
	modes = []v1.PersistentVolumeAccessMode{v1.ReadWriteOnce, v1.ReadOnlyMany, v1.ReadWriteMany, v1.ReadWriteOncePod}
	sizes = quantities("0", "1", "1Gi", "1Gi", "2Gi", "2Gi", "5Gi", "1073741824", "1G", "500m", "0.1", "1n", "1.5Gi", "9E", "9Ei",
		"123456789012345678901234567890", "1e3", "-1Gi")
	operator = []v1.NodeSelectorOperator{
		v1.NodeSelectorOpIn, v1.NodeSelectorOpIn, v1.NodeSelectorOpIn, v1.NodeSelectorOpNotIn,
		v1.NodeSelectorOpExists, v1.NodeSelectorOpDoesNotExist, v1.NodeSelectorOpGt, v1.NodeSelectorOpLt, "Nonsense",
	}
	labelKeys   = []string{"zone", "rank", "kubernetes.io/hostname"}
	hostileKeys = []string{"", "-a", "a-", "a/b/c", "/a", "a/", "A.b/c", "a..b/c", ".a/c", "a-.b/c", "ä", "a_b.c-d/e"}
	labelValues = []string{"a", "b", "", "5", "7", "-3", "0x5", "9223372036854775808"}
	hostileVals = []string{"-a", "a b", "a/b", "_", "ü", "a."}
)

// anything draws a world in which hardly any volume fits.
func (d dice) anything() world {
	w := world{Claim: d.claim(), Delay: d.oneIn(3)}
	for i := range d.IntN(9) {
		w.Volumes = append(w.Volumes, d.volume(volumeName(i)))
	}
	if !d.oneIn(3) {
		w.Node = &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: "node-1", Labels: d.labels()}}
	}
	return w
}

func volumeName(i int) string { return "pv-" + string(rune('a'+i/26)) + string(rune('a'+i%26)) }

func quantities(texts ...string) (list []resource.Quantity) {
	for _, text := range texts {
		list = append(list, resource.MustParse(text))
	}
	return list
}

func (d dice) claim() *v1.PersistentVolumeClaim {
	claim := &v1.PersistentVolumeClaim{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "data", UID: "1", Annotations: d.class()},
		Spec: v1.PersistentVolumeClaimSpec{
			AccessModes: d.modes(), VolumeMode: d.volumeMode(), Selector: d.selector(),
			StorageClassName: pick(d, nil, new(""), new("fast"), new("fast")), VolumeAttributesClassName: d.attributesClass(),
		},
	}
	if !d.oneIn(10) {
		claim.Spec.Resources.Requests = v1.ResourceList{v1.ResourceStorage: d.size()}
	}
	return claim
}

func (d dice) volume(name string) *v1.PersistentVolume {
	volume := &v1.PersistentVolume{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: d.labels(), Annotations: d.class()},
		Spec: v1.PersistentVolumeSpec{
			AccessModes: d.modes(), VolumeMode: d.volumeMode(), StorageClassName: pick(d, "", "fast", "fast"),
			VolumeAttributesClassName: d.attributesClass(), ClaimRef: d.claimRef(), NodeAffinity: d.affinity(),
		},
		Status: v1.PersistentVolumeStatus{Phase: pick(d, v1.VolumeAvailable, v1.VolumeAvailable, v1.VolumeAvailable, v1.VolumeReleased, "")},
	}
	if !d.oneIn(10) {
		volume.Spec.Capacity = v1.ResourceList{v1.ResourceStorage: d.size()}
	}
	if d.oneIn(12) {
		volume.DeletionTimestamp = &metav1.Time{Time: time.Unix(1, 0)}
	}
	return volume
}

func (d dice) size() resource.Quantity { return pick(d, sizes...).DeepCopy() }

func (d dice) class() map[string]string {
	if d.oneIn(10) {
		return map[string]string{v1.BetaStorageClassAnnotation: pick(d, "", "fast", "slow")}
	}
	return nil
}

func (d dice) modes() (list []v1.PersistentVolumeAccessMode) {
	for range 1 + d.IntN(2) {
		list = append(list, pick(d, modes[:3]...))
	}
	if d.oneIn(12) {
		list = append(list, pick(d, v1.ReadWriteOncePod, "Nonsense"))
	}
	if d.oneIn(20) {
		return nil
	}
	return list
}

func (d dice) volumeMode() *v1.PersistentVolumeMode {
	return pick(d, nil, nil, nil, new(v1.PersistentVolumeFilesystem), new(v1.PersistentVolumeBlock))
}

func (d dice) attributesClass() *string {
	if d.oneIn(8) {
		return pick(d, new(""), new("gold"))
	}
	return nil
}

func (d dice) claimRef() *v1.ObjectReference {
	if !d.oneIn(5) {
		return nil
	}
	return &v1.ObjectReference{Namespace: pick(d, "default", "default", "other"), Name: pick(d, "data", "data", "logs"), UID: types.UID(pick(d, "", "1", "2"))}
}

func (d dice) labels() map[string]string {
	labels := map[string]string{}
	for _, key := range labelKeys {
		if !d.oneIn(3) {
			labels[key] = pick(d, labelValues...)
		}
	}
	return labels
}

func (d dice) values(hostile bool) (list []string) {
	for range d.IntN(3) {
		list = append(list, pick(d, labelValues...))
	}
	if hostile {
		list = append(list, pick(d, hostileVals...))
	}
	return list
}

func (d dice) selector() *metav1.LabelSelector {
	if !d.oneIn(5) {
		return nil
	}
	selector := &metav1.LabelSelector{}
	if d.oneIn(2) {
		selector.MatchLabels = map[string]string{"zone": pick(d, labelValues...)}
	}
	if d.oneIn(2) {
		selector.MatchExpressions = []metav1.LabelSelectorRequirement{{
			Key: pick(d, labelKeys...), Values: d.values(d.oneIn(10)),
			Operator: pick(d, metav1.LabelSelectorOpIn, metav1.LabelSelectorOpNotIn, metav1.LabelSelectorOpExists, metav1.LabelSelectorOpDoesNotExist,
				metav1.LabelSelectorOperator("Nonsense")),
		}}
	}
	return selector
}

func (d dice) affinity() *v1.VolumeNodeAffinity {
	if d.oneIn(2) {
		return nil
	}
	affinity := &v1.VolumeNodeAffinity{}
	if !d.oneIn(10) {
		affinity.Required = d.nodeSelector()
	}
	return affinity
}

func (d dice) nodeSelector() *v1.NodeSelector {
	selector := &v1.NodeSelector{}
	for range d.IntN(3) {
		var term v1.NodeSelectorTerm
		for range d.IntN(3) {
			term.MatchExpressions = append(term.MatchExpressions, d.requirement())
		}
		if d.oneIn(6) {
			term.MatchFields = append(term.MatchFields, v1.NodeSelectorRequirement{
				Key: pick(d, "metadata.name", "metadata.name", "spec.unschedulable"), Operator: pick(d, operator...),
				Values: pick(d, []string{"node-1"}, []string{"node-2"}, []string{""}, nil, []string{"node-1", "node-2"}),
			})
		}
		selector.NodeSelectorTerms = append(selector.NodeSelectorTerms, term)
	}
	return selector
}

func (d dice) requirement() v1.NodeSelectorRequirement {
	key := pick(d, labelKeys...)
	if d.oneIn(12) {
		key = pick(d, hostileKeys...)
	}
	r := v1.NodeSelectorRequirement{Key: key, Operator: pick(d, operator...), Values: d.values(d.oneIn(12))}
	switch r.Operator {
	case v1.NodeSelectorOpExists, v1.NodeSelectorOpDoesNotExist:
		if !d.oneIn(8) {
			r.Values = nil
		}
	case v1.NodeSelectorOpGt, v1.NodeSelectorOpLt:
		if !d.oneIn(8) {
			r.Values = []string{pick(d, "4", "6", "-5", "x")}
		}
	}
	return r
}
