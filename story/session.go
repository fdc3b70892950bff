package story

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/storagesim/storagesim"
	"github.com/storagesim/storagesim/api/registry"
	"github.com/storagesim/storagesim/engine"
	"github.com/storagesim/storagesim/internal/prose"
	"github.com/storagesim/storagesim/internal/tables"
	"github.com/storagesim/storagesim/internal/terminal"
	"github.com/storagesim/storagesim/story/bundled"
	"github.com/storagesim/storagesim/trace"
)

// Options say how to play a story. The zero value is right for most.
type Options struct {
	// Dir is the directory for the nodes' directories, which stay. Default: "", the
	// nodes have their files in memory.
	Dir string
	// Seed replaces the seed of the script's cluster, unless it is 0.
	Seed uint64
	// Width is the number of columns that a line of the outputs may have, except in
	// files: a longer one continues on the next line, and tables leave out columns that are empty or the same in each row. Default
	// DefaultWidth, and tables of any width; negative means any number.
	Width int
	// WrapComments wraps the script's own comments at Width, too. Its commands and their input stay as they are.
	WrapComments bool
	// AllowFiles are folders whose files -f may name, besides those of the script's
	// own folder.
	AllowFiles []string
	// Keep, if set, chooses of what the outputs of settle, run-for and step tell, beside what a command itself asks for.
	Keep func(trace.Entry) bool
	// Missed, if set, is told at the end of each fault of the script that struck nothing.
	Missed func(fault string)
	// Files, if set, has the files that -f names, in place of folders of this machine.
	Files fs.FS
	// Expected, if set, is told what came of each command expect, and the story goes on where one is not met.
	Expected func(Expectation)
	// Refused, if set, is told of each command that the cluster refuses, without those after "!".
	Refused func(file string, line int, problem string)
	// MostTime, unless it is 0, is the most virtual time that one run-for may let pass.
	MostTime time.Duration
	// RecordValues makes the trace keep what only views ask for: see storagesim.Config.
	RecordValues bool
	// StandIns has what nothing serves stood in for before objects are applied, as the setting stand-ins=yes of a script.
	StandIns bool
	// MoreCommands names the commands that a program has beside those of stories, for the error of an unknown one.
	MoreCommands []string
	// Watch, if set, is called with each comment and each command before it is played, and with the cluster as it is then, which is nil before
	// the first command that needs one. In the end it is called with "" while the cluster is still open.
	Watch func(c *storagesim.Cluster, line string)
}

// DefaultWidth is the width of outputs unless Options say otherwise.
const DefaultWidth = terminal.DefaultWidth

// Run plays a script and returns it with the outputs it gave. name is the file's
// name, for errors and for files that the script names. It returns the output up to
// an error, too.
func Run(name, script string) (output string, err error) {
	var b strings.Builder
	err = Play(context.Background(), &b, name, script, Options{})
	return b.String(), err
}

// Play plays a script and writes it, with the outputs it gives, as it goes. When
// ctx ends it stops, with ctx's error, and does not write what the command that
// was being run has printed.
func Play(ctx context.Context, w io.Writer, name, script string, o Options) (err error) {
	parsed, err := parse(name, script)
	if err != nil {
		return err
	}
	s := &session{ctx: ctx, file: name, options: o, tableWidth: max(o.Width, 0), zero: engine.Start()}
	if o.Width == 0 {
		s.options.Width = DefaultWidth
	}
	defer func() { err = errors.Join(err, s.close()) }()
	for _, it := range parsed.items {
		if err := ctx.Err(); err != nil {
			return err
		}
		if it.text != "" {
			s.watch(it.text)
		}
		text := it.text + "\n"
		if o.WrapComments && it.words == nil && it.text != "" {
			text = s.wrapComment(it.text) + "\n"
		}
		if it.words != nil {
			output, err := s.command(it)
			switch {
			case ctx.Err() != nil:
				return ctx.Err()
			case err != nil:
				return &Error{name, it.line, err.Error()}
			}
			text = it.printed(output)
		}
		if _, err := io.WriteString(w, text); err != nil {
			return err
		}
	}
	if s.cluster != nil && o.Missed != nil {
		for _, fault := range s.cluster.Lab().MissedFaults() {
			o.Missed(fault)
		}
	}
	s.watch("")
	return nil
}

// wrapComment wraps a comment, so that each of its lines is one.
func (s *session) wrapComment(line string) string {
	mark, text, _ := strings.Cut(line, "#")
	mark += "#"
	return mark + strings.ReplaceAll(prose.Wrap(text, s.options.Width-len(mark), 0), "\n", "\n"+mark)
}

// session is a story being played.
type session struct {
	ctx     context.Context
	file    string
	options Options
	cluster *storagesim.Cluster
	stop    func() bool // ends the wait for ctx's end
	told    int         // trace records already told
	zero    time.Time   // the moment from which times are counted
	began   uint64      // steps that were taken when the cluster was ready
	// tableWidth is the width of tables; 0 for any.
	tableWidth int
	// standIns has what nothing serves stood in for before objects are applied.
	standIns bool
	// noFiles refuses to read files.
	noFiles bool
}

// watch tells Options.Watch what comes next.
func (s *session) watch(line string) {
	if s.options.Watch != nil {
		s.options.Watch(s.cluster, line)
	}
}

func (s *session) close() error {
	if s.cluster == nil {
		return nil
	}
	s.stop()
	return s.cluster.Close()
}

// misuse is an error in the script, not in the story.
type misuse struct{ error }

// command runs a command and returns what it printed. The error is one of the
// script. A command that must fail prints how it is used wrongly, so that a story can show a typo.
func (s *session) command(it item) (string, error) {
	output, err := s.run(it)
	m := misuse{}
	if !it.fails || !errors.As(err, &m) {
		return output, err
	}
	c := &call{session: s}
	c.say("error: %v", m)
	return output + c.out.String(), nil
}

// run runs a command and returns what it printed. The error is one of the script: a misuse, an expectation that is not met, or a command that must
// fail and does not.
func (s *session) run(it item) (string, error) {
	cmd, err := find(it.words[0], s.options.MoreCommands...)
	if err != nil {
		return "", err
	}
	if it.input != nil && !cmd.input {
		return "", misuse{fmt.Errorf("%s takes no input; expected an empty line or ---- below the command", cmd.name)}
	}
	if s.cluster == nil && cmd.name != "cluster" && cmd.name != "help" {
		if err := s.start(storagesim.Config{Nodes: storagesim.Nodes("node-1", "node-2"), TakePrograms: true}, []string{"openebs"}, nil); err != nil {
			return "", err
		}
	}
	c := &call{session: s, cmd: cmd, line: it.line, input: s.fullIDs(it.input)}
	c.flags = newFlags(cmd)
	if err := c.flags.Parse(s.fullIDs(it.words[1:])); err != nil {
		return "", misuse{fmt.Errorf("%s: %w; usage: %s", cmd.name, flagError(err), cmd.usage)}
	}
	c.args = c.flags.Args()
	if s.cluster != nil {
		s.cluster.Lab().OnWarning(c.warn)
		defer s.cluster.Lab().OnWarning(nil)
	}
	err = cmd.run(c)
	if u := unmet(""); errors.As(err, &u) {
		return "", fmt.Errorf("%s: %w", cmd.name, u)
	}
	if m := (misuse{}); errors.As(err, &m) {
		return c.out.String(), misuse{fmt.Errorf("%s: %w; usage: %s", cmd.name, m.error, cmd.usage)}
	}
	if err != nil {
		c.say("%s", s.scrub(refusal(err)))
		if s.options.Refused != nil && !it.fails {
			s.options.Refused(s.file, it.line, refusal(err))
		}
	} else if it.fails {
		return "", fmt.Errorf("%s must fail, as the ! before it says, and it did not", cmd.name)
	}
	return c.out.String(), nil
}

// fullIDs replaces shortened identifiers, as transcripts have them, by full ones.
func (s *session) fullIDs(words []string) []string {
	if s.cluster == nil || words == nil {
		return words
	}
	full := make([]string, len(words))
	for i, word := range words {
		full[i] = s.cluster.Trace().FullIDs(word)
	}
	return full
}

// scrub keeps the name of Options.Dir out of a transcript.
func (s *session) scrub(text string) string {
	if dir := s.cluster.Lab().Dir(); dir != "" {
		text = strings.ReplaceAll(text, dir+string(filepath.Separator), "")
	}
	return text
}

// start makes the cluster and lets its nodes become ready.
func (s *session) start(cfg storagesim.Config, provisioners []string, disks []bundled.Disk, drivers ...bundled.StandIn) (err error) {
	if cfg.Dir = s.options.Dir; cfg.Dir == "" {
		cfg.Disks = storagesim.MemoryDisks
	}
	cfg.RecordValues = s.options.RecordValues
	if s.options.Seed != 0 {
		cfg.Seed = s.options.Seed
	}
	cluster, err := storagesim.New(cfg)
	if err != nil {
		return misuse{err}
	}
	s.cluster = cluster
	s.stop = context.AfterFunc(s.ctx, cluster.Engine().Interrupt)
	defer func() {
		if errors.As(err, &misuse{}) { // a story that shows this mistake goes on, and with another cluster
			err = errors.Join(err, s.close())
			s.cluster = nil
		}
	}()
	for _, d := range disks {
		if err := bundled.MakeDisk(cluster, d); err != nil {
			return misuse{err}
		}
	}
	for _, name := range provisioners {
		if err := bundled.Install(cluster, name); err != nil {
			return err
		}
	}
	for _, driver := range drivers {
		if err := bundled.InstallStandIn(cluster, driver); err != nil {
			return misuse{err}
		}
	}
	if err := cluster.Settle(); err != nil {
		return err
	}
	s.told = s.trace().Len()
	s.began = s.cluster.Engine().Steps()
	return nil
}

func (s *session) trace() *trace.Log { return s.cluster.Engine().Trace() }

// kinds returns the registry of the cluster's server.
func (s *session) kinds() *registry.Registry { return s.cluster.Engine().Server().Registry() }

func (s *session) view() tables.View {
	return tables.View{Kinds: s.kinds(), Objects: s.cluster.Engine().Server().Objects(true), Now: s.cluster.Now(), Shorten: s.cluster.Trace().ShortIDs,
		Width: s.tableWidth}
}

// warn prints what the server warns of, each text once, as kubectl does.
// Upstream: client-go rest/warnings.go warningWriter.HandleWarningHeader, v0.37.2.
func (c *call) warn(text string) {
	if text == "" || slices.Contains(c.warned, text) {
		return
	}
	c.warned = append(c.warned, text)
	c.say("Warning: %s", text)
}

// out is a call's output.
type out struct{ bytes.Buffer }

// hang is the indentation of the second line of a sentence.
const hang = 4

// say prints sentences: identifiers are short, and what is too wide is wrapped.
func (c *call) say(format string, args ...any) {
	text := strings.TrimSuffix(fmt.Sprintf(format, args...), "\n")
	if c.cluster != nil {
		text = c.cluster.Trace().ShortIDs(text)
	}
	c.WriteString(prose.Wrap(text, c.options.Width, hang) + "\n")
}
