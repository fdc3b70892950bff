package main

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// mutant is a file with one change.
type mutant struct {
	file   string
	line   int
	what   string // the change, in words
	source []byte // of the changed file
}

func (m mutant) String() string { return fmt.Sprintf("%s:%d: %s", m.file, m.line, m.what) }

// maker collects the mutants of a file.
type maker struct {
	file   string
	source []byte
	set    *token.FileSet
	list   []mutant
}

// mutantsOf returns all mutants of the functions of a file whose names match, in order.
func mutantsOf(file string, source []byte, matching *regexp.Regexp) ([]mutant, error) {
	m := &maker{file: file, source: source, set: token.NewFileSet()}
	parsed, err := parser.ParseFile(m.set, file, source, 0)
	if err != nil {
		return nil, err
	}
	for _, d := range parsed.Decls {
		if f, ok := d.(*ast.FuncDecl); ok && f.Body != nil && matching.MatchString(f.Name.Name) {
			ast.Inspect(f.Body, m.visit)
		}
	}
	return m.list, nil
}

// visit makes the mutants of one part of the code.
func (m *maker) visit(n ast.Node) bool {
	switch n := n.(type) {
	case *ast.IfStmt:
		m.replace(n.Cond, "!("+m.text(n.Cond)+")", "negate the condition")
	case *ast.BinaryExpr:
		if n.Op == token.LAND || n.Op == token.LOR {
			m.replace(n, m.text(n.X), "drop the operand behind "+n.Op.String())
			m.replace(n, m.text(n.Y), "drop the operand before "+n.Op.String())
		}
	case *ast.ExprStmt:
		m.replace(n, "", "drop the statement")
	case *ast.AssignStmt:
		if n.Tok == token.ASSIGN {
			m.replace(n, "", "drop the assignment")
		}
	case *ast.ReturnStmt:
		if len(n.Results) == 2 {
			m.replace(n, "return "+m.text(n.Results[1])+", "+m.text(n.Results[0]), "swap the results")
		}
	case *ast.BasicLit:
		if value, err := strconv.ParseInt(n.Value, 0, 64); err == nil && n.Kind == token.INT {
			m.replace(n, strconv.FormatInt(value+1, 10), "plus one")
			m.replace(n, strconv.FormatInt(value-1, 10), "minus one")
		}
	}
	return true
}

// text returns the source of a part.
func (m *maker) text(n ast.Node) string {
	return string(m.source[m.set.Position(n.Pos()).Offset:m.set.Position(n.End()).Offset])
}

// replace adds the mutant in which a part of the code is another one.
func (m *maker) replace(n ast.Node, by, what string) {
	from, to := m.set.Position(n.Pos()), m.set.Position(n.End())
	m.list = append(m.list, mutant{
		file: m.file, line: from.Line, what: what + ": " + strings.Join(strings.Fields(m.text(n)), " "),
		source: slices.Concat(m.source[:from.Offset], []byte(by), m.source[to.Offset:]),
	})
}
