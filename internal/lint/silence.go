package main

import (
	"go/ast"
	"go/token"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"sync"

	"golang.org/x/tools/go/analysis"
)

// A directive is a comment //nolint:name // reason.
type directive struct {
	comment *ast.Comment
	name    string
	reason  bool

	mu   sync.Mutex
	used bool
}

// directives holds those of a package, by the file and the line that they silence.
type directives map[string]map[int]*directive

var readDirectives = &analysis.Analyzer{
	Name:       "directives",
	Doc:        "reads comments of the form //nolint:name // reason",
	ResultType: reflect.TypeFor[directives](),
	Run: func(pass *analysis.Pass) (any, error) {
		found := directives{}
		for _, file := range pass.Files {
			name := pass.Fset.Position(file.FileStart).Filename
			text, err := pass.ReadFile(name)
			if err != nil {
				return nil, err
			}
			found[name] = fileDirectives(pass.Fset, file, strings.Split(string(text), "\n"))
		}
		return found, nil
	},
}

var written = regexp.MustCompile(`^//nolint(?::(\w+))?(?: // \S.*)?$`)

func fileDirectives(fset *token.FileSet, file *ast.File, lines []string) map[int]*directive {
	found := map[int]*directive{}
	for _, group := range file.Comments {
		for _, comment := range group.List {
			if !strings.HasPrefix(comment.Text, "//nolint") {
				continue
			}
			d := &directive{comment: comment, reason: strings.Contains(comment.Text, " // ")}
			if match := written.FindStringSubmatch(comment.Text); match != nil {
				d.name = match[1]
			}
			line := fset.Position(comment.Pos()).Line
			if strings.HasPrefix(strings.TrimSpace(lines[line-1]), "//") {
				line++ // it has a line of its own, and silences the next
			}
			found[line] = d
		}
	}
	return found
}

// silences reports whether there is a directive for a finding of that name, and notes that it is used.
func (ds directives) silences(at token.Position, name string) bool {
	d := ds[at.Filename][at.Line]
	if d == nil || d.name != name {
		return false
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.used = true
	return true
}

// An exception reports whether a finding on a line of a file does not count.
type exception func(file, line string) bool

func notInTests(file, _ string) bool { return strings.HasSuffix(file, "_test.go") }

var report = regexp.MustCompile(`\.([cC]lose|[fF]lush)\(|\bos\.(Remove|RemoveAll|Setenv|Unsetenv)\(|\bfmt\.Fp?rint(f|ln)?\(`)

// notReports reports whether a call's error cannot be reported to a caller.
func notReports(_, line string) bool { return report.MatchString(line) }

// silenced returns an analyzer that reports what a reports, with a name, except in generated files
// and where an exception or a directive says that it does not count.
func silenced(name string, a *analysis.Analyzer, exceptions ...exception) *analysis.Analyzer {
	quieter := *a
	quieter.Requires = append(slices.Clone(a.Requires), readDirectives)
	quieter.Run = func(pass *analysis.Pass) (any, error) {
		ds, filtered := pass.ResultOf[readDirectives].(directives), *pass
		filtered.Report = func(d analysis.Diagnostic) {
			at := pass.Fset.Position(d.Pos)
			if counts(pass, at, exceptions) && !ds.silences(at, name) {
				d.Message += " (" + name + ")"
				pass.Report(d)
			}
		}
		return a.Run(&filtered)
	}
	return &quieter
}

func counts(pass *analysis.Pass, at token.Position, exceptions []exception) bool {
	for _, file := range pass.Files {
		if pass.Fset.Position(file.FileStart).Filename == at.Filename && ast.IsGenerated(file) {
			return false
		}
	}
	text, err := pass.ReadFile(at.Filename)
	lines := strings.Split(string(text), "\n")
	return err != nil || !slices.ContainsFunc(exceptions, func(e exception) bool { return e(at.Filename, lines[at.Line-1]) })
}

// needless returns an analyzer that reports directives without a name or reason, and those that
// silence nothing. It runs after all that they could silence.
func needless(silenced []*analysis.Analyzer) *analysis.Analyzer {
	return &analysis.Analyzer{
		Name:     "nolint",
		Doc:      "reports directives that say too little or silence nothing",
		Requires: append(slices.Clone(silenced), readDirectives),
		Run: func(pass *analysis.Pass) (any, error) {
			for _, lines := range pass.ResultOf[readDirectives].(directives) {
				for _, d := range lines {
					switch {
					case d.name == "" || !d.reason:
						pass.Reportf(d.comment.Pos(), "write //nolint:name // reason")
					case !d.used:
						pass.Reportf(d.comment.Pos(), "there is no finding of %s here", d.name)
					}
				}
			}
			return nil, nil
		},
	}
}
