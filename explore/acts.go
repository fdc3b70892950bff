package explore

import (
	"slices"

	"github.com/storagesim/storagesim"
)

// acts records the acts of a scenario's user with Cluster.Apply and Cluster.Delete, object by
// object, numbered from 1.
type acts struct {
	without []int           // those that are left out
	missing map[string]bool // objects that were not applied: they cannot be deleted either
	count   int
	done    []string // those that are not left out
}

// watchActs leaves out what a plan leaves out.
func watchActs(c *storagesim.Cluster, plan Plan, r *recorded) *acts {
	a := &acts{without: plan.Without, missing: map[string]bool{}}
	c.Lab().OnAct(func(verb, ref string) bool {
		if a.count == 0 {
			r.openAt(c)
		}
		return a.next(verb, ref)
	})
	return a
}

func (a *acts) next(verb, ref string) bool {
	a.count++
	out := slices.Contains(a.without, a.count)
	if verb == "apply" {
		a.missing[ref] = out
	}
	if out || a.missing[ref] {
		return false
	}
	a.done = append(a.done, verb+" "+ref)
	return true
}

// fewerActs leaves out what the user did as far as it is not needed to fail: objects of the
// manifests, and deletions.
func (s *shrinker) fewerActs() {
	plan := s.best.Plan
	var all []int
	for n := range s.best.acts {
		all = append(all, n+1)
	}
	reduce(all, func(some []int) bool {
		without := slices.DeleteFunc(slices.Clone(all), func(n int) bool { return slices.Contains(some, n) })
		return len(without) == 0 || s.failsWithout(plan, without)
	})
}

// failsWithout reports whether a plan still fails when some acts are left out. What happens
// without trouble is then something else, too: it is played first.
func (s *shrinker) failsWithout(plan Plan, without []int) bool {
	if s.left <= 0 {
		return false
	}
	if plan.Size() == 0 {
		plan.Without = without
		return s.fails(plan)
	}
	whole, less := s.exploration, *s.exploration
	plain := recorded{plain: true}
	if less.plain = nil; less.play(Plan{Seed: plan.Seed, Without: without}, &plain) != nil {
		return false // it does not work at all, or fails without trouble
	}
	s.left--
	less.plain, less.plainSteps, less.base = &plain.ends, plain.steps, plain.base
	s.exploration = &less
	plan.Without = without
	if s.fails(plan) || s.failsEarlier(plan) {
		return true
	}
	s.exploration = whole
	return false
}

// failsEarlier reports whether a plan with one fault fails if that strikes up to three calls of its kind earlier: where
// some acts are left out, there are fewer calls before it.
func (s *shrinker) failsEarlier(plan Plan) bool {
	if len(plan.Faults) != 1 || len(plan.Holds) > 0 {
		return false
	}
	fault := plan.Faults[0]
	for least := max(1, fault.Call.N-3); fault.Call.N > least; {
		fault.Call.N--
		if s.failsAs(plan, func(p *Plan) { p.Faults = []Fault{fault} }) {
			return true
		}
	}
	return false
}
