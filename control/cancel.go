package control

import "context"

// cancelKey marks a context of WithCancelCause.
type cancelKey struct{}

// cancellation lists the waits that a context ends.
type cancellation struct{ waits []*func() }

// WithCancelCause returns a context and a function that cancels it, as context.WithCancelCause does. To cancel it also ends, at
// once, the waits of Clock in it. context.Cause tells why.
func WithCancelCause(ctx context.Context) (context.Context, context.CancelCauseFunc) {
	c := &cancellation{}
	stop := OnCancel(ctx, c.wake) // of the context that this one is made of
	ctx, cancel := context.WithCancelCause(context.WithValue(ctx, cancelKey{}, c))
	return ctx, func(cause error) {
		stop()
		cancel(cause)
		c.wake()
	}
}

// wake ends the waits.
func (c *cancellation) wake() {
	waits := c.waits
	c.waits = nil
	for _, wake := range waits {
		(*wake)()
	}
}

// OnCancel lets wake be called when a context of WithCancelCause is cancelled, by who cancels it, unless it is stopped before. It is for
// drivers, which must not start a goroutine for it as context.AfterFunc does.
func OnCancel(ctx context.Context, wake func()) (stop func()) {
	c, ok := ctx.Value(cancelKey{}).(*cancellation)
	if !ok {
		return func() {}
	}
	c.waits = append(c.waits, &wake)
	return func() {
		for i, w := range c.waits {
			if w == &wake {
				c.waits = append(c.waits[:i:i], c.waits[i+1:]...)
				return
			}
		}
	}
}
