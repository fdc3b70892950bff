package main

import (
	"cmp"
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/tools/go/packages"
)

// mutant is one change of the code. It is put around a piece of the source, so that the code with all mutants does what it did while none is on.
type mutant struct {
	file     string
	line     int
	function string
	what     string // the change, in words
	nth      int    // which of the function's changes with the same words it is, from 1, in the order of the source
	piece
	before, after string // the code that is put before and behind the piece; # stands for the mutant's number
}

// piece is a part of a file's source, as two offsets.
type piece struct{ from, to int }

func (m *mutant) String() string {
	return fmt.Sprintf("%s:%d: %s: %s", m.file, m.line, m.function, m.what)
}

// change names the mutant without its line, as equal.txt does. Of several changes with the same words in a function, the second ends in " #2".
func (m *mutant) change() string {
	change := fmt.Sprintf("%s: %s: %s", filepath.ToSlash(m.file), m.function, m.what)
	if m.nth > 1 {
		change += fmt.Sprintf(" #%d", m.nth)
	}
	return change
}

// count sets nth of each mutant of a file.
func count(list []*mutant) {
	type words struct{ function, what string }
	seen := map[words]int{}
	for _, m := range slices.SortedStableFunc(slices.Values(list), func(a, b *mutant) int { return cmp.Compare(a.from, b.from) }) {
		key := words{m.function, m.what}
		seen[key]++
		m.nth = seen[key]
	}
}

// maker collects the mutants of a file.
type maker struct {
	file, function string
	source         []byte
	set            *token.FileSet
	info           *types.Info
	names          types.Qualifier         // how the file calls other packages
	alone          map[*ast.BlockStmt]bool // the bodies of an if without an else
	list           []*mutant
}

// mutantsOf returns all mutants of the functions of a package whose names match, file by file, in order. A piece comes before the pieces in it.
func mutantsOf(p *packages.Package, sources map[string][]byte, matching *regexp.Regexp) []*mutant {
	var list []*mutant
	for _, parsed := range p.Syntax {
		file := p.Fset.Position(parsed.Package).Filename
		m := &maker{file: file, source: sources[file], set: p.Fset, info: p.TypesInfo, names: imported(p.Types, parsed, p.TypesInfo),
			alone: map[*ast.BlockStmt]bool{}}
		for _, d := range parsed.Decls {
			if f, ok := d.(*ast.FuncDecl); ok && f.Body != nil && matching.MatchString(f.Name.Name) {
				m.function = f.Name.Name
				ast.Inspect(f.Body, m.visit)
			}
		}
		count(m.list)
		list = append(list, m.list...)
	}
	return list
}

// imported returns how a file calls other packages: "?", which is no Go, for one that it does not import.
func imported(self *types.Package, file *ast.File, info *types.Info) types.Qualifier {
	names := map[string]string{self.Path(): ""}
	for _, spec := range file.Imports {
		if name := info.PkgNameOf(spec); name != nil {
			names[name.Imported().Path()] = name.Name()
		}
	}
	return func(p *types.Package) string {
		if name, ok := names[p.Path()]; ok {
			return name
		}
		return "?"
	}
}

// visit makes the mutants of one part of the code.
func (m *maker) visit(n ast.Node) bool {
	switch n := n.(type) {
	case *ast.GenDecl:
		return n.Tok != token.CONST
	case *ast.ArrayType:
		return false // its length is a constant
	case *ast.IfStmt:
		m.negate(n.Cond)
		m.alone[n.Body] = n.Else == nil
	case *ast.SwitchStmt:
		if n.Tag == nil {
			for _, clause := range n.Body.List {
				for _, cond := range clause.(*ast.CaseClause).List {
					m.negate(cond)
				}
			}
		}
	case *ast.BlockStmt:
		m.statements(n.List, m.alone[n])
	case *ast.CaseClause:
		m.statements(n.Body, false)
	case *ast.CommClause:
		m.statements(n.Body, false)
	case *ast.BinaryExpr:
		m.operands(n)
	case *ast.BasicLit:
		m.number(n)
	}
	return true
}

// negate makes the mutant in which a condition is its opposite.
func (m *maker) negate(cond ast.Expr) {
	if m.isBool(cond) {
		m.add(cond, "(", ") != mutantIsOn(#)", "negate the condition")
	}
}

// operands makes the mutants of && and || without one of their operands.
func (m *maker) operands(n *ast.BinaryExpr) {
	if n.Op != token.LAND && n.Op != token.LOR || !m.isBool(n) {
		return
	}
	before := "(mutantIsOn(#) || (" // true, which && does not notice
	if n.Op == token.LOR {
		before = "(!mutantIsOn(#) && ("
	}
	what := strings.Join(strings.Fields(m.text(n)), " ")
	m.addAs(n.Y, before, "))", "drop the operand behind "+n.Op.String()+": "+what)
	m.addAs(n.X, before, "))", "drop the operand before "+n.Op.String()+": "+what)
}

// statements makes the mutants of a list of statements: one is dropped, or the results are returned the wrong way round. A statement
// after which nothing of the list runs is dropped only where Go does not need it as the end of a function. What only tells a trace stays.
func (m *maker) statements(list []ast.Stmt, mayEnd bool) {
	for _, s := range list {
		what := "drop the statement"
		switch s := s.(type) {
		case *ast.ExprStmt:
			call, ok := s.X.(*ast.CallExpr)
			if ok && (m.text(call.Fun) == "panic" && !mayEnd || strings.HasSuffix(m.text(call.Fun), ".Trace")) {
				continue
			}
		case *ast.AssignStmt:
			if what = "drop the assignment"; s.Tok == token.DEFINE {
				continue
			}
		case *ast.ReturnStmt:
			if len(s.Results) == 2 && m.text(s.Results[0]) != m.text(s.Results[1]) && m.same(s.Results[0], s.Results[1]) {
				m.add(s, "if mutantIsOn(#) { return "+m.text(s.Results[1])+", "+m.text(s.Results[0])+" }; ", "", "swap the results")
			}
			if !mayEnd {
				continue
			}
		case *ast.BranchStmt:
			if s.Tok == token.FALLTHROUGH || !mayEnd {
				continue
			}
		case *ast.IncDecStmt, *ast.DeferStmt, *ast.GoStmt, *ast.SendStmt:
		default:
			continue
		}
		m.add(s, "if !mutantIsOn(#) { ", " }", what)
	}
}

// number makes the mutants in which a whole number is one more or less.
func (m *maker) number(n *ast.BasicLit) {
	if n.Kind != token.INT {
		return
	}
	t := m.info.TypeOf(n)
	if t == nil {
		return
	}
	of := types.TypeString(t, m.names)
	if basic, ok := t.Underlying().(*types.Basic); !ok || basic.Info()&types.IsNumeric == 0 || basic.Info()&types.IsUntyped != 0 || strings.Contains(of, "?") {
		return
	}
	m.add(n, "mutantNumber["+of+"](#, 1, ", ")", "plus one")
	m.add(n, "mutantNumber["+of+"](#, -1, ", ")", "minus one")
}

// isBool reports whether a part is of the type bool itself.
func (m *maker) isBool(n ast.Expr) bool {
	t, ok := m.info.TypeOf(n).(*types.Basic)
	return ok && t.Info()&types.IsBoolean != 0
}

// same reports whether each of two results can be returned as the other.
func (m *maker) same(a, b ast.Expr) bool {
	return types.Identical(m.info.TypeOf(a), m.info.TypeOf(b))
}

// text returns the source of a part.
func (m *maker) text(n ast.Node) string { p := m.piece(n); return string(m.source[p.from:p.to]) }

func (m *maker) piece(n ast.Node) piece {
	return piece{m.set.Position(n.Pos()).Offset, m.set.Position(n.End()).Offset}
}

// add adds a mutant of a part of the code.
func (m *maker) add(n ast.Node, before, after, what string) {
	m.addAs(n, before, after, what+": "+strings.Join(strings.Fields(m.text(n)), " "))
}

func (m *maker) addAs(n ast.Node, before, after, what string) {
	m.list = append(m.list, &mutant{file: m.file, line: m.set.Position(n.Pos()).Line, function: m.function, what: what, piece: m.piece(n), before: before,
		after: after})
}

// withAll returns a file with its mutants, each at its number, and where each of them is in what is returned.
func withAll(source []byte, list map[int]*mutant) (text []byte, places map[int]piece) {
	type insertion struct {
		at, number int
		text       string
		begins     bool
	}
	var all []insertion
	for number, m := range list {
		digits := strconv.Itoa(number)
		all = append(all, insertion{m.from, number, strings.ReplaceAll(m.before, "#", digits), true},
			insertion{m.to, number, strings.ReplaceAll(m.after, "#", digits), false})
	}
	// What ends comes before what begins. Of mutants of the same place the one with the lower number is around the others.
	slices.SortFunc(all, func(a, b insertion) int {
		switch {
		case a.at != b.at:
			return a.at - b.at
		case a.begins != b.begins && b.begins:
			return -1
		case a.begins != b.begins:
			return 1
		case a.begins:
			return a.number - b.number
		}
		return b.number - a.number
	})
	places, done := map[int]piece{}, 0
	for _, i := range all {
		text = append(text, source[done:i.at]...)
		if done = i.at; i.begins {
			places[i.number] = piece{from: len(text)}
		}
		text = append(text, i.text...)
		if !i.begins {
			places[i.number] = piece{places[i.number].from, len(text)}
		}
	}
	return append(text, source[done:]...), places
}
