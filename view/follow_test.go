package view_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/storagesim/storagesim/internal/seedtest"
	"github.com/storagesim/storagesim/trace"
	"github.com/storagesim/storagesim/view"
)

// reader collects the parts that a follower returns.
type reader struct {
	page          view.Page
	mark          view.Mark
	wholes, steps int // how many whole pages and how many steps it was sent
}

func (r *reader) ask(f *view.Follower) {
	p, now, whole := f.Since(r.mark)
	r.mark = now
	r.steps += len(p.Steps)
	if whole {
		r.wholes++
		r.page = p
		r.page.Objects = slices.Clone(p.Objects)
		return
	}
	r.page.Steps = append(slices.Clip(r.page.Steps), p.Steps...)
	r.page.Objects = append(slices.Clip(r.page.Objects), p.Objects...)
	r.page.Base = append(slices.Clip(r.page.Base), p.Base...)
	for _, s := range p.Steps { // a step may name an object before it is there
		if s.Write != nil && s.Write.Created {
			metadata := s.Write.Changes[0].Value.(map[string]any)["metadata"].(map[string]any)
			if uid, ok := metadata["uid"].(string); ok {
				r.page.Objects[*s.About].UID = uid
			}
		}
	}
}

// byName returns the JSON of a page with names in place of indexes.
func byName(t testing.TB, p view.Page) string {
	t.Helper()
	name := func(i int) string {
		o := p.Objects[i]
		return fmt.Sprintf("%s %s/%s %s", o.Kind, o.Namespace, o.Name, o.UID)
	}
	type step struct {
		view.Step
		Who, Whom string
		Names     []string
	}
	var steps []step
	for _, s := range p.Steps {
		n := step{Step: s, Who: p.Lanes[s.Lane].ID}
		if s.About != nil {
			n.Names = append(n.Names, name(*s.About))
		}
		for _, i := range s.Also {
			n.Names = append(n.Names, name(i))
		}
		if s.Call != nil && s.Call.To != nil {
			n.Whom = p.Lanes[*s.Call.To].ID
		}
		n.About, n.Also = nil, nil
		steps = append(steps, n)
	}
	base := map[string]view.Base{}
	for _, b := range p.Base {
		base[name(b.Object)] = view.Base{Value: b.Value, RV: b.RV}
	}
	text, err := json.MarshalIndent(map[string]any{"steps": steps, "base": base, "objects": len(p.Objects)}, "", " ")
	require.NoError(t, err)
	return string(text)
}

func TestWhatAFollowerTellsInPartsIsThePageOfTheWholeLog(t *testing.T) {
	seedtest.Each(t, 40, func(t testing.TB, seed uint64) {
		rng := rand.New(rand.NewPCG(seed, 0))
		entries := slices.Repeat(run(), 4)
		log := trace.New(1000, 1<<30)
		log.KeepValues()
		o := view.Options{Start: start, Told: rng.IntN(20)}
		f, r := view.Follow(log, o), reader{}
		for len(entries) > 0 {
			for range min(rng.IntN(9), len(entries)) {
				log.Add(entries[0])
				log.Deliver(trace.Delivery{Time: start.Add(time.Second), Actor: "kubelet/node-1", Resource: "pods", RV: rng.Uint64N(10)})
				entries = entries[1:]
			}
			r.ask(f)
		}
		require.Equal(t, byName(t, view.OfLog(log, o)), byName(t, r.page))
		require.Greater(t, r.mark.Turn, 0)
	})
}

func TestAFollowerTellsEachStepOnce(t *testing.T) {
	log := trace.New(10_000, 1<<30)
	for range 100 {
		for _, e := range run() {
			log.Add(e)
		}
	}
	f, r := view.Follow(log, view.Options{Start: start}), reader{}
	r.ask(f)
	require.Equal(t, 3700, r.steps)
	for range 10 {
		for _, e := range run() {
			log.Add(e)
			r.steps = 0
			r.ask(f)
			require.Equal(t, 1, r.steps)
		}
	}
	r.steps = 0
	r.ask(f)
	require.Zero(t, r.steps)
	require.Equal(t, 1, r.wholes)

	log.Add(entry(time.Second, "another-controller", trace.Event{Message: "a new actor"}))
	r.ask(f)
	require.Equal(t, 2, r.wholes)
	require.Contains(t, laneIDs(r.page), "another-controller")
	other := reader{mark: view.Mark{Turn: r.mark.Turn, Steps: -1}}
	other.ask(f)
	require.Equal(t, byName(t, r.page), byName(t, other.page), "a mark that no follower made")
}

func TestAFollowerBeginsAnewBeyondItsBounds(t *testing.T) {
	again := func(i int) trace.Entry {
		return entry(time.Duration(i)*time.Second, "user", trace.Event{About: trace.Ref{Kind: "Pod", Name: "web"}, Message: "again"})
	}
	for name, o := range map[string]view.Options{"steps": {Start: start, Steps: 100}, "bytes": {Start: start, Bytes: 20_000}} {
		log := trace.New(80, 1<<30) // which drops what the reader has
		f, r := view.Follow(log, o), reader{}
		for i := range 1000 {
			log.Add(again(i))
			r.ask(f)
			require.LessOrEqual(t, len(r.page.Steps), 250, name)
			require.Equal(t, i, r.page.Steps[len(r.page.Steps)-1].N, name)
		}
		require.Less(t, r.wholes, 60, name)
		require.Greater(t, r.wholes, 5, name)
		for i := range 200 {
			log.Add(again(1000 + i))
		}
		r.ask(f) // of what it did not read, some is gone
		require.Equal(t, 1199, r.page.Steps[len(r.page.Steps)-1].N, name)
		require.Contains(t, r.page.Missing[0], "earlier records were dropped", name)
	}
}
