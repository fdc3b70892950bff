package story

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/storagesim/storagesim"
	"github.com/storagesim/storagesim/engine"
	"github.com/storagesim/storagesim/trace"
)

// Shell plays commands one after the other, as they are given, instead of those of a script. Do is the entry. It is not for use by more than one
// goroutine at a time.
type Shell struct {
	ctx     context.Context
	options Options
	session *session
	// attached is set if the cluster is another's, who drives it.
	attached bool
	first    int // see First
	played   []played
}

// played is a command that was played.
type played struct {
	item
	output string
	// before is the number of steps that the engine had taken before it, counted from the moment at which the cluster was ready.
	before uint64
	// records is the number of records that there were before it.
	records int
}

// NewShell returns a shell whose first command makes the cluster. Options.Watch and Options.Missed are not used.
func NewShell(ctx context.Context, o Options) *Shell {
	s := &Shell{ctx: ctx, options: o}
	s.session = s.newSession()
	return s
}

// Attach returns a shell for a cluster that is there already, whose times are told from a moment on. It cannot go back (but see
// Fork), no command reads files, and Close leaves the cluster open. Call Do where nothing else uses the engine.
func Attach(ctx context.Context, c *storagesim.Cluster, zero time.Time, o Options) *Shell {
	s := NewShell(ctx, o)
	s.attached = true
	s.session.zero, s.session.noFiles = zero, true
	s.session.cluster = c
	s.session.stop = func() bool { return true }
	s.session.told = s.session.trace().Len()
	s.first = s.session.told - 1
	return s
}

func (s *Shell) newSession() *session {
	o := s.options
	o.Watch, o.Missed = nil, nil
	next := &session{ctx: s.ctx, file: "shell", options: o, tableWidth: max(o.Width, 0), zero: engine.Start()}
	next.options.Width = cmp.Or(o.Width, DefaultWidth)
	return next
}

// Cluster returns the cluster as it is now; nil before the first command that needs one.
func (s *Shell) Cluster() *storagesim.Cluster { return s.session.cluster }

// Close closes the cluster. No method may be called after it.
func (s *Shell) Close() error {
	if s.attached {
		return nil
	}
	return s.session.close()
}

// NeedsInput reports whether a command is not complete without lines of input below it.
func NeedsInput(line string) bool {
	words, err := split(line)
	if err != nil || len(words) == 0 {
		return false
	}
	if words[0] == must {
		words = words[1:]
	}
	has := func(flags ...string) bool {
		return slices.ContainsFunc(words, func(word string) bool {
			return slices.ContainsFunc(flags, func(flag string) bool { return strings.HasPrefix(word, flag) })
		})
	}
	switch {
	case len(words) == 0:
		return false
	case words[0] == "create" && len(words) > 1 && !strings.HasPrefix(words[1], "-"): // create namespace NAME
		return false
	case words[0] == "apply", words[0] == "create":
		return !has("-f", "--filename")
	case words[0] == "patch":
		return !has("-p", "--patch")
	case words[0] == "write":
		return len(words) == 2
	}
	return false
}

// Do plays a command, which may be a comment or empty, with its lines of input, and returns what it prints. The error says that the command
// does not exist, or is not written as its usage says; then nothing has happened.
func (s *Shell) Do(line string, input ...string) (output string, err error) {
	if err := s.ctx.Err(); err != nil {
		return "", err
	}
	it := item{text: line} // whose line is 0, so that the first line of its input is 1
	if trimmed := strings.TrimSpace(line); trimmed == "" || trimmed[0] == '#' {
		return s.do(it)
	}
	if strings.Contains(line, "\n") || slices.ContainsFunc(input, func(l string) bool { return l == fence || strings.Contains(l, "\n") }) {
		return "", errors.New("a command is one line, and no line of its input is ----")
	}
	if it.words, err = split(line); err != nil {
		return "", err
	}
	if it.words[0] == must && len(it.words) > 1 {
		it.words, it.fails = it.words[1:], true
	}
	if len(input) > 0 {
		it.input = input
	}
	return s.do(it)
}

// Play plays a script on the shell's cluster and writes it with the outputs it gives. name is the script's name, for errors.
// allowed, unless it is empty, are the names of the commands that it may have. The first command that does not exist, is not
// allowed, or is not written as its usage says ends it with an *Error; those before it have happened.
func (s *Shell) Play(w io.Writer, name, text string, allowed ...string) error {
	parsed, err := parse(name, text)
	if err != nil {
		return err
	}
	before := s.session.file
	s.session.file = name
	defer func() { s.session.file = before }()
	for _, it := range parsed.items {
		if it.words != nil && len(allowed) > 0 && !slices.Contains(allowed, it.words[0]) {
			return &Error{name, it.line, fmt.Sprintf("this script may not use %q; expected one of %s", it.words[0], strings.Join(allowed, ", "))}
		}
		output, err := s.do(it)
		switch {
		case s.ctx.Err() != nil:
			return s.ctx.Err()
		case err != nil:
			return &Error{name, it.line, err.Error()}
		}
		text := it.text + "\n"
		if it.words != nil {
			text = it.printed(output)
		}
		if _, err := io.WriteString(w, text); err != nil {
			return err
		}
	}
	return nil
}

// do plays a command, or keeps a line outside of commands.
func (s *Shell) do(it item) (output string, err error) {
	before, records := s.steps(), s.records()
	if it.words != nil {
		if output, err = s.session.command(it); err != nil || s.ctx.Err() != nil {
			return "", cmp.Or(s.ctx.Err(), err)
		}
	}
	s.played = append(s.played, played{it, output, before, records})
	return output, nil
}

// steps returns the number of steps that the engine has taken since the cluster was ready.
func (s *Shell) steps() uint64 {
	if s.session.cluster == nil {
		return 0
	}
	return s.session.cluster.Engine().Steps() - s.session.began
}

// records returns the number of records that there are, with those that the trace has dropped.
func (s *Shell) records() int {
	if s.session.cluster == nil {
		return 0
	}
	return s.session.trace().Len()
}

// First returns the number of the first record to which Fork can go: the last that there was when the shell was attached.
func (s *Shell) First() int { return s.first }

// Lines returns the commands so far, without their input.
func (s *Shell) Lines() []string {
	lines := []string{}
	for _, p := range s.played {
		if p.words != nil {
			lines = append(lines, p.text)
		}
	}
	return lines
}

// Script returns the commands so far as a script, with what they printed. Played again, it has the same records.
func (s *Shell) Script() string {
	var b strings.Builder
	for i, p := range s.played {
		if p.words == nil {
			b.WriteString(p.text + "\n")
			continue
		}
		b.WriteString(p.printed(p.output))
		if i+1 < len(s.played) {
			b.WriteByte('\n')
		}
	}
	return b.String()
}

// errAttached is the error of going back where others drive the cluster.
var errAttached = errors.New("this cluster is served to others, and what they have seen cannot be undone")

// BackOne goes back to before the last command and returns its line.
func (s *Shell) BackOne() (line string, err error) {
	last := len(s.played) - 1
	for last >= 0 && s.played[last].words == nil {
		last--
	}
	switch {
	case s.attached:
		return "", errAttached
	case last < 0:
		return "", errors.New("this is the beginning: no command was played")
	}
	line = s.played[last].text
	return line, s.again(s.played[:last], 0)
}

// Back goes n steps of the engine back (engine.Engine.Steps, in which passing time is none): the run is played again, up to
// there. Of a command in whose middle that is, so many steps are taken, as by the command step, which it returns. n is at least
// 1.
func (s *Shell) Back(n uint64) (line string, err error) {
	now := s.steps()
	switch {
	case s.attached:
		return "", errAttached
	case n < 1:
		return "", errors.New("back: expected a number of steps from 1")
	case n > now:
		return "", fmt.Errorf("back %d: that is before the beginning: the cluster has taken %d steps since it was ready", n, now)
	}
	target := now - n
	end := func(i int) uint64 {
		if i+1 < len(s.played) {
			return s.played[i+1].before
		}
		return now
	}
	keep := 0 // commands that were at their end by then, of which the last may have taken no step
	for keep < len(s.played) && end(keep) <= target {
		keep++
	}
	rest := uint64(0)
	if keep < len(s.played) {
		rest = target - s.played[keep].before
	}
	if err := s.again(s.played[:keep], rest); err != nil || rest == 0 {
		return "", err
	}
	return s.played[len(s.played)-1].text, nil
}

// Fork returns a shell on another cluster, which was made as this shell's was and is as that was when the shell was attached.
// There it plays the commands again up to the first moment at which the record of this number is there; a command other than
// settle, step and run-for is whole. This shell and its cluster stay as they are. If the run is another this time, the error says
// so, and there is no shell.
func (s *Shell) Fork(c *storagesim.Cluster, record int) (*Shell, error) {
	f := Attach(s.ctx, c, s.session.zero, s.options)
	if record < s.first || record >= s.records() {
		return nil, fmt.Errorf("record %d: expected one from %d, the last before the first command, to %d, the last", record, s.first, s.records()-1)
	}
	keep := 0
	for keep < len(s.played) && s.played[keep].records <= record {
		keep++
	}
	part := s.inside(keep-1, record)
	if part {
		keep--
	}
	err := f.replay(s.played[:keep])
	if err == nil && part {
		err = f.stepUntil(func() bool { return f.records() > record })
	}
	if err == nil && f.records() <= record {
		err = errAnother
	}
	if err == nil {
		err = f.repeats(s.session.trace())
	}
	if err != nil {
		return nil, err
	}
	return f, nil
}

// inside reports whether a command takes steps, of which some come after the record of this number.
func (s *Shell) inside(command, record int) bool {
	if command < 0 || len(s.played[command].words) == 0 {
		return false
	}
	end := s.records()
	if command+1 < len(s.played) {
		end = s.played[command+1].records
	}
	return end > record+1 && slices.Contains([]string{"settle", "step", "run-for"}, s.played[command].words[0])
}

// again plays commands in a new cluster, and then takes steps. If that is not what happened the first time, it says so.
func (s *Shell) again(commands []played, steps uint64) (err error) {
	old := s.session
	s.session, s.played = s.newSession(), nil
	err = errors.Join(old.close(), s.replay(commands))
	if err == nil && steps > 0 {
		target := s.steps() + steps
		err = s.stepUntil(func() bool { return s.steps() >= target })
	}
	if err != nil || old.cluster == nil {
		return err
	}
	return s.repeats(old.trace())
}

// replay plays commands anew.
func (s *Shell) replay(commands []played) error {
	for _, p := range commands {
		if _, err := s.Do(p.text, p.input...); err != nil {
			return err
		}
	}
	return nil
}

// stepUntil takes steps until a moment has come, as one command.
func (s *Shell) stepUntil(come func() bool) error {
	n := 0
	engine := s.session.cluster.Engine()
	// Passing time is a step of the command, and none of the engine: so the number for the command is found by taking them.
	before, records := s.steps(), s.records()
	for !come() {
		more, err := s.session.cluster.Engine().Step()
		if n++; err != nil || !more {
			return err
		}
	}
	line := fmt.Sprintf("step %d", n)
	c := &call{session: s.session, cmd: &command{name: "step"}}
	c.tell(c.news(), func(e trace.Entry) bool { return !trace.IsDetail(e.Record.Topic()) })
	c.told = engine.Trace().Len()
	words, err := split(line)
	s.played = append(s.played, played{item{line: 1, text: line, words: words}, c.String(), before, records})
	return err
}

// errAnother is the error of a run that is another the second time.
var errAnother = errors.New("the run did not repeat itself: something in it has goroutines of its own, or reads the real clock")

// repeats returns an error unless the shell's records begin those of another run, by time, actor and sentence, as far as both have them still.
func (s *Shell) repeats(other *trace.Log) error {
	if s.session.cluster == nil {
		return nil
	}
	first, all := other.Page(0, math.MaxInt)
	begin, again := s.session.trace().Page(0, math.MaxInt)
	same := begin+len(again) <= first+len(all)
	for n := max(first, begin); same && n < begin+len(again); n++ {
		e, before := again[n-begin], all[n-first]
		same = e.Time.Equal(before.Time) && e.Actor == before.Actor && e.Record.String() == before.Record.String()
	}
	if !same {
		return errAnother
	}
	return nil
}
