package main

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
)

// verdict says what has become of what a citation names.
type verdict string

const (
	same    verdict = "the same"
	changed verdict = "has changed"
	missing verdict = "not found"
)

// citation is a place of a comment with a release: "FILE FUNC, v1.36".
type citation struct {
	text     string // between "Upstream: ", or the release before it, and this release
	line, at int    // of the release's digits in the file
	verdict  verdict
	why      string
	was, is  string // the declaration, if it has changed
}

// paragraph matches a comment from "Upstream: " to its end: lines that begin with // and hold something.
var paragraph = regexp.MustCompile(`Upstream: [^\n]*(?:\n[ \t]*//[ \t]*[^ \t\n/][^\n]*)*`)

// citationsIn returns the citations of a release, such as v1.36, of which v0.36 is a part.
func citationsIn(name, source, release string) (found []*citation) {
	_, number, _ := strings.Cut(release, ".")
	version := regexp.MustCompile(`\bv[01]\.` + number + `\b(\.\d+)?`)
	for _, place := range paragraph.FindAllStringIndex(source, -1) {
		begin := place[0]
		text := source[begin:place[1]]
		last := 0
		for _, v := range version.FindAllStringIndex(text, -1) {
			found = append(found, &citation{
				text: strings.TrimPrefix(text[last:v[0]], "Upstream: "),
				line: 1 + strings.Count(source[:begin+v[0]], "\n"),
				at:   begin + v[0] + 1, // behind the v
			})
			last = v[1]
		}
	}
	return found
}

var (
	word       = regexp.MustCompile(`[\w./-]*\w`)
	identifier = regexp.MustCompile(`^[A-Za-z_]\w*(\.[A-Za-z_]\w*)?$`)
	camel      = regexp.MustCompile(`[a-z0-9][A-Z]|[._]`)
)

// judge compares what the citation names. Words that no file declares are prose, unless they look like identifiers.
func (c *citation) judge(before, after tree) {
	var places, names []string
	for _, w := range word.FindAllString(c.text, -1) {
		switch {
		case strings.HasSuffix(w, ".go"), strings.Contains(w, "/"):
			places = append(places, strings.Trim(strings.TrimPrefix(w, "k8s.io/"), "/"))
		case identifier.MatchString(w):
			names = append(names, w)
		}
	}
	paths := before.in(places)
	if len(paths) == 0 {
		c.verdict, c.why = missing, fmt.Sprintf("no file %s", strings.Join(places, ", "))
		return
	}
	compared := 0
	for _, name := range names {
		if len(places) == 0 && !camel.MatchString(name) {
			continue // a word
		}
		whole, declaring := name, before.declaring(paths, name)
		if folder, inner, ok := strings.Cut(name, "."); ok && len(declaring) == 0 { // package and function
			name = inner
			declaring = before.declaring(before.in([]string{folder}), name)
		}
		for _, path := range declaring {
			compared++
			if after[path][name] != before[path][name] {
				c.change(before, after, path, name)
				return
			}
		}
		if len(declaring) == 0 && camel.MatchString(whole) {
			c.verdict, c.why = missing, fmt.Sprintf("nothing is called %s in %s", whole, describe(places))
			return
		}
	}
	if compared > 0 {
		c.verdict = same
		return
	}
	if len(places) == 0 {
		c.verdict, c.why = missing, fmt.Sprintf("%q names neither a file nor a declaration", strings.Join(strings.Fields(c.text), " "))
		return
	}
	for _, path := range paths { // the whole file or package is cited
		for _, name := range slices.Sorted(maps.Keys(before[path])) {
			if after[path][name] != before[path][name] {
				c.change(before, after, path, name)
				return
			}
		}
	}
	c.verdict = same
}

func (c *citation) change(before, after tree, path, name string) {
	c.verdict, c.why = changed, path+" "+name
	c.was, c.is = before[path][name], after[path][name]
}

func describe(places []string) string {
	if len(places) == 0 {
		return "any file"
	}
	return strings.Join(places, ", ")
}
