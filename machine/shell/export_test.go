package shell

// MaxSteps is the number of steps after which a program pauses.
const MaxSteps = maxSteps

// MostSteps returns the largest number of steps that the program has taken between two sleeps or pauses. A single operation counts what it
// has done at once, so that this may be more than MaxSteps.
func (p *Program) MostSteps() int { return p.mostSteps }
