package call

import (
	"context"
	"fmt"
	"runtime"
	"strings"

	"google.golang.org/grpc"

	"github.com/storagesim/storagesim/internal/stacks"
)

// failure is a handler that panicked, or ended its goroutine.
type failure struct {
	method string
	value  any
	at     string
	stack  string
	// planned is the crash at a point of the handler (package mayfail), nil for a panic, and words says where.
	planned *Fault
	words   string
}

// guard recovers the panic of a handler. It ends the driver's process instead of the simulation.
func (l *Listener) guard(ctx context.Context, req any, info *grpc.UnaryServerInfo, handler grpc.UnaryHandler) (answer any, err error) {
	returned := false
	running := stacks.NewMark()
	l.mu.Lock()
	l.running = running
	l.mu.Unlock()
	defer func() {
		if returned {
			return
		}
		value := recover()
		if l.crashes() {
			l.breakCalls()
			answer, err = nil, errBroken()
			return
		}
		if value == nil { // runtime.Goexit, for example a failing test in the handler
			value = "the handler's goroutine ended"
		}
		l.mu.Lock()
		l.failure = &failure{method: info.FullMethod, value: value, at: panickedAt(), stack: stacks.OfPanic()}
		l.mu.Unlock()
		l.breakCalls()
		answer, err = nil, errBroken()
	}()
	stacks.Marked(running, func() { answer, err = handler(l.pointsOf(ctx, info.FullMethod, running), req) })
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

// crashes reports whether a handler crashes at a point.
func (l *Listener) crashes() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.failure != nil && l.failure.planned != nil
}

// takeFailure returns the failure of a handler, and forgets it.
func (l *Listener) takeFailure() *failure {
	l.mu.Lock()
	defer l.mu.Unlock()
	f := l.failure
	l.failure = nil
	return f
}
