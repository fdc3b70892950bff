package shell

import "strings"

// fileNames returns the names of the files that a field matches; the field itself if it is
// no pattern, or matches nothing.
func (s *shell) fileNames(f field) []string {
	if s.noglob || !f.isPattern() {
		return []string{string(f.text)}
	}
	pattern := f.pattern()
	found := []string{""}
	if strings.HasPrefix(pattern, "/") {
		found = []string{"/"}
	}
	elements := strings.FieldsFunc(pattern, func(c rune) bool { return c == '/' })
	for i, element := range elements {
		found = s.matching(found, element, i < len(elements)-1 || strings.HasSuffix(pattern, "/"))
	}
	if len(found) == 0 {
		return []string{string(f.text)}
	}
	return found
}

// matching returns the files in dirs whose names match one element of a path. If more of
// the path follows (inner), it returns directories only, with a slash.
func (s *shell) matching(dirs []string, element string, inner bool) []string {
	var found []string
	size := 0
	wild := strings.ContainsAny(element, "*?[")
	pattern := s.program.compile(element)
	for _, dir := range dirs {
		names := []string{literal(element)}
		if wild {
			names, _ = s.program.files.list(s.path(dir)) // a directory that cannot be listed matches nothing
		}
		s.program.step(1 + len(names)/10)
		for _, name := range names {
			hidden := strings.HasPrefix(name, ".") && !strings.HasPrefix(element, ".")
			if hidden || wild && !s.program.match(pattern, name) {
				continue
			}
			s.program.step(1)
			look, end := s.program.files.lstat, ""
			if inner {
				look, end = s.program.files.stat, "/"
			}
			if info, err := look(s.path(dir + name)); err != nil || inner && !info.IsDir() {
				continue
			}
			found = append(found, dir+name+end)
			if size += len(dir) + len(name) + wordCost; size > maxCommand {
				tooMuch("a pattern that matches names of more than %d bytes", maxCommand)
			}
		}
	}
	return found
}

// isPattern reports whether the field has a wildcard that is not quoted.
func (f field) isPattern() bool {
	for i, c := range f.text {
		if !f.quoted[i] && strings.IndexByte("*?[", c) >= 0 {
			return true
		}
	}
	return false
}
