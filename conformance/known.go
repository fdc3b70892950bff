package conformance

import (
	"embed"
	"io/fs"
	"strings"
)

// known has one file for each case that is known to differ, named like the case: it
// says why; README.md is for people. Files of their own can be removed by several people at once.
//
//go:embed testdata/known
var known embed.FS

// Pending returns the cases that are known to differ, by name, with the reason. They
// count as different, and the tests fail as soon as one of them agrees, until its
// file in testdata/known is removed.
func Pending() map[string]string {
	pending := map[string]string{}
	entries, _ := fs.ReadDir(known, "testdata/known") // embedded: it is there
	for _, e := range entries {
		if e.Name() == "README.md" {
			continue
		}
		if reason, err := fs.ReadFile(known, "testdata/known/"+e.Name()); err == nil {
			pending[e.Name()] = strings.TrimSpace(string(reason))
		}
	}
	return pending
}
