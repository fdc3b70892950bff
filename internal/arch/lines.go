package arch

import (
	"bytes"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path"
	"strings"
	"unicode/utf8"
)

// maxColumns is the length that a line of Go code may have: two windows fit beside each other.
const maxColumns = 160

// CheckLines reports lines of Go code with more than 160 columns, in files that are not generated. A text between backticks that goes over
// several lines is as long as what it holds.
func CheckLines(fsys fs.FS) ([]Violation, error) {
	var found []Violation
	err := walk(fsys, func(name string) error {
		if path.Ext(name) != ".go" {
			return nil
		}
		src, err := fs.ReadFile(fsys, name)
		if err != nil {
			return err
		}
		var long []int
		for i, line := range bytes.Split(src, []byte("\n")) {
			if utf8.RuneCount(line) > maxColumns {
				long = append(long, i+1)
			}
		}
		if len(long) == 0 {
			return nil
		}
		set := token.NewFileSet()
		file, err := parser.ParseFile(set, name, src, parser.ParseComments)
		if err != nil || ast.IsGenerated(file) {
			return err
		}
		free := freeLines(set, file)
		for _, line := range long {
			if !free[line] {
				found = append(found, Violation{name, line, "a line of more than 160 columns: break it behind a comma, an operator or a word"})
			}
		}
		return nil
	})
	return found, err
}

// freeLines returns the lines of a file that may be longer: those of texts that go over several lines, directives, and comments that quote code.
func freeLines(set *token.FileSet, file *ast.File) map[int]bool {
	free := map[int]bool{}
	ast.Inspect(file, func(n ast.Node) bool {
		if text, ok := n.(*ast.BasicLit); ok && text.Kind == token.STRING {
			first, last := set.Position(text.Pos()).Line, set.Position(text.End()).Line
			for line := first; line <= last && first < last; line++ {
				free[line] = true
			}
		}
		return true
	})
	for _, group := range file.Comments {
		for _, comment := range group.List {
			if strings.HasPrefix(comment.Text, "//nolint") || strings.HasPrefix(comment.Text, "//\t") || strings.HasPrefix(comment.Text, "//go:") {
				free[set.Position(comment.Pos()).Line] = true
			}
		}
	}
	return free
}
