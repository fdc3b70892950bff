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
	// UnknownKind: the server has no such kind, or not in that version.
	UnknownKind bool
}

// Error returns "file:line: Kind/name: field: problem", without the parts that are
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

// Error returns one problem per line.
func (e Errors) Error() string {
	lines := make([]string, len(e))
	for i, err := range e {
		lines[i] = err.Error()
	}
	return strings.Join(lines, "\n")
}

// OnlyUnknownKinds reports whether nothing is wrong but that the server does not have all kinds: kubectl applies the other objects.
func (e Errors) OnlyUnknownKinds() bool {
	return !slices.ContainsFunc(e, func(err *Error) bool { return !err.UnknownKind })
}

// Unwrap gives errors.As its way to each Error.
func (e Errors) Unwrap() []error {
	errs := make([]error, len(e))
	for i, err := range e {
		errs[i] = err
	}
	return errs
}
