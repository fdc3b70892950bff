package scheduler

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/storagesim/storagesim/control"
)

// semantics 2 must 2, 5, 6, 9, 10 and 11, as upstream's code has them: in random
// worlds that change, with volumes assumed and given back, and with pods whose claims
// compete, every node gets the answer of the linear rule, and the pod's message
// counts the nodes as it does.
func TestTheIndexAnswersAsTheLinearRuleDoes(t *testing.T) {
	seen := map[string]int{}
	for seed := range uint64(400) {
		w := newRandomWorld(seed)
		for range 12 {
			w.change()
			w.compare(t, w.pod(), seen)
		}
	}
	for _, what := range []string{
		"invalid", "bound", "several", "made", "assumed", "competing", "unschedulable",
		string(ErrReasonNodeConflict), string(ErrReasonBindConflict), string(ErrReasonNotEnoughSpace), string(ErrReasonPVNotExist),
	} {
		require.Greater(t, seen[what], 50, "too few cases of: %s", what)
	}
}

// randomWorld is a scheduler whose caches change at random.
type randomWorld struct {
	*rand.Rand
	seed    uint64
	s       *scheduler
	b       *volumeBinder
	version int
	assumed []*PodVolumes
}

func newRandomWorld(seed uint64) *randomWorld {
	w := &randomWorld{Rand: rand.New(rand.NewPCG(seed, 4)), seed: seed}
	objects := []runtime.Object{
		testClass(delayed, "kubernetes.io/no-provisioner"), testClass(dynamic, "example.com/ext"),
		testClass("zoned", "example.com/other", zoned("a")), driverWithCapacity(),
	}
	for i := range 2 + w.IntN(5) {
		objects = append(objects, testNode(nodeName(i), func(n *v1.Node) { n.Labels["zone"] = pick(w, "a", "b") }))
	}
	for i := range w.IntN(4) {
		objects = append(objects, capacityOf(dynamic, nodeName(i), w.size(), ""))
	}
	for i := range 8 {
		objects = append(objects, w.claim(fmt.Sprintf("claim-%d", i)))
	}
	for i := range w.IntN(14) {
		objects = append(objects, w.volume(fmt.Sprintf("pv-%02d", i)))
	}
	w.s = stillScheduler(Config{}, objects)
	p, _ := w.s.volumeBinding()
	w.b = p.binder
	return w
}

func pick[T any](w *randomWorld, values ...T) T { return values[w.IntN(len(values))] }

func nodeName(i int) string { return fmt.Sprintf("node-%d", i) }

func (w *randomWorld) size() string { return pick(w, "1Gi", "2Gi", "2Gi", "3Gi", "1500m") }

func (w *randomWorld) meta(meta *metav1.ObjectMeta) {
	w.version++
	meta.ResourceVersion = fmt.Sprint(w.version)
	meta.Labels = map[string]string{"tier": pick(w, "gold", "silver")}
}

func (w *randomWorld) modes() []v1.PersistentVolumeAccessMode {
	return pick(w, []v1.PersistentVolumeAccessMode{v1.ReadWriteOnce}, []v1.PersistentVolumeAccessMode{v1.ReadWriteOnce},
		[]v1.PersistentVolumeAccessMode{v1.ReadWriteOnce, v1.ReadWriteMany}, []v1.PersistentVolumeAccessMode{"Unheard"})
}

func (w *randomWorld) mode() *v1.PersistentVolumeMode {
	block := v1.PersistentVolumeBlock
	return pick(w, nil, nil, nil, nil, nil, &block)
}

// volume returns a volume that is free most of the time.
func (w *randomWorld) volume(name string) *v1.PersistentVolume {
	pv := testVolume(name, w.size(), pick(w, delayed, delayed, dynamic, "zoned"), "")
	w.meta(&pv.ObjectMeta)
	pv.Spec.AccessModes, pv.Spec.VolumeMode, pv.Spec.NodeAffinity = w.modes(), w.mode(), w.affinity()
	pv.Status.Phase = pick(w, v1.VolumeAvailable, v1.VolumeAvailable, v1.VolumeAvailable, v1.VolumeAvailable, v1.VolumePending, v1.VolumeReleased)
	if w.IntN(4) == 0 {
		name := fmt.Sprintf("claim-%d", w.IntN(8))
		pv.Spec.ClaimRef = &v1.ObjectReference{Namespace: "default", Name: name, UID: pick(w, "", types.UID("uid-"+name), "uid-of-another")}
	}
	if w.IntN(12) == 0 {
		pv.DeletionTimestamp = &metav1.Time{}
	}
	if w.IntN(12) == 0 {
		gold := "gold"
		pv.Spec.VolumeAttributesClassName = &gold
	}
	return pv
}

// affinity asks for nothing, one node, some nodes, a zone, two of these or what no
// index can know.
func (w *randomWorld) affinity() *v1.VolumeNodeAffinity {
	in := func(key string, values ...string) v1.NodeSelectorRequirement {
		return v1.NodeSelectorRequirement{Key: key, Operator: v1.NodeSelectorOpIn, Values: values}
	}
	host, other, zone := in(v1.LabelHostname, nodeName(w.IntN(6))), nodeName(w.IntN(6)), in("zone", pick(w, "a", "b"))
	term := func(all ...v1.NodeSelectorRequirement) v1.NodeSelectorTerm {
		return v1.NodeSelectorTerm{MatchExpressions: all}
	}
	terms := pick(w, nil,
		[]v1.NodeSelectorTerm{term(host)}, []v1.NodeSelectorTerm{term(host)}, []v1.NodeSelectorTerm{term(in(v1.LabelHostname, host.Values[0], other))},
		[]v1.NodeSelectorTerm{term(zone)}, []v1.NodeSelectorTerm{term(host, zone)}, []v1.NodeSelectorTerm{term(host), term(zone)},
		[]v1.NodeSelectorTerm{term(v1.NodeSelectorRequirement{Key: "zone", Operator: v1.NodeSelectorOpNotIn, Values: []string{"a"}})},
		[]v1.NodeSelectorTerm{term(in("nowhere", "x"))}, []v1.NodeSelectorTerm{{}},
	)
	if terms == nil {
		return nil
	}
	return &v1.VolumeNodeAffinity{Required: &v1.NodeSelector{NodeSelectorTerms: terms}}
}

func (w *randomWorld) claim(name string) *v1.PersistentVolumeClaim {
	claim := testClaim(name, w.size(), pick(w, delayed, delayed, delayed, dynamic, "zoned"))
	w.meta(&claim.ObjectMeta)
	claim.Spec.AccessModes, claim.Spec.VolumeMode = w.modes(), w.mode()
	switch w.IntN(16) {
	case 0:
		selectedNode(nodeName(w.IntN(6)))(claim)
	case 1, 2:
		boundTo(fmt.Sprintf("pv-%02d", w.IntN(14)))(claim)
	case 3, 4:
		claim.Spec.Selector = &metav1.LabelSelector{MatchLabels: map[string]string{"tier": "gold"}}
	case 5:
		claim.Spec.Selector = &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "tier", Operator: "Nonsense"}}}
	case 6:
		gold := "gold"
		claim.Spec.VolumeAttributesClassName = &gold
	}
	return claim
}

// pod has claims of any kind, now and then one of them twice.
func (w *randomWorld) pod() *v1.Pod {
	var names []string
	for range 1 + w.IntN(4) {
		names = append(names, fmt.Sprintf("claim-%d", w.IntN(8)))
	}
	return testPod("web", names...)
}

// change delivers one change to a cache, or makes one decision of the scheduler's.
func (w *randomWorld) change() {
	name := fmt.Sprintf("pv-%02d", w.IntN(14))
	switch w.IntN(8) {
	case 0, 1, 2:
		w.s.caches.volumes.Deliver(control.Change{Type: watch.Modified, Item: control.ItemOf(w.volume(name))})
	case 3:
		if pv, ok := w.s.caches.volumes.Get(name); ok {
			w.s.caches.volumes.Deliver(control.Change{Type: watch.Deleted, Item: control.ItemOf(pv)})
		}
	case 4:
		w.s.caches.claims.Deliver(control.Change{Type: watch.Modified, Item: control.ItemOf(w.claim(fmt.Sprintf("claim-%d", w.IntN(8))))})
	case 5, 6:
		w.assume()
	case 7:
		if len(w.assumed) > 0 {
			i := w.IntN(len(w.assumed))
			w.b.RevertAssumedPodVolumes(w.assumed[i])
			w.assumed = append(w.assumed[:i], w.assumed[i+1:]...)
		}
	}
}

// assume takes what a pod would get somewhere.
func (w *randomWorld) assume() {
	pod := w.pod()
	claims, err := w.b.GetPodVolumeClaims(pod)
	if err != nil {
		return
	}
	for _, node := range w.s.cluster.nodes {
		found, conflicts, err := w.b.FindPodVolumes(claims, node.node)
		if err != nil || len(conflicts) > 0 {
			continue
		}
		if _, err := w.b.AssumePodVolumes(pod, node.node.Name, found); err == nil {
			w.assumed = append(w.assumed, found)
		}
		return
	}
}

// compare asks both about every node; seen counts what has come up.
func (w *randomWorld) compare(t *testing.T, pod *v1.Pod, seen map[string]int) {
	t.Helper()
	claims, err := w.b.GetPodVolumeClaims(pod)
	require.NoError(t, err)
	require.Empty(t, claims.unboundClaimsImmediate)
	var nodes []*v1.Node
	fits, invalid := false, false
	for _, node := range w.s.cluster.nodes {
		nodes = append(nodes, node.node)
		reasons, gets, err := indexed(w.b, claims, node.node)
		wantReasons, wantGets, wantErr := linear{w.b}.findPodVolumes(pod, node.node)
		where := fmt.Sprintf("seed %d, %s, claims %v", w.seed, node.node.Name, claimKeys(pod))
		require.Equal(t, wantErr != nil, err != nil, where)
		require.Equal(t, wantReasons, reasons, where)
		require.Equal(t, wantGets, gets, where)
		quick, quickErr := w.b.podVolumeReasons(claims, &node.volumes)
		require.Equal(t, err, quickErr, where)
		require.Equal(t, reasons, quick.texts(), where)
		fits, invalid = fits || len(reasons) == 0, invalid || err != nil
		w.count(seen, reasons, gets, err)
	}
	if !fits && !invalid {
		seen["unschedulable"]++
		c := newCycle(pod, &queuedPod{})
		st := w.s.schedulingCycle(context.Background(), c)
		if c.diagnosis.preFilter == nil { // a claim that is Lost or deleted ends it before
			require.Contains(t, st.message(), linear{w.b}.message(t, pod, nodes), "seed %d", w.seed)
		}
	}
}

func (w *randomWorld) count(seen map[string]int, reasons, gets []string, err error) {
	for _, reason := range reasons {
		seen[reason]++
	}
	made := strings.Count(strings.Join(gets, " "), "=new")
	for what, is := range map[string]bool{
		"invalid": err != nil, "bound": len(gets) > made, "several": len(gets)-made > 1, "made": made > 0 && len(reasons) == 0,
		"assumed": len(w.b.pvs.overlay)+len(w.b.pvcs.overlay) > 0, "competing": made > 0 && len(gets) > made,
	} {
		if is {
			seen[what]++
		}
	}
}
