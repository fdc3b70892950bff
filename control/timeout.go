package control

import (
	"context"
	"time"
)

// WithTimeout returns a context that ends after d on the clock, which may be virtual.
// Clock.Sleep and Clock.Poll end with it, and its Err says so. Its Done channel
// is its parent's: to close one at the right moment would take a goroutine.
func WithTimeout(parent context.Context, clock Clock, d time.Duration) context.Context {
	return &timeout{Context: parent, clock: clock, at: clock.Now().Add(d)}
}

// Remaining returns the time that a context made by WithTimeout, or one derived from it,
// has left at now; false if it has no such end.
func Remaining(ctx context.Context, now time.Time) (time.Duration, bool) {
	t, ok := ctx.Value(timeoutKey{}).(*timeout)
	if !ok {
		return 0, false
	}
	left := t.at.Sub(now)
	if outer, ok := Remaining(t.Context, now); ok {
		left = min(left, outer)
	}
	return max(left, 0), true
}

type timeoutKey struct{}

type timeout struct {
	context.Context
	clock Clock
	at    time.Time
}

func (t *timeout) Deadline() (time.Time, bool) {
	if at, ok := t.Context.Deadline(); ok && at.Before(t.at) {
		return at, true
	}
	return t.at, true
}

func (t *timeout) Err() error {
	if err := t.Context.Err(); err != nil {
		return err
	}
	if !t.clock.Now().Before(t.at) {
		return context.DeadlineExceeded
	}
	return nil
}

func (t *timeout) Value(key any) any {
	if key == (timeoutKey{}) {
		return t
	}
	return t.Context.Value(key)
}
