package scheduler_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/storagesim/storagesim"
	"github.com/storagesim/storagesim/binding"
	"github.com/storagesim/storagesim/engine"
	"github.com/storagesim/storagesim/internal/seedtest"
	"github.com/storagesim/storagesim/trace"
)

// prebind is a run in which the pod web gets two volumes: one that exists, on node-1 or
// on node-2, and one that the rack makes there, which takes it some polls.
type prebind struct {
	*rig
	rack  *rack
	steps int
	mark  int    // how much of the trace was there when trouble struck
	gone  string // the node that trouble took
}

func newPrebind(t testing.TB, seed uint64) *prebind {
	t.Helper()
	r := newRig(t, storagesim.Config{Seed: seed}, "node-1", "node-2")
	p := r.addRack()
	r.Inject(engine.Fault{Actor: rackName, Verb: "create", Resource: "pv", Delay: 2500 * time.Millisecond})
	r.volume("disk-1", "5Gi", "node-1")
	r.volume("disk-2", "5Gi", "node-2")
	r.claim("disk", "5Gi", "local")
	r.claim("cache", "5Gi", "made")
	r.Settle()
	r.pod("web", "", "disk", "cache")
	return &prebind{rig: r, rack: p}
}

// step takes so many steps.
func (x *prebind) step(n int) {
	for ; x.steps < n; x.steps++ {
		x.Step()
	}
}

// window returns the number of steps until the scheduler has made its first write, and until the
// pod has its node: between the two are all yield points of BindPodVolumes.
func window(t testing.TB, seed uint64) (first, last int) {
	t.Helper()
	x := newPrebind(t, seed)
	for ; x.nodeOf("web") == ""; x.step(x.steps + 1) {
		require.LessOrEqual(t, x.steps, 10_000, "the pod gets no node")
		if first == 0 && x.pods["default/web"].Status.NominatedNodeName != "" {
			first = x.steps
		}
	}
	return first, x.steps
}

// everyStep plays a run for each step of the window, and trouble after it.
func everyStep(t *testing.T, play func(x *prebind)) {
	t.Helper()
	eachStep(t, window, play)
}

// eachStep does so for the steps of any window, and with -short for every fifth of them.
func eachStep(t *testing.T, window func(t testing.TB, seed uint64) (first, last int), play func(x *prebind)) {
	t.Helper()
	stride := 1
	if testing.Short() {
		stride = 5
	}
	t.Parallel()
	seedtest.Each(t, 1, func(t testing.TB, seed uint64) {
		first, last := window(t, seed)
		require.Greater(t, last-first, 12, "writes, polls, and what the others do meanwhile")
		for n := first; n <= last; n += stride {
			err := seedtest.Try(t, func(t testing.TB) {
				x := newPrebind(t, seed)
				x.step(n)
				x.mark = x.Engine().Trace().Len()
				play(x)
			})
			require.NoError(t, err, "after step %d of %d to %d", n, first, last)
		}
	})
}

// since returns the records of an actor since trouble struck.
func (x *prebind) since(actor string) []any {
	var list []any
	for _, entry := range x.Engine().Trace().Since(x.mark) {
		if entry.Actor == actor {
			list = append(list, entry.Record)
		}
	}
	return list
}

// stopsWaiting lets one poll's time pass. By then the binding cycle that was under way
// has ended: with an error that says one of these things, or with the pod's binding.
func (x *prebind) stopsWaiting(says ...string) {
	x.T.Helper()
	if x.nodeOf("web") != "" {
		return // it had ended before
	}
	x.RunFor(time.Second)
	for _, record := range x.since(storagesim.Scheduler) {
		switch r := record.(type) {
		case trace.Write:
			if r.Subresource == "binding" {
				return // it had looked for the last time before
			}
		case trace.Event:
			if r.Reason != "FailedScheduling" {
				continue
			}
			if !slices.ContainsFunc(says, func(part string) bool { return strings.Contains(r.Message, part) }) {
				x.T.Fatalf("the binding cycle ends with %q, and not with one of %q", r.Message, says)
			}
			return
		}
	}
	x.T.Fatal("the binding cycle still waits after a poll")
}

// settled lets so much time pass that nothing is left to come. The pod has its node then,
// and all of its volumes there.
func (x *prebind) settled() {
	x.T.Helper()
	x.Settle()
	x.RunFor(flushed)
	x.Settle()
	x.placed("web")
	x.consistent()
}

// cleared deletes pod and claims. Nothing is left then but the disks.
func (x *prebind) cleared() {
	x.T.Helper()
	x.deletePod("web")
	x.deleteClaimIfThere("disk")
	x.deleteClaimIfThere("cache")
	x.Settle()
	x.RunFor(flushed)
	if len(x.rack.holds) > 0 || len(x.volumes) != 2 || len(x.claims) > 0 {
		x.T.Fatalf("left behind: rack %v, volumes %d, claims %d", x.rack.holds, len(x.volumes), len(x.claims))
	}
	x.RequireNoLeaks()
	x.safe()
}

// replaced deletes the pod web and makes it anew, on node only unless that is "".
func (x *prebind) replaced(only string) {
	x.T.Helper()
	x.deletePod("web")
	x.pod("web", only, "disk", "cache")
}

// chosen returns the node that the scheduler has chosen.
func (x *prebind) chosen() string {
	if node := x.nodeOf("web"); node != "" {
		return node
	}
	return x.pods["default/web"].Status.NominatedNodeName
}

// written returns the part of the decision that is in the API: once it is there, it stays.
func (x *prebind) written() string {
	s := ""
	for _, disk := range []string{"disk-1", "disk-2"} {
		if pv := x.volumes[disk]; pv.Spec.ClaimRef != nil {
			s += disk + " "
		}
	}
	if node := x.claims["default/cache"].Annotations[binding.AnnSelectedNode]; node != "" {
		s += "cache on " + node
	}
	return s
}
