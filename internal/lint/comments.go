package main

import (
	"go/ast"
	"go/token"
	"slices"
	"strings"

	"golang.org/x/tools/go/analysis"
)

// comments reports what is public and has no comment, or one that does not begin with its name,
// and comments of declarations that do not end a sentence.
var comments = &analysis.Analyzer{
	Name: "comments",
	Doc:  "reports public declarations without a comment, and comments that end without a period",
	Run: func(pass *analysis.Pass) (any, error) {
		packageComment(pass)
		for _, file := range pass.Files {
			for _, decl := range file.Decls {
				commented(pass, decl)
			}
		}
		return nil, nil
	},
}

func packageComment(pass *analysis.Pass) {
	test := func(f *ast.File) bool { return strings.HasSuffix(pass.Fset.Position(f.FileStart).Filename, "_test.go") }
	files := slices.DeleteFunc(slices.Clone(pass.Files), test)
	if len(files) == 0 {
		return
	}
	for _, f := range files {
		if f.Doc != nil {
			if name := f.Name.Name; name != "main" && !strings.HasPrefix(f.Doc.Text(), "Package "+name+" ") {
				pass.Reportf(f.Doc.Pos(), "the comment of package %[1]s begins with \"Package %[1]s\"", name)
			}
			return
		}
	}
	pass.Reportf(files[0].Package, "package %s has no comment", pass.Pkg.Name())
}

func commented(pass *analysis.Pass, decl ast.Decl) {
	switch d := decl.(type) {
	case *ast.FuncDecl:
		sentence(pass, d.Doc)
		if public(d) {
			named(pass, d.Name, d.Doc)
		}
	case *ast.GenDecl:
		sentence(pass, d.Doc)
		for _, spec := range d.Specs {
			declared(pass, d, spec)
		}
	}
}

// declared looks at one type, variable or constant. A comment of the group is one of each in it.
func declared(pass *analysis.Pass, d *ast.GenDecl, spec ast.Spec) {
	switch s := spec.(type) {
	case *ast.TypeSpec:
		sentence(pass, s.Doc)
		doc := s.Doc
		if doc == nil && !d.Lparen.IsValid() {
			doc = d.Doc
		}
		if s.Name.IsExported() && (doc != nil || d.Doc == nil) {
			named(pass, s.Name, doc)
		}
	case *ast.ValueSpec:
		sentence(pass, s.Doc)
		exported := slices.ContainsFunc(s.Names, (*ast.Ident).IsExported)
		if d.Tok == token.VAR && exported && d.Doc == nil && s.Doc == nil && s.Comment == nil {
			pass.Reportf(s.Pos(), "%s is public and has no comment", s.Names[0].Name)
		}
	}
}

// obvious holds the methods whose meaning is that of an interface that all know.
var obvious = []string{"Error", "Is", "Len", "Less", "Read", "ServeHTTP", "String", "Swap", "Unwrap", "Write"}

// public reports whether a function, or a method and its type, are exported.
func public(f *ast.FuncDecl) bool {
	if f.Recv == nil {
		return f.Name.IsExported()
	}
	return f.Name.IsExported() && !slices.Contains(obvious, f.Name.Name) && ast.IsExported(receiver(f.Recv.List[0].Type))
}

func receiver(t ast.Expr) string {
	switch t := t.(type) {
	case *ast.StarExpr:
		return receiver(t.X)
	case *ast.IndexExpr:
		return receiver(t.X)
	case *ast.IndexListExpr:
		return receiver(t.X)
	case *ast.Ident:
		return t.Name
	}
	return ""
}

// named reports a comment that is missing or does not begin with the name.
func named(pass *analysis.Pass, name *ast.Ident, doc *ast.CommentGroup) {
	words := strings.Fields(doc.Text())
	for len(words) > 1 && slices.Contains([]string{"A", "An", "The", "Deprecated:"}, words[0]) {
		words = words[1:]
	}
	switch {
	case len(words) == 0:
		pass.Reportf(name.Pos(), "%s is public and has no comment", name.Name)
	case strings.TrimRight(words[0], ",.:'s") != strings.TrimRight(name.Name, ",.:'s"):
		pass.Reportf(doc.Pos(), "the comment of %[1]s begins with %[1]q", name.Name)
	}
}

// sentence reports a comment whose last line is neither code nor the end of a sentence.
func sentence(pass *analysis.Pass, doc *ast.CommentGroup) {
	text := strings.TrimRight(doc.Text(), "\n")
	last := text[strings.LastIndex(text, "\n")+1:]
	if last == "" || strings.HasPrefix(last, " ") || strings.HasPrefix(last, "\t") {
		return
	}
	if !strings.ContainsAny(last[len(last)-1:], ".?!") && !strings.HasSuffix(last, ".)") && !strings.HasSuffix(last, ".\"") {
		pass.Reportf(doc.End()-1, "the comment does not end a sentence")
	}
}
