package runtime

import (
	"context"
	"fmt"
	"maps"
	"path"
	"slices"
	"time"

	"github.com/storagesim/storagesim/control"
	"github.com/storagesim/storagesim/machine/shell"
	"github.com/storagesim/storagesim/trace"
)

// awaitedFor is the time after its start in which a container's sleep is awaited when settling,
// if the container is to come to an end.
const awaitedFor = time.Minute

// StartContainer implements Service. It runs the container's command until that waits or
// ends.
func (s *Containers) StartContainer(id string) error {
	c, err := s.find(id)
	switch {
	case err != nil:
		return err
	case c.status.State != ContainerCreated:
		return fmt.Errorf("container %s is in state %s; it must be %s to be started", id, c.status.State, ContainerCreated)
	}
	if s.cfg.Kind != FakeRuntime {
		if err := c.root.MakeDir(s.cfg.Root); err != nil {
			return s.notStarted(c, fmt.Errorf("mkdir %s: %w", c.config.WorkingDir, err))
		}
	}
	program, ok := s.commandOf(c)
	if ok {
		if why := shell.Unstartable(program); why != "" {
			return s.notStarted(c, fmt.Errorf("runc create failed: unable to start container process: error during container init: exec: %q: %s", program.Argv[0], why))
		}
	}
	c.status.State, c.status.StartedAt = ContainerRunning, s.now()
	s.client.Started(c.status.Pod, id)
	if !ok {
		c.taken = s.cfg.Kind != FakeRuntime
		if c.config.Init && s.cfg.Kind != FakeRuntime {
			s.end(c, 0, "")
		}
		return nil
	}
	c.program = shell.New(program)
	p := c.program
	s.resume(c)
	s.traceCommand(c, p.Main())
	s.traceReports(c, p.Reports())
	if c.program != nil {
		s.letGoOn(c)
	}
	return nil
}

// Of a container that could not be started.
//
// Upstream: containerd internal/cri/server/container_start.go errorStartReason and errorStartExitCode, v2.1.
const (
	startError               = "StartError"
	startErrorExitCode int32 = 128
)

// notStarted records that a container could not be started: it counts as one that has ended. It returns why.
//
// Upstream: containerd internal/cri/server/container_start.go StartContainer, v2.1.
func (s *Containers) notStarted(c *container, why error) error {
	err := fmt.Errorf("failed to create containerd task: failed to create shim task: OCI runtime create failed: %w", why)
	c.root = nil
	c.status.State, c.status.StartedAt, c.status.FinishedAt = ContainerExited, time.Unix(0, 0).UTC(), s.now()
	c.status.ExitCode, c.status.Reason, c.status.Message = startErrorExitCode, startError, err.Error()
	return err
}

// commandOf returns the command that a container runs; false if that is its image's own
// program, of which nothing is known.
func (s *Containers) commandOf(c *container) (shell.Config, bool) {
	config := s.programOf(c, c.config.Init || c.config.Absent == shell.Succeeds)
	command := c.config.Command
	if len(command) == 0 {
		command = s.entrypoint(c.config.Image)
	}
	config.Argv, config.Seed = slices.Concat(command, c.config.Args), seed(c)
	config.Absent = absentIn(c.config.Image, c.config.Absent)
	// Arguments alone are for the program that the image starts with, which may read the file that they name.
	known := len(command) > 0 || shell.CanRun(config) && (isBusyBox(c.config.Image) || shell.IsExecutable(config))
	return config, known && s.cfg.Kind != FakeRuntime
}

// programOf returns the configuration of a container's command, without the command. A program of the image ends at once, or just runs.
func (s *Containers) programOf(c *container, endsAtOnce bool) shell.Config {
	if s.cfg.Commands == nil { // here, since most nodes run no program
		s.cfg.Commands = shell.Default()
	}
	commands := s.cfg.Commands
	if own := imagePrograms(c.config.Image); len(own) > 0 {
		commands = maps.Clone(commands)
		for _, name := range own {
			commands[name] = shell.Entrypoint(endsAtOnce)
			if path.Base(name) == agnhost {
				commands[name] = shell.Agnhost(endsAtOnce)
			}
		}
	}
	env := map[string]string{"HOSTNAME": c.sandbox.config.Hostname} // as containerd does
	maps.Copy(env, c.config.Env)
	return shell.Config{
		Dir: c.config.WorkingDir, Env: env, Hostname: c.sandbox.config.Hostname,
		Node: s.cfg.Root, User: c.config.User, Mounts: c.config.Mounts, Root: c.root, Commands: commands,
		NotFirst: c.config.NotFirst, Privileged: c.config.Privileged,
	}
}

// rootOf returns a container's root file system, which takes no memory until the container uses it.
func (s *Containers) rootOf(c *container) *shell.Root {
	return &shell.Root{
		Now: s.now, Volumes: c.config.Mounts, ReadOnly: c.config.ReadOnlyRoot, TerminationLog: c.config.TerminationLog, Dir: c.config.WorkingDir,
		Files: func() map[string]string {
			files := map[string]string{"/etc/hostname": c.sandbox.config.Hostname + "\n"}
			if c.config.Files != nil {
				maps.Copy(files, c.config.Files())
			}
			return files
		},
	}
}

// seed returns the seed of a container's random numbers.
func seed(c *container) uint64 {
	h := uint64(14695981039346656037) // FNV-1a
	for _, b := range []byte(fmt.Sprintf("%s/%s/%d", c.status.Pod, c.status.Name, c.status.Attempt)) {
		h = (h ^ uint64(b)) * 1099511628211
	}
	return h
}

// resume lets a container's program go on until it waits or ends.
func (s *Containers) resume(c *container) {
	wait, ended := c.program.Run(s.client.Env)
	c.until = s.now().Add(wait)
	if !ended {
		return
	}
	message := ""
	if !c.program.Began() {
		message = c.program.Message()
	}
	s.end(c, c.program.ExitCode(), message)
}

// letGoOn resumes a container whenever its sleep is over. Settling does not wait for a sleep,
// as for periodic work; but it waits for that of an Awaited container, for a minute from the
// container's start.
func (s *Containers) letGoOn(c *container) {
	client := s.client
	c.wake = func() {}
	client.Env.Go("container "+c.status.Name, func(ctx context.Context) {
		for c.program != nil {
			in := ctx
			if !c.config.Awaited || c.until.After(c.status.StartedAt.Add(awaitedFor)) {
				in = control.InBackground(ctx)
			}
			in, wake := control.WithCancelCause(in)
			c.wake = func() { wake(nil) }
			_ = client.Env.Sleep(in, max(0, c.until.Sub(s.now())))
			wake(nil)
			p := c.program
			if ctx.Err() != nil || p == nil {
				return
			}
			if c.until.After(s.now()) { // a signal has come
				continue
			}
			s.resume(c)
			s.traceReports(c, p.Reports())
			if c.program == nil {
				client.Ended(c.status.Pod, c.status.ID)
			}
		}
	})
}

// traceCommand tells what a container ran.
func (s *Containers) traceCommand(c *container, r shell.Report) {
	about := c.sandbox.config.ref()
	record := trace.Command{About: about, Argv: r.Argv, Node: s.client.Node, Paths: r.Paths}
	if r.Err != nil {
		record.Err = r.Err.Error()
	}
	s.client.Env.Trace(record)
	for _, a := range r.Assets {
		asset := trace.Asset{Op: trace.Made, Machine: "node/" + s.client.Node, Path: a.Path, About: about}
		if a.Removed {
			asset.Op = trace.Removed
		}
		s.client.Env.Trace(asset)
	}
	for _, note := range r.Notes {
		s.client.Env.Trace(trace.Decision{About: about, Text: note})
	}
}

// traceReports tells what a container's command ran.
func (s *Containers) traceReports(c *container, reports []shell.Report) {
	for _, r := range reports {
		if r.Taken != "" {
			c.taken = true
			deviates := trace.Deviate(trace.ProgramTaken, c.sandbox.config.ref())
			deviates.Of = fmt.Sprintf("program %s of container %s", r.Taken, c.status.Name)
			s.client.Env.Trace(deviates)
			continue
		}
		if r.Argv != nil {
			s.traceCommand(c, r)
			continue
		}
		for _, note := range r.Notes {
			s.client.Env.Trace(trace.Decision{About: c.sandbox.config.ref(), Text: fmt.Sprintf("container %s %s", c.status.Name, note)})
		}
	}
}
