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
	program := s.programOf(c)
	program.Argv, program.Seed = config.Command, seed(c)
	program.Stdin, program.Stdout, program.Stderr = config.Stdin, config.Stdout, config.Stderr
	p := &process{s, c, shell.Start(program)}
	c.execs = append(c.execs, p)
	return p, nil
}

// Run implements Process.
func (p *process) Run() (time.Duration, bool) {
	wait, ended := p.program.Run(p.runtime.client.Env)
	p.runtime.traceReports(p.container, p.program.Reports())
	if ended {
		p.forget()
		p.runtime.traceCommand(p.container, p.program.Main())
	}
	return wait, ended
}

// ExitCode implements Process.
func (p *process) ExitCode() int32 { return p.program.ExitCode() }

// Stop implements Process.
func (p *process) Stop() {
	p.program.Stop()
	p.forget()
}

func (p *process) forget() {
	p.container.execs = slices.DeleteFunc(p.container.execs, func(other *process) bool { return other == p })
}
