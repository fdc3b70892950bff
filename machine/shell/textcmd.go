package shell

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/storagesim/storagesim/machine/disk"
)

// inputs calls f with each named file, or with the standard input.
func inputs(p *Process, names []string, f func(name string, data []byte) error) error {
	if len(names) == 0 {
		names = []string{"-"}
	}
	var errs []error
	for _, name := range names {
		data, err := p.input(name)
		if err != nil {
			errs = append(errs, fmt.Errorf("%s: %s: %w", p.Argv[0], name, reason(err)))
		}
		if err != nil && (p.Argv[0] != "wc" || !errors.Is(err, errIsDirectory)) { // wc counts a directory as empty
			continue
		}
		errs = append(errs, f(name, data))
	}
	return errors.Join(errs...)
}

// input returns a file, or the standard input.
func (p *Process) input(name string) ([]byte, error) {
	full := p.Path(name)
	switch {
	case name == "-" || full == "/dev/stdin":
		return p.Stdin.all()
	case name == "":
		return nil, errNoFile
	case readDevice(full) != nil && p.upTo > 0:
		return p.program.endless(full, p.upTo)
	}
	return p.program.read(full)
}

// endless returns the first bytes of a device that has no end.
func (p *Program) endless(name string, n int) ([]byte, error) {
	if n > rootSize {
		return nil, disk.ErrTooLarge
	}
	p.work(n)
	data := make([]byte, n)
	for i := range data {
		if strings.HasSuffix(name, "random") {
			data[i] = byte(p.nextRandom())
		}
	}
	return data, nil
}

func (p *Process) write(data []byte) error {
	_, err := p.Stdout.Write(data)
	if err != nil {
		return fmt.Errorf("%s: write error: %w", p.Argv[0], reason(err))
	}
	return nil
}

// cat prints files.
func cat(p *Process) error {
	_, names, err := options(p.Argv, "u", "")
	if err != nil {
		return err
	}
	if p.reads(names) {
		return p.eachPart(false, p.write)
	}
	return inputs(p, names, func(_ string, data []byte) error { return p.write(data) })
}

// reads reports whether a command reads what another one writes meanwhile, and no file.
func (p *Process) reads(names []string) bool {
	return p.Stdin.pipe != nil && (len(names) == 0 || len(names) == 1 && names[0] == "-")
}

// eachPart calls f with what there is of the standard input, in whole lines or as it comes, and again when there is more, to its end or an error.
func (p *Process) eachPart(lines bool, f func(data []byte) error) error {
	for {
		data, more, err := p.Stdin.some(lines)
		if err == nil && len(data) > 0 {
			p.program.step(1)
			err = f(data)
		}
		if err != nil || !more {
			return err
		}
	}
}

// tee prints its input and writes it to files.
func tee(p *Process) error {
	flags, names, err := options(p.Argv, "a", "")
	if err != nil {
		return err
	}
	var errs []error
	var files []string
	for _, name := range names {
		full := p.Path(name)
		open := p.program.files.create
		if has(flags, "a") {
			open = p.program.files.appendTo
		}
		if err := open(full, p.umask); err != nil {
			errs = append(errs, fmt.Errorf("tee: %s: %w", name, reason(err)))
			continue
		}
		p.worksOn(full)
		files = append(files, name)
	}
	err = p.eachPart(false, func(data []byte) error {
		failed := []error{p.write(data)}
		for _, name := range files {
			if err := p.program.files.write(p.Path(name), data); err != nil {
				failed = append(failed, fmt.Errorf("tee: %s: %w", name, reason(err)))
			}
		}
		return errors.Join(failed...)
	})
	return errors.Join(append(errs, err)...)
}

// echo prints its arguments: with -n without a line end, with -e with escapes.
func echo(p *Process) error {
	args, newline, escapes := p.Argv[1:], true, false
	for len(args) > 0 && len(args[0]) > 1 && args[0][0] == '-' && strings.Trim(args[0][1:], "neE") == "" {
		for _, flag := range args[0][1:] {
			switch flag {
			case 'n':
				newline = false
			case 'e':
				escapes = true
			default:
				escapes = false
			}
		}
		args = args[1:]
	}
	text := strings.Join(args, " ")
	if escapes {
		var ends bool
		text, ends = unescape(text, false)
		newline = newline && !ends
	}
	if newline {
		text += "\n"
	}
	return p.write([]byte(text))
}

// headCount reads the options of head and tail: "-n 5", "-5", "-c 10".
func headCount(p *Process, plain string) (n int, bytes bool, from bool, flags map[string]string, names []string, err error) {
	argv := slices.Clone(p.Argv)
	for i, word := range argv {
		if _, err := strconv.Atoi(word); err == nil && strings.HasPrefix(word, "-") && i > 0 && !slices.Contains([]string{"-n", "-c"}, argv[i-1]) {
			argv[i] = "-n" + word[1:]
		}
	}
	flags, names, err = options(argv, plain, "nc")
	text := "10"
	if value, ok := flags["n"]; ok {
		text = value
	}
	if value, ok := flags["c"]; ok {
		text, bytes = value, true
	}
	from = strings.HasPrefix(text, "+")
	if n, _ = strconv.Atoi(text); err == nil && text != strconv.Itoa(n) && !from {
		err = fmt.Errorf("%s: invalid number '%s'", p.Argv[0], text)
	}
	return n, bytes, from, flags, names, err
}

// head prints the beginning of files.
func head(p *Process) error {
	n, inBytes, _, flags, names, err := headCount(p, "q")
	if err != nil {
		return err
	}
	if inBytes {
		p.upTo = n
	}
	if !inBytes && n >= 0 && p.reads(names) {
		return p.firstLines(n)
	}
	return p.parts(names, has(flags, "q"), func(data []byte) []byte {
		switch {
		case inBytes && n < 0:
			return data[:max(0, len(data)+n)]
		case inBytes:
			return data[:min(n, len(data))]
		case n < 0:
			return data[:lineStart(data, max(0, bytes.Count(data, []byte{'\n'})+n))]
		}
		return data[:lineStart(data, n)]
	})
}

// firstLines prints the first lines of an input that a program writes meanwhile, and ends with the last one.
func (p *Process) firstLines(n int) error {
	out := &blocks{Process: p.another(p.Argv), told: true}
	err := p.eachPart(true, func(data []byte) error {
		part := data[:lineStart(data, n)]
		n -= bytes.Count(part, []byte{'\n'})
		if _, err := out.Write(part); err != nil || n > 0 {
			return err
		}
		return io.EOF
	})
	if err == nil || errors.Is(err, io.EOF) {
		return out.flush()
	}
	return err
}

// lineStart returns where line n of data begins, counted from 0.
func lineStart(data []byte, n int) int {
	at := 0
	for range n {
		end := bytes.IndexByte(data[at:], '\n')
		if end < 0 {
			return len(data)
		}
		at += end + 1
	}
	return at
}

// parts prints a part of each file, with a title if there are several.
func (p *Process) parts(names []string, quiet bool, part func(data []byte) []byte) error {
	first := true
	return inputs(p, names, func(name string, data []byte) error {
		if len(names) > 1 && !quiet {
			title := fmt.Sprintf("==> %s <==\n", name)
			if !first {
				title = "\n" + title
			}
			first = false
			if err := p.write([]byte(title)); err != nil {
				return err
			}
		}
		return p.write(part(data))
	})
}

// seq prints numbers.
func seq(p *Process) error {
	bounds := []int{1, 1, 0} // first, step, last
	args := p.Argv[1:]
	at := map[int][]int{1: {2}, 2: {0, 2}, 3: {0, 1, 2}}[len(args)]
	if at == nil {
		return errors.New("seq: usage: seq [FIRST [STEP]] LAST")
	}
	for i, text := range args {
		n, err := strconv.Atoi(text)
		if err != nil {
			return fmt.Errorf("seq: invalid argument '%s': only whole numbers are supported", text)
		}
		bounds[at[i]] = n
	}
	first, step, last := bounds[0], bounds[1], bounds[2]
	if step == 0 {
		return errors.New("seq: the step must not be 0")
	}
	for n := first; step > 0 && n <= last || step < 0 && n >= last; n += step {
		p.program.step(1)
		if err := p.printf("%d\n", n); err != nil {
			return err
		}
		if next := n + step; (next > n) != (step > 0) { // past the largest number
			break
		}
	}
	return nil
}

// basename prints the last element of a path.
func basename(p *Process) error {
	switch len(p.Argv) {
	case 1:
		return errors.New("basename: missing operand")
	case 2:
		return p.printf("%s\n", path.Base(p.Argv[1]))
	}
	base := path.Base(p.Argv[1])
	if cut, ok := strings.CutSuffix(base, p.Argv[2]); ok && cut != "" {
		base = cut
	}
	return p.printf("%s\n", base)
}

// dirname prints a path without its last element.
func dirname(p *Process) error {
	if len(p.Argv) < 2 {
		return errors.New("dirname: missing operand")
	}
	for _, name := range p.Argv[1:] {
		name = strings.TrimRight(name, "/")
		at := strings.LastIndexByte(name, '/')
		dir := "."
		switch {
		case at < 0 && strings.HasPrefix(p.Argv[1], "/") || at == 0:
			dir = "/"
		case at > 0:
			dir = strings.TrimRight(name[:at], "/")
			if dir == "" {
				dir = "/"
			}
		}
		if err := p.printf("%s\n", dir); err != nil {
			return err
		}
	}
	return nil
}
