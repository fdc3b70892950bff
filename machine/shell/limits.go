package shell

import (
	"fmt"
	"time"
)

// How much a program may do.
const (
	maxSteps    = 10_000           // until it sleeps
	firstPause  = time.Second      // after so many steps
	longPause   = 10 * time.Minute // after ever more of them
	shortSleep  = 10 * time.Millisecond
	maxDepth    = 100      // functions, subshells and scripts in each other
	maxScript   = 64 << 10 // bytes of one script
	maxValue    = 1 << 20  // bytes of one value, and of output that is kept
	maxVars     = 8 << 20  // bytes of a shell's variables
	maxLog      = 64 << 10 // bytes of output that are kept for the container's log
	maxReported = 1000     // commands that are told of
	maxMessage  = 2048     // bytes of the log that become the container's message
)

// fatal is what ends a program that does too much; it is panicked with.
type fatal struct{ text string }

// stopped is what unwinds a program that is stopped; it is panicked with.
type stopped struct{}

// tooMuch ends the program.
func tooMuch(format string, args ...any) { panic(fatal{fmt.Sprintf(format, args...)}) }

// step counts n steps, and pauses the program after too many.
func (p *Program) step(n int) {
	p.steps += n
	if p.steps <= maxSteps {
		return
	}
	pause := firstPause << min(p.busy, 10)
	if p.busy == 0 {
		p.note("has taken %d steps without a sleep; it goes on after %s, and then each time after twice as long, up to %s", maxSteps, firstPause, longPause)
	}
	p.steps, p.busy = 0, p.busy+1
	p.wait(min(pause, longPause))
}

// sleep is a program's own: it may take as many steps again as the time is worth.
func (p *Program) sleep(d time.Duration) {
	switch {
	case d <= 0:
		p.step(10)
		return
	case d >= time.Second:
		p.steps, p.busy = 0, 0
	default:
		d = max(d, shortSleep)
		p.steps = max(0, p.steps-int(maxSteps*d/time.Second))
	}
	p.wait(d)
}

// enter counts what is nested; the function that it returns ends it.
func (p *Program) enter() (leave func()) {
	if p.depth++; p.depth > maxDepth {
		tooMuch("more than %d functions, subshells and scripts in each other", maxDepth)
	}
	return func() { p.depth-- }
}
