//go:build !js && !wasip1

package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"
)

// untilEnded returns a context that ends with the signals that end a command. SIGHUP stays ignored
// where it is, as under nohup. SIGINT does not: a shell ignores it for what a script starts with "&",
// and the script ends its server with it. A closed pipe does not end the command:
// writing fails instead.
func untilEnded(ctx context.Context) (context.Context, context.CancelFunc) {
	signal.Ignore(syscall.SIGPIPE)
	endings := []os.Signal{os.Interrupt, syscall.SIGTERM}
	if !signal.Ignored(syscall.SIGHUP) {
		endings = append(endings, syscall.SIGHUP)
	}
	return signal.NotifyContext(ctx, endings...)
}
