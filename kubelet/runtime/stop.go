package runtime

import (
	"context"
	"fmt"
	"time"

	"github.com/storagesim/storagesim/control"
	"github.com/storagesim/storagesim/machine/shell"
	"github.com/storagesim/storagesim/trace"
)

// awaitedStop is the part of a grace period in which Settle waits for the end of a container.
const awaitedStop = time.Hour

// StopContainer implements Service. A container gets one SIGTERM, however often it is stopped.
//
// Upstream: containerd internal/cri/server/container_stop.go stopContainer, v2.1.
func (s *Containers) StopContainer(ctx context.Context, id string, grace time.Duration) error {
	c := s.containers[id]
	if c == nil || c.status.State != ContainerRunning {
		return nil
	}
	if grace > 0 && s.cfg.Kind != FakeRuntime {
		if err := s.terminate(ctx, c, grace); err != nil {
			return err
		}
	}
	s.kill(c)
	return nil
}

// terminate sends a container SIGTERM, unless it has had it, and waits until it has ended or its grace period is over.
func (s *Containers) terminate(ctx context.Context, c *container, grace time.Duration) error {
	does := "has had SIGTERM before"
	if !c.signalled {
		does = gets(s.signal(c))
	}
	if c.status.State != ContainerRunning {
		return nil
	}
	s.note(c, "%s: it has %s to end", does, told(grace))
	if err := s.awaitEnd(ctx, c, grace); err != nil {
		return err
	}
	if c.status.State == ContainerRunning {
		s.note(c, "has not ended in its grace period, and is killed")
	}
	return nil
}

// gets says that a container gets SIGTERM.
func gets(handled bool) string {
	if handled {
		return "gets SIGTERM"
	}
	return "gets SIGTERM, which it does not handle"
}

// told returns a time as a sentence says it.
func told(d time.Duration) string {
	if d >= shell.Forever {
		return "as long as it takes"
	}
	return d.String()
}

// signal sends a container SIGTERM, and reports whether it handles that. It may have ended then. A program of an image, of which nothing is known,
// handles the signal and ends, unless the container IgnoresStop.
func (s *Containers) signal(c *container) (handled bool) {
	c.signalled = true
	p := c.program
	switch known := p != nil && !p.OfImage(); {
	case known && p.Terminate():
		before := c.until
		s.resume(c)
		s.traceReports(c, p.Reports())
		if !c.until.Equal(before) {
			c.wake()
		}
		return true
	case known && p.Ended():
		s.end(c, p.ExitCode(), "")
	case !known && !c.config.IgnoresStop:
		s.endProgram(c, 0)
		return true
	case !known && c.config.NotFirst:
		s.endProgram(c, terminatedExitCode)
	}
	return false
}

// endProgram ends a container where its program is.
func (s *Containers) endProgram(c *container, code int32) {
	if c.program != nil {
		c.program.Stop()
	}
	s.end(c, code, "")
}

// terminatedExitCode is the exit code of a container that SIGTERM has ended.
const terminatedExitCode int32 = 143

// awaitEnd waits until a container has ended, at most for d.
func (s *Containers) awaitEnd(ctx context.Context, c *container, d time.Duration) error {
	wait, ended := control.WithCancelCause(ctx)
	c.ending = append(c.ending, func() { ended(nil) })
	env := s.client.Env
	err := env.Sleep(wait, min(d, awaitedStop))
	if err == nil && d > awaitedStop {
		err = env.Sleep(control.InBackground(wait), d-awaitedStop)
	}
	if ctx.Err() == nil { // it is no error that it has ended
		err = nil
	}
	ended(nil)
	return err
}

// note tells what becomes of a container.
func (s *Containers) note(c *container, format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	s.client.Env.Trace(trace.Decision{About: c.sandbox.config.ref(), Text: fmt.Sprintf("container %s %s", c.status.Name, text)})
}
