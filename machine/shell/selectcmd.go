package shell

import (
	"bytes"
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// span is a range of positions, from 1.
type span struct{ low, high int }

// spans reads the list of positions of cut: "1,3-5,7-".
func spans(list string) (all []span, err error) {
	for text := range strings.FieldsFuncSeq(list, func(c rune) bool { return c == ',' || c == ' ' }) {
		low, high, ranged := strings.Cut(text, "-")
		s := span{1, maxHeld}
		if low != "" {
			s.low, err = strconv.Atoi(low)
		}
		if err == nil && high != "" {
			s.high, err = strconv.Atoi(high)
		}
		if !ranged {
			s.high = s.low
		}
		if err != nil || s.low < 1 || s.high < s.low || text == "-" {
			return nil, fmt.Errorf("cut: invalid range '%s': positions are numbers from 1, as in 1,3-5,7-", text)
		}
		if all = append(all, s); len(all) > maxReported {
			return nil, fmt.Errorf("cut: more than %d ranges", maxReported)
		}
	}
	if len(all) == 0 {
		return nil, errors.New("cut: the list of positions is empty")
	}
	return all, nil
}

// cut prints parts of each line: bytes (-b; -c, too), or fields (-f) between delimiters (-d).
func cut(p *Process) error {
	flags, names, err := options(p.Argv, "s", "bcfd")
	if err != nil {
		return err
	}
	list, kinds := "", 0
	for _, kind := range []string{"b", "c", "f"} {
		if has(flags, kind) {
			list, kinds = flags[kind], kinds+1
		}
	}
	delimiter, given := flags["d"]
	fields := has(flags, "f")
	switch {
	case kinds != 1:
		return errors.New("cut: you must specify one list of bytes, characters, or fields: -b, -c or -f")
	case !fields && (given || has(flags, "s")):
		return errors.New("cut: -d and -s make sense only with fields (-f)")
	case !given:
		delimiter = "\t"
	case len(delimiter) != 1:
		return errors.New("cut: the delimiter must be a single character")
	}
	all, err := spans(list)
	if err != nil {
		return err
	}
	return p.eachLine(names, func(line string, out *bytes.Buffer) {
		switch {
		case !fields:
			for i := range len(line) {
				if isIn(p.program, all, i+1) {
					out.WriteByte(line[i])
				}
			}
		case !strings.Contains(line, delimiter):
			if has(flags, "s") {
				return
			}
			out.WriteString(line)
		default:
			writeFields(p.program, out, line, delimiter, all)
		}
		out.WriteByte('\n')
	})
}

func writeFields(p *Program, out *bytes.Buffer, line, delimiter string, all []span) {
	n, first := 0, true
	for field := range strings.SplitSeq(line, delimiter) {
		if n++; !isIn(p, all, n) {
			continue
		}
		if !first {
			out.WriteString(delimiter)
		}
		first = false
		out.WriteString(field)
	}
}

// isIn reports whether a position is in one of the ranges.
func isIn(p *Program, all []span, n int) bool {
	p.work(len(all))
	for _, s := range all {
		if s.low <= n && n <= s.high {
			return true
		}
	}
	return false
}

// eachLine calls f for each line of the files, as they come, and prints what it writes.
func (p *Process) eachLine(names []string, f func(line string, out *bytes.Buffer)) error {
	var out bytes.Buffer
	part := func(data []byte) error {
		for line := range strings.Lines(string(data)) {
			p.program.step(1)
			f(strings.TrimSuffix(line, "\n"), &out)
			if err := p.flush(&out, maxLog); err != nil {
				return err
			}
		}
		return p.flush(&out, 0)
	}
	if p.reads(names) {
		return p.eachPart(true, part)
	}
	return inputs(p, names, func(_ string, data []byte) error { return part(data) })
}

// uniq prints lines that follow each other and are alike once: with -c and their number, with -d only those of which there are several, with -u only the
// others; with -i whatever their case.
func uniq(p *Process) error {
	flags, names, err := options(p.Argv, "cdui", "")
	switch {
	case err != nil:
		return err
	case len(names) > 1:
		return errors.New("uniq: this simulation knows no file for the output: redirect it")
	}
	before, n := "", 0
	show := func(out *bytes.Buffer) {
		switch {
		case n == 0, n == 1 && has(flags, "d"), n > 1 && has(flags, "u"):
		case has(flags, "c"):
			fmt.Fprintf(out, "%7d %s\n", n, before)
		default:
			out.WriteString(before + "\n")
		}
	}
	err = p.eachLine(names, func(line string, out *bytes.Buffer) {
		p.program.work(len(line))
		if n > 0 && (line == before || has(flags, "i") && strings.EqualFold(line, before)) {
			n++
			return
		}
		show(out)
		before, n = line, 1
	})
	var out bytes.Buffer
	show(&out)
	return errors.Join(err, p.flush(&out, 0))
}
