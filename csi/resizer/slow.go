package resizer

import (
	"time"

	"github.com/storagesim/storagesim/control"
)

// slowSet holds claims, by key, with a failure that does not pass by itself, and the time at which slow retries
// began.
//
// Upstream: csi-lib-utils slowset/slowset.go, v0.25.
type slowSet map[string]time.Time

// contains reports whether a claim was added less than retry ago.
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

// add adds a claim, unless the set has it.
//
// Upstream: slowset.go Add, v0.25.
func (s slowSet) add(clock control.Clock, key string) {
	if _, ok := s[key]; !ok {
		s[key] = clock.Now()
	}
}
