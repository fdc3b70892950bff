package resizer

import (
	"time"

	"github.com/storagesim/storagesim/control"
)

// slowSet are claims that failed in a way that cannot change by itself, by key, with the time
// since when they are tried again slowly.
//
// Upstream: csi-lib-utils slowset/slowset.go, v0.25.
type slowSet map[string]time.Time

// contains reports whether a claim failed so less than retry ago.
//
// Upstream: slowset.go Contains, v0.25.
func (s slowSet) contains(clock control.Clock, key string, retry time.Duration) bool {
	since, ok := s[key]
	if ok && clock.Now().Sub(since) >= retry {
		delete(s, key)
		return false
	}
	return ok
}

// add adds a claim, unless it is there already.
//
// Upstream: slowset.go Add, v0.25.
func (s slowSet) add(clock control.Clock, key string) {
	if _, ok := s[key]; !ok {
		s[key] = clock.Now()
	}
}
