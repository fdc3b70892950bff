package explore

import (
	"slices"
	"time"
)

// shrink makes a failure smaller: first in order, with one or some of its faults and caches that fall behind or
// with others; if that does not fail, without those that are not needed, then with fewer choices away from the
// plain order, then with a few others instead of many. Then what the user did that is not needed is left out. The
// Reason of the failure stays, and its cause. It ends after so many runs, a long one counting as several.
func (x *exploration) shrink(f *Failure) {
	first := *f
	s := &shrinker{exploration: x, best: f, left: x.cfg.shrinkRuns(), from: f.Plan.Size(), first: &first}
	plan := f.Plan
	if plan.Order != "" { // the same order, as choices
		plan.Order, plan.Choices = "", choicesOf(f.choices)
		s.from = plan.Size()
		switch {
		case s.inOrder(f.Plan):
			plan = s.best.Plan
		case !s.fails(plan):
			return
		}
	}
	plan.Faults = s.one(plan)
	plan.Faults = reduce(plan.Faults, func(some []Fault) bool { return s.failsAs(plan, func(p *Plan) { p.Faults = some }) })
	plan.Faults = s.shorter(plan)
	plan.Holds = reduce(plan.Holds, func(some []Hold) bool { return s.failsAs(plan, func(p *Plan) { p.Holds = some }) })
	fewer := func(some []Choice) bool { return s.failsAs(plan, func(p *Plan) { p.Choices = some }) }
	plan.Choices = choicesOf(s.best.choices) // those behind the failure are not needed
	plan.Choices = reduce(middle(plan.Choices, fewer), fewer)
	s.few()
	if plan = s.best.Plan; len(plan.Choices) <= fewChoices {
		plan.Choices = reduce(plan.Choices, fewer)
	}
	if plan.Seed != 0 { // whose names matter seldom
		s.failsAs(plan, func(p *Plan) { p.Seed = 0 })
	}
	if n := len(s.best.Plan.Choices); n > fewChoices && len(s.best.Plan.String()) > len(first.Plan.String()) {
		s.best, s.from = s.first, first.Plan.Size() // hundreds of choices tell a reader nothing
	}
	s.fewerActs()
	*f = *s.best
	f.LeftOut = f.acts - len(f.Acts)
	f.From, f.ShrinkRuns = s.from, x.cfg.shrinkRuns()-s.left
}

// shrinker tries smaller plans, and keeps the last that fails.
type shrinker struct {
	*exploration
	best   *Failure
	first  *Failure // its reason and its cause stay
	left   int
	from   int
	played int // runs so far
}

// leastShrinkRuns is the number of runs to make a failure smaller that there are even if Config.Budget is over.
const leastShrinkRuns = 50

// isOver reports whether the budget is spent.
func (cfg Config) isOver() bool {
	return cfg.Budget > 0 && time.Since(cfg.began) > cfg.Budget
}

// otherTrouble is the number of faults, and of caches that fall behind, that are tried in place of an order by chance.
const otherTrouble = 100

// inOrder reports whether the failure needs no special order of events: the plan, played in order, fails with all its faults and stale
// caches, or with one of its faults, or with another fault or stale cache.
func (s *shrinker) inOrder(plan Plan) bool {
	plan.Order, plan.Choices = "", nil
	if plan.Size() > 0 && s.fails(plan) {
		return true
	}
	alone := Plan{Seed: plan.Seed, Without: plan.Without}
	tries := func(fault []Fault, hold []Hold) bool {
		alone.Faults, alone.Holds = fault, hold
		return s.fails(alone)
	}
	for _, f := range plan.Faults {
		if tries([]Fault{f}, nil) {
			return true
		}
	}
	if s.planner == nil {
		return false
	}
	for i := range otherTrouble {
		for _, faults := range [][]Fault{s.planner.crashes, s.planner.faults} {
			if i < len(faults) && tries(faults[i:i+1], nil) {
				return true
			}
		}
		if s.planner.size(Stale) > 0 && tries(nil, s.planner.plainStale(i).Holds) {
			return true
		}
	}
	return false
}

// fails plays a plan and says whether it fails as the first one did.
func (s *shrinker) fails(p Plan) bool {
	if s.left <= 0 || s.ctx.Err() != nil || s.played >= leastShrinkRuns && s.cfg.isOver() {
		return false
	}
	s.played++
	var r recorded
	f := s.play(p, &r)
	s.left -= max(1, int(r.steps/max(1, s.plainSteps)))
	if f == nil || !f.same(s.first) || !isSubset(f.needs, s.best.needs) {
		return false
	}
	if fault := s.best.Upstream; fault != nil && fault.Mend != nil {
		if s.mended(fault).play(p, nil) != nil {
			return false // something else fails, too
		}
	}
	f.Upstream = s.best.Upstream
	f.Run, f.Strategy = s.best.Run, s.best.Strategy
	f.noted(s.best.note)
	s.best = f
	return true
}

// failsAs plays a plan with a change.
func (s *shrinker) failsAs(plan Plan, change func(*Plan)) bool {
	change(&plan)
	return s.fails(plan)
}

// nearby is the distance in which the number of a call is looked for, among those of its kind, when a fault before it is
// gone.
const nearby = 2

// one returns one of several faults that is enough to fail, or all of them. Without the others,
// its call may have another number.
func (s *shrinker) one(plan Plan) []Fault {
	if len(plan.Faults) < 2 {
		return plan.Faults
	}
	for _, f := range plan.Faults {
		for by := range 2*nearby + 1 {
			alone := []Fault{f}
			alone[0].Call.N += (by + 1) / 2 * (1 - by%2*2) // 0, -1, 1, -2, 2 ...
			if alone[0].Call.N > 0 && s.failsAs(plan, func(p *Plan) { p.Faults = alone }) {
				return alone
			}
		}
	}
	return plan.Faults
}

// shorter returns the faults with those that strike several times striking as few times as is enough.
func (s *shrinker) shorter(plan Plan) []Fault {
	for i := range plan.Faults {
		for plan.Faults[i].Times > 1 {
			fewer := slices.Clone(plan.Faults)
			fewer[i].Times--
			if !s.failsAs(plan, func(p *Plan) { p.Faults = fewer }) {
				break
			}
			plan.Faults = fewer
		}
	}
	return plan.Faults
}

// fewChoices is the number of choices away from the plain order that a reader can follow.
const fewChoices = 3

// few looks for a plan with one to three choices that fails as the best one so far, which has
// more than can be read. Positions of choices shift when one is left out, so that often none
// of many can be; but where many do it, few often do, too.
func (s *shrinker) few() {
	if len(s.best.Plan.Choices) <= fewChoices {
		return
	}
	faults := [][]Fault{nil}
	if len(s.best.Plan.Faults) > 0 {
		faults = append(faults, s.best.Plan.Faults)
	}
	for i := range s.left {
		p := s.planner.delays(i)
		p.Faults = faults[i%len(faults)]
		if s.fails(p) {
			return
		}
	}
}

// reduce does delta debugging (Zeller and Hildebrandt, "Simplifying and Isolating
// Failure-Inducing Input", IEEE TSE 28, 2002): the smallest list that it finds, made of some
// of the items in their order, for which fails holds. It holds for all of them. The outcome
// is such that no single item can be left out, unless fails says that it will not be asked
// any more by returning false for all.
func reduce[T any](items []T, fails func([]T) bool) []T {
	if len(items) > 0 && fails(nil) {
		return nil
	}
	for parts := 2; len(items) > 1; {
		smaller, ok := without(items, parts, fails)
		switch {
		case ok:
			items, parts = smaller, max(2, parts-1)
		case parts >= len(items):
			return items
		default:
			parts = min(len(items), 2*parts)
		}
	}
	return items
}

// without leaves out one of so many parts of the items.
func without[T any](items []T, parts int, fails func([]T) bool) ([]T, bool) {
	for i := range parts {
		from, to := i*len(items)/parts, (i+1)*len(items)/parts
		rest := append(append([]T(nil), items[:from]...), items[to:]...)
		if len(rest) < len(items) && fails(rest) {
			return rest, true
		}
	}
	return items, false
}

// middle leaves out as many items at the end, and then at the beginning, as bisection finds.
func middle[T any](items []T, fails func([]T) bool) []T {
	items = items[:bisect(len(items), func(n int) bool { return fails(items[:n]) })]
	return items[len(items)-bisect(len(items), func(n int) bool { return fails(items[len(items)-n:]) }):]
}

// bisect returns a small n, of 0 to most, for which fails holds. It holds for most.
func bisect(most int, fails func(n int) bool) int {
	for least := 0; least < most; {
		if n := (least + most) / 2; fails(n) {
			most = n
		} else {
			least = n + 1
		}
	}
	return most
}
