//go:build !js && !wasip1

package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"
)

// untilEnded returns a context that ends with the signals that end a command. A signal that is
// ignored, as under nohup, stays ignored. A closed pipe does not end the command:
// writing fails instead.
func untilEnded(ctx context.Context) (context.Context, context.CancelFunc) {
	signal.Ignore(syscall.SIGPIPE)
	var endings []os.Signal
	for _, s := range []os.Signal{os.Interrupt, syscall.SIGTERM, syscall.SIGHUP} {
		if !signal.Ignored(s) {
			endings = append(endings, s)
		}
	}
	return signal.NotifyContext(ctx, endings...)
}
