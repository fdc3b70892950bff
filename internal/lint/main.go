// Lint is the vet tool of this repository: the analyzers of go vet, others that have found
// something here, and rules of our own for comments.
//
//	go build -o /tmp/lint . && go vet -vettool=/tmp/lint ./...
//
// It analyzes one package at a time from what go vet keeps of those that it imports, so that a
// second run looks only at packages that changed.
//
// A finding that is meant to stay needs a reason, on its line or on a line of its own before it:
//
//	if _, ok := err.(*IgnoredError); ok { //nolint:errorlint // upstream looks at the direct type only
package main

import (
	"encoding/gob"
	"encoding/json"
	"os"
	"strings"

	"github.com/gordonklaus/ineffassign/pkg/ineffassign"
	"github.com/gostaticanalysis/nilerr"
	"github.com/kisielk/errcheck/errcheck"
	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/analysis/passes/ctrlflow"
	"golang.org/x/tools/go/analysis/passes/printf"
	"golang.org/x/tools/go/analysis/suite/vet"
	"golang.org/x/tools/go/analysis/unitchecker"
	"honnef.co/go/tools/analysis/facts/deprecated"
	"honnef.co/go/tools/analysis/facts/nilness"
	"honnef.co/go/tools/analysis/facts/purity"
	"honnef.co/go/tools/analysis/lint"
	"honnef.co/go/tools/simple"
	"honnef.co/go/tools/staticcheck"
	"honnef.co/go/tools/stylecheck"
)

func main() {
	unit := read(os.Args[len(os.Args)-1])
	if !unit.VetxOnly {
		unitchecker.Main(suite()...)
	}
	register(suite())
	unitchecker.Main(facts(unit.ModulePath == "")...)
}

// read returns what go vet wants to know of a package, if the argument is the name of such a file.
func read(file string) (unit unitchecker.Config) {
	if text, err := os.ReadFile(file); err == nil && strings.HasSuffix(file, ".cfg") {
		_ = json.Unmarshal(text, &unit) // unitchecker says what is wrong with it
	}
	return unit
}

// facts returns what is noted of a dependency: which functions format, which do not return, what
// is deprecated, and of the standard library which functions do nothing but return. To note this of
// all dependencies takes three times as long.
func facts(standard bool) []*analysis.Analyzer {
	list := []*analysis.Analyzer{printf.Analyzer, ctrlflow.Analyzer, deprecated.Analyzer}
	if standard {
		list = append(list, purity.Analyzer, nilness.Analysis)
	}
	return list
}

// register makes known to gob what analyzers note: a dependency may import a package of which more
// was noted.
func register(analyzers []*analysis.Analyzer) {
	for _, a := range analyzers {
		for _, fact := range a.FactTypes {
			gob.Register(fact)
		}
		register(a.Requires)
	}
}

// suite returns all analyzers.
func suite() []*analysis.Analyzer {
	ours := []*analysis.Analyzer{
		silenced("errcheck", errcheck.Analyzer, notInTests, notReports),
		silenced("errorlint", wrapping()),
		silenced("ineffassign", ineffassign.Analyzer),
		silenced("nilerr", nilerr.Analyzer),
		silenced("unused", unusedCode),
		silenced("comments", comments, notInTests),
	}
	for _, checks := range [][]*lint.Analyzer{staticcheck.Analyzers, simple.Analyzers, stylecheck.Analyzers} {
		for _, check := range checks {
			switch name := check.Analyzer.Name; name {
			case "ST1000", "ST1020", "ST1021", "ST1022": // comments does that
			case "ST1003", "ST1005": // names and messages are upstream's
			case "SA1019":
				ours = append(ours, silenced("staticcheck", check.Analyzer, notInTests)) // deprecated fields are still tested
			default:
				ours = append(ours, silenced("staticcheck", check.Analyzer))
			}
		}
	}
	return append(append(vet.Suite, ours...), needless(ours))
}
