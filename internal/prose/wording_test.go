package prose

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// unclear are words that leave open who does something, and forms that readers of English
// as a second language stumble over, with what to write instead.
var unclear = []struct {
	form    *regexp.Regexp
	instead string
}{
	{regexp.MustCompile(`(?i)\b(nobody|somebody|anybody|everybody|whoever)('s)?\b`), "the component, the user or the process by its name"},
	{regexp.MustCompile(`%[qsd] is no [a-z]`), "%q is not a ..."},
	{regexp.MustCompile(`(?i)\bis none of\b|\bnone of nothing\b`), "is not one of, or the full sentence"},
	{regexp.MustCompile(`(?i)\b(dearest|hears? of|lets? go of|made good)\b`), "the most expensive, receives, releases, repeated"},
	{regexp.MustCompile(`\?; there are\b`), "prose.OneOf"},
}

// unclearComment are forms that make a comment hard to follow, with what to write instead. A
// comment of a function begins with what it does, of a type or field with what it holds.
var unclearComment = []struct {
	form    *regexp.Regexp
	instead string
}{
	{regexp.MustCompile(`(?i)\b(is|are|was|were) (what|those|how|where|who|whose)\b`), "a noun: the number of, the path of, the requests"},
	{regexp.MustCompile(`(?i)\b(nobody|somebody|anybody|everybody|whoever)('s)?\b`), "the component, the user or the process by its name"},
	{regexp.MustCompile(`(?i)\b(dearest|hears? of|lets? go of|made good)\b`), "the most expensive, receives, releases, repeated"},
	{regexp.MustCompile(`\b(is|are|equal|all|nothing|nobody|no \w+)\b[^.;:]* but for\b`), "except, without"},
	{regexp.MustCompile(`^[a-z]\w+\. Upstream: `), "what the function does, or only the citation"},
	{regexp.MustCompile(`(?i)\bthe number of ([a-z]+s (are|were|have been|happen|may|then)|of|are|is|run|there)\b`), "the number of ... that are"},
	{regexp.MustCompile(`^\w+ ((returns|is) those|returns that of)\b`), "the things by their name: returns the kinds of"},
	{regexp.MustCompile(`\blaid to\b`), "attributed to"},
	{regexp.MustCompile(`^\w+ has [^.,:]{1,60} (be|do|run|make|come|start|end|go|take|begin|wait|told|asked|attached|detached)\b`), "makes, lets, asks"},
}

// is matches the rest of a function's comment that says what the function is instead of what it
// returns or does.
var is = regexp.MustCompile(`^(is|are|was|were) `)

// returns matches the beginning of a comment that says what a function returns, and not when.
var returns = regexp.MustCompile(`^returns (a|an|the|what|whether|how|one) `)

// function holds the comment of a function without its name, and the number of its results.
type function struct {
	comment string
	results int
}

// commentOf returns the comment of a declaration, if it begins with the function's name.
func commentOf(decl ast.Decl) (function, bool) {
	f, ok := decl.(*ast.FuncDecl)
	if !ok || f.Doc == nil {
		return function{}, false
	}
	rest, ok := strings.CutPrefix(f.Doc.Text(), f.Name.Name+" ")
	found := function{comment: rest}
	if f.Type.Results != nil {
		for _, result := range f.Type.Results.List {
			found.results += max(1, len(result.Names))
		}
	}
	return found, ok
}

// wrong says what a function's comment claims that cannot be, or "".
func (f function) wrong() string {
	switch {
	case is.MatchString(f.comment):
		return "the comment says what the function is; write what it returns, reports or does"
	case returns.MatchString(f.comment) && f.results == 0:
		return "the comment says what the function returns, which is nothing; write what it does"
	}
	return ""
}

// comments returns the comments of a Go file, each with its place, without those that quote code.
func comments(t *testing.T, path, text string) (all map[string]string, ofFunctions map[string]function) {
	t.Helper()
	all, ofFunctions = map[string]string{}, map[string]function{}
	set := token.NewFileSet()
	file, err := parser.ParseFile(set, path, text, parser.ParseComments)
	require.NoError(t, err)
	for _, group := range file.Comments {
		all[set.Position(group.Pos()).String()] = strings.Join(strings.Fields(group.Text()), " ")
	}
	for _, decl := range file.Decls {
		if f, ok := commentOf(decl); ok {
			ofFunctions[set.Position(decl.Pos()).String()] = f
		}
	}
	return all, ofFunctions
}

// unclearIn says where comments use an unclear form.
func unclearIn(all map[string]string, ofFunctions map[string]function) (found []string) {
	for place, text := range all {
		for _, rule := range unclearComment {
			if form := rule.form.FindString(text); form != "" {
				found = append(found, place+": "+strconv.Quote(form)+"; write "+rule.instead)
			}
		}
	}
	for place, f := range ofFunctions {
		if wrong := f.wrong(); wrong != "" {
			found = append(found, place+": "+wrong)
		}
	}
	return found
}

// code matches quotations in Markdown: blocks between fences, and words between backticks.
var code = regexp.MustCompile("(?s)```.*?```|`[^`\n]*`")

// readerTexts returns the texts that a reader sees, each with its place: the string literals of
// a Go file, its comment if it is a doc.go, the prose of Markdown, the comments of a story.
func readerTexts(t *testing.T, path, text string) map[string]string {
	t.Helper()
	texts := map[string]string{}
	switch {
	case strings.HasSuffix(path, ".md"):
		texts[path] = code.ReplaceAllString(text, "")
	case strings.HasSuffix(path, ".txt"):
		for i, line := range strings.Split(text, "\n") {
			if strings.HasPrefix(line, "#") {
				texts[path+":"+strconv.Itoa(i+1)] = line
			}
		}
	case strings.HasSuffix(path, ".go"):
		set := token.NewFileSet()
		file, err := parser.ParseFile(set, path, text, parser.ParseComments)
		require.NoError(t, err)
		if filepath.Base(path) == "doc.go" {
			texts[path] = file.Doc.Text()
		}
		ast.Inspect(file, func(n ast.Node) bool {
			if literal, ok := n.(*ast.BasicLit); ok && literal.Kind == token.STRING {
				value, err := strconv.Unquote(literal.Value)
				require.NoError(t, err)
				texts[set.Position(literal.Pos()).String()] = value
			}
			return true
		})
	}
	return texts
}

// wrongly says where a text uses an unclear form.
func wrongly(texts map[string]string) []string {
	var found []string
	for place, text := range texts {
		for _, rule := range unclear {
			if form := rule.form.FindString(text); form != "" {
				found = append(found, place+": "+strconv.Quote(form)+"; write "+rule.instead)
			}
		}
	}
	return found
}

func TestWhatReadersSeeNamesWhoDoesWhat(t *testing.T) {
	read := 0
	err := filepath.WalkDir("../..", func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name := entry.Name()
		if entry.IsDir() {
			if strings.HasPrefix(name, ".") && name != ".." && name != "." || name == "testdata" && !strings.HasSuffix(filepath.ToSlash(path), "story/testdata") {
				return fs.SkipDir
			}
			return nil
		}
		story := strings.Contains(filepath.ToSlash(path), "story/testdata/") && strings.HasSuffix(name, ".txt")
		code, test := strings.HasSuffix(name, ".go"), strings.HasSuffix(name, "_test.go")
		if !story && !code && !strings.HasSuffix(name, ".md") {
			return nil
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		read++
		if !test { // whose strings are no documentation
			for _, wrong := range wrongly(readerTexts(t, path, string(text))) {
				t.Error(wrong)
			}
		}
		if code {
			for _, wrong := range unclearIn(comments(t, path, string(text))) {
				t.Error(wrong)
			}
		}
		return nil
	})
	require.NoError(t, err)
	require.Greater(t, read, 300)
}

func TestTheRulesOfWordingFindWhatTheyAreFor(t *testing.T) {
	for text, want := range map[string]int{
		"Nobody enforces `nobody` here.":           1,
		"```\nnobody\n```\nThe kubelet mounts it.": 0,
		"The dearest filter comes last.":           1,
	} {
		require.Len(t, wrongly(readerTexts(t, "x.md", text)), want, text)
	}
	require.Len(t, wrongly(readerTexts(t, "x.go", "package x\n\n// Nobody reads this.\nvar x = \"%q is no place\"\n")), 1)
	require.Len(t, wrongly(readerTexts(t, "doc.go", "// Package x is for somebody.\npackage x\n")), 1)
	for comment, want := range map[string]int{
		"// F is the first of them.":             1,
		"// F returns it. It is how it goes.":    1,
		"// F has the server be told.":           1,
		"// F waits for somebody.":               1,
		"// F returns the crash of an actor.":    1,
		"// F returns when all have ended.":      0,
		"// F takes the number of keys are held": 1,
		"// F takes the number of keys that are": 0,
		"// F takes the number of are.":          1,
		"// F returns those of a pod.":           1,
		"// F takes those of a pod.":             0,
		"// F takes what is laid to F.":          1,
		"// F returns all but for one.":          1,
		"// F waits, but for a minute at most.":  0,
		"// check. Upstream: a.go G, v1.37.":     1,
		"// Upstream: a.go G, v1.37.":            0,
	} {
		require.Len(t, unclearIn(comments(t, "x.go", "package x\n\n"+comment+"\nfunc F() {}\n")), want, comment)
	}
	require.Len(t, wrongly(readerTexts(t, "x.txt", "# Whoever comes first.\nget pv nobody\n")), 1)
}
