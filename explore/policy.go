package explore

import (
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"

	"github.com/storagesim/storagesim/engine"
)

// orderOf returns the policy that a plan's Order names, nil for that of Choices.
func orderOf(p Plan) (engine.Policy, error) {
	depth, isPCT := strings.CutPrefix(p.Order, "pct")
	switch {
	case p.Order == "":
		return nil, nil
	case p.Order == "random":
		return engine.Seeded(p.Seed), nil
	case isPCT:
		if d, err := strconv.Atoi(depth); err == nil && d >= 1 && d <= 9 {
			return newPCT(p.Seed, d, pctSteps), nil
		}
	}
	return nil, fmt.Errorf("%q is not an order: it must be random, or pct1 to pct9", p.Order)
}

// deviating goes in order, but where it is told otherwise.
type deviating struct {
	choices []Choice
	at      int
}

func (d *deviating) Choose(n int) int {
	at := d.at
	d.at++
	if len(d.choices) == 0 || d.choices[0].At != at {
		return 0
	}
	take := d.choices[0].Take
	d.choices = d.choices[1:]
	return int(take % uint32(n)) // the run may be another than the one where it was chosen
}

// choicesOf returns the places where a recorded run left the plain order.
func choicesOf(recorded []uint32) []Choice {
	var choices []Choice
	for at, take := range recorded {
		if take != 0 {
			choices = append(choices, Choice{at, take})
		}
	}
	return choices
}

// pctSteps is the number of choices a run is thought to have. Change points lie among them.
const pctSteps = 1000

// fairAfter is the number of the choice from which pct chooses by chance. A worker that comes
// back again and again, to what only a cache of lower priority could tell it about, would
// otherwise go on for ever, as no process of a real cluster does. The testing tool Coyote
// does the same ("fair PCT").
const fairAfter = 10 * pctSteps

// pct is the probabilistic concurrency testing scheduler of Burckhardt, Kothari, Musuvathi
// and Nagarakatte, "A Randomized Scheduler with Probabilistic Guarantees of Finding Bugs",
// ASPLOS 2010. Each worker and each cache has a priority by chance, and the one with the
// highest goes on as long as it can. At depth-1 choices, taken by chance among the first k,
// the one whose turn it is gets a lower priority than all others. A bug that takes depth
// ordered events is found by a run with a probability of at least 1/(n k^(depth-1)), for n
// workers and caches and k choices.
type pct struct {
	rng      *rand.Rand
	priority []int64      // by the ID of the alternative; 0: it has none yet
	change   map[int]bool // choices at which the first of the line goes to its end
	at       int
	lowest   int64
}

func newPCT(seed uint64, depth, steps int) *pct {
	p := &pct{rng: rand.New(rand.NewPCG(seed, 0x9c7)), change: map[int]bool{}}
	for range depth - 1 {
		p.change[p.rng.IntN(steps)] = true
	}
	return p
}

// Choose implements engine.Policy, for what is shuffled.
func (p *pct) Choose(n int) int { return p.rng.IntN(n) }

// Pick implements engine.Picker.
func (p *pct) Pick(n int, of func(i int) engine.Alternative) int {
	if p.at++; p.at > fairAfter {
		return p.rng.IntN(n)
	}
	best, first := p.best(n, of)
	if p.change[p.at-1] {
		p.lowest--
		p.priority[first] = p.lowest
		best, _ = p.best(n, of)
	}
	return best
}

// best returns the alternative of the highest priority, and its ID.
func (p *pct) best(n int, of func(i int) engine.Alternative) (best, id int) {
	var highest int64
	for i := range n {
		a := of(i)
		if priority := p.of(a.ID); i == 0 || priority > highest {
			best, id, highest = i, a.ID, priority
		}
	}
	return best, id
}

// of returns the priority of an alternative, which it gets when it is first seen.
func (p *pct) of(id int) int64 {
	for id >= len(p.priority) {
		p.priority = append(p.priority, 0)
	}
	if p.priority[id] == 0 {
		p.priority[id] = 1 + p.rng.Int64N(1<<40)
	}
	return p.priority[id]
}
