package main

import (
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/storagesim/storagesim/explore"
	"github.com/storagesim/storagesim/internal/terminal"
)

// showProgress has an exploration say four times a second how far it is, in one line that it
// writes over, if errOut is a terminal. stop takes the line away.
func showProgress(errOut io.Writer, cfg *explore.Config) (stop func()) {
	f := terminal.File(errOut)
	if f == nil {
		return func() {}
	}
	p := &progress{out: f, begin: time.Now(), of: cfg.Runs, width: terminal.Width(f)}
	cfg.Progress = p.run
	return p.end
}

// progress is the line.
type progress struct {
	out   io.Writer
	of    int
	width int // of the terminal
	begin time.Time

	mu    sync.Mutex
	runs  int
	shown time.Time
}

// run counts a run, the numbers of which do not come in order.
func (p *progress) run(int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.runs++
	now := time.Now()
	if now.Sub(p.shown) < time.Second/4 {
		return
	}
	p.shown = now
	seconds := now.Sub(p.begin).Seconds()
	line := fmt.Sprintf("%d of %d runs in %.0f s, %.0f a second", p.runs, p.of, seconds, float64(p.runs)/max(seconds, 0.001))
	fmt.Fprintf(p.out, "\r%s\x1b[K", line[:min(len(line), p.width-1)]) // a line that continues could not be written over
}

func (p *progress) end() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.shown.IsZero() {
		fmt.Fprint(p.out, "\r\x1b[K")
	}
}
