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
	c.OnAct(func(verb, ref string) bool {
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
// without trouble is then something else, too: it is played first, and tells where the calls
// are now that the plan's faults strike.
func (s *shrinker) failsWithout(plan Plan, without []int) bool {
	if s.left <= 0 {
		return false
	}
	if plan.Size() == 0 {
		plan.Without = without
		return s.fails(plan)
	}
	was, less := s.exploration, *s.exploration
	plain := recorded{plain: true}
	if less.plain = nil; less.play(Plan{Seed: plan.Seed, Without: without}, &plain) != nil {
		return false // it does not work at all, or fails without trouble
	}
	s.left--
	less.plain, less.plainSteps, less.base = &plain.ends, plain.steps, plain.base
	s.exploration = &less
	plan.Faults, plan.Without = moved(plan.Faults, was.base, less.base), without
	if s.fails(plan) {
		return true
	}
	s.exploration = was
	return false
}

// moved returns the faults at the calls that they strike in another run: of the same kind, and
// after as many calls of that kind.
func moved(faults []Fault, from, to base) []Fault {
	found := slices.Clone(faults)
	for i, f := range found {
		was, is := from.calls, to.calls
		if f.isCSI() {
			was, is = from.rpcs, to.rpcs
		}
		found[i].Call = movedCall(f.Call, was, is)
	}
	return found
}

func movedCall(call int, was, is []string) int {
	if call > len(was) {
		return call
	}
	before := 0
	for _, place := range was[:call] {
		if place == was[call-1] {
			before++
		}
	}
	for i, place := range is {
		if place == was[call-1] {
			before--
		}
		if before == 0 {
			return i + 1
		}
	}
	return call
}
