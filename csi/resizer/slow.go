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
	_, ok := s[key]
	return ok && s.timeRemaining(clock, key, retry) > 0
}

// timeRemaining returns when a claim will have been in the set for retry.
//
// Upstream: slowset.go TimeRemaining, v0.25.
func (s slowSet) timeRemaining(clock control.Clock, key string, retry time.Duration) time.Duration {
	return retry - clock.Now().Sub(s[key])
}

// resyncPeriod is the interval at which upstream removes the claims that were in the set long enough. A claim whose
// time is up is still there when it is tried again at that moment, so that it is not added anew: it is tried a second
// time before the next long wait.
//
// Upstream: slowset.go NewSlowSet and removeAllExpired, v0.25.
const resyncPeriod = 100 * time.Millisecond

// add adds a claim, unless the set has it.
//
// Upstream: slowset.go Add, v0.25.
func (s slowSet) add(clock control.Clock, key string, retry time.Duration) {
	if _, ok := s[key]; !ok || s.timeRemaining(clock, key, retry) < -resyncPeriod {
		s[key] = clock.Now()
	}
}
