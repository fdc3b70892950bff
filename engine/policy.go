package engine

import "math/rand/v2"

// Policy chooses the next step. It is asked only when there is a choice.
type Policy interface {
	// Choose picks one of n alternatives, 0 <= result < n. Alternative 0 is the
	// one a reader expects: the running task goes on; otherwise caches catch up,
	// oldest change first; otherwise the task that was ready first.
	Choose(n int) int
}

// Alternative is a step that could be the next one.
type Alternative struct {
	// Actor is the actor that takes the step.
	Actor string
	// Does is the name of the task that would go on, "" if it is a delivery.
	Does string
	// Hears is the resource (plural) whose next change the step delivers to a cache, "" if it
	// is a task's step.
	Hears string
	// ID is one number for all steps of a run that are alike in the fields above: 0 of the first that was ever asked for, then 1, and so on.
	ID int
}

// Picker is a Policy that wants to know whose the next step's alternatives are. What is
// shuffled it chooses with Choose, as any policy.
type Picker interface {
	Policy
	// Pick is Choose, with the alternatives. of must not be used after Pick returned.
	Pick(n int, of func(i int) Alternative) int
}

// InOrder always takes the step a reader expects.
func InOrder() Policy { return inOrder{} }

type inOrder struct{}

func (inOrder) Choose(int) int { return 0 }

// Seeded takes any enabled step, each as likely as the others.
func Seeded(seed uint64) Policy {
	return seeded{rand.New(rand.NewPCG(seed, 0x5eed))}
}

type seeded struct{ rng *rand.Rand }

func (s seeded) Choose(n int) int { return s.rng.IntN(n) }

// Replay repeats choices recorded by Engine.Choices, then goes on in order. A
// recorded choice that is not among the alternatives (the run has diverged)
// counts modulo their number, so that an edited list still means something.
func Replay(choices []uint32) Policy { return &replay{choices} }

type replay struct{ rest []uint32 }

func (r *replay) Choose(n int) int {
	if len(r.rest) == 0 {
		return 0
	}
	c := r.rest[0]
	r.rest = r.rest[1:]
	return int(c % uint32(n))
}
