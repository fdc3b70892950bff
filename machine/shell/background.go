package shell

import (
	"fmt"
	"iter"
	"slices"
	"time"

	"mvdan.cc/sh/v3/syntax"
)

// maxJobs is the largest number of background commands of a program.
const maxJobs = 100

// noJob is the id of a job that the script cannot name: a part of a pipe.
const noJob = -1

// job is a background command, or the right part of a pipe: a coroutine beside the program's main one, which resumes it
// whenever it waits itself.
type job struct {
	id     int // $!
	next   func() (time.Duration, bool)
	stop   func()
	yield  func(time.Duration) bool
	until  time.Time // when to resume it
	ended  bool
	status int32
}

// background starts a command that is followed by &. It runs at once, until it waits.
func (s *shell) background(stmt *syntax.Stmt) {
	p := s.program
	p.jobs = slices.DeleteFunc(slices.Clone(p.jobs), (*job).hasEnded)
	if len(p.jobs) >= maxJobs {
		tooMuch("more than %d background commands", maxJobs)
	}
	if len(s.jobs) >= maxJobs { // the script does not wait for them
		s.jobs = slices.DeleteFunc(slices.Clone(s.jobs), (*job).hasEnded)
	}
	foreground := *stmt
	foreground.Background = false
	sub := s.subshell()
	sub.jobs = nil
	sub.fds[0] = stream{in: &Input{}}
	p.started++
	j := &job{id: p.id() + p.started}
	j.next, j.stop = iter.Pull(func(yield func(time.Duration) bool) {
		j.yield = yield
		j.status = p.guard("sh", func() int32 {
			defer sub.release()
			sub.stmt(&foreground)
			sub.exitTrap()
			return sub.status
		})
	})
	p.jobs, s.jobs, s.lastJob = append(p.jobs, j), append(s.jobs, j), j.id
	p.resumeJob(j)
	s.status = 0
}

func (j *job) hasEnded() bool { return j.ended }

// resumeJob runs a background command until it waits or ends.
func (p *Program) resumeJob(j *job) {
	before, depth := p.job, p.depth
	p.job = j
	wait, more := j.next()
	p.job, p.depth = before, depth
	j.until, j.ended = p.host.Now().Add(wait), !more
}

// wait lets time pass, and resumes background commands whose time has come.
func (p *Program) wait(d time.Duration) {
	p.beginReaders()
	if p.job != nil {
		p.pause(p.job.yield, d)
		return
	}
	end := p.host.Now().Add(d)
	for {
		until, others := p.nextJob(end)
		if wait := until.Sub(p.host.Now()); wait > 0 || !others {
			p.pause(p.yield, wait)
		}
		for _, j := range p.jobs {
			if !j.ended && !j.until.After(p.host.Now()) {
				p.resumeJob(j)
			}
		}
		if !others || !p.host.Now().Before(end) || p.interruptible && p.signalled {
			return
		}
	}
}

// waitInterruptibly lets time pass until a signal comes that the program handles.
func (p *Program) waitInterruptibly(d time.Duration) {
	before := p.interruptible
	p.interruptible = p.job == nil
	p.wait(d)
	p.interruptible = before
}

// nextJob returns when to resume the next background command, at most end, and whether
// there is one.
func (p *Program) nextJob(end time.Time) (until time.Time, found bool) {
	until = end
	for _, j := range p.jobs {
		if !j.ended && !j.until.After(until) {
			until, found = j.until, true
		}
	}
	return until, found
}

// pause returns control to the caller of Run or resumeJob for that time. A signal may wake it earlier.
func (p *Program) pause(yield func(time.Duration) bool, d time.Duration) {
	for end := p.host.Now().Add(d); ; d = end.Sub(p.host.Now()) {
		if !yield(d) {
			panic(stopped{})
		}
		if !p.woken {
			return
		}
		if p.woken = false; p.interruptible {
			return
		}
	}
}

// stopJobs ends the background commands, as the end of a container's first process ends
// all others.
func (p *Program) stopJobs() {
	for _, j := range p.jobs {
		if !j.ended {
			j.ended = true
			j.stop()
		}
	}
}

// waitFor carries out the builtin "wait [ID...]": it waits for the jobs of these process IDs, or for all.
func (s *shell) waitFor(argv []string) {
	if len(argv) == 1 {
		for _, j := range s.jobs {
			s.await(j)
		}
		if s.interrupted() {
			s.status = exitTerminated
		}
		return
	}
	for _, word := range argv[1:] {
		s.status = 127
		_, j, err := s.findJob(word)
		switch {
		case err != nil:
			s.fail(2, "wait: %s: it must be a number such as $! or %%1", word)
		case j != nil:
			s.await(j)
			s.status = j.status
		}
		if s.interrupted() {
			s.status = exitTerminated
		}
	}
}

// await waits until a background command has ended, or a signal comes that the shell handles.
func (s *shell) await(j *job) {
	for p := s.program; !j.ended && !s.interrupted(); {
		p.waitInterruptibly(max(0, j.until.Sub(p.host.Now())))
	}
}

// guard runs a part of the program and returns its exit status, whatever ends it.
func (p *Program) guard(name string, run func() int32) (code int32) {
	defer func() {
		switch why := recover().(type) {
		case nil:
		case stopped:
			code = 137
		case brokenPipe:
			code = exitBrokenPipe
		case fatal:
			code = 2
			fmt.Fprintf(&p.log, "%s: %s\n", name, why.text)
		default:
			panic(why)
		}
	}()
	return run()
}
