package scheduler

import (
	"context"
	"flag"
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/storagesim/storagesim/trace"
)

var wholeScan = flag.Bool("whole-scan", false, "BenchmarkSchedulingDecision scans for every node, which takes minutes, and not for one in a hundred")

// BenchmarkSchedulingDecision measures one scheduling cycle: from the pod to its node, with
// the volume taken and given back, or to the message that counts why no node will do.
// There are two local volumes on each of 5,000 nodes, and the pod has a claim for
// one. In the cluster that is "filling" only every tenth node has a volume left, so that
// the 500 nodes to choose from are found among all 5,000. "scan" is the search for the volume alone, by component-helpers'
// FindMatchingVolume, for every node; unless -whole-scan is given, for one node in a
// hundred, a hundred times over. Both report ms/decision, and scan how many times it
// takes as long.
func BenchmarkSchedulingDecision(b *testing.B) {
	const nodes = 5_000
	full, filling := localWorld(nodes, 2*nodes, 1), localWorld(nodes, nodes/5, 10)
	for _, tt := range []struct {
		name, claim string
		s           *scheduler
		fits        bool
	}{{"fits", "small", full, true}, {"filling", "small", filling, true}, {"refused", "large", full, false}} {
		pod, s := testPod("web", tt.claim), tt.s
		indexTakes := time.Duration(0)
		b.Run(tt.name+"/index", func(b *testing.B) {
			b.ReportAllocs()
			decide(b, s, pod, tt.fits) // the first puts the volumes in buckets by node label
			for b.Loop() {
				decide(b, s, pod, tt.fits)
			}
			indexTakes = b.Elapsed() / time.Duration(b.N)
			b.ReportMetric(indexTakes.Seconds()*1e3, "ms/decision")
		})
		b.Run(tt.name+"/scan", func(b *testing.B) {
			for b.Loop() {
				scan(b, s, pod)
			}
			takes := b.Elapsed() / time.Duration(b.N)
			if !*wholeScan {
				takes *= sampled
			}
			b.ReportMetric(takes.Seconds()*1e3, "ms/decision")
			b.ReportMetric(takes.Seconds()/indexTakes.Seconds(), "times-index")
		})
	}
}

// sampled: one node in so many is scanned for.
const sampled = 100

func decide(b *testing.B, s *scheduler, pod *v1.Pod, fits bool) {
	c := newCycle(pod, &queuedPod{})
	st := s.schedulingCycle(context.Background(), c)
	if st.is(success) != fits {
		b.Fatalf("takes %q: %s", c.node, st.message())
	}
	if fits {
		s.giveBack(c)
	}
}

func scan(b *testing.B, s *scheduler, pod *v1.Pod) {
	p, _ := s.volumeBinding()
	bound, delayed, volumes := linear{p.binder}.claims(pod)
	for i, node := range s.cluster.nodes {
		if i%sampled != 0 && !*wholeScan {
			continue
		}
		if _, _, err := (linear{p.binder}).onNode(node.node, bound, delayed, volumes); err != nil {
			b.Fatalf("%s: %v", node.node.Name, err)
		}
	}
}

// localWorld has local volumes on one node in every, as many on each of them. The nodes
// have what a kubelet makes of them.
func localWorld(nodes, volumes, every int) *scheduler {
	objects := []runtime.Object{
		testClass(delayed, "kubernetes.io/no-provisioner"), testClaim("small", "5Gi", delayed), testClaim("large", "5Ti", delayed),
	}
	name := func(i int) string { return fmt.Sprintf("node-%04d", i) }
	for i := range nodes {
		objects = append(objects, testNode(name(i), func(n *v1.Node) {
			for _, label := range []string{"kubernetes.io/arch", "kubernetes.io/os", v1.LabelTopologyZone, v1.LabelTopologyRegion, "pool", "team"} {
				n.Labels[label] = "some-value"
			}
		}), &storagev1.CSINode{ObjectMeta: metav1.ObjectMeta{Name: name(i)}})
	}
	for i := range volumes {
		objects = append(objects, testVolume(fmt.Sprintf("pv-%05d", i), fmt.Sprintf("%dGi", 5+i%7), delayed, name(i*every%nodes)))
	}
	s := stillScheduler(Config{}, objects)
	s.env = quietEnv{}
	return s
}

// quietEnv is for decisions alone: in order, and without records.
type quietEnv struct{ stillEnv }

func (quietEnv) Choose(int) int     { return 0 }
func (quietEnv) Trace(trace.Record) {}

// A decision leaves nothing behind and makes no garbage for nodes: what it allocates
// is the same for a hundred times the nodes.
func TestADecisionAllocatesNothingForANode(t *testing.T) {
	// With the race detector a sync.Pool drops some of its elements at random: so take the best of
	// many decisions.
	best := func(nodes int) float64 {
		s := localWorld(nodes, 2*nodes, 1)
		pod := testPod("web", "small")
		least := math.Inf(1)
		for range 100 {
			least = min(least, testing.AllocsPerRun(1, func() {
				c := newCycle(pod, &queuedPod{})
				require.Nil(t, s.schedulingCycle(context.Background(), c))
				s.giveBack(c)
			}))
		}
		return least
	}
	require.LessOrEqual(t, best(1_000), best(10)+5)
}
