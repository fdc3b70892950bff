package shell

import (
	"errors"
	"fmt"
	"io/fs"
	"strconv"
	"strings"

	"mvdan.cc/sh/v3/syntax"

	"github.com/storagesim/storagesim/machine/disk"
)

// tester reads the arguments of test.
type tester struct {
	p    *Process
	args []string
	err  error
}

// test runs "test EXPRESSION" and "[ EXPRESSION ]".
func test(p *Process) error {
	t := &tester{p: p, args: p.Argv[1:]}
	if p.Argv[0] == "[" {
		if len(t.args) == 0 || t.args[len(t.args)-1] != "]" {
			return &ExitError{2, "[: missing ]"}
		}
		t.args = t.args[:len(t.args)-1]
	}
	if len(t.args) > 1000 {
		return &ExitError{2, "test: too many arguments"}
	}
	holds := t.whole()
	switch {
	case t.err != nil:
		return &ExitError{2, fmt.Sprintf("%s: %v", p.Argv[0], t.err)}
	case len(t.args) > 0:
		return &ExitError{2, fmt.Sprintf("%s: %s: unexpected operator", p.Argv[0], t.args[0])}
	case !holds:
		return &ExitError{Code: 1}
	}
	return nil
}

// whole evaluates an expression. Up to four arguments are interpreted by their number.
//
// POSIX: utilities, test.
func (t *tester) whole() bool {
	a := t.args
	take := func(holds bool) bool {
		t.args = nil
		return holds
	}
	switch {
	case len(a) == 0:
		return false
	case len(a) == 1:
		return take(a[0] != "")
	case len(a) == 2 && a[0] == "!":
		return take(a[1] == "")
	case len(a) == 3 && isBinary(a[1]):
		return take(t.binary(a[0], a[1], a[2]))
	case len(a) == 4 && a[0] == "!" && isBinary(a[2]):
		return take(!t.binary(a[1], a[2], a[3]))
	}
	return t.or()
}

func (t *tester) or() bool {
	holds := t.and()
	for t.next("-o") {
		other := t.and()
		holds = holds || other
	}
	return holds
}

func (t *tester) and() bool {
	holds := t.not()
	for t.next("-a") {
		other := t.not()
		holds = holds && other
	}
	return holds
}

// next takes the next argument if it is word.
func (t *tester) next(word string) bool {
	if t.err != nil || len(t.args) == 0 || t.args[0] != word {
		return false
	}
	t.args = t.args[1:]
	return true
}

func (t *tester) not() bool {
	if len(t.args) > 1 && t.next("!") {
		return !t.not()
	}
	return t.primary()
}

func (t *tester) primary() bool {
	a := t.args
	switch {
	case t.err != nil:
		return false
	case len(a) == 0:
		t.err = errors.New("argument expected")
		return false
	case len(a) >= 3 && isBinary(a[1]):
		t.args = a[3:]
		return t.binary(a[0], a[1], a[2])
	case a[0] == "(" && len(a) > 1:
		t.args = a[1:]
		holds := t.or()
		if !t.next(")") && t.err == nil {
			t.err = errors.New("closing paren expected")
		}
		return holds
	case len(a) >= 2 && isUnary(a[0]):
		t.args = a[2:]
		return t.unary(a[0], a[1])
	}
	t.args = a[1:]
	return a[0] != ""
}

func isBinary(op string) bool {
	switch op {
	case "=", "==", "!=", "<", ">", "-eq", "-ne", "-lt", "-le", "-gt", "-ge", "-nt", "-ot", "-ef":
		return true
	}
	return false
}

func isUnary(op string) bool {
	return len(op) == 2 && op[0] == '-' && strings.IndexByte("bcdefghknprstuwxzLOGS", op[1]) >= 0
}

func (t *tester) binary(left, op, right string) bool {
	switch op {
	case "=", "==":
		return left == right
	case "!=":
		return left != right
	case "<":
		return left < right
	case ">":
		return left > right
	case "-nt", "-ot", "-ef":
		t.err = fmt.Errorf("%s: files have no times here", op)
		return false
	}
	a, b := t.integer(left), t.integer(right)
	return compare(op, a, b)
}

func compare(op string, a, b int64) bool {
	switch op {
	case "-eq":
		return a == b
	case "-ne":
		return a != b
	case "-lt":
		return a < b
	case "-le":
		return a <= b
	case "-gt":
		return a > b
	}
	return a >= b
}

func (t *tester) integer(text string) int64 {
	n, err := strconv.ParseInt(strings.TrimSpace(text), 10, 64)
	if err != nil && t.err == nil {
		t.err = fmt.Errorf("Illegal number: %s", text)
	}
	return n
}

func (t *tester) unary(op, arg string) bool {
	switch op {
	case "-z":
		return arg == ""
	case "-n":
		return arg != ""
	case "-t":
		return false
	}
	return t.p.fileIs(op, arg)
}

// fileIs evaluates a test of a file.
func (p *Process) fileIs(op, name string) bool {
	p.program.step(1)
	full := p.Path(name)
	if name == "" {
		return false
	}
	look := p.program.files.stat
	if op == "-L" || op == "-h" {
		look = p.program.files.lstat
	}
	info, err := look(full)
	if err != nil {
		return false
	}
	mode := info.Mode()
	switch op {
	case "-e":
		return true
	case "-r":
		return p.program.files.may(full, info, disk.Read)
	case "-O", "-G":
		return p.isOf(op, full, info)
	case "-f":
		return mode.IsRegular()
	case "-d":
		return mode.IsDir()
	case "-L", "-h":
		return mode&fs.ModeSymlink != 0
	case "-s":
		return info.Size() > 0
	case "-w":
		m, _, in := FindMount(p.program.files.mounts, p.program.files.follow(full, true))
		return in && !m.ReadOnly && p.program.files.may(full, info, disk.Write)
	case "-x":
		return p.program.files.may(full, info, disk.Execute)
	}
	if op == "-b" {
		return isBlockMode(mode)
	}
	bits := map[string]fs.FileMode{
		"-c": fs.ModeCharDevice, "-p": fs.ModeNamedPipe, "-S": fs.ModeSocket,
		"-g": fs.ModeSetgid, "-u": fs.ModeSetuid, "-k": fs.ModeSticky,
	}
	return mode&bits[op] != 0
}

// isOf reports whether a file belongs to the user (-O) or his group (-G). Where owners are not kept, it does.
func (p *Process) isOf(op, full string, info fs.FileInfo) bool {
	kept := true
	_ = p.program.files.in(full, false, func(dir *disk.Disk, _ string) error { kept = dir.KeepsOwners(); return nil }) // it was there a moment ago
	uid, gid := ownerOf(info)
	return !kept || op == "-O" && uid == p.program.cfg.User.UID || op == "-G" && gid == p.program.cfg.User.GID
}

// testClause runs [[ EXPRESSION ]] of bash.
func (s *shell) testClause(cmd *syntax.TestClause) {
	holds, err := s.testExpr(cmd.X)
	if s.status = truth(holds); err != nil {
		s.fail(2, "%v", err)
	}
}

func (s *shell) testExpr(x syntax.TestExpr) (bool, error) {
	switch x := x.(type) {
	case *syntax.Word:
		text, err := s.word(x)
		return text != "", err
	case *syntax.ParenTest:
		return s.testExpr(x.X)
	case *syntax.UnaryTest:
		if x.Op == syntax.TsNot {
			holds, err := s.testExpr(x.X)
			return !holds, err
		}
		text, err := s.word(x.X.(*syntax.Word))
		if x.Op == syntax.TsVarSet {
			_, set := s.get(text)
			return set, err
		}
		t := &tester{p: s.process([]string{"[["})}
		return t.unary(x.Op.String(), text), err
	case *syntax.BinaryTest:
		return s.binaryTest(x)
	}
	return false, fmt.Errorf("%s is not supported; words, tests of one or two words, !, &&, || and parentheses are", textOf(&syntax.TestClause{X: x}))
}

func (s *shell) binaryTest(x *syntax.BinaryTest) (bool, error) {
	if x.Op == syntax.AndTest || x.Op == syntax.OrTest {
		holds, err := s.testExpr(x.X)
		if err != nil || holds == (x.Op == syntax.OrTest) {
			return holds, err
		}
		return s.testExpr(x.Y)
	}
	left, err := s.word(x.X.(*syntax.Word))
	if err != nil {
		return false, err
	}
	right, err := s.pattern(x.Y.(*syntax.Word))
	if err != nil {
		return false, err
	}
	switch x.Op {
	case syntax.TsMatchShort, syntax.TsMatch:
		return s.program.match(s.program.compile(right), left), nil
	case syntax.TsNoMatch:
		return !s.program.match(s.program.compile(right), left), nil
	case syntax.TsReMatch:
		x, err := compileExpression(right)
		return err == nil && x.find(s.program, left, 0) != nil, err
	}
	t := &tester{p: s.process([]string{"[["})}
	return t.binary(left, x.Op.String(), literal(right)), t.err
}
