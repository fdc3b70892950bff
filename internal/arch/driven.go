package arch

import (
	"go/ast"
	"go/token"
	"io/fs"
	"path"
	"slices"
	"strings"
)

// DrivenRules says which code is driven and what it is exceptionally allowed.
type DrivenRules struct {
	// Tops are the top directories of driven code.
	Tops []string
	// Not are packages below Tops that are not driven: code with goroutines inside, behind
	// a call that is a step.
	Not []string
	// Files are the packages that may import os: all the code that touches
	// files is there.
	Files []string
	// Vars lists, per package, the package-level variables that are never changed:
	// tables that Go cannot express as constants. Error values made with
	// errors.New or fmt.Errorf, and "_", need no listing.
	Vars map[string][]string
}

// Driven returns the rule of this repository.
func Driven() DrivenRules {
	return DrivenRules{
		Tops:  []string{"binding", "control", "machine", "volume", "pvcontroller", "scheduler", "provisioner", "kubelet", "controllers", "trace", "explain", "csi"},
		Not:   []string{"csi/call"},
		Files: []string{"machine/disk", "machine/mount", "machine/internal/mountinfo", "machine/internal/removal", "machine/workdir"},
		Vars: map[string][]string{
			"binding":           {"knownModes", "orderedModeSets"},
			"control/snapshots": {"definitions", "groupDefinitions"}, // embedded files
			"control":           {"ErrTimeout"},                      // that of package context
			"csi":               {"nameFormat"},                      // a regular expression
			"explain":           {"lacks", "exceeded"},               // regular expressions
			"explain/leaks":     {"volumeName"},                      // a regular expression
			"kubelet":           {"ErrReadOnly"},                     // that of machine/shell
			"trace":             {"shortNames", "knownFields"},       // what types have is looked up once
		},
	}
}

// noImport lists the packages that driven code must not import, with what to use instead. A path
// stands for itself and everything below it; one that reaches files is allowed
// in the packages listed for that.
var noImport = []struct {
	path    string
	files   bool
	instead string
}{
	{"math/rand", false, "control.Env.Choose"},
	{"crypto/rand", false, "control.Env.Choose"},
	{"log", false, "control.Env.Trace or Recorder"},
	{"k8s.io/klog", false, "control.Env.Trace or Recorder"},
	{"github.com/go-logr", false, "control.Env.Trace or Recorder"},
	{"os", true, "the node's own file system in machine/disk"},
	{"syscall", true, "machine/mount"},
	{"golang.org/x/sys", true, "machine/mount"},
}

// noTime lists the functions of package time that driven code must not use: they
// read the machine's clock or wait for it.
var noTime = []string{"Now", "Since", "Until", "Sleep", "After", "AfterFunc", "Tick", "NewTimer", "NewTicker"}

// CheckDriven reports everything in driven code, outside tests, by which a run
// could depend on anything but the Env it was given.
func CheckDriven(fsys fs.FS, rules DrivenRules) ([]Violation, error) {
	files, err := parse(fsys)
	if err != nil {
		return nil, err
	}
	var found []Violation
	for _, f := range files {
		if f.test || !slices.Contains(rules.Tops, top(f.dir)) || slices.Contains(rules.Not, f.dir) {
			continue
		}
		found = append(found, checkForbiddenImports(f, rules)...)
		found = append(found, checkStatements(f)...)
		found = append(found, checkVars(f, rules.Vars[f.dir])...)
	}
	return found, nil
}

func checkForbiddenImports(f *file, rules DrivenRules) []Violation {
	var found []Violation
	for _, spec := range f.ast.Imports {
		name := importPath(spec)
		if spec.Name != nil && spec.Name.Name == "." {
			found = append(found, f.violation(spec.Pos(), "imports %s with a dot, which hides what it uses", name))
		}
		for _, no := range noImport {
			matches := name == no.path || strings.HasPrefix(name, no.path+"/")
			if !matches || no.files && slices.Contains(rules.Files, f.dir) {
				continue
			}
			found = append(found, f.violation(spec.Pos(), "imports %s: driven code uses %s", name, no.instead))
		}
	}
	return found
}

func checkStatements(f *file) []Violation {
	var found []Violation
	clock := localName(f, "time")
	ast.Inspect(f.ast, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.GoStmt:
			found = append(found, f.violation(n.Pos(), "starts a goroutine: driven code uses control.Env.Go"))
		case *ast.SelectorExpr:
			x, ok := n.X.(*ast.Ident)
			if ok && clock != "" && x.Name == clock && slices.Contains(noTime, n.Sel.Name) {
				found = append(found, f.violation(n.Pos(), "uses time.%s: driven code uses control.Clock", n.Sel.Name))
			}
		}
		return true
	})
	return found
}

func checkVars(f *file, listed []string) []Violation {
	var found []Violation
	for _, decl := range f.ast.Decls {
		gen, ok := decl.(*ast.GenDecl)
		if !ok || gen.Tok != token.VAR {
			continue
		}
		for _, spec := range gen.Specs {
			values := spec.(*ast.ValueSpec)
			for i, name := range values.Names {
				isError := i < len(values.Values) && makesError(values.Values[i])
				if name.Name == "_" || isError || slices.Contains(listed, name.Name) {
					continue
				}
				found = append(found, f.violation(name.Pos(),
					"package-level variable %s: pass it as an argument, or, if it is a constant table, list it in internal/arch/driven.go", name.Name))
			}
		}
	}
	return found
}

// makesError reports whether the expression is errors.New(...) or fmt.Errorf(...).
func makesError(e ast.Expr) bool {
	call, ok := e.(*ast.CallExpr)
	if !ok {
		return false
	}
	sel, ok := call.Fun.(*ast.SelectorExpr)
	if !ok {
		return false
	}
	x, ok := sel.X.(*ast.Ident)
	return ok && (x.Name == "errors" && sel.Sel.Name == "New" || x.Name == "fmt" && sel.Sel.Name == "Errorf")
}

// localName returns what a file calls a package it imports, "" if it does not.
func localName(f *file, importing string) string {
	for _, spec := range f.ast.Imports {
		if importPath(spec) != importing {
			continue
		}
		if spec.Name != nil {
			return spec.Name.Name
		}
		return path.Base(importing)
	}
	return ""
}
