package main

import (
	"go/ast"
	"go/token"
	"slices"

	"github.com/polyfloyd/go-errorlint/errorlint"
	"golang.org/x/tools/go/analysis"
	"honnef.co/go/tools/unused"
)

// wrapping returns the analyzer of wrapped errors, which also looks at the verbs of fmt.Errorf.
func wrapping() *analysis.Analyzer {
	a := errorlint.NewAnalyzer()
	if err := a.Flags.Set("errorf", "true"); err != nil {
		panic(err)
	}
	return a
}

// unusedCode reports what staticcheck's unused, which has a result and reports nothing, finds.
var unusedCode = &analysis.Analyzer{
	Name:     "unused",
	Doc:      "reports unexported code that is not used",
	Requires: []*analysis.Analyzer{unused.Analyzer.Analyzer},
	Run: func(pass *analysis.Pass) (any, error) {
		for _, o := range pass.ResultOf[unused.Analyzer.Analyzer].(unused.Result).Unused {
			pass.Reportf(position(pass, o.Position), "%s %s is unused", o.Kind, o.Name)
		}
		return nil, nil
	},
}

// position returns the place in a file of the package for what is said in words.
func position(pass *analysis.Pass, at token.Position) token.Pos {
	i := slices.IndexFunc(pass.Files, func(f *ast.File) bool { return pass.Fset.Position(f.FileStart).Filename == at.Filename })
	if i < 0 {
		return token.NoPos
	}
	return pass.Fset.File(pass.Files[i].FileStart).Pos(at.Offset)
}
