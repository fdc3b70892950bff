// Package soon waits in tests for what another goroutine or process does in real time. How fast the machine is decides
// nothing: the only end of the waiting is that of the test binary.
package soon

import (
	"testing"
	"time"
)

// margin is the time before the end of the test binary at which waiting ends, so that the test can say what it waited for.
const margin = 10 * time.Second

// End returns a channel on which something comes when the test binary is about to be ended (go test -timeout).
func End(t testing.TB) <-chan time.Time {
	if t, ok := t.(interface{ Deadline() (time.Time, bool) }); ok {
		if at, ok := t.Deadline(); ok {
			return time.After(time.Until(at) - margin)
		}
	}
	return nil
}

// Is waits until a condition holds, which it looks at in the goroutine of its caller. It returns false only at the End.
func Is(t testing.TB, condition func() bool) bool {
	t.Helper()
	end := End(t)
	for !condition() {
		select {
		case <-end:
			return false
		case <-time.After(time.Millisecond):
		}
	}
	return true
}
