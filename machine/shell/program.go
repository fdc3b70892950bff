package shell

import (
	"fmt"
	"io"
	"iter"
	"maps"
	"math"
	"path"
	"time"

	"github.com/storagesim/storagesim/machine/disk"
)

// Host is what a program asks of the world while it runs.
type Host interface {
	// Now is the time that "date" shows.
	Now() time.Time
	// Choose picks one of n, for RANDOM: control.Env.Choose.
	Choose(n int) int
}

// Config is a command of a container and where it runs. Argv and Node are required.
type Config struct {
	// Argv is the command and its arguments.
	Argv []string
	// Dir is the working directory; "" means "/".
	Dir string
	// Env is the environment.
	Env map[string]string
	// Hostname is what "hostname" prints.
	Hostname string
	// Node is the node's file system, Mounts the container's volumes in it.
	Node   *disk.Disk
	Mounts []Mount
	// Commands are the programs that there are; default Default.
	Commands map[string]Command
	// Stdin is the standard input, all of which is read when the program first reads; one
	// that is Pending is waited for. Default nothing.
	Stdin io.Reader
	// Stdout and Stderr have copies of the standard output and error; default nobody.
	Stdout, Stderr io.Writer
	// Seed is where RANDOM starts, beside what Host.Choose says.
	Seed uint64
}

// Forever is how long a program waits that waits for nothing: longer than any run.
const Forever = time.Duration(math.MaxInt64 / 4)

// Program is one command of a container on its way. It is not safe for concurrent
// use.
type Program struct {
	cfg  Config
	host Host // while it runs

	next  func() (time.Duration, bool)
	end   func()
	yield func(time.Duration) bool
	ended bool
	code  int32
	log   tail

	jobs    []*job // background commands that have not ended, and some that have
	job     *job   // the one that runs, nil for the main one
	started int    // how many background commands were started

	steps, busy, depth int
	random             uint64
	seeded             bool
	builtins           map[string]builtin
	top                Report
	reports            []Report
	reported           int
	file               *Files
}

// Report is a command that a program ran on the node's files, or its own; and what
// the trace should say beside it.
type Report struct {
	// Argv is the command, nil for a note alone.
	Argv []string
	// Paths are those on the node that it worked on.
	Paths []string
	// Err is why it failed, nil if it did not.
	Err error
	// Notes are sentences about it.
	Notes []string
	// Assets are the directories that it made or removed, in order.
	Assets []Asset
}

// Asset is a directory that a command made or removed: Path is an absolute path on the
// node.
type Asset struct {
	Path    string
	Removed bool
}

// CanRun says whether a command is one that can be carried out: a program of
// commands, or a script in one of the container's volumes.
func CanRun(cfg Config) bool {
	if len(cfg.Argv) == 0 {
		return false
	}
	p := newProgram(cfg)
	if _, ok := p.lookup(cfg.Argv[0]); ok {
		return true
	}
	_, err := p.main().script(cfg.Argv[0])
	return err == nil
}

// Start makes a program. Nothing of it is run before Run.
func Start(cfg Config) *Program {
	p := newProgram(cfg)
	p.next, p.end = iter.Pull(func(yield func(time.Duration) bool) {
		p.yield = yield
		p.code = p.run()
	})
	return p
}

func newProgram(cfg Config) *Program {
	if cfg.Commands == nil {
		cfg.Commands = Default()
	}
	return &Program{cfg: cfg, random: cfg.Seed, builtins: builtins(), file: &Files{Node: cfg.Node, Mounts: cfg.Mounts}}
}

// Run carries the program out until it ends or waits: then it returns for how long,
// and Run is to be called again after that time.
func (p *Program) Run(host Host) (wait time.Duration, ended bool) {
	if p.ended {
		return 0, true
	}
	p.host = host
	defer func() { p.host = nil }()
	wait, more := p.next()
	p.ended = !more
	return wait, p.ended
}

// Stop ends the program where it is.
func (p *Program) Stop() {
	if !p.ended {
		p.ended, p.code = true, 137
		p.end()
	}
}

// ExitCode is that of a program that has ended.
func (p *Program) ExitCode() int32 { return p.code }

// Log is the end of what the program printed, standard output and error as they came.
func (p *Program) Log() string { return string(p.log.data) }

// Message is the end of the log, as a container's status has it.
//
// Upstream: kuberuntime MaxContainerTerminationMessageLogLength, v1.36.
func (p *Program) Message() string {
	data := p.log.data
	for len(data) > 0 && data[len(data)-1] == '\n' {
		data = data[:len(data)-1]
	}
	return string(data[max(0, len(data)-maxMessage):])
}

// Reports are what the program did since they were last asked for.
func (p *Program) Reports() []Report {
	list := p.reports
	p.reports = nil
	return list
}

// Main is the container's own command: what it worked on itself and, once it has
// ended, why it failed.
func (p *Program) Main() Report {
	r := p.top
	r.Argv = p.cfg.Argv
	r.Err = nil
	if p.ended && p.code != 0 {
		r.Err = &ExitError{p.code, p.Message()}
	}
	return r
}

// report keeps what a command did, up to a number of them: a loop that goes on for
// ever has no end of commands.
func (p *Program) report(r Report) {
	switch p.reported++; {
	case p.reported <= maxReported:
		p.reports = append(p.reports, r)
	case p.reported == maxReported+1:
		p.reports = append(p.reports, Report{Notes: []string{fmt.Sprintf("has run %d commands; further ones are not listed", maxReported)}})
	}
}

func (p *Program) note(format string, args ...any) {
	p.report(Report{Notes: []string{fmt.Sprintf(format, args...)}})
}

// run carries out the container's command to its end, which is that of its background
// commands.
func (p *Program) run() int32 {
	defer p.stopJobs()
	return p.guard(path.Base(p.cfg.Argv[0]), func() int32 { return p.exec(p.main()) })
}

// main is the process that the container's command is.
func (p *Program) main() *Process {
	dir := path.Join("/", p.cfg.Dir)
	main := &Process{
		Argv: p.cfg.Argv, Dir: dir, Env: maps.Clone(p.cfg.Env), program: p,
		Stdin: &Input{from: p.cfg.Stdin, wait: p.wait}, Stdout: &p.log, Stderr: &p.log, top: true,
	}
	if p.cfg.Stdout != nil {
		main.Stdout = io.MultiWriter(&p.log, p.cfg.Stdout)
	}
	if p.cfg.Stderr != nil {
		main.Stderr = io.MultiWriter(&p.log, p.cfg.Stderr)
	}
	return main
}

// nextRandom is a number from 0 to 32767.
func (p *Program) nextRandom() int {
	if !p.seeded {
		p.seeded = true
		p.random ^= uint64(p.host.Choose(1<<15)) << 20
	}
	p.random += 0x9e3779b97f4a7c15 // splitmix64
	z := p.random
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return int((z ^ z>>31) >> 49)
}
