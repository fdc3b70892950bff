package trace

import (
	"regexp"
	"slices"
)

// About returns a function that reports whether the sentence of an entry names one of the objects.
func About(objects ...Ref) func(Entry) bool {
	patterns := make([]*regexp.Regexp, len(objects))
	for i, object := range objects {
		patterns[i] = regexp.MustCompile(`(^|[^-\w./])` + regexp.QuoteMeta(object.String()) + `($|[^-\w./])`)
	}
	return func(e Entry) bool {
		text := e.Record.String()
		return slices.ContainsFunc(patterns, func(object *regexp.Regexp) bool { return object.MatchString(text) })
	}
}
