//go:build js || wasip1

package main

import "context"

// untilEnded returns ctx: WebAssembly has no signals.
func untilEnded(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithCancel(ctx)
}
