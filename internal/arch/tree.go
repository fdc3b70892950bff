package arch

import (
	"cmp"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path"
	"slices"
	"strconv"
	"strings"
)

// A Violation is one place that breaks a rule.
type Violation struct {
	// File is the path from the top of the repository; Line may be 0.
	File string
	Line int
	// Text says what is wrong and what is allowed instead.
	Text string
}

func (v Violation) String() string {
	if v.Line == 0 {
		return fmt.Sprintf("%s: %s", v.File, v.Text)
	}
	return fmt.Sprintf("%s:%d: %s", v.File, v.Line, v.Text)
}

// file is one parsed Go file of the module.
type file struct {
	path string // from the top
	dir  string // its package's directory, "." for the root package
	test bool
	set  *token.FileSet
	ast  *ast.File
}

func (f *file) violation(pos token.Pos, format string, args ...any) Violation {
	return Violation{File: f.path, Line: f.set.Position(pos).Line, Text: fmt.Sprintf(format, args...)}
}

// parse reads every Go file of the module, in order of path. Modules nested in
// it are not part of it.
func parse(fsys fs.FS) ([]*file, error) {
	var files []*file
	set := token.NewFileSet()
	err := walk(fsys, func(name string) error {
		if path.Ext(name) != ".go" {
			return nil
		}
		src, err := fs.ReadFile(fsys, name)
		if err != nil {
			return err
		}
		f := &file{path: name, dir: path.Dir(name), test: strings.HasSuffix(name, "_test.go"), set: set}
		f.ast, err = parser.ParseFile(f.set, name, src, parser.SkipObjectResolution)
		files = append(files, f)
		return err
	})
	slices.SortFunc(files, func(a, b *file) int { return cmp.Compare(a.path, b.path) })
	return files, err
}

// walk visits the module's files, leaving out what the go command leaves out.
func walk(fsys fs.FS, visit func(name string) error) error {
	return fs.WalkDir(fsys, ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if !entry.IsDir() {
			return visit(name)
		}
		base := entry.Name()
		if name != "." && (base == "testdata" || strings.HasPrefix(base, ".") || strings.HasPrefix(base, "_")) {
			return fs.SkipDir
		}
		if name != "." {
			if _, err := fs.Stat(fsys, path.Join(name, "go.mod")); err == nil {
				return fs.SkipDir
			}
		}
		return nil
	})
}

// importPath returns what an import names.
func importPath(spec *ast.ImportSpec) string {
	p, err := strconv.Unquote(spec.Path.Value)
	if err != nil {
		return spec.Path.Value // the parser has already refused it
	}
	return p
}
