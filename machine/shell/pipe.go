package shell

import (
	"iter"
	"slices"
	"time"

	"mvdan.cc/sh/v3/syntax"
)

// pipe is a pipe. Its left part runs to its end, and then its right part with what it has written. But if the left part waits, the right part begins and
// runs beside it, a job of its own, whenever there is something to read: so it may read what never ends.
type pipe struct {
	captured // what was written and not yet read
	right    *syntax.Stmt
	shell    *shell // of whose subshells the right part is one
	of       *job   // the job of which the left part is a part, nil for the main command
	reader   *job   // the right part, if it runs beside
	hungry   bool   // the reader waits for more
	closed   bool   // the left part has ended
}

// brokenPipe ends what writes to a pipe whose right part has ended, as SIGPIPE does.
type brokenPipe struct{ *pipe }

// exitBrokenPipe is the exit status of a command that SIGPIPE has ended.
const exitBrokenPipe = 128 + 13

// pipe runs both parts of a pipe.
func (s *shell) pipe(cmd *syntax.BinaryCmd) {
	p := s.program
	c := &pipe{captured: captured{program: p}, right: cmd.Y, shell: s, of: p.job}
	defer c.release()
	left := s.writeTo(c, cmd.X)
	if c.closed = true; c.reader == nil {
		s.inSubshell(func(right *shell) {
			right.fds[0] = stream{in: &Input{data: c.data}}
			right.stmt(cmd.Y)
		})
	} else {
		for c.wake(); !c.reader.ended; {
			p.wait(max(0, c.reader.until.Sub(p.host.Now())))
		}
		s.status = c.reader.status
	}
	if s.pipefail && s.status == 0 {
		s.status = left
	}
}

// writeTo runs the left part of a pipe, and returns its exit status.
func (s *shell) writeTo(c *pipe, left *syntax.Stmt) (status int32) {
	p := s.program
	p.pipes = append(p.pipes, c)
	defer func() {
		p.pipes = slices.DeleteFunc(slices.Clone(p.pipes), func(other *pipe) bool { return other == c })
		switch why := recover().(type) {
		case nil:
		case brokenPipe:
			if why.pipe != c {
				panic(why)
			}
			status = exitBrokenPipe
		default:
			panic(why)
		}
	}()
	s.inSubshell(func(part *shell) {
		part.fds[1] = stream{out: c}
		part.stmt(left)
	})
	return s.status
}

// beginReaders begins the right parts of the pipes whose left part waits now.
func (p *Program) beginReaders() {
	for _, c := range slices.Backward(slices.Clone(p.pipes)) {
		if c.of == p.job && c.reader == nil {
			c.begin()
		}
	}
}

// begin begins the right part beside the left one.
func (c *pipe) begin() {
	p := c.program
	p.jobs = slices.DeleteFunc(slices.Clone(p.jobs), (*job).hasEnded)
	if len(p.jobs) >= maxJobs {
		tooMuch("more than %d background commands", maxJobs)
	}
	sub := c.shell.subshell()
	sub.jobs = nil
	sub.fds[0] = stream{in: &Input{pipe: c}}
	j := &job{id: noJob}
	j.next, j.stop = iter.Pull(func(yield func(time.Duration) bool) {
		j.yield = yield
		j.status = p.guard("sh", func() int32 {
			defer sub.release()
			sub.stmt(c.right)
			sub.exitTrap()
			return sub.status
		})
	})
	p.jobs, c.reader = append(p.jobs, j), j
	p.resumeJob(j)
}

// Write implements io.Writer.
func (c *pipe) Write(data []byte) (int, error) {
	if c.reader != nil && c.reader.ended {
		panic(brokenPipe{c})
	}
	n, err := c.captured.Write(data)
	c.wake()
	return n, err
}

// wake lets the right part go on if it waits for something to read.
func (c *pipe) wake() {
	if c.hungry {
		c.reader.until = c.program.host.Now()
	}
}

// await waits until there is enough to read, or the left part has ended.
func (c *pipe) await(enough func() bool) {
	for !c.closed && !enough() {
		c.hungry = true
		c.program.wait(Forever)
		c.hungry = false
	}
}

// take returns what was written and not yet read.
func (c *pipe) take() []byte {
	data := c.data
	c.release()
	c.data = nil
	return data
}
