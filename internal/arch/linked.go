package arch

import (
	"go/ast"
	"io/fs"
	"slices"
	"strings"
)

// Linked says what a package must not link, itself or through other packages of the module.
type Linked struct {
	// From is the directory of the package, "." for the root package.
	From string
	// Not are packages from outside of the module, each with all below it but Except.
	Not, Except []string
	// ByName says that methods must not be called by a name that is known only when the program runs.
	ByName bool
	// Why says what such an import costs.
	Why string
}

// Light returns the rule of this repository: who does not use CSI does not link gRPC.
func Light() Linked {
	return Linked{
		From:   ".",
		Not:    []string{"google.golang.org/grpc", "github.com/container-storage-interface/spec", "k8s.io/kubelet/pkg/apis"},
		Except: []string{"google.golang.org/grpc/codes", "k8s.io/kubelet/pkg/apis/stats/v1alpha1"}, // constants; types
		Why:    "it makes every program 30 MB larger; see csi/socket and csi/deploy",
	}
}

// WithoutCEL returns the rule of this repository: a program that does not ask for it does not link
// the library that evaluates rules of custom kinds.
func WithoutCEL() Linked {
	return Linked{
		From: ".",
		Not: []string{
			"k8s.io/apiserver", "github.com/google/cel-go", "k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel",
			"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/validation",
		},
		Why: "it makes every program 47 MB larger; see api/crd/cel",
	}
}

// Trimmed returns the rule of this repository: the linker may leave out methods that nothing calls.
func Trimmed() Linked {
	return Linked{
		From: ".",
		Not:  []string{"text/template", "html/template"}, ByName: true,
		Why: "it calls methods by names that are known only when it runs, so that the linker keeps all methods: a program is 15 MB larger",
	}
}

// CheckLinked reports every import, outside tests, of a package that must not be linked, in the
// package of the rule and in all packages of the module that it imports, directly or not.
func CheckLinked(fsys fs.FS, rule Linked) ([]Violation, error) {
	files, err := parse(fsys)
	if err != nil {
		return nil, err
	}
	var found []Violation
	for reached, i := []string{rule.From}, 0; i < len(reached); i++ {
		for _, f := range files {
			if f.test || f.dir != reached[i] {
				continue
			}
			ast.Inspect(f.ast, func(n ast.Node) bool {
				if call, ok := n.(*ast.CallExpr); ok && rule.ByName && byName(call) {
					found = append(found, f.violation(call.Pos(), "MethodByName without a literal, and package %s imports this one: %s", rule.From, rule.Why))
				}
				return true
			})
			for _, spec := range f.ast.Imports {
				name := importPath(spec)
				if dir, ours := inModule(name); ours && !slices.Contains(reached, dir) {
					reached = append(reached, dir)
				}
				if isIn(rule.Not, name) && !isIn(rule.Except, name) {
					found = append(found, f.violation(spec.Pos(), "imports %s, and package %s imports it: %s", name, rule.From, rule.Why))
				}
			}
		}
	}
	return found, nil
}

// byName reports whether a call asks reflection for a method whose name is no literal.
func byName(call *ast.CallExpr) bool {
	selector, ok := call.Fun.(*ast.SelectorExpr)
	if !ok || selector.Sel.Name != "MethodByName" || len(call.Args) != 1 {
		return false
	}
	_, literal := call.Args[0].(*ast.BasicLit)
	return !literal
}

// isIn reports whether a package is one of several, or below one.
func isIn(packages []string, name string) bool {
	return slices.ContainsFunc(packages, func(p string) bool { return p == name || strings.HasPrefix(name, p+"/") })
}
