package docs

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// declaration returns the lines of a function or type of a Go file, with its comment. The name of a method is TYPE.NAME.
func declaration(t *testing.T, document, file, kind, name string) []string {
	t.Helper()
	found, err := declarationOf(file, read(t, filepath.Join("..", file)), kind, name)
	require.NoError(t, err, document)
	return found
}

func declarationOf(file, source, kind, name string) ([]string, error) {
	set := token.NewFileSet()
	parsed, err := parser.ParseFile(set, file, source, parser.ParseComments)
	if err != nil {
		return nil, err
	}
	for _, d := range parsed.Decls {
		if declared(d, kind) != name {
			continue
		}
		from := set.Position(d.Pos()).Line
		if doc := comments(d); doc != nil {
			from = set.Position(doc.Pos()).Line
		}
		return lines(source)[from-1 : set.Position(d.End()).Line], nil
	}
	return nil, fmt.Errorf("%s has no %s %s: was it renamed?", file, kind, name)
}

// declared returns the name of a declaration of this kind, "" for others.
func declared(d ast.Decl, kind string) string {
	switch d := d.(type) {
	case *ast.FuncDecl:
		if kind != "func" {
			return ""
		}
		if d.Recv == nil {
			return d.Name.Name
		}
		on := d.Recv.List[0].Type
		if star, ok := on.(*ast.StarExpr); ok {
			on = star.X
		}
		if generic, ok := on.(*ast.IndexExpr); ok {
			on = generic.X
		}
		if name, ok := on.(*ast.Ident); ok {
			return name.Name + "." + d.Name.Name
		}
	case *ast.GenDecl:
		if spec, ok := d.Specs[0].(*ast.TypeSpec); ok && kind == "type" {
			return spec.Name.Name
		}
	}
	return ""
}

func comments(d ast.Decl) *ast.CommentGroup {
	switch d := d.(type) {
	case *ast.FuncDecl:
		return d.Doc
	case *ast.GenDecl:
		return d.Doc
	}
	return nil
}

// beside finds the tables that go through a block of a document: the document's short name, its first and its last line.
var beside = regexp.MustCompile(`(?m)^<!-- beside (\S+) (\d+) (\d+) -->\n\| lines? \| the document \| ours \| why different \|\n\|[- |]+\|\n((?:\|.*\n)+)`)

// span finds the lines in a row of such a table.
var span = regexp.MustCompile(`^\| (\d+)(?:-(\d+))? \|`)

// gaps returns what is wrong with the rows of a table beside the lines from first to last of a document.
func gaps(rows string, first, last int) error {
	next := first
	for row := range strings.Lines(rows) {
		m := span.FindStringSubmatch(row)
		if m == nil {
			return fmt.Errorf("no line numbers: %s", row)
		}
		from, _ := strconv.Atoi(m[1])
		to := from
		if m[2] != "" {
			to, _ = strconv.Atoi(m[2])
		}
		switch {
		case from != next:
			return fmt.Errorf("a row begins with line %d, expected %d", from, next)
		case to < from || to-from >= 8:
			return fmt.Errorf("a row has lines %d to %d; at most eight", from, to)
		case strings.Count(row, " | ") < 3:
			return fmt.Errorf("a row has fewer than four columns: %s", row)
		}
		next = to + 1
	}
	if next != last+1 {
		return fmt.Errorf("the rows end with line %d, expected %d", next-1, last)
	}
	return nil
}

// TestEachBlockOfTheDocumentsHasATableBesideOurs: the sixteen Go blocks, line by line.
func TestEachBlockOfTheDocumentsHasATableBesideOurs(t *testing.T) {
	chapters, err := filepath.Glob("[0-9]*.md")
	require.NoError(t, err)
	tables := 0
	for _, file := range chapters {
		text := read(t, file)
		found := beside.FindAllStringSubmatch(text, -1)
		require.Len(t, found, strings.Count(text, "<!-- beside "), file)
		for _, m := range found {
			first, _ := strconv.Atoi(m[2])
			last, _ := strconv.Atoi(m[3])
			require.NoError(t, gaps(m[4], first, last), "%s, beside %s", file, m[1])
			tables++
		}
	}
	require.Equal(t, 17, tables, "sixteen blocks, one of them beside two chapters")
}

func TestAQuotationOfADeclarationIsWholeAndATableLeavesNoLineOut(t *testing.T) {
	const source = "package a\n\n// F is one.\nfunc F() {}\n\n// M is two.\nfunc (x *T) M() {\n\tF()\n}\n\n// T is three.\ntype T struct{}\n"
	for name, want := range map[string]string{
		"func F": "// F is one.\nfunc F() {}", "func T.M": "// M is two.\nfunc (x *T) M() {\n\tF()\n}", "type T": "// T is three.\ntype T struct{}",
	} {
		kind, name, _ := strings.Cut(name, " ")
		got, err := declarationOf("a.go", source, kind, name)
		require.NoError(t, err)
		require.Equal(t, want, strings.Join(got, "\n"))
	}
	_, err := declarationOf("a.go", source, "func", "G")
	require.EqualError(t, err, "a.go has no func G: was it renamed?")
	require.NoError(t, gaps("| 3 | a | b | c |\n| 4-11 | a | b | c |\n", 3, 11))
	require.ErrorContains(t, gaps("| 3 | a | b | c |\n| 5-6 | a | b | c |\n", 3, 6), "begins with line 5, expected 4")
	require.ErrorContains(t, gaps("| 3-11 | a | b | c |\n", 3, 11), "at most eight")
	require.ErrorContains(t, gaps("| 3 | a | b | c |\n", 3, 4), "end with line 3, expected 4")
}
