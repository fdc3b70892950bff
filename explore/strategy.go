package explore

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/storagesim/storagesim"
)

// The strategies: how plans are made. By default they take turns.
const (
	// Crashes plays one crash a run, in order: of each actor before and after each of its calls, of each driver before and after each
	// call that it gets, and of the author's code before and after each point that it marks; all of them if there are runs
	// enough. Together with Faults it comes before all other strategies, first with calls of a kind (actor, verb,
	// resource) that was not struck before, as long as that takes at most half of the runs.
	Crashes = "crashes"
	// Faults plays all other single faults in the same way: a call that is refused, meets a conflict, loses its answer, or hangs,
	// and a point that fails, loses its answer, or is slow.
	Faults = "faults"
	// Outages makes one place fail three to five times in a row, in order: a point of the author's code, a call to a driver, or a call
	// of the author's actors at the API server. They come with the single faults, those at points first, up to a twentieth of the runs.
	Outages = "outages"
	// Pairs plays two single faults in one run, in order, chosen by chance.
	Pairs = "pairs"
	// Stale delivers no changes to a cache for some time: in one run of three that is all, in one
	// its actor crashes at the beginning and cannot go on before the end, and in one it crashes
	// meanwhile and lists what there was before, as from an API server that is behind. These are the unobserved, intermediate and stale
	// states of Sun and others, "Automatic Reliability Testing for Cluster Management
	// Controllers" (Sieve), OSDI 2022.
	Stale = "stale"
	// Delays plays in order, except one to three choices by chance, after Emmi, Qadeer and
	// Rakamarić, "Delay-Bounded Scheduling", POPL 2011.
	Delays = "delays"
	// Random takes any step that is possible, without faults (engine.Seeded).
	Random = "random"
	// PCT gives workers and caches priorities by chance, see Plan.Order: Burckhardt and others,
	// "A Randomized Scheduler with Probabilistic Guarantees of Finding Bugs", ASPLOS 2010.
	PCT = "pct"
	// Storm plays a random order with up to three faults.
	Storm = "storm"
)

// Strategies returns the names of all strategies.
func Strategies() []string {
	return []string{Crashes, Faults, Outages, Pairs, Stale, Delays, Random, PCT, Storm}
}

// base holds the facts of the plain run in order about a scenario.
type base struct {
	calls   []string // the places of calls at the API server, by number
	rpcs    []string // the places of calls to drivers
	points  []string // the places of points of the author's code
	follows []Hold   // caches that there are: Actor and Resource
	ours    []string // the actors that there were before the scenario
	choices int      // how many choices there were
}

// planner makes the plan of each run.
type planner struct {
	base
	at              []Call       // the addresses of base.calls
	index           map[Call]int // where calls are among those, or among base.rpcs or base.points
	crashes, faults []Fault
	outages         []Fault
	single          map[string][][]Fault // by strategy and round: those at the first call of each kind, at the second, ...
	authors         int                  // how many of these rounds are of the author's program
	strategies      []string
	runs            int // how many there are at most

	mu    sync.Mutex
	turns []turn         // of the runs so far
	next  map[string]int // the number of the next plan of each strategy
}

// turn says which of a strategy's plans a run has.
type turn struct {
	strategy string
	i        int
}

func newPlanner(b base, strategies []string, runs int) *planner {
	p := &planner{base: b, at: addressesOf(b.calls), index: map[Call]int{}}
	kinds := [placeKinds]struct{ crashes, faults placed }{} // by place
	for i, call := range addressesOf(b.points) {
		p.index[call] = i
		kinds[atPoints].crashes.add(call.place(), Fault{Call: call, Kind: PointCrash}, Fault{Call: call, Kind: PointCrashAfter})
		kinds[atPoints].faults.add(call.place(), Fault{Call: call, Kind: PointError}, Fault{Call: call, Kind: PointLost}, Fault{Call: call, Kind: PointSlow})
	}
	for i, call := range p.at {
		p.index[call] = i
		own := &kinds[elsewhere]
		if b.isAuthors(call.Actor) {
			own = &kinds[atAuthors]
		}
		for _, f := range faultsOf(call) {
			if f.Kind == CrashBefore || f.Kind == CrashAfter {
				own.crashes.add(call.place(), f)
			} else {
				own.faults.add(call.place(), f)
			}
		}
	}
	for i, call := range addressesOf(b.rpcs) {
		p.index[call] = i
		kinds[atDrivers].crashes.add(call.place(), Fault{Call: call, Kind: CSICrash}, Fault{Call: call, Kind: CSICrashAfter})
		kinds[atDrivers].faults.add(call.place(), Fault{Call: call, Kind: CSIUnavailable}, Fault{Call: call, Kind: CSILost}, Fault{Call: call, Kind: CSIHang})
	}
	p.single = map[string][][]Fault{}
	for i := range kinds {
		n := max(len(kinds[i].crashes.rounds), len(kinds[i].faults.rounds))
		p.single[Crashes] = append(p.single[Crashes], kinds[i].crashes.upTo(n)...)
		p.single[Faults] = append(p.single[Faults], kinds[i].faults.upTo(n)...)
		if i < elsewhere {
			p.authors += n
		}
	}
	p.crashes, p.faults = slices.Concat(p.single[Crashes]...), slices.Concat(p.single[Faults]...)
	p.outages = b.outagesOf()
	p.strategies, p.runs = strategies, runs
	p.next = map[string]int{}
	p.turns = []turn{{}} // the first run is the plain one
	p.campaign()
	return p
}

// campaign plans the single faults, which come before all other strategies: first those of the author's program, at its points, at its calls
// of the API server and at the calls to its driver; then those of all others. Among these come the first call of each kind, then the
// second, and so on. If there are more than half of the runs, those of the first calls of each kind come first, and
// the others take turns with the other strategies.
func (p *planner) campaign() {
	take := func(strategy string, n int) {
		if !slices.Contains(p.strategies, strategy) {
			return
		}
		for range n {
			p.turns = append(p.turns, turn{strategy, p.next[strategy]})
			p.next[strategy]++
		}
	}
	crashes, faults := p.single[Crashes], p.single[Faults]
	for round := range crashes {
		if round == p.authors {
			take(Outages, min(len(p.outages), p.runs/20))
		}
		if first := round == 0 || round == p.authors; !first && len(p.turns)+len(crashes[round])+len(faults[round]) > p.runs/2 {
			continue
		}
		take(Crashes, len(crashes[round]))
		take(Faults, len(faults[round]))
	}
	p.turns = p.turns[:min(len(p.turns), p.runs)]
}

// turn returns the turn of a run, counted from 1; false if there is no such run. Turns are planned as they are needed.
func (p *planner) turn(run int) (turn, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for len(p.turns) < run && len(p.turns) < p.runs {
		before := len(p.turns)
		for _, s := range p.strategies {
			if p.next[s] < p.size(s) {
				p.turns = append(p.turns, turn{s, p.next[s]})
				p.next[s]++
			}
		}
		if len(p.turns) == before {
			p.runs = before // there are no more plans
		}
	}
	if run > p.runs {
		return turn{}, false
	}
	return p.turns[run-1], true
}

// plans returns the number of runs that there are, at most so many.
func (p *planner) plans(most int) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	if slices.ContainsFunc(p.strategies, func(s string) bool { return p.size(s) == endless }) {
		return min(most, p.runs)
	}
	all := 1
	for _, s := range p.strategies {
		all += p.size(s)
	}
	return min(all, most, p.runs)
}

// faultsOf returns the faults that a call at the API server can meet.
func faultsOf(call Call) []Fault {
	var faults []Fault
	for _, kind := range apiKinds() {
		if kind != Conflict || call.Verb == "update" || call.Verb == "patch" {
			faults = append(faults, Fault{Call: call, Kind: kind})
		}
	}
	return faults
}

// The places of faults, in the order in which the campaign tries them.
const (
	atPoints   = iota // points of the author's code
	atAuthors         // calls of the author's actors at the API server
	atDrivers         // calls to drivers
	elsewhere         // calls of all other actors at the API server
	placeKinds        // how many there are
)

// isAuthors reports whether an actor is one of the author: a provisioner or an operator that the scenario has added.
func (b base) isAuthors(actor string) bool {
	sidecar := strings.HasPrefix(actor, "csi-") && strings.Contains(actor, "/")
	return !sidecar && !strings.HasPrefix(actor, "kubelet/") && actor != storagesim.User && !slices.Contains(b.ours, actor)
}

// outagesOf returns the outages, those at points first: each from its first call on, five times, then three times, then four times.
func (b base) outagesOf() (outages []Fault) {
	seen := map[Fault]bool{}
	for _, times := range []int{5, 3, 4} {
		add := func(places []string, kind string, wanted func(Call) bool) {
			for _, call := range addressesOf(places) {
				f := Fault{Call: call, Kind: kind, Times: times}
				if f.Call.N == 1 && wanted(call) && !seen[f] {
					seen[f], outages = true, append(outages, f)
				}
			}
		}
		all := func(Call) bool { return true }
		add(b.points, PointError, all)
		add(b.rpcs, CSIUnavailable, all)
		add(b.calls, Refused, func(c Call) bool { return b.isAuthors(c.Actor) })
	}
	return outages
}

// endless is the size of strategies that use chance.
const endless = int(^uint(0) >> 1)

// size returns the number of plans a strategy has.
func (p *planner) size(strategy string) int {
	switch strategy {
	case Crashes:
		return len(p.crashes)
	case Faults:
		return len(p.faults)
	case Outages:
		return len(p.outages)
	case Pairs:
		if len(p.crashes)+len(p.faults) < 2 {
			return 0
		}
	case Delays:
		if p.choices == 0 {
			return 0
		}
	case Stale:
		if len(p.follows) == 0 || len(p.calls) == 0 {
			return 0
		}
	}
	return endless
}

// plan returns the plan of a run, counted from 1, and the strategy that made it.
func (p *planner) plan(run int) (strategy string, plan Plan) {
	t, _ := p.turn(run)
	rng := rand.New(rand.NewPCG(uint64(t.i), 0xfa017))
	switch t.strategy {
	case Crashes:
		plan.Faults = []Fault{p.crashes[t.i]}
	case Faults:
		plan.Faults = []Fault{p.faults[t.i]}
	case Outages:
		plan.Faults = []Fault{p.outages[t.i]}
	case Pairs:
		plan.Faults = p.some(rng, 2)
	case Stale:
		plan = p.stale(rng, t.i)
	case Delays:
		plan = p.delays(t.i)
	case Random:
		plan = Plan{Seed: uint64(t.i) + 1, Order: "random"}
	case PCT:
		plan = Plan{Seed: uint64(t.i) + 1, Order: fmt.Sprintf("pct%d", 1+t.i%4)}
	case Storm:
		plan = Plan{Seed: uint64(t.i) + 1, Order: "random", Faults: p.some(rng, 1+rng.IntN(3))}
	}
	return t.strategy, plan
}

// delays returns the i-th plan with one to three choices away from the plain order.
func (p *planner) delays(i int) Plan {
	rng := rand.New(rand.NewPCG(uint64(i), 0xde1a))
	at := map[int]uint32{}
	for range 1 + i%3 {
		at[rng.IntN(p.choices)] = 1 + rng.Uint32N(1<<16)
	}
	var plan Plan
	for _, position := range slices.Sorted(maps.Keys(at)) {
		plan.Choices = append(plan.Choices, Choice{position, at[position]})
	}
	return plan
}

// stale returns the plan of a run whose cache falls behind.
func (p *planner) stale(rng *rand.Rand, i int) Plan {
	h := p.follows[i/3%len(p.follows)]
	from := rng.IntN(len(p.at))
	h.From, h.For = p.at[from], time.Duration(1+rng.IntN(60))*time.Second
	h.Past = i%3 == 2
	if i%3 == 0 {
		return Plan{Holds: []Hold{h}}
	}
	own := slices.DeleteFunc(slices.Clone(p.crashes), func(f Fault) bool {
		return f.target() != apiCalls || h.Past && p.index[f.Call] < from || f.Call.Actor != h.Actor
	})
	if len(own) == 0 {
		return Plan{Holds: []Hold{h}}
	}
	crash := own[rng.IntN(len(own))]
	if !h.Past {
		h.From = crash.Call // it is away for so long
	}
	return Plan{Holds: []Hold{h}, Faults: []Fault{crash}}
}

// plainStale returns the i-th plan whose only trouble is a cache that falls behind.
func (p *planner) plainStale(i int) Plan {
	return p.stale(rand.New(rand.NewPCG(uint64(3*i), 0xfa017)), 3*i)
}

// some returns n different faults by chance, in the order of their calls.
func (p *planner) some(rng *rand.Rand, n int) []Fault {
	all := len(p.crashes) + len(p.faults)
	var faults []Fault
	for range min(n, all) {
		i := rng.IntN(all)
		var f Fault
		if i < len(p.crashes) {
			f = p.crashes[i]
		} else {
			f = p.faults[i-len(p.crashes)]
		}
		if !slices.Contains(faults, f) {
			faults = append(faults, f)
		}
	}
	slices.SortFunc(faults, func(a, b Fault) int { return p.index[a.Call] - p.index[b.Call] })
	return faults
}

// placed are faults by their places.
type placed struct {
	rounds [][]Fault      // at the first call of each place, at the second, ...
	seen   map[string]int // how many there are of a place and a kind
}

func (p *placed) add(place string, faults ...Fault) {
	if p.seen == nil {
		p.seen = map[string]int{}
	}
	for _, f := range faults {
		key := place + " " + f.Kind
		round := p.seen[key]
		p.seen[key]++
		if round == len(p.rounds) {
			p.rounds = append(p.rounds, nil)
		}
		p.rounds[round] = append(p.rounds[round], f)
	}
}

// upTo returns so many rounds, with empty ones at the end.
func (p *placed) upTo(n int) [][]Fault { return append(p.rounds, make([][]Fault, n-len(p.rounds))...) }

// checkStrategies refuses names that there are not.
func (cfg Config) checkStrategies() error {
	for i, s := range cfg.Strategies {
		if !slices.Contains(Strategies(), s) {
			return fmt.Errorf("explore: Config.Strategies[%d]: %q is not one of %s", i, s, strings.Join(Strategies(), ", "))
		}
	}
	for i, name := range cfg.Except {
		if !slices.Contains(BuiltInRules(), name) {
			return fmt.Errorf("explore: Config.Except[%d]: %q is not one of %q", i, name, BuiltInRules())
		}
	}
	for i, r := range cfg.Rules {
		if err := r.check(i); err != nil {
			return err
		}
	}
	return nil
}
