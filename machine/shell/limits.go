package shell

import (
	"fmt"
	"time"
)

// The limits of one program.
const (
	maxSteps    = 10_000           // steps until it sleeps
	workPerStep = 1000             // bytes or comparisons that count as one step
	firstPause  = time.Second      // pause after maxSteps
	longPause   = 10 * time.Minute // longest pause, if it goes on without a sleep
	shortSleep  = 10 * time.Millisecond

	maxDepth       = 100       // functions, subshells and scripts in each other
	maxNested      = 2000      // syntax nodes in each other, in one script
	maxParentheses = 1000      // parentheses in each other, in the text of one script
	maxScript      = 64 << 10  // bytes of one script
	maxOperand     = 4 << 10   // bytes of an expression in a variable
	maxValue       = 1 << 20   // bytes of one value, and of captured output
	maxVars        = 8 << 20   // bytes of a shell's variables and arguments
	maxCommand     = maxVars   // bytes of a command's words
	maxWords       = 64 << 10  // words that one word becomes
	maxHeld        = 256 << 20 // bytes of all values, scripts and input that a program holds
	maxBraceWords  = 1000      // words that one word's braces become
	maxExpression  = 10_000    // bytes and instructions of a regular expression
	maxBraces      = 100       // opening braces in one word of bash

	maxLog      = 64 << 10 // bytes of output that the container's log keeps
	maxReported = 1000     // commands, and paths and notes of one command, that are reported
	maxReport   = 1000     // bytes of one word of a report
	maxMessage  = 2048     // bytes of the log that are told
)

// What a few things cost in memory beside their text.
const (
	wordCost   = 16  // bytes of a word
	varCost    = 64  // bytes of a variable
	syntaxCost = 128 // bytes of syntax tree for a byte of script
)

// fatal is panicked with to end a program that exceeds a limit.
type fatal struct{ text string }

// stopped is panicked with to unwind a program that was stopped.
type stopped struct{}

// tooMuch ends the program.
func tooMuch(format string, args ...any) { panic(fatal{fmt.Sprintf(format, args...)}) }

// step counts n steps, and pauses the program after maxSteps.
func (p *Program) step(n int) {
	p.steps += n
	p.mostSteps = max(p.mostSteps, p.steps)
	if p.steps <= maxSteps {
		return
	}
	pause := firstPause << min(p.busy, 10)
	if p.busy == 0 {
		p.note("has taken %d steps without a sleep; it goes on after %s, and then each time after twice as long, up to %s", maxSteps, firstPause, longPause)
	}
	p.steps, p.busy = 0, p.busy+1
	p.waitInterruptibly(min(pause, longPause))
}

// work counts n bytes copied or compared.
func (p *Program) work(n int) {
	p.worked += n
	if p.worked >= workPerStep {
		steps := p.worked / workPerStep
		p.worked %= workPerStep
		p.step(steps)
	}
}

// hold counts n more bytes that the program keeps; a negative n releases them.
func (p *Program) hold(n int) {
	if p.held += n; p.held > maxHeld {
		tooMuch("values, scripts and input of more than %d bytes", maxHeld)
	}
}

// sleep lets virtual time pass because the program asked for it. The program may take
// more steps then, in proportion to the time.
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

// enter counts one more function, subshell or script in another, until leave is called.
func (p *Program) enter() (leave func()) {
	if p.depth++; p.depth > maxDepth {
		tooMuch("more than %d functions, subshells and scripts in each other", maxDepth)
	}
	return func() { p.depth-- }
}
