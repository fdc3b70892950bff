package manifest

import (
	"fmt"
	"slices"
	"strings"
)

// Error is one problem in a manifest.
type Error struct {
	// File is the name the source was given, and Line the line in it, from 1;
	// 0 if the problem has no line.
	File string
	Line int
	// Object is "Kind/name" as far as they are known, empty if neither is.
	Object string
	// Field is the path of the field, for example
	// "spec.containers[0].image"; empty if the problem is not about one.
	Field string
	// Problem says what is wrong and what was expected.
	Problem string
}

// Error is "file:line: Kind/name: field: problem", without the parts that are
// empty.
func (e *Error) Error() string {
	at := e.File
	if e.Line > 0 {
		at = fmt.Sprintf("%s:%d", e.File, e.Line)
	}
	parts := slices.DeleteFunc([]string{at, e.Object, e.Field, e.Problem}, func(s string) bool { return s == "" })
	return strings.Join(parts, ": ")
}

// Errors are all problems of a set of manifests, in order of file and line.
type Errors []*Error

// Error is one problem per line.
func (e Errors) Error() string {
	lines := make([]string, len(e))
	for i, err := range e {
		lines[i] = err.Error()
	}
	return strings.Join(lines, "\n")
}

// Unwrap gives errors.As its way to each Error.
func (e Errors) Unwrap() []error {
	errs := make([]error, len(e))
	for i, err := range e {
		errs[i] = err
	}
	return errs
}

// didYouMean is `; did you mean "x"?` for the known word nearest to word, or
// nothing if none is near.
func didYouMean(word string, known []string) string {
	best, distance := "", len(word)/2+1
	for _, k := range known {
		if strings.EqualFold(k, word) {
			return fmt.Sprintf("; did you mean %q?", k)
		}
		if d := editDistance(strings.ToLower(word), strings.ToLower(k)); d < distance {
			best, distance = k, d
		}
	}
	if best == "" {
		return ""
	}
	return fmt.Sprintf("; did you mean %q?", best)
}

// editDistance is the number of letters to insert, delete or replace to turn a
// into b (Levenshtein). Words longer than any field name are never near.
func editDistance(a, b string) int {
	if len(a) > 100 || len(b) > 100 {
		return max(len(a), len(b))
	}
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := diagonal
			if a[i] != b[j] {
				cost = 1 + min(diagonal, row[j], row[j+1])
			}
			diagonal, row[j+1] = row[j+1], cost
		}
	}
	return row[len(b)]
}
