package arch

import (
	"io/fs"
	"path"
	"slices"
	"strings"
)

// A KeptImport is a package from outside of the module that only some of the module's
// packages may import.
type KeptImport struct {
	// Path stands for itself and everything below it. An element "*" stands for any.
	Path string
	// Only are the packages that may import it.
	Only []string
	// Why says what the others use instead.
	Why string
}

// KeptImports returns the rule of this repository.
func KeptImports() []KeptImport {
	adapter := []string{"api/fake"}
	why := "client-go's fakes are an adapter over api.Server: see package api/fake"
	return []KeptImport{
		{Path: "k8s.io/client-go/testing", Only: adapter, Why: why},
		{Path: "k8s.io/client-go/*/fake", Only: adapter, Why: why},
		{Path: "k8s.io/client-go/kubernetes/typed/*/*/fake", Only: adapter, Why: why},
		{Path: "testing", Only: forTests(), Why: "the library is for programs too: what needs a testing.TB is in storagesimtest"},
	}
}

// forTests returns the packages whose functions are given a testing.TB. The library and the
// story runner are not among them.
func forTests() []string {
	return []string{
		"storagesimtest", "explore", "live", "api/internal/apitest",
		"internal/rigs/clienttest", "internal/rigs/clustertest", "internal/rigs/csitest",
		"internal/rigs/enginetest", "internal/rigs/outside", "internal/rigs/soon",
		"internal/seedtest", "internal/unshared", "internal/rigs/volumetest",
	}
}

// CheckKeptImports reports every import, outside tests, of a package that is kept from
// the importing one.
func CheckKeptImports(fsys fs.FS, rules []KeptImport) ([]Violation, error) {
	files, err := parse(fsys)
	if err != nil {
		return nil, err
	}
	var found []Violation
	for _, f := range files {
		if f.test {
			continue
		}
		for _, spec := range f.ast.Imports {
			for _, rule := range rules {
				if rule.covers(importPath(spec)) && !slices.Contains(rule.Only, f.dir) {
					found = append(found, f.violation(spec.Pos(), "imports %s, which only %s may: %s", importPath(spec), strings.Join(rule.Only, ", "), rule.Why))
				}
			}
		}
	}
	return found, nil
}

// covers reports whether the import is of the kept package or below it.
func (k KeptImport) covers(name string) bool {
	elements := strings.Split(name, "/")
	n := strings.Count(k.Path, "/") + 1
	if len(elements) < n {
		return false
	}
	matched, err := path.Match(k.Path, strings.Join(elements[:n], "/"))
	return err == nil && matched
}
