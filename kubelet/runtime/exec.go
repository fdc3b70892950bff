package runtime

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/storagesim/storagesim/machine/shell"
)

// process is a command that runs beside the container's own.
type process struct {
	runtime   *Containers
	container *container
	program   *shell.Program
	probe     bool
	excused   bool // a program of the probe is not there, and taken to succeed
	terminate bool // it has sent SIGTERM to the container's first process
}

// Exec implements Service.
func (s *Containers) Exec(id string, config ExecConfig) (Process, error) {
	c, err := s.find(id)
	switch {
	case err != nil:
		return nil, err
	case len(config.Command) == 0:
		return nil, errors.New("a command is required")
	case c.status.State != ContainerRunning:
		return nil, fmt.Errorf("container is in %s state", c.status.State)
	}
	if s.cfg.Kind == FakeRuntime {
		config.Command = []string{"true"}
	}
	program := s.programOf(c, c.config.Init || config.Probe)
	program.Argv, program.Seed = config.Command, seed(c)
	program.Stdin, program.Stdout, program.Stderr = config.Stdin, config.Stdout, config.Stderr
	if config.Probe {
		program.Absent = absentIn(c.config.Image, config.Absent)
		if program.Absent == nil && !shell.CanRun(program) {
			return nil, fmt.Errorf("exec: %q: executable file not found in $PATH", config.Command[0])
		}
	}
	p := &process{runtime: s, container: c, probe: config.Probe}
	c.begun++
	program.Beside = &shell.Beside{ID: idsOfCommand * c.begun, Signal: p.signalFirst}
	p.program = shell.New(program)
	c.execs = append(c.execs, p)
	return p, nil
}

// idsOfCommand is the number of process IDs that each command of Exec has: its own, and those of its background commands.
const idsOfCommand = 1000

// signalFirst notes a signal to the container's first process. Of these only SIGTERM is delivered, after the step of the command that sent it. Where
// containers share their processes, the first is the sandbox's.
func (p *process) signalFirst(number int32) {
	p.terminate = p.terminate || number == sigterm && !p.container.config.NotFirst
}

const sigterm = 15

// Run implements Process.
func (p *process) Run() (time.Duration, bool) {
	wait, ended := p.run()
	if p.terminate {
		p.terminate = false
		p.runtime.terminateFrom(p.container)
	}
	return wait, ended
}

// terminateFrom sends a container the SIGTERM of a command beside its own. It has had none from the kubelet by that.
func (s *Containers) terminateFrom(c *container) {
	if c.status.State != ContainerRunning {
		return
	}
	before := c.signalled
	s.note(c, "%s from a command beside it", gets(s.signal(c)))
	if c.signalled = before; c.status.State != ContainerRunning {
		s.client.Ended(c.status.Pod, c.status.ID)
	}
}

// run lets the command go on until it waits or ends.
func (p *process) run() (time.Duration, bool) {
	wait, ended := p.program.Run(p.runtime.client.Env)
	reports := p.program.Reports()
	if p.probe {
		p.traceProbe(reports)
		if p.program.Excused() {
			p.Stop()
			p.excused = true
			return 0, true
		}
	} else {
		p.runtime.traceReports(p.container, reports)
	}
	if ended {
		p.forget()
		if !p.probe {
			p.runtime.traceCommand(p.container, p.program.Main())
		}
	}
	return wait, ended
}

// traceProbe tells what a probe did, as far as no probe of the container did it before.
func (p *process) traceProbe(reports []shell.Report) {
	c := p.container
	for _, r := range reports {
		key := fmt.Sprint(r.Argv, r.Notes, r.Taken)
		if c.told[key] || len(c.told) >= maxTold {
			continue
		}
		if c.told == nil {
			c.told = map[string]bool{}
		}
		c.told[key] = true
		p.runtime.traceReports(c, []shell.Report{r})
	}
}

// maxTold is the number of different reports of a container's probes that are told.
const maxTold = 100

// ExitCode implements Process.
func (p *process) ExitCode() int32 {
	if p.excused {
		return 0
	}
	return p.program.ExitCode()
}

// Stop implements Process.
func (p *process) Stop() {
	p.program.Stop()
	p.forget()
}

func (p *process) forget() {
	p.container.execs = slices.DeleteFunc(p.container.execs, func(other *process) bool { return other == p })
}
