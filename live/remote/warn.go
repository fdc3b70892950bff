package remote

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/go-logr/logr"
)

// sayAgain is when a warning that is still true is given again.
const sayAgain = 5 * time.Minute

// warn passes on what goes wrong, once in a while.
func (r *run) warn(err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	select {
	case <-r.ended:
		if errors.Is(err, context.Canceled) {
			return // a call that the end cut off, such as a renewal of the lease
		}
	default:
	}
	text := err.Error()
	if at, said := r.warned[text]; r.cfg.Warn == nil || said && time.Since(at) < sayAgain {
		return
	}
	if len(r.warned) >= manySaid {
		clear(r.warned)
	}
	r.warned[text] = time.Now()
	r.cfg.Warn(err)
}

// sink takes what client-go logs: its errors are warnings, the rest is not kept.
type sink struct{ run *run }

var _ logr.LogSink = sink{}

func (sink) Init(logr.RuntimeInfo)            {}
func (sink) Enabled(int) bool                 { return false }
func (sink) Info(int, string, ...any)         {}
func (s sink) WithValues(...any) logr.LogSink { return s }
func (s sink) WithName(string) logr.LogSink   { return s }

// Error implements logr.LogSink. The values would name parts of client-go.
func (s sink) Error(err error, msg string, _ ...any) {
	if err == nil {
		s.run.warn(errors.New(msg))
		return
	}
	s.run.warn(fmt.Errorf("%s: %w", msg, err))
}
