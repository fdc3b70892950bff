// Package fault counts what faults strike: how many matching things each lets pass
// first, and how many it strikes then. What a fault is, and what it matches, its users
// say: the engine of calls to the API server, package machine of mounts and files,
// provisioner.Faulty of calls to a backend.
package fault

import (
	"slices"
	"sync"
)

// Script is a list of faults, in the order they were added. The zero value is empty. It
// is safe for concurrent use.
type Script[F any] struct {
	mu    sync.Mutex
	lines []*line[F]
	// missed holds faults that were removed and had struck nothing.
	missed []F
}

type line[F any] struct {
	fault       F
	skip, times int // that are left
	struck      bool
}

// Add adds a fault. It lets skip things that it matches pass, strikes the next times
// (0 means 1, a negative number all until Clear), and is gone then.
func (s *Script[F]) Add(fault F, skip, times int) {
	if times == 0 {
		times = 1
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lines = append(s.lines, &line[F]{fault: fault, skip: skip, times: times})
}

// Strike returns the fault that strikes an operation; matches reports whether a fault is about
// that operation. Of several that match, the first one that has nothing left to skip strikes.
// matches must not use the script.
func (s *Script[F]) Strike(matches func(F) bool) (fault F, struck bool) {
	return s.StrikeNow(matches, func(F) bool { return true })
}

// StrikeNow works as Strike for an operation that faults strike at more than one moment: now reports whether this is the moment of a fault. If it is not
// that of the fault whose turn it is, none strikes, since that one is still to come. Each fault counts what it lets pass at its own moment.
func (s *Script[F]) StrikeNow(matches, now func(F) bool) (fault F, struck bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	later := false // it is the turn of one whose moment is still to come
	for i, l := range s.lines {
		switch {
		case !matches(l.fault):
			continue
		case !now(l.fault):
			later = later || l.skip == 0
			continue
		case l.skip > 0:
			l.skip--
			continue
		case later:
			continue
		}
		l.struck = true
		if l.times > 0 {
			if l.times--; l.times == 0 {
				s.lines = slices.Delete(s.lines, i, i+1)
			}
		}
		return l.fault, true
	}
	return fault, false
}

// Any reports whether there is a fault that may strike.
func (s *Script[F]) Any() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.lines) > 0
}

// Clear removes all faults.
func (s *Script[F]) Clear() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.missed = s.unstruck()
	s.lines = nil
}

// Missed returns the faults that have struck nothing so far, those that were removed first.
func (s *Script[F]) Missed() []F {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.unstruck()
}

func (s *Script[F]) unstruck() []F {
	missed := slices.Clone(s.missed)
	for _, l := range s.lines {
		if !l.struck {
			missed = append(missed, l.fault)
		}
	}
	return missed
}
