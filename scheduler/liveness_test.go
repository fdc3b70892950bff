package scheduler_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/storagesim/storagesim/engine"
	"github.com/storagesim/storagesim/internal/seedtest"
)

// Pods of all priorities come and go, nodes are cordoned and uncordoned, calls fail and the
// scheduler crashes. When that is over and the errors are forgotten, well before the flush
// of the refused pods, no pod waits that could be placed. Either pods have priorities or bindings fail: a pod that was to be bound, is not and is
// preempted then wakes no other, as upstream.
func TestNobodyStaysBehindWhoCouldBePlaced(t *testing.T) {
	seedtest.Each(t, 150, func(t testing.TB, seed uint64) {
		b := newBustle(t, seed)
		steps := []func(){b.addNode, b.addPod, b.addPod, b.addPod, b.dropPod, b.cordon, b.trouble, b.run, b.steps}
		for range 40 {
			steps[b.IntN(len(steps))]()
		}
		b.e.ClearFaults()
		for range 4 {
			require.NoError(t, b.e.RunFor(10*time.Second))
			b.stopPods()
		}
		require.NoError(t, b.e.RunFor(10*time.Second))
		b.check()
	})
}

// bustle is a cluster in which much happens at random.
type bustle struct {
	*world
	*rand.Rand
	made   int
	ranked bool // pods have priorities
}

func newBustle(t testing.TB, seed uint64) *bustle {
	b := &bustle{world: newWorld(t, engine.Config{Policy: engine.Seeded(seed), Seed: seed}), Rand: rand.New(rand.NewPCG(seed, 1)), ranked: seed%2 == 0}
	for i, name := range []string{"low", "high"} {
		_, err := b.api.SchedulingV1().PriorityClasses().Create(b.ctx, &schedulingv1.PriorityClass{
			ObjectMeta: metav1.ObjectMeta{Name: name}, Value: int32(i*2 - 1),
		}, metav1.CreateOptions{})
		require.NoError(t, err)
	}
	return b
}

func (b *bustle) name(kind string) string {
	b.made++
	return fmt.Sprintf("%s-%d", kind, b.made)
}

func (b *bustle) addNode() {
	_, err := b.api.CoreV1().Nodes().Create(b.ctx, node(b.name("node"), func(n *v1.Node) {
		n.Spec.Unschedulable = b.IntN(2) == 0
		n.Status.Allocatable[v1.ResourcePods] = *resource.NewQuantity(1+b.Int64N(3), resource.DecimalSI)
	}), metav1.CreateOptions{})
	require.NoError(b.t, err)
}

func (b *bustle) addPod() {
	pod := newPod(b.name("pod"))
	if b.ranked {
		pod.Spec.PriorityClassName = []string{"low", "", "high"}[b.IntN(3)]
	}
	b.create(pod)
}

func (b *bustle) dropPod() {
	if pods := b.pods(); len(pods) > 0 {
		b.deletePod(pods[b.IntN(len(pods))].Name)
	}
}

func (b *bustle) cordon() {
	nodes := b.nodes()
	if len(nodes) == 0 {
		return
	}
	n := &nodes[b.IntN(len(nodes))]
	n.Spec.Unschedulable = !n.Spec.Unschedulable
	_, err := b.api.CoreV1().Nodes().Update(b.ctx, n, metav1.UpdateOptions{})
	require.NoError(b.t, err)
}

func (b *bustle) trouble() {
	verbs := []string{"", "create", "patch"}
	if b.ranked {
		verbs = verbs[2:]
	}
	fault := engine.Fault{Actor: actor, Verb: verbs[b.IntN(len(verbs))], Skip: b.IntN(3), Times: 1 + b.IntN(4), After: b.IntN(2) == 0}
	if fault.Crash = b.IntN(4) == 0; !fault.Crash {
		fault.Err = errors.New("the network is down")
	}
	require.NoError(b.t, b.e.Inject(fault))
}

func (b *bustle) run() {
	require.NoError(b.t, b.e.RunFor(time.Duration(b.IntN(5000))*time.Millisecond))
}

func (b *bustle) steps() {
	for range b.IntN(30) {
		_, err := b.e.Step()
		require.NoError(b.t, err)
	}
}

func (b *bustle) nodes() []v1.Node {
	list, err := b.api.CoreV1().Nodes().List(b.ctx, metav1.ListOptions{})
	require.NoError(b.t, err)
	return list.Items
}

func (b *bustle) pods() []v1.Pod {
	list, err := b.api.CoreV1().Pods("default").List(b.ctx, metav1.ListOptions{})
	require.NoError(b.t, err)
	return list.Items
}

// stopPods does what the kubelets do: it removes the pods that are being deleted. Until they are gone, the pod for which they
// are deleted is not tried again when another node has room, as upstream.
func (b *bustle) stopPods() {
	for _, pod := range b.pods() {
		if pod.DeletionTimestamp != nil {
			b.deletePod(pod.Name)
		}
	}
}

// check requires that, if a pod waits, no node has room. A node may have too many pods: the
// scheduler learns of a binding whose answer was lost only later.
func (b *bustle) check() {
	on := map[string]int64{}
	for _, pod := range b.pods() {
		on[pod.Spec.NodeName]++
	}
	for _, n := range b.nodes() {
		if !n.Spec.Unschedulable && on[""] > 0 {
			require.GreaterOrEqual(b.t, on[n.Name], n.Status.Allocatable.Pods().Value(), "%d wait, and %s has room", on[""], n.Name)
		}
	}
}
