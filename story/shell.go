package story

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
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
	played   []played
}

// played is a command that was played.
type played struct {
	item
	output string
	// before is the number of steps that the engine had taken before it, counted from the moment at which the cluster was ready.
	before uint64
}

// NewShell returns a shell whose first command makes the cluster. Options.Watch and Options.Missed are not used.
func NewShell(ctx context.Context, o Options) *Shell {
	s := &Shell{ctx: ctx, options: o}
	s.session = s.newSession()
	return s
}

// Attach returns a shell for a cluster that is there already, whose times are told from a moment on. It cannot go back, no command reads files, and Close leaves the cluster open. Call Do
// where nothing else uses the engine.
func Attach(ctx context.Context, c *storagesim.Cluster, zero time.Time, o Options) *Shell {
	s := NewShell(ctx, o)
	s.attached = true
	s.session.zero, s.session.noFiles = zero, true
	s.session.cluster = c
	s.session.stop = func() bool { return true }
	s.session.told = s.session.trace().Len()
	return s
}

func (s *Shell) newSession() *session {
	o := s.options
	o.Watch, o.Missed = nil, nil
	new := &session{ctx: s.ctx, file: "shell", options: o, tableWidth: max(o.Width, 0), zero: engine.Start()}
	new.options.Width = cmp.Or(o.Width, DefaultWidth)
	return new
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
	it := item{line: 1, text: line}
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

// Play plays a script on the shell's cluster and writes it with the outputs it gives. name is the script's name, for errors. allowed, unless it is empty, are the names of the commands
// that it may have. The first command that does not exist, is not allowed, or is not written as its usage says ends it with an *Error; those before it have happened.
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
	before := s.steps()
	if it.words != nil {
		if output, err = s.session.command(it); err != nil || s.ctx.Err() != nil {
			return "", cmp.Or(s.ctx.Err(), err)
		}
	}
	s.played = append(s.played, played{it, output, before})
	return output, nil
}

// steps returns the number of steps that the engine has taken since the cluster was ready.
func (s *Shell) steps() uint64 {
	if s.session.cluster == nil {
		return 0
	}
	return s.session.cluster.Engine().Steps() - s.session.began
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

// Back goes n steps of the engine back (engine.Engine.Steps, in which passing time is none): the run is played again, up to there. Of a command in whose middle that is, so many
// steps are taken, as by the command step, which it returns. n is at least 1.
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

// again plays commands in a new cluster, and then takes steps. If that is not what happened the first time, it says so.
func (s *Shell) again(commands []played, steps uint64) (err error) {
	old := *s.session
	var records []trace.Entry
	if old.cluster != nil {
		records = old.trace().Since(0)
	}
	played := slices.Clone(commands)
	s.session, s.played = s.newSession(), nil
	err = old.close()
	for _, p := range played {
		if _, wrong := s.Do(p.text, p.input...); wrong != nil {
			return errors.Join(err, wrong)
		}
	}
	if steps > 0 {
		if wrong := s.stepTo(s.steps() + steps); wrong != nil {
			return errors.Join(err, wrong)
		}
	}
	if s.session.cluster != nil && !begins(records, s.session.trace().Since(0)) {
		err = errors.Join(err, errors.New("the run did not repeat itself: something in it has goroutines of its own, or reads the real clock"))
	}
	return err
}

// stepTo takes steps until the engine has taken so many, as one command.
func (s *Shell) stepTo(target uint64) error {
	n := 0
	engine := s.session.cluster.Engine()
	// Passing time is a step of the command, and none of the engine: so the number for the command is found by taking them.
	before := s.steps()
	for s.steps() < target {
		more, err := s.session.cluster.Step()
		if n++; err != nil || !more {
			return err
		}
	}
	line := fmt.Sprintf("step %d", n)
	c := &call{session: s.session, cmd: &command{name: "step"}}
	c.tell(engine.Trace().Since(c.told), func(e trace.Entry) bool { return !trace.IsDetail(e.Record.Topic()) })
	c.told = engine.Trace().Len()
	words, err := split(line)
	s.played = append(s.played, played{item{line: 1, text: line, words: words}, c.String(), before})
	return err
}

// begins reports whether records begin a list of others, by time, actor and sentence.
func begins(all, first []trace.Entry) bool {
	if len(first) > len(all) {
		return false
	}
	for i, e := range first {
		if !e.Time.Equal(all[i].Time) || e.Actor != all[i].Actor || e.Record.String() != all[i].Record.String() {
			return false
		}
	}
	return true
}
