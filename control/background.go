package control

import "context"

// backgroundKey marks a context of InBackground.
type backgroundKey struct{}

// InBackground returns a context in which Sleep is like periodic work: time that passes
// there is not awaited when settling.
func InBackground(ctx context.Context) context.Context {
	return context.WithValue(ctx, backgroundKey{}, true)
}

// IsInBackground reports whether a context is one of InBackground, or derived from it.
func IsInBackground(ctx context.Context) bool { return ctx.Value(backgroundKey{}) != nil }
