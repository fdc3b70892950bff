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
	// fewSearches is the number of searches beside each other for which that holds. Where there are more, such as tests in parallel on a machine
	// with many processors, as much garbage waits as there: each search keeps some megabytes, and four times of all was gigabytes.
	fewSearches = 2
)

// percentOf returns the value of GOGC for a number of searches beside each other.
func percentOf(users int) int {
	switch {
	case users == 0:
		return usualPercent
	case users <= fewSearches:
		return seedsPercent
	}
	return max(usualPercent, seedsPercent*fewSearches/users)
}

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
	use := func(more int) {
		was := percentOf(collector.users)
		collector.users += more
		setPercent(was, percentOf(collector.users))
	}
	use(1)
	return func() {
		collector.mu.Lock()
		defer collector.mu.Unlock()
		use(-1)
	}
}

// setPercent sets GOGC to to, if it is from.
func setPercent(from, to int) {
	if is := debug.SetGCPercent(to); is != from {
		debug.SetGCPercent(is)
	}
}
