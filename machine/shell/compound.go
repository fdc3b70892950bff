package shell

import (
	"mvdan.cc/sh/v3/syntax"
)

// command runs a command.
func (s *shell) command(cmd syntax.Command) {
	switch cmd := cmd.(type) {
	case nil:
	case *syntax.CallExpr:
		s.call(cmd, nil)
	case *syntax.Block:
		s.list(cmd.Stmts)
	case *syntax.Subshell:
		s.inSubshell(func(c *shell) { c.list(cmd.Stmts) })
	case *syntax.BinaryCmd:
		s.binary(cmd)
	case *syntax.IfClause:
		s.ifClause(cmd)
	case *syntax.WhileClause:
		s.while(cmd)
	case *syntax.ForClause:
		s.forClause(cmd)
	case *syntax.CaseClause:
		s.caseClause(cmd)
	case *syntax.FuncDecl:
		s.define(cmd.Name.Value, cmd.Body)
	case *syntax.TestClause:
		s.testClause(cmd)
	case *syntax.ArithmCmd:
		n, err := s.arithmetic(cmd.X)
		if s.status = truth(n != 0); err != nil {
			s.fail(1, "%v", err)
		}
	case *syntax.LetClause:
		s.let(len(cmd.Exprs), func(i int) (int64, error) { return s.arithmetic(cmd.Exprs[i]) })
	case *syntax.DeclClause:
		s.declare(cmd)
	case *syntax.TimeClause:
		if cmd.Stmt != nil {
			s.stmt(cmd.Stmt)
		}
	default:
		s.fail(2, "%v", unsupportedError{cmd.Pos().Line(), textOf(cmd)})
		s.flow = exits
	}
}

// inSubshell runs f in a subshell, and takes over its status.
func (s *shell) inSubshell(f func(c *shell)) {
	defer s.program.enter()()
	c := s.subshell()
	defer c.release()
	f(c)
	c.exitTrap()
	s.status = c.status
}

// condition runs a condition and reports whether it holds. Its failure does not end a shell
// with -e.
func (s *shell) condition(run func()) (holds bool) {
	s.tested++
	run()
	s.tested--
	return s.status == 0 && s.flow == goesOn
}

func (s *shell) binary(cmd *syntax.BinaryCmd) {
	switch cmd.Op {
	case syntax.Pipe:
		s.pipe(cmd)
	case syntax.AndStmt:
		if s.condition(func() { s.stmt(cmd.X) }) {
			s.stmt(cmd.Y)
		}
	default:
		if !s.condition(func() { s.stmt(cmd.X) }) && s.flow == goesOn {
			own := s.own
			s.own = false // what is tried when another command has failed need not be there
			s.stmt(cmd.Y)
			s.own = own
		}
	}
}

func (s *shell) ifClause(cmd *syntax.IfClause) {
	for clause := cmd; clause != nil; clause = clause.Else {
		if len(clause.Cond) == 0 { // else
			s.list(clause.Then)
			return
		}
		holds := s.condition(func() { s.list(clause.Cond) })
		switch {
		case s.flow != goesOn:
			return
		case holds:
			s.list(clause.Then)
			return
		}
	}
	s.status = 0
}

// body runs a loop's body once and reports whether the loop goes on.
func (s *shell) body(stmts []*syntax.Stmt) bool {
	s.program.step(1)
	last := s.last
	s.last = false
	s.list(stmts)
	s.last = last
	switch s.flow {
	case goesOn:
		return true
	case breaks, continues:
		if s.levels--; s.levels > 0 {
			return false
		}
		again := s.flow == continues
		s.flow = goesOn
		return again
	}
	return false
}

func (s *shell) while(cmd *syntax.WhileClause) {
	s.loops++
	defer func() { s.loops-- }()
	status := int32(0)
	for {
		holds := s.condition(func() { s.list(cmd.Cond) })
		if s.flow != goesOn {
			if s.flow == exits || s.flow == returns || !s.body(nil) { // a break in the condition
				if s.flow == breaks || s.flow == goesOn {
					s.status = status
				}
				return
			}
			continue
		}
		if holds == cmd.Until {
			s.status = status
			return
		}
		if !s.body(cmd.Do) {
			return
		}
		status = s.status
	}
}

func (s *shell) forClause(cmd *syntax.ForClause) {
	s.loops++
	defer func() { s.loops-- }()
	words, ok := cmd.Loop.(*syntax.WordIter)
	if !ok {
		s.counting(cmd.Loop.(*syntax.CStyleLoop), cmd.Do)
		return
	}
	items := s.args
	if words.InPos.IsValid() {
		var err error
		if items, err = s.words(words.Items); err != nil {
			s.expansionFailed(err)
			return
		}
	}
	size := commandSize(items)
	s.program.hold(size)
	defer s.program.hold(-size)
	s.status = 0
	for _, item := range items {
		if err := s.set(words.Name.Value, item); err != nil {
			s.expansionFailed(err)
			return
		}
		if !s.body(cmd.Do) {
			return
		}
	}
}

// counting runs "for ((a; b; c))" of bash.
func (s *shell) counting(loop *syntax.CStyleLoop, do []*syntax.Stmt) {
	value := func(x syntax.ArithmExpr) int64 {
		if x == nil {
			return 1
		}
		n, err := s.arithmetic(x)
		if err != nil {
			s.fail(1, "%v", err)
			n = 0
		}
		return n
	}
	s.status = 0
	value(loop.Init)
	for value(loop.Cond) != 0 && s.body(do) {
		value(loop.Post)
	}
}

func (s *shell) caseClause(cmd *syntax.CaseClause) {
	subject, err := s.word(cmd.Word)
	if err != nil {
		s.expansionFailed(err)
		return
	}
	s.status = 0
	through := false
	for _, item := range cmd.Items {
		matched := through
		for _, word := range item.Patterns {
			if matched {
				break
			}
			text, err := s.pattern(word)
			if err != nil {
				s.expansionFailed(err)
				return
			}
			matched = s.program.match(s.program.compile(text), subject)
		}
		if !matched {
			continue
		}
		s.list(item.Stmts)
		through = item.Op == syntax.Fallthrough
		if s.flow != goesOn || item.Op == syntax.Break {
			return
		}
	}
}
