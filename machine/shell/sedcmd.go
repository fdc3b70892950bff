package shell

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strings"

	"github.com/storagesim/storagesim/machine/disk"
)

// sedOptions are the options of sed.
type sedOptions struct {
	quiet, extended, separate, inPlace, unbuffered bool

	suffix  string
	scripts []string
	files   []string
}

// sed edits lines with the commands of sedCommands. What else the program knows is refused.
func sed(p *Process) error {
	o, err := sedArguments(p)
	if err != nil {
		return fmt.Errorf("sed: %w", err)
	}
	if len(o.scripts) == 0 {
		if len(o.files) == 0 {
			return errors.New("sed: usage: sed [-nErsu] [-i[SUFFIX]] [-e SCRIPT] [-f FILE] [SCRIPT] [FILE...]")
		}
		o.scripts, o.files = o.files[:1], o.files[1:]
	}
	text := strings.Join(o.scripts, "\n")
	if len(text) > maxScript {
		return fmt.Errorf("sed: a script of more than %d bytes", maxScript)
	}
	parser := &sedParser{program: p.program, text: text, extended: o.extended}
	defer func() { p.program.hold(-parser.held) }()
	script, err := parser.commands(false)
	if err != nil {
		return fmt.Errorf("sed: %w", err)
	}
	e := &sedRun{Process: p, script: script, quiet: o.quiet || strings.HasPrefix(text+"\n", "#n\n"), ahead: parser.usesLast}
	err = e.edit(o)
	if err == nil || errors.Is(err, errSedQuits) {
		return e.exit()
	}
	return &ExitError{2, err.Error()}
}

// sedArguments reads the options.
func sedArguments(p *Process) (o sedOptions, err error) {
	plain := map[string]string{"--quiet": "-n", "--silent": "-n", "--regexp-extended": "-E", "--separate": "-s", "--unbuffered": "-u", "--in-place": "-i"}
	args := p.Argv[1:]
	for len(args) > 0 {
		word := args[0]
		args = args[1:]
		if short, ok := plain[word]; ok {
			word = short
		}
		for long, short := range map[string]string{"--expression=": "-e", "--file=": "-f", "--in-place=": "-i"} {
			if value, ok := strings.CutPrefix(word, long); ok {
				word = short + value
			}
		}
		if word == "--" {
			o.files = append(o.files, args...)
			return o, nil
		}
		if len(word) < 2 || word[0] != '-' {
			o.files = append(o.files, word)
			continue
		}
		if args, err = o.cluster(p, word, args); err != nil {
			return o, err
		}
	}
	return o, nil
}

// cluster reads options that are joined in a word, and returns the arguments after it without those that are theirs.
func (o *sedOptions) cluster(p *Process, word string, args []string) (rest []string, err error) {
	for i := 1; i < len(word); i++ {
		switch word[i] {
		case 'n':
			o.quiet = true
		case 'E', 'r':
			o.extended = true
		case 's':
			o.separate = true
		case 'u':
			o.unbuffered = true
		case 'i':
			o.inPlace, o.separate, o.suffix = true, true, word[i+1:]
			if strings.ContainsAny(o.suffix, "*/") {
				return nil, fmt.Errorf("this simulation does not know the suffix '%s'", o.suffix)
			}
			return args, nil
		case 'e', 'f':
			value := word[i+1:]
			if value == "" {
				if len(args) == 0 {
					return nil, fmt.Errorf("option requires an argument -- '%c'", word[i])
				}
				value, args = args[0], args[1:]
			}
			if word[i] == 'f' {
				data, err := p.input(value)
				if err != nil {
					return nil, fmt.Errorf("%s: %w", value, reason(err))
				}
				value = strings.TrimSuffix(string(data), "\n")
			}
			o.scripts = append(o.scripts, value)
			return args, nil
		default:
			return nil, fmt.Errorf("option %q of %q is not one of those this simulation knows: nErsuief", word[i:i+1], word)
		}
	}
	return args, nil
}

// errSedQuits ends the input after q.
var errSedQuits = errors.New("sed quits")

// sedRun applies a script to lines.
type sedRun struct {
	*Process
	script []*sedCommand
	quiet  bool
	ahead  bool // a line waits until it is known whether it is the last one

	to       io.Writer
	waiting  *string
	number   int
	missing  bool // the last line that was written has no end
	line     string
	ended    bool // the line at hand has an end
	last     bool // it is the last one
	appended []string
	used     *sedExpression // the last one
	quits    bool
	code     int32
}

// exit returns the exit code of q.
func (e *sedRun) exit() error {
	if e.code == 0 {
		return nil
	}
	return &ExitError{Code: e.code}
}

// edit runs the script over all files.
func (e *sedRun) edit(o sedOptions) error {
	if o.inPlace {
		return e.inPlace(o)
	}
	kept := &blocks{Process: e.Process, told: !e.reads(o.files)}
	e.to = kept
	if o.unbuffered {
		e.to = e.Stdout
	}
	err := e.all(o)
	return errors.Join(err, kept.flush())
}

func (e *sedRun) all(o sedOptions) error {
	if e.reads(o.files) {
		if err := e.eachPart(true, e.feed); err != nil {
			return err
		}
		return e.end()
	}
	err := inputs(e.Process, o.files, func(_ string, data []byte) error {
		if e.quits {
			return nil
		}
		err := e.feed(data)
		if err == nil && o.separate {
			err = e.end()
			e.number = 0
		}
		return err
	})
	if !e.quits {
		err = errors.Join(err, e.end())
	}
	return err
}

// inPlace edits each file, whose mode and owner stay.
func (e *sedRun) inPlace(o sedOptions) error {
	if len(o.files) == 0 {
		return errors.New("sed: no input files")
	}
	var errs []error
	for _, name := range o.files {
		data, err := e.program.read(e.Path(name))
		if err != nil {
			errs = append(errs, fmt.Errorf("sed: can't read %s: %w", name, reason(err)))
			continue
		}
		out := &sedFile{program: e.program}
		e.to, e.number, e.missing = out, 0, false
		if err = e.feed(data); err == nil {
			err = e.end()
		}
		quits := errors.Is(err, errSedQuits)
		if quits { // the rest stays as it is
			err = out.rest(data, e.number)
		}
		if err == nil && o.suffix != "" {
			err = e.put(name+o.suffix, data)
		}
		if err == nil {
			err = e.put(name, out.data)
		}
		e.program.hold(-out.held)
		if err != nil {
			errs = append(errs, fmt.Errorf("sed: couldn't edit %s: %w", name, reason(err)))
		}
		if quits {
			break
		}
	}
	return errors.Join(errs...)
}

func (e *sedRun) put(name string, data []byte) error {
	return e.Do(name, true, func(dir *disk.Disk, inside string) error {
		if info, err := dir.Stat(inside); err == nil && !info.Mode().IsRegular() {
			return fs.ErrInvalid
		}
		return dir.WriteFile(inside, data, 0o666)
	})
}

// sedFile holds the new text of an edited file.
type sedFile struct {
	program *Program
	data    []byte
	held    int
}

// Write implements io.Writer.
func (f *sedFile) Write(data []byte) (int, error) {
	if len(f.data)+len(data) > rootSize {
		return 0, disk.ErrTooLarge
	}
	f.program.hold(len(data))
	f.held += len(data)
	f.program.work(len(data))
	f.data = append(f.data, data...)
	return len(data), nil
}

// rest adds the lines after line n.
func (f *sedFile) rest(data []byte, n int) error {
	_, err := f.Write(data[lineStart(data, n):])
	return err
}

// feed takes more lines.
func (e *sedRun) feed(data []byte) error {
	for line := range strings.Lines(string(data)) {
		if !e.ahead {
			if err := e.cycle(line, false); err != nil {
				return err
			}
			continue
		}
		if e.waiting != nil {
			if err := e.cycle(*e.waiting, false); err != nil {
				return err
			}
		}
		e.waiting = &line
	}
	return nil
}

// end takes the line that waits for the last one.
func (e *sedRun) end() error {
	if e.waiting == nil {
		return nil
	}
	line := *e.waiting
	e.waiting = nil
	return e.cycle(line, true)
}

// cycle runs the script for a line.
func (e *sedRun) cycle(line string, last bool) error {
	e.program.step(1)
	e.number++
	e.line, e.ended = strings.CutSuffix(line, "\n")
	e.last, e.appended = last, e.appended[:0]
	flow, err := e.commands(e.script)
	if err == nil && flow != sedDeletes && !e.quiet {
		err = e.print(e.line, e.ended)
	}
	for _, text := range e.appended {
		if err == nil {
			err = e.print(text, false)
			e.missing = false
		}
	}
	if err == nil && flow == sedQuits {
		err = errSedQuits
	}
	return err
}

// print writes a line, after the end that the one before it lacks.
func (e *sedRun) print(text string, ended bool) error {
	if e.missing {
		text = "\n" + text
	}
	if e.missing = !ended; ended {
		text += "\n"
	}
	e.program.work(len(text))
	_, err := io.WriteString(e.to, text)
	return err
}

// sedFlow says how a line goes on.
type sedFlow int

const (
	sedGoesOn sedFlow = iota
	sedDeletes
	sedQuits
)

func (e *sedRun) commands(list []*sedCommand) (flow sedFlow, err error) {
	for _, c := range list {
		e.program.work(100)
		if e.selects(c) == c.not {
			continue
		}
		if flow, err = e.command(c); flow != sedGoesOn || err != nil {
			return flow, err
		}
	}
	return sedGoesOn, nil
}

func (e *sedRun) command(c *sedCommand) (flow sedFlow, err error) {
	switch c.name {
	case '{':
		return e.commands(c.block)
	case 'd':
		return sedDeletes, nil
	case 'q':
		e.quits, e.code = true, c.code
		return sedQuits, nil
	case 'p':
		err = e.print(e.line, e.ended)
	case '=':
		err = e.print(fmt.Sprint(e.number), true)
	case 'a':
		e.appended = append(e.appended, c.text)
	case 'i':
		err = e.print(strings.TrimSuffix(c.text, "\n"), true)
	case 'c':
		if c.to == nil || c.not || !c.active {
			err = e.print(strings.TrimSuffix(c.text, "\n"), true)
		}
		return sedDeletes, err
	case 'y':
		e.program.work(len(e.line))
		e.line = strings.Map(func(r rune) rune {
			if to, ok := c.runes[r]; ok {
				return to
			}
			return r
		}, e.line)
	case 's':
		err = e.substitute(c.change)
	}
	return sedGoesOn, err
}

func (e *sedRun) substitute(c *sedChange) error {
	x, err := e.expression(c.match)
	if err != nil {
		return err
	}
	line, changed := c.apply(e.program, x, e.line)
	if e.line = line; changed && c.print {
		return e.print(line, e.ended)
	}
	return nil
}

// expression returns the expression to use: an empty one is the last one that was used.
func (e *sedRun) expression(x *sedExpression) (*sedExpression, error) {
	if x != nil {
		e.used = x
	}
	if e.used == nil {
		return nil, errors.New("sed: no previous regular expression")
	}
	return e.used, nil
}

// selects reports whether the addresses of a command select the line.
func (e *sedRun) selects(c *sedCommand) bool {
	switch {
	case c.from == nil:
		return true
	case c.to == nil:
		return e.isAt(c.from)
	case !c.active:
		if !e.isAt(c.from) {
			return false
		}
		c.active = true
		switch to := c.to; {
		case to.plus:
			c.end = e.number + to.line
			c.active = c.end > e.number
		case !to.matches && !to.last:
			c.end = to.line
			c.active = c.end > e.number
		case to.last:
			c.active = !e.last
		}
		return true
	}
	if !c.to.matches && !c.to.last {
		c.active = e.number < c.end
		return e.number <= c.end
	}
	c.active = !e.isAt(c.to)
	return true
}

// isAt reports whether the line is at an address.
func (e *sedRun) isAt(a *sedAddress) bool {
	switch {
	case a.last:
		return e.last
	case a.matches:
		x, err := e.expression(a.match)
		return err == nil && x.first.find(e.program, e.line, 0) != nil
	}
	return e.number == a.line
}
