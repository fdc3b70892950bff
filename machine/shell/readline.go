package shell

import "strings"

// readLine is a line of input; a backslash at its end joins it with the next one. What
// a backslash stands before is quoted.
func (s *shell) readLine(raw bool) (f field, ended bool) {
	for {
		line, ended := s.in().line()
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
	ifs, set := s.vars["IFS"]
	if !set {
		ifs.value = " \t\n"
	}
	isBlank := func(i int) bool {
		return !f.quoted[i] && strings.IndexByte(" \t\n", f.text[i]) >= 0 && strings.IndexByte(ifs.value, f.text[i]) >= 0
	}
	isSeparator := func(i int) bool { return !f.quoted[i] && strings.IndexByte(ifs.value, f.text[i]) >= 0 }
	end := len(f.text)
	for end > 0 && isBlank(end-1) {
		end--
	}
	at := 0
	blanks := func() {
		for at < end && isBlank(at) {
			at++
		}
	}
	values := make([]string, n)
	blanks()
	for i := range n {
		start := at
		if i == n-1 {
			values[i] = s.rest(f, start, end, isSeparator)
			break
		}
		for at < end && !isSeparator(at) {
			at++
		}
		values[i] = string(f.text[start:at])
		blanks()
		if at > start && at < end && isSeparator(at) || at == start && at < end {
			at++
			blanks()
		}
	}
	return values
}

// rest is the last value: a single separator at its very end is no part of it.
func (s *shell) rest(f field, start, end int, isSeparator func(i int) bool) string {
	first := start
	for first < end && !isSeparator(first) {
		first++
	}
	if first == end-1 {
		end--
	}
	return string(f.text[start:max(start, end)])
}
