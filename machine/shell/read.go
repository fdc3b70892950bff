package shell

import "strings"

// read reads a line into variables.
func (s *shell) read(argv []string) {
	raw := false
	names := argv[1:]
	for len(names) > 0 && strings.HasPrefix(names[0], "-") {
		if names[0] != "-r" {
			s.fail(2, "read: Illegal option %s: only -r is supported", names[0])
			return
		}
		raw, names = true, names[1:]
	}
	if len(names) == 0 {
		names = []string{"REPLY"}
	}
	line, ended := s.readLine(raw)
	s.status = truth(ended)
	values := s.splitLine(line, len(names))
	for i, name := range names {
		if !isName(name) {
			s.fail(2, "read: %s: bad variable name", name)
			return
		}
		if err := s.set(name, values[i]); err != nil {
			s.expansionFailed(err)
			return
		}
	}
}

// readLine reads a line of input. Unless raw is set, a backslash quotes the next
// character, and at the end of a line joins it with the next one.
func (s *shell) readLine(raw bool) (f field, ended bool) {
	for {
		line, ended := s.in().line()
		s.program.work(len(line))
		if len(f.text)+len(line) > maxValue {
			tooMuch("a line of more than %d bytes", maxValue)
		}
		joined := false
		for i := 0; i < len(line); i++ {
			isQuoted := false
			if line[i] == '\\' && !raw {
				if i++; i == len(line) {
					joined = true
					break
				}
				isQuoted = true
			}
			f.text, f.quoted = append(f.text, line[i]), append(f.quoted, isQuoted)
		}
		if !joined || !ended {
			return f, ended
		}
	}
}

// splitLine splits a line into n values by IFS; the last has the rest.
func (s *shell) splitLine(f field, n int) []string {
	ifs := s.ifs()
	isSeparator := func(i int) bool { return !f.quoted[i] && strings.IndexByte(ifs, f.text[i]) >= 0 }
	isBlank := func(i int) bool { return isSeparator(i) && strings.IndexByte(" \t\n", f.text[i]) >= 0 }
	at, end := 0, len(f.text)
	for end > 0 && isBlank(end-1) {
		end--
	}
	next := func(is func(i int) bool) {
		for at < end && is(at) {
			at++
		}
	}
	values := make([]string, n)
	next(isBlank)
	for i := range n - 1 {
		start := at
		next(func(i int) bool { return !isSeparator(i) })
		values[i] = string(f.text[start:at])
		next(isBlank)
		if at < end && isSeparator(at) {
			at++
			next(isBlank)
		}
	}
	start := at
	next(func(i int) bool { return !isSeparator(i) })
	if at == end-1 { // a single separator at the very end is not part of the last value
		end--
	}
	values[n-1] = string(f.text[start:max(start, end)])
	return values
}
