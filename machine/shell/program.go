package shell

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"maps"
	"math"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/storagesim/storagesim/machine/disk"
)

// Host gives a program the time and chance while it runs.
type Host interface {
	// Now returns the time that "date" shows.
	Now() time.Time
	// Choose picks a number below n, for RANDOM (control.Env.Choose).
	Choose(n int) int
}

// Config describes a command of a container, and where it runs. Argv and Node are required.
type Config struct {
	// Argv is the command and its arguments.
	Argv []string
	// Dir is the working directory; "" means "/".
	Dir string
	// Env is the environment.
	Env map[string]string
	// Hostname is printed by "hostname".
	Hostname string
	// Node is the node's file system, Mounts are the container's volumes in it.
	Node   *disk.Disk
	Mounts []Mount
	// User runs the command; the zero value is root, who may do everything.
	User disk.User
	// Privileged says that the command may enter the node's mount namespace (nsenter).
	Privileged bool
	// Root is the container's root file system, whose Volumes are Mounts; default one of the program's own.
	Root *Root
	// Commands are the programs by name; default Default.
	Commands map[string]Command
	// Stdin is the standard input. When the program first reads, it reads all of it, and
	// waits for one that is Pending. Default nothing.
	Stdin io.Reader
	// Stdout and Stderr receive copies of the standard output and error; default none.
	Stdout, Stderr io.Writer
	// Absent, if set, says what becomes of a program that does not exist: with Excuses wherever it is called, otherwise if its exit
	// code 127 would end the command or the command's own script: not in a condition, on either side of ||, in a pipe, a
	// substitution, a subshell or the background. Default: it is not found.
	Absent func(name string) Absent
	// NotFirst says that another process is the first one, as in a pod whose containers share their processes. A first process ends by
	// SIGTERM only if it handles it, any other unless it does.
	NotFirst bool
	// Beside says that the program runs beside the container's own, as one of Exec does. It is not the first process then, and has a process ID of its own.
	Beside *Beside
	// Seed determines RANDOM, together with Host.Choose.
	Seed uint64
}

// Beside is the place of a program among the processes of a container that runs another one.
type Beside struct {
	// ID is the program's process ID, above 1.
	ID int
	// Signal is called when the program sends a signal to the container's first process.
	Signal func(number int32)
}

// Forever is the time that a program waits that will not go on by itself: longer than any run.
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
	// excused says that it called a program that is not there, with Excuses.
	excused bool
	// began says that its own command was found and run.
	began bool
	// first is the shell that is the first process of the container, nil if that is no shell, and ofImage says that it is a program of the image.
	first   *shell
	ofImage bool
	// signalled says that SIGTERM waits for its handler, woken that it comes while the program waits, and interruptible that it ends that wait.
	signalled, woken, interruptible bool

	log tail

	jobs    []*job  // background commands: all that have not ended, and some that have
	job     *job    // the background command that runs now, nil for the main command
	started int     // how many background commands were started
	pipes   []*pipe // those whose left part runs

	steps, busy int // steps since the last sleep or pause, pauses since the last sleep
	mostSteps   int // the largest that steps has been: tests hold it, so that no single operation works for long
	worked      int // bytes and comparisons that make less than a step
	depth, held int
	random      uint64
	seeded      bool
	builtins    map[string]builtin
	top         Report
	reports     []Report
	reported    int
	files       *files
}

// Report tells of a command that a program ran on the node's files, or of its own.
type Report struct {
	// Argv is the command; nil if there are only notes.
	Argv []string
	// Paths are the paths on the node that it changed.
	Paths []string
	// Err says why it failed; nil if it succeeded.
	Err error
	// Notes are sentences for the trace.
	Notes []string
	// Taken is the name of a program that did not exist and was taken to run or to have succeeded.
	Taken string
	// Assets are the directories that it made or removed, in this order.
	Assets []Asset
}

// Asset is a directory that a command made or removed. Path is absolute, on the node.
type Asset struct {
	Path    string
	Removed bool
}

// CanRun reports whether a command can be run: a program of Commands, or a script in one of
// the container's volumes or among the files that it has written.
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

// Unstartable says, as runc does, why the command of a container cannot be executed: its program does not exist, or may not be executed. It returns
// "" if it can be, or if nothing is known yet since a server is silent.
//
// Upstream: os/exec LookPath, which runc calls before it starts the container.
func Unstartable(cfg Config) string {
	p := newProgram(cfg)
	proc, name := p.main(), cfg.Argv[0]
	if _, ok := p.lookup(name); ok {
		return ""
	}
	why := "executable file not found in $PATH"
	if strings.Contains(name, "/") {
		info, err := fs.FileInfo(nil), error(errNoFile)
		if !p.files.isFresh(proc.Path(name)) {
			info, err = p.files.stat(proc.Path(name))
		}
		switch {
		case errors.Is(err, disk.ErrSilent):
			return ""
		case err == nil && info.IsDir():
			return "is a directory"
		case err == nil && p.files.may(proc.Path(name), info, disk.Execute):
			return ""
		case err == nil || reason(err).Error() == "permission denied":
			return "permission denied"
		}
		why = fmt.Sprintf("stat %s: no such file or directory", name)
	}
	if p.cfg.Absent != nil && !p.isInVolume(proc) && p.cfg.Absent(path.Base(name)) != NotFound {
		return ""
	}
	return why + "; " + p.unknown(name)
}

// IsExecutable reports whether a command that can be run is a program, or a file that may be executed.
func IsExecutable(cfg Config) bool {
	p := newProgram(cfg)
	if _, ok := p.lookup(cfg.Argv[0]); ok {
		return true
	}
	return p.main().executable(cfg.Argv[0])
}

// New returns a program that has not begun; Run runs it.
func New(cfg Config) *Program {
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
	p := &Program{cfg: cfg, random: cfg.Seed, builtins: builtins()}
	root := cfg.Root
	if root == nil {
		root = &Root{Now: func() time.Time { return p.host.Now() }, Volumes: cfg.Mounts, Dir: cfg.Dir}
	}
	p.files = &files{node: cfg.Node, user: p.cfg.asUser(), root: root, mounts: root.over(), wait: func(name string, first bool, d time.Duration) bool {
		if p.host == nil { // it does not run yet
			return false
		}
		if first {
			p.report(Report{Notes: []string{"hangs: there is no answer about " + name}})
		}
		p.sleep(d)
		return true
	}}
	return p
}

// asUser returns the user whose files and rights are to be looked at; nil for root.
func (cfg *Config) asUser() *disk.User {
	if cfg.User.UID == 0 && cfg.User.GID == 0 {
		return nil
	}
	return &cfg.User
}

// Run runs the program until it ends or waits. It returns for how long it waits: call Run
// again after that time, or when it has got a signal that it handles.
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

// Ended reports whether the program has ended.
func (p *Program) Ended() bool { return p.ended }

// Stop ends the program where it is.
func (p *Program) Stop() {
	if !p.ended {
		p.ended, p.code = true, exitKilled
		p.end()
	}
}

// Began reports whether the program's own command was found and run, so that what it printed is its own. If it was not, Message says why.
func (p *Program) Began() bool { return p.began }

// ExitCode returns the exit code of a program that has ended.
func (p *Program) ExitCode() int32 { return p.code }

// Log returns the end of what the program printed on standard output and error.
func (p *Program) Log() string { return string(p.log.data) }

// Logged returns the number of bytes that the program printed on standard output and error.
func (p *Program) Logged() int64 { return p.log.all }

// Message returns the end of the log, for the trace.
func (p *Program) Message() string {
	data := p.log.data
	for len(data) > 0 && data[len(data)-1] == '\n' {
		data = data[:len(data)-1]
	}
	return string(data[max(0, len(data)-maxMessage):])
}

// Reports returns and forgets what the program has reported.
func (p *Program) Reports() []Report {
	list := p.reports
	p.reports = nil
	return list
}

// Main reports the container's own command. Err is set once it has ended.
func (p *Program) Main() Report {
	r := p.top
	r.Argv = p.cfg.Argv
	r.Err = nil
	if p.ended && p.code != 0 {
		r.Err = &ExitError{p.code, p.Message()}
	}
	return r
}

// report keeps a report, up to maxReported of them, since a loop may run commands for ever.
func (p *Program) report(r Report) {
	switch p.reported++; {
	case p.reported <= maxReported:
		p.reports = append(p.reports, r.cut())
	case p.reported == maxReported+1:
		p.reports = append(p.reports, Report{Notes: []string{fmt.Sprintf("has run %d commands; further ones are not listed", maxReported)}})
	}
}

// cut shortens a report that a script made too long.
func (r Report) cut() Report {
	r.Argv, r.Paths, r.Notes = cutAll(r.Argv), cutAll(r.Paths), cutAll(r.Notes)
	if r.Err != nil && len(r.Err.Error()) > maxMessage {
		r.Err = errors.New(r.Err.Error()[:maxMessage] + "...")
	}
	return r
}

func cutAll(words []string) []string {
	if len(words) > maxReported {
		words = append(words[:maxReported:maxReported], "...")
	}
	if !slices.ContainsFunc(words, func(w string) bool { return len(w) > maxReport }) {
		return words
	}
	words = slices.Clone(words)
	for i, w := range words {
		if len(w) > maxReport {
			words[i] = w[:maxReport] + "..."
		}
	}
	return words
}

func (p *Program) note(format string, args ...any) {
	p.report(Report{Notes: []string{fmt.Sprintf(format, args...)}})
}

// run runs the container's command. Its end ends its background commands.
func (p *Program) run() int32 {
	defer p.stopJobs()
	return p.guard(path.Base(p.cfg.Argv[0]), func() int32 { return p.exec(p.main()) })
}

// main returns the process of the container's command.
func (p *Program) main() *Process {
	dir := path.Join("/", p.cfg.Dir)
	main := &Process{
		Argv: p.cfg.Argv, Dir: dir, Env: maps.Clone(p.cfg.Env), program: p, umask: defaultUmask,
		Stdin: &Input{from: p.cfg.Stdin, wait: p.wait}, Stdout: &p.log, Stderr: &p.log, top: true, first: true, decisive: true,
	}
	if p.cfg.Stdout != nil {
		main.Stdout = copied{p, p.cfg.Stdout}
	}
	if p.cfg.Stderr != nil {
		main.Stderr = copied{p, p.cfg.Stderr}
	}
	return main
}

// copied writes to the log and to a stream of the caller. What is written is work, since the caller may hold all
// that comes before the next pause.
type copied struct {
	program *Program
	to      io.Writer
}

func (c copied) Write(data []byte) (int, error) {
	c.program.work(len(data))
	return io.MultiWriter(&c.program.log, c.to).Write(data)
}

// nextRandom returns a number from 0 to 32767.
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
