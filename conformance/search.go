package conformance

import (
	"cmp"
	"context"
	"path"
	"runtime"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/storagesim/storagesim/internal/seeds"
)

// resync is the period of the PV controller, which phases divide.
const resync = 15 * time.Second

// Seeds is the number of seeded schedules that are tried after those in order, unless
// Options say otherwise.
const Seeds = 1600

// batch is the number of schedules that are tried at once. It does not depend on the number of
// cores, so that the result does not either.
const batch = 8

// search looks for a schedule under which a recording agrees. It remembers how far
// each schedule agreed, and goes on from there: a schedule that agrees up to step 5
// is tried again with other seeds from step 5 on, and a quarter of the time from one of the
// writes before the one in step 5 that differs. So what chance must give is found
// step by step, and write by write, instead of all at once.
type search struct {
	rec   *Recording
	limit chan struct{} // a place for each core
	tried uint64        // seeded schedules so far
	runs  int           // schedules so far

	// earlier is set in the second half of a search, which also varies the steps before the one that differs.
	earlier bool
	stuck   int // how many tries in a row met the best one's difference

	starts []*start
	// within are the starts within a step: those that agreed longest in each.
	within []*start
	inOrder,
	best outcome
}

// outcome is the result of one schedule.
type outcome struct {
	schedule    Schedule
	differences []Difference
	err         error
}

// reached returns the first step that differs.
func (o outcome) reached(rec *Recording) int {
	if o.differences[0].Step == 0 {
		return len(rec.Steps) + 1
	}
	return o.differences[0].Step
}

// agreed returns the number of writes that the step had before the first one that differs; all if none does, and 0 at the end.
func (o outcome) agreed() int {
	n := o.differences[0].write
	for _, d := range o.differences {
		n = min(n, d.write)
	}
	return max(n-1, 0)
}

// start is a schedule that agrees up to a step, or so many writes into it, from which others can be made.
type start struct {
	schedule Schedule
	step     int
	agreed   int
	tries    int
	// origins are earlier steps that have written an object which the difference names.
	origins []int
}

// patience is after how many tries a start counts as one step less far.
const patience = 24

// weight says how promising a start is.
func (s *start) weight() float64 {
	return float64(s.step) + float64(min(s.agreed, patience-1)-s.tries)/patience
}

// newSearch makes a search that runs as many replays at once as there are cores.
func newSearch(rec *Recording, limit chan struct{}) *search {
	return &search{rec: rec, limit: limit}
}

// cores returns a place for each core that may be used.
func cores() chan struct{} { return make(chan struct{}, runtime.GOMAXPROCS(0)) }

// run tries at most so many seeded schedules, and as many that vary earlier steps, too. It returns the outcome that agrees, or
// that in order.
func (s *search) run(seeds int) (outcome, error) {
	first := s.try([]Schedule{{}})[0]
	s.inOrder, s.best = first, first
	if first.err != nil || len(first.differences) == 0 || first.differences[0].Object == driver {
		return first, first.err
	}
	var phases []Schedule
	for phase := time.Second; phase < resync; phase += time.Second {
		phases = append(phases, Schedule{Phase: phase})
	}
	if found, done, err := s.take([]outcome{first}); done {
		return found, err
	}
	if found, done, err := s.take(s.try(phases)); done {
		return found, err
	}
	for _, s.earlier = range []bool{false, true} {
		s.stuck = 0
		for end := s.tried + uint64(seeds); s.tried < end && !s.hopeless(); {
			if found, done, err := s.take(s.try(s.next(min(batch, int(end-s.tried))))); done {
				return found, err
			}
		}
	}
	return s.inOrder, nil
}

// same is the number of tries in a row that may end in the very same difference before the
// search gives up; sameRefusal is that of refusals, which hardly ever depend on the schedule.
const (
	sameRefusal = 2 * batch
	same        = 60 * batch
)

// hopeless reports whether what differs seems not to depend on the schedule: the last
// tries all ended where the best one did, in the very same difference.
func (s *search) hopeless() bool {
	limit := same
	if s.best.differences[0].Object == refusals {
		limit = sameRefusal
	}
	return s.stuck >= limit
}

// next chooses schedules to try: from the most promising starts, in turn with the
// rest of the steps in order and seeded.
func (s *search) next(n int) []Schedule {
	var list []Schedule
	for range n {
		s.tried++
		if from := mostPromising(s.within); from != nil && s.tried/16%4 == 3 {
			list = append(list, s.goOn(from))
			continue
		}
		list = append(list, s.variant(mostPromising(s.starts)))
	}
	return list
}

// mostPromising returns the start of most weight, which will have been tried once more, or nil.
func mostPromising(starts []*start) *start {
	if len(starts) == 0 {
		return nil
	}
	from := slices.MaxFunc(starts, func(a, b *start) int { return cmp.Compare(a.weight(), b.weight()) })
	from.tries++
	return from
}

// back returns how many writes before the one that differs a search goes on within a step, at a try.
func back(tries int) int { return [...]int{1, 3, 8, 2, 21, 5, 13, 55}[tries%8] }

// along reports whether this try goes along with the recording: each third does.
func (s *search) along() bool { return s.tried%3 == 0 }

// goOn makes a schedule from a start within a step: with another seed for the rest of it.
func (s *search) goOn(from *start) Schedule {
	schedule := from.schedule.then(Turn{Step: from.step, After: max(from.agreed-back(from.tries), 0), Seed: s.tried, Along: s.along()})
	return schedule.then(Turn{Step: from.step + 1})
}

// variant makes a schedule from a start: with another resync phase, or with another
// seed for its first step or for all of the rest, some with other phases of the kubelets. In the second half of a search half of them have
// another seed for one of the steps before: what differs may have been decided there, although that step agreed. Half of those steps have written an
// object which the difference names.
func (s *search) variant(from *start) Schedule {
	schedule := from.schedule
	// Four seeds in a row have the same turn, since they choose in four ways: see steering.begin.
	turn, round := s.tried/4%4, int(s.tried/64*3+s.tried/16%4)
	switch n := len(from.origins); {
	case !s.earlier || from.step == 1:
	case turn == 0 && n > 0:
		return schedule.only(from.origins[round%n], s.tried)
	case turn%2 == 0:
		return schedule.only(1+round%(from.step-1), s.tried)
	}
	if from.tries%3 == 0 && len(schedule.Turns) > 0 {
		// 7 and 30 have no common divisor: every half second has its turn.
		schedule.Phase = (schedule.Phase + time.Duration(from.tries/3*7%30)*resync/30) % resync
		return schedule
	}
	if from.tries%3 == 1 && s.rec.whole() {
		schedule.Kubelets = (schedule.Kubelets + from.tries/3*37) % 100 // 37 and 100 have no common divisor
	}
	schedule = schedule.then(Turn{Step: from.step, Seed: s.tried, Along: s.along()})
	if s.tried/4%2 == 0 {
		schedule = schedule.then(Turn{Step: from.step + 1})
	}
	return schedule
}

// take learns from outcomes. It says whether the search is over.
func (s *search) take(outcomes []outcome) (outcome, bool, error) {
	for _, o := range outcomes {
		if o.err != nil || len(o.differences) == 0 {
			return o, true, o.err
		}
		step := o.reached(s.rec)
		if o.differences[0].same(s.best.differences[0]) {
			s.stuck++
		} else if step >= s.best.reached(s.rec) {
			s.stuck = 0
		}
		if step > s.best.reached(s.rec) || step == s.best.reached(s.rec) && len(o.differences) < len(s.best.differences) {
			s.best = o
		}
		s.remember(o.schedule, min(step, len(s.rec.Steps)), o.differences[0])
		if step <= len(s.rec.Steps) {
			s.rememberWithin(o.schedule, step, o.agreed())
		}
	}
	return outcome{}, false, nil
}

// remember keeps the part of a schedule that agreed, up to a step that differs.
func (s *search) remember(schedule Schedule, step int, differs Difference) {
	schedule.Turns = slices.DeleteFunc(slices.Clone(schedule.Turns), func(t Turn) bool { return t.Step >= step })
	same := func(k *start) bool {
		return k.step == step && k.schedule.Phase == schedule.Phase && k.schedule.Kubelets == schedule.Kubelets && slices.Equal(k.schedule.Turns, schedule.Turns)
	}
	if !slices.ContainsFunc(s.starts, same) {
		s.starts = append(s.starts, &start{schedule: schedule, step: step, origins: s.originsOf(differs, step)})
	}
}

// rememberWithin keeps a schedule that agreed for so many writes of a step, unless another one agreed longer in that step.
func (s *search) rememberWithin(schedule Schedule, step, agreed int) {
	longer := func(k *start) bool {
		return k.step == step && (k.agreed > agreed || k.agreed == agreed && slices.Equal(k.schedule.Turns, schedule.Turns))
	}
	if agreed > 0 && !slices.ContainsFunc(s.within, longer) {
		s.within = append(s.within, &start{schedule: schedule, step: step, agreed: agreed})
	}
}

// originsOf returns the steps before one that have written an object which a difference names.
func (s *search) originsOf(d Difference, before int) (steps []int) {
	words := map[string]bool{}
	for _, word := range strings.FieldsFunc(d.String(), func(c rune) bool { return !unicode.IsLetter(c) && !unicode.IsDigit(c) && c != '-' && c != '.' }) {
		words[word] = true
	}
	for i, step := range s.rec.Steps[:before-1] {
		if slices.ContainsFunc(step.Writes, func(e Entry) bool { return e.Name != "" && words[path.Base(e.Name)] }) {
			steps = append(steps, i+1)
		}
	}
	return steps
}

// try explores schedules up to the first that agrees or cannot be replayed, and gives the
// outcomes so far in the same order.
func (s *search) try(schedules []Schedule) []outcome {
	s.runs += len(schedules)
	outcomes := make([]outcome, len(schedules))
	cfg := seeds.Config{Runs: len(schedules), Workers: cap(s.limit)}
	_, tried := seeds.First(context.Background(), cfg, func(n uint64) *outcome {
		s.limit <- struct{}{}
		defer func() { <-s.limit }()
		o := &outcomes[n-1]
		o.schedule = schedules[n-1]
		if o.differences, o.err = run(s.rec, o.schedule, false); o.err != nil || len(o.differences) == 0 {
			return o
		}
		return nil
	})
	return outcomes[:tried]
}
