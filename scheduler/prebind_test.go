package scheduler_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/storagesim/storagesim"
	"github.com/storagesim/storagesim/binding"
	"github.com/storagesim/storagesim/engine"
	"github.com/storagesim/storagesim/internal/clustertest"
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

func newPrebind(seed uint64) (*prebind, error) {
	r, err := newRig(storagesim.Config{Seed: seed}, "node-1", "node-2")
	if err != nil {
		return nil, err
	}
	p, err := r.addRack()
	slow := engine.Fault{Actor: rackName, Verb: "create", Resource: "pv", Delay: 2500 * time.Millisecond}
	return &prebind{rig: r, rack: p}, errors.Join(err, r.Inject(slow),
		r.volume("disk-1", "5Gi", "node-1"), r.volume("disk-2", "5Gi", "node-2"),
		r.claim("disk", "5Gi", "local"), r.claim("cache", "5Gi", "made"), r.Settle(),
		r.pod("web", "", "disk", "cache"))
}

// step takes so many steps.
func (x *prebind) step(n int) error {
	for ; x.steps < n; x.steps++ {
		if _, err := x.Step(); err != nil {
			return err
		}
	}
	return nil
}

// window is after how many steps the scheduler has made its first write, and after how
// many the pod has its node: between the two are all yield points of BindPodVolumes.
func window(seed uint64) (first, last int, err error) {
	x, err := newPrebind(seed)
	if err != nil {
		return 0, 0, err
	}
	defer x.Close()
	for ; x.nodeOf("web") == ""; err = x.step(x.steps + 1) {
		if err != nil || x.steps > 10_000 {
			return 0, 0, fmt.Errorf("the pod gets no node: %w", err)
		}
		if first == 0 && x.pods["default/web"].Status.NominatedNodeName != "" {
			first = x.steps
		}
	}
	return first, x.steps, nil
}

// everyStep plays a run for each step of the window, and trouble after it.
func everyStep(t *testing.T, play func(x *prebind) error) {
	t.Helper()
	eachStep(t, window, play)
}

// eachStep does so for the steps of any window, and with -short for every fifth of them.
func eachStep(t *testing.T, window func(seed uint64) (first, last int, err error), play func(x *prebind) error) {
	t.Helper()
	stride := 1
	if testing.Short() {
		stride = 5
	}
	t.Parallel()
	seedtest.Each(t, 1, func(t testing.TB, seed uint64) {
		first, last, err := window(seed)
		require.NoError(t, err)
		require.Greater(t, last-first, 12, "writes, polls, and what the others do meanwhile")
		for n := first; n <= last; n += stride {
			x, err := newPrebind(seed)
			require.NoError(t, err)
			require.NoError(t, x.step(n))
			x.mark = x.Engine().Trace().Len()
			if err := play(x); err != nil {
				t.Fatalf("after step %d of %d to %d: %v\n%s", n, first, last, err, x.Story())
			}
			require.NoError(t, x.Close())
		}
	})
}

// since are the records of an actor since trouble struck.
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
func (x *prebind) stopsWaiting(says ...string) error {
	if x.nodeOf("web") != "" {
		return nil // it had ended before
	}
	if err := x.RunFor(time.Second); err != nil {
		return err
	}
	for _, record := range x.since(storagesim.Scheduler) {
		switch r := record.(type) {
		case trace.Write:
			if r.Subresource == "binding" {
				return nil // it had looked for the last time before
			}
		case trace.Event:
			if r.Reason != "FailedScheduling" {
				continue
			}
			if !slices.ContainsFunc(says, func(part string) bool { return strings.Contains(r.Message, part) }) {
				return fmt.Errorf("the binding cycle ends with %q, and not with one of %q", r.Message, says)
			}
			return nil
		}
	}
	return errors.New("the binding cycle still waits after a poll")
}

// settled is when nothing is left to come. The pod has its node then, and all of its
// volumes there.
func (x *prebind) settled() error {
	if err := errors.Join(x.Settle(), x.RunFor(flushed), x.Settle()); err != nil {
		return err
	}
	return errors.Join(x.placed("web"), x.consistent())
}

// cleared deletes pod and claims. Nothing is left then but the disks.
func (x *prebind) cleared() error {
	if err := errors.Join(x.deletePod("web"), clustertest.IgnoreMissing(x.Delete("pvc/disk")), clustertest.IgnoreMissing(x.Delete("pvc/cache")), x.Settle(), x.RunFor(flushed)); err != nil {
		return err
	}
	if len(x.rack.holds) > 0 || len(x.volumes) != 2 || len(x.claims) > 0 {
		return fmt.Errorf("left behind: rack %v, volumes %d, claims %d", x.rack.holds, len(x.volumes), len(x.claims))
	}
	return errors.Join(x.RequireNoLeaks(), x.safe())
}

// chosen is the node that the scheduler has chosen.
func (x *prebind) chosen() string {
	if node := x.nodeOf("web"); node != "" {
		return node
	}
	return x.pods["default/web"].Status.NominatedNodeName
}

// written is what of the decision is in the API: once it is, it stays.
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
