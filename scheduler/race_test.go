package scheduler_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/storagesim/storagesim"
	"github.com/storagesim/storagesim/control"
	"github.com/storagesim/storagesim/engine"
	"github.com/storagesim/storagesim/explore"
	"github.com/storagesim/storagesim/internal/rigs/clustertest"
	"github.com/storagesim/storagesim/trace"
)

// race is one run: two pods, each with a claim of its own, want the one volume there
// is. Everything about it comes from the seed: how many nodes, where the volume is, who may
// go where, in which order and how far apart things are made, and in some runs what
// goes wrong.
type race struct {
	*rig
	rng    *rand.Rand
	home   string            // the volume's node, "" for any
	wants  map[string]string // pod -> the node it must have, "" for any
	rivals []string          // the pods that can have the volume
	held   [][2]string
	calmly bool // nothing goes wrong, and the volume is there before a pod wants it
	lost   int  // writes of the volume that the scheduler tried in vain
}

func newRace(c *explore.Cluster) *race {
	rng := rand.New(rand.NewPCG(c.Lab().Seed(), 2))
	nodes := []string{"node-1", "node-2", "node-3"}[:1+rng.IntN(3)]
	anyNode := func() string { return append([]string{""}, nodes...)[rng.IntN(len(nodes)+1)] }
	x := &race{rig: rigOf(c, nodes...), rng: rng, home: anyNode(), wants: map[string]string{"one": "", "two": ""}, calmly: rng.IntN(3) == 0}
	x.Engine().Server().OnWrite(func(w trace.Write) {
		if w.Err != nil && w.Actor == storagesim.Scheduler && w.Kind == "PersistentVolume" {
			x.lost++
		}
	})
	if rng.IntN(3) == 0 {
		x.wants["two"] = anyNode()
	}
	for _, pod := range []string{"one", "two"} {
		if x.wants[pod] == "" || x.home == "" || x.wants[pod] == x.home {
			x.rivals = append(x.rivals, pod)
		}
	}
	return x
}

// start makes everything, in any order and with any number of steps between. Unless
// it goes calmly, a user touches the volume now and then, and a claim that no scheduler
// serves may want it.
func (x *race) start() {
	volume := func() { x.volume("only", "5Gi", x.home) }
	todo := []func(){
		func() { x.claim("one", "5Gi", "local") },
		func() { x.claim("two", fmt.Sprintf("%dGi", 1+x.rng.IntN(5)), "local") },
		func() { x.pod("one", x.wants["one"], "one") },
		func() { x.pod("two", x.wants["two"], "two") },
	}
	if x.calmly {
		volume()
		x.Settle()
	} else {
		touch := func() { x.touch("only") }
		todo = append(todo, volume, touch, touch, touch)
		if x.rng.IntN(3) == 0 {
			todo = append(todo, x.inject)
		}
		if x.rng.IntN(4) == 0 {
			todo = append(todo, func() { x.claimOf("three", "only") })
		}
		if x.rng.IntN(4) == 0 {
			todo = append(todo, func() { x.Must(clustertest.IgnoreMissing(x.podDeletion("one"))) })
		}
	}
	x.rng.Shuffle(len(todo), func(i, j int) { todo[i], todo[j] = todo[j], todo[i] })
	for _, f := range todo {
		f()
		for range x.rng.IntN(3) * x.rng.IntN(16) {
			x.Step()
		}
	}
}

// inject makes calls fail, processes crash and caches fall behind.
func (x *race) inject() {
	actors := []string{storagesim.Scheduler, storagesim.Scheduler, storagesim.PVController}
	answers := []error{
		apierrors.NewConflict(control.PersistentVolumes().GroupResource(), "only", errors.New("somebody was faster")),
		apierrors.NewInternalError(errors.New("etcd is down")), engine.ErrAnswerLost,
	}
	for range 1 + x.rng.IntN(4) {
		f := engine.Fault{Actor: actors[x.rng.IntN(3)], Skip: x.rng.IntN(8), Times: 1 + x.rng.IntN(3), After: x.rng.IntN(2) == 0}
		if x.rng.IntN(2) == 0 { // the one write that gives the volume away
			f.Actor, f.Verb, f.Resource, f.Skip, f.Times = storagesim.Scheduler, "update", "pv", 0, 1+x.rng.IntN(5)
		}
		switch x.rng.IntN(3) {
		case 0:
			f.Crash, f.Restart = true, time.Duration(x.rng.IntN(20))*time.Second
		case 1:
			f.Err = answers[x.rng.IntN(len(answers))]
		case 2:
			f.Delay = time.Duration(1+x.rng.IntN(5)) * time.Second
		}
		x.Inject(f)
	}
	for range x.rng.IntN(3) {
		resources := []string{"persistentvolumes", "persistentvolumeclaims", "pods", "nodes"}
		hold := [2]string{actors[x.rng.IntN(3)], resources[x.rng.IntN(4)]}
		if err := x.Cluster.Cluster.Hold(hold[0], hold[1]); err == nil { // the PV controller has no cache of nodes
			x.held = append(x.held, hold)
		}
	}
}

// calm ends the trouble and lets so much time pass that nothing is still to come.
func (x *race) calm() {
	x.Engine().ClearFaults()
	for _, h := range x.held {
		x.Release(h[0], h[1])
	}
	x.held = nil
	x.Settle()
	x.RunFor(flushed)
	x.Settle()
}

// winner returns the pod that has a node. If a pod could have one, one has; and if the
// volume belongs to a claim that no pod has, none has.
func (x *race) winner() (string, error) {
	var placed []string
	for _, pod := range []string{"one", "two"} {
		if x.nodeOf(pod) != "" {
			placed = append(placed, pod)
		}
	}
	x.rivals = slices.DeleteFunc(x.rivals, func(pod string) bool { return x.pods["default/"+pod] == nil })
	owner := x.owner()
	switch {
	case len(placed) > 1:
		return "", errors.New("both pods have a node, and there is one volume")
	case len(placed) == 1 && owner != placed[0]:
		return "", fmt.Errorf("pod %s has a node, and claim %q the volume", placed[0], owner)
	case len(placed) == 1:
		return placed[0], nil
	case len(x.rivals) > 0 && (owner == "" || slices.Contains(x.rivals, owner)):
		why, _ := x.Cluster.Cluster.Explain("pod/" + x.rivals[0])
		return "", fmt.Errorf("%q could run, and nobody does: %s", x.rivals, why)
	}
	return "", nil
}

// owner returns the claim that the volume belongs to, "" if none.
func (x *race) owner() string {
	if pv := x.volumes["only"]; pv.Spec.ClaimRef != nil {
		return pv.Spec.ClaimRef.Name
	}
	return ""
}

// play plays the whole run.
func (x *race) play() {
	x.start()
	x.RunFor(time.Duration(x.rng.IntN(30)) * time.Second)
	x.calm()
	x.consistent()
	if x.calmly && x.lost > 0 {
		x.T.Fatalf("the scheduler tries to give the volume away %d times after it has given it away", x.lost)
	}
	winner, err := x.winner()
	x.Must(err)
	if winner != "" {
		x.nextInLine(winner)
		x.consistent()
	}
}

// nextInLine: the other pod gets its volume, be it a new one or the same when the
// winner has no more use for it.
func (x *race) nextInLine(winner string) {
	loser := map[string]string{"one": "two", "two": "one"}[winner]
	if x.pods["default/"+loser] == nil {
		return
	}
	if x.rng.IntN(2) == 0 {
		x.volume("another", "5Gi", "")
	} else {
		x.deletePod(winner)
		x.Delete("pvc/" + winner)
		x.deleteClaimIfThere("three")
		x.Settle()
		x.free("only")
		if x.home != "" && x.wants[loser] != "" && x.wants[loser] != x.home {
			return // it is of no use there
		}
	}
	x.Settle()
	x.RunFor(flushed)
	x.placed(loser)
}

// semantics: section 2 must 2; bugs 10 and 19. CI tries more seeds.
func TestTwoPodsRacingForOneVolumeAreNeverBothServedNorBothStuck(t *testing.T) {
	t.Parallel()
	explore.Test(t, randomly(300, rigConfig()), twoPodsRace)
}

func twoPodsRace(c *explore.Cluster) {
	newRace(c).play()
}

// BenchmarkTwoPodsRace plays one seed after the other: a cluster is made, two pods race
// for one volume, the outcome is checked, the cluster closed.
func BenchmarkTwoPodsRace(b *testing.B) {
	cfg := randomly(b.N, rigConfig())
	cfg.Workers = 1
	explore.Test(b, cfg, twoPodsRace)
}

// BenchmarkTwoPodsRaceWrites sends the writes and events of runs of BenchmarkTwoPodsRace to a server alone: the part of a run below
// which it cannot come with these writes.
func BenchmarkTwoPodsRaceWrites(b *testing.B) {
	var runs [][]trace.Entry
	cfg := randomly(100, rigConfig())
	cfg.Workers = 1
	explore.Test(b, cfg, func(c *explore.Cluster) {
		twoPodsRace(c)
		runs = append(runs, c.Engine().Trace().Entries())
	})
	clustertest.BenchReplay(b, runs...)
}

// randomly returns a configuration for scenarios that cause faults of their own, by the seed: no two runs do the same, and the
// scenario itself checks what is left.
func randomly(runs int, cluster storagesim.Config) explore.Config {
	return explore.Config{Runs: runs, Cluster: cluster, Strategies: []string{explore.Random},
		Except: []string{explore.Liveness, explore.NothingLeaks, explore.PlainRun}}
}
