package call

import (
	"context"
	"fmt"
	"runtime"
	"strings"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/storagesim/storagesim/internal/stacks"
)

// failure is a handler that panicked, or ended its goroutine.
type failure struct {
	method string
	value  any
	at     string
	stack  string
}

// guard recovers the panic of a handler. It ends the driver's process instead of the simulation.
func (l *Listener) guard(ctx context.Context, req any, info *grpc.UnaryServerInfo, handler grpc.UnaryHandler) (answer any, err error) {
	returned := false
	l.mu.Lock()
	l.running = stacks.Current()
	l.mu.Unlock()
	defer func() {
		if returned {
			return
		}
		value := recover()
		if value == nil { // runtime.Goexit, for example a failing test in the handler
			value = "the handler's goroutine ended"
		}
		l.mu.Lock()
		l.failure = &failure{method: info.FullMethod, value: value, at: panickedAt(), stack: stacks.OfPanic()}
		l.mu.Unlock()
		go l.server.Stop() // breaks the connections; in a goroutine, since this call is running
		answer, err = nil, status.Error(codes.Unavailable, "error reading from server: EOF")
	}()
	answer, err = handler(ctx, req)
	returned = true
	return answer, err
}

// panickedAt returns the file, with its folder, and the line of the code that panicked.
func panickedAt() string {
	pcs := make([]uintptr, 32)
	frames := runtime.CallersFrames(pcs[:runtime.Callers(3, pcs)])
	for more := true; more; {
		var f runtime.Frame
		f, more = frames.Next()
		if strings.HasPrefix(f.Function, "runtime.") || f.File == "" {
			continue
		}
		parts := strings.Split(f.File, "/")
		return fmt.Sprintf("%s:%d", strings.Join(parts[max(0, len(parts)-2):], "/"), f.Line)
	}
	return "an unknown place"
}

// takeFailure returns the failure of a handler, and forgets it.
func (l *Listener) takeFailure() *failure {
	l.mu.Lock()
	defer l.mu.Unlock()
	f := l.failure
	l.failure = nil
	return f
}
