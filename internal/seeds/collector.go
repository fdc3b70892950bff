package seeds

import (
	"runtime/debug"
	"sync"
)

const (
	// usualPercent is the default of GOGC.
	usualPercent = 100
	// seedsPercent is the value of GOGC while seeds are tried.
	seedsPercent = 400
)

// collector counts who tries seeds, since the garbage collector is the whole program's.
var collector struct {
	mu    sync.Mutex
	users int
}

// collectLess makes the garbage collector run a quarter as often until done is called. A seed
// makes a few megabytes that are soon garbage, so that a collection comes every few
// seeds, and marks mostly what stays: it was a fifth of the time. A program that has chosen
// another GOGC keeps it.
func collectLess() (done func()) {
	collector.mu.Lock()
	defer collector.mu.Unlock()
	if collector.users == 0 {
		setPercent(usualPercent, seedsPercent)
	}
	collector.users++
	return func() {
		collector.mu.Lock()
		defer collector.mu.Unlock()
		if collector.users--; collector.users == 0 {
			setPercent(seedsPercent, usualPercent)
		}
	}
}

// setPercent sets GOGC to to, if it is from.
func setPercent(from, to int) {
	if is := debug.SetGCPercent(to); is != from {
		debug.SetGCPercent(is)
	}
}
