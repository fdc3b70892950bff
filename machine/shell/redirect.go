package shell

import (
	"errors"
	"fmt"
	"maps"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// redirected calls f with redirections, which end after it. If one fails it prints why and
// does not call f.
func (s *shell) redirected(redirs []*syntax.Redirect, f func()) error {
	outside := s.fds
	s.fds = maps.Clone(outside)
	before := s.opened
	defer func() {
		s.program.hold(before - s.opened)
		s.fds, s.opened = outside, before
	}()
	for _, r := range redirs {
		if err := s.redirect(r); err != nil {
			s.fds = outside
			s.fail(2, "%v", err)
			return err
		}
	}
	f()
	return nil
}

// redirect changes one of the shell's descriptors.
func (s *shell) redirect(r *syntax.Redirect) error {
	if r.Hdoc != nil || r.Op == syntax.WordHdoc {
		return s.hereDocument(r)
	}
	fd := 1
	if r.Op == syntax.RdrIn || r.Op == syntax.DplIn {
		fd = 0
	}
	if r.N != nil {
		fd = int(r.N.Value[0] - '0')
	}
	target, err := s.word(r.Word)
	if err != nil {
		return err
	}
	switch r.Op {
	case syntax.DplIn, syntax.DplOut:
		return s.duplicate(fd, target)
	case syntax.RdrIn:
		data, err := s.readInput(target)
		if err != nil && !errors.Is(err, errIsDirectory) { // a directory can be opened
			return fmt.Errorf("cannot open %s: %w", target, reason(err))
		}
		s.openInput(fd, data, err)
		return nil
	case syntax.RdrAll, syntax.AppAll:
		if err := s.openOutput(1, target, r.Op == syntax.AppAll); err != nil {
			return err
		}
		s.fds[2] = s.fds[1]
		return nil
	}
	return s.openOutput(fd, target, r.Op == syntax.AppOut)
}

// duplicate makes one descriptor a copy of another, or closes it.
func (s *shell) duplicate(fd int, target string) error {
	if target == "-" {
		delete(s.fds, fd)
		return nil
	}
	if len(target) != 1 || target[0] < '0' || target[0] > '9' {
		return fmt.Errorf("%s: bad fd number", target)
	}
	from, ok := s.fds[int(target[0]-'0')]
	if !ok {
		return fmt.Errorf("%s: %w", target, errBadDescriptor)
	}
	s.fds[fd] = from
	return nil
}

// path returns the absolute path of name in the container.
func (s *shell) path(name string) string {
	return (&Process{Dir: s.dir}).Path(name)
}

// openInput opens a descriptor for reading data. A program may hold only so much of it.
func (s *shell) openInput(fd int, data []byte, err error) {
	s.opened += len(data)
	s.program.hold(len(data))
	s.fds[fd] = stream{in: &Input{data: data, err: err, size: len(data)}}
}

// inputSize returns how many bytes the descriptors were opened with.
func inputSize(fds map[int]stream) (size int) {
	for _, f := range fds {
		if f.in != nil {
			size += f.in.size
		}
	}
	return size
}

func (s *shell) readInput(target string) ([]byte, error) {
	if target = s.program.files.follow(s.path(target), true); target == "/dev/stdin" {
		return s.in().all()
	}
	return s.program.read(target)
}

func (s *shell) openOutput(fd int, target string, appends bool) error {
	s.program.step(1)
	name := s.path(target)
	if target == "" {
		return fmt.Errorf("cannot create : %w", errNoFile)
	}
	switch name = s.program.files.follow(name, true); name {
	case "/dev/null", "/dev/tty":
		s.fds[fd] = stream{out: &discarded{}}
		return nil
	case "/dev/stdout":
		s.fds[fd] = s.fds[1]
		return nil
	case "/dev/stderr":
		s.fds[fd] = s.fds[2]
		return nil
	}
	open := s.program.files.create
	if appends {
		open = s.program.files.appendTo
	}
	if err := open(name, s.umask); err != nil {
		return fmt.Errorf("cannot create %s: %w", target, reason(err))
	}
	s.fds[fd] = stream{out: &fileOutput{s.program.files, name}}
	return nil
}

// hereDocument opens a descriptor for reading text of the script.
func (s *shell) hereDocument(r *syntax.Redirect) error {
	fd := 0
	if r.N != nil {
		fd = int(r.N.Value[0] - '0')
	}
	if r.Op == syntax.WordHdoc {
		text, err := s.word(r.Word)
		s.openInput(fd, []byte(text+"\n"), nil)
		return err
	}
	text := r.Hdoc.Lit()
	if !quotedWord(r.Word) {
		var err error
		if text, err = s.hereText(r.Hdoc); err != nil {
			return err
		}
	}
	if r.Op == syntax.DashHdoc {
		var b strings.Builder
		for line := range strings.SplitAfterSeq(text, "\n") {
			b.WriteString(strings.TrimLeft(line, "\t"))
		}
		text = b.String()
	}
	s.openInput(fd, []byte(text), nil)
	return nil
}

// quotedWord reports whether any part of a word is quoted.
func quotedWord(w *syntax.Word) bool {
	for _, part := range w.Parts {
		lit, ok := part.(*syntax.Lit)
		if !ok || strings.Contains(lit.Value, "\\") {
			return true
		}
	}
	return false
}

// discarded is an output that nothing reads.
type discarded struct{}

func (*discarded) Write(data []byte) (int, error) { return len(data), nil }
