package docs

import (
	"cmp"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// mirror is a function or type of this library that mirrors one of upstream's.
type mirror struct{ upstream, ours, file string }

// cited finds the functions in a comment: "Upstream: FILE.go name, name and name, v1.37", on one line.
var cited = regexp.MustCompile(`\S+\.go ((?:[A-Za-z]\w*\.)?[A-Za-z]\w*(?:(?:, and |, | and )(?:[A-Za-z]\w*\.)?[A-Za-z]\w*)*)`)

// between are the words that separate names, or that follow the last one.
var between = regexp.MustCompile(`, and |, | and `)

// released matches the version that ends a citation.
var released = regexp.MustCompile(`^v\d`)

// upstreamNames returns the names that a comment cites. Words that are no names, such as those of a sentence that follows, are left out:
// a name has a capital letter in it, or is the only one.
func upstreamNames(comment string) (names []string) {
	_, after, found := strings.Cut(strings.Join(strings.Fields(comment), " "), "Upstream: ")
	if !found {
		return nil
	}
	for _, m := range cited.FindAllStringSubmatch(after, -1) {
		for i, name := range between.Split(m[1], -1) {
			if released.MatchString(name) || name == "and" || i > 0 && strings.ToLower(name) == name {
				break
			}
			names = append(names, name)
		}
	}
	return names
}

// mirrors returns the functions and types of the library whose comments cite upstream's, sorted by upstream's name.
func mirrors(t *testing.T) (all []mirror) {
	t.Helper()
	require.NoError(t, filepath.WalkDir("..", func(file string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || !strings.HasSuffix(file, ".go") || strings.HasSuffix(file, "_test.go") ||
			strings.Contains(filepath.ToSlash(file), "/testdata/") {
			return err
		}
		all = append(all, mirrorsOf(t, strings.TrimPrefix(filepath.ToSlash(file), "../"), read(t, file))...)
		return nil
	}))
	slices.SortFunc(all, func(a, b mirror) int {
		return cmp.Or(cmp.Compare(strings.ToLower(a.upstream), strings.ToLower(b.upstream)), cmp.Compare(a.file, b.file), cmp.Compare(a.ours, b.ours))
	})
	return slices.Compact(all)
}

func mirrorsOf(t *testing.T, file, source string) (all []mirror) {
	t.Helper()
	parsed, err := parser.ParseFile(token.NewFileSet(), file, source, parser.ParseComments|parser.SkipObjectResolution)
	require.NoError(t, err)
	for _, d := range parsed.Decls {
		kind := "func"
		if _, ok := d.(*ast.GenDecl); ok {
			kind = "type"
		}
		ours, doc := declared(d, kind), comments(d)
		if ours == "" || doc == nil {
			continue
		}
		for _, name := range upstreamNames(doc.Text()) {
			all = append(all, mirror{name, ours, file})
		}
	}
	return all
}

// chapterOf returns the first chapter that quotes the function whole, or else names it, by upstream's name or ours.
func chapterOf(m mirror, chapters []string, texts map[string]string) string {
	for _, words := range []string{m.file + " func " + m.ours + " -->", m.file + " type " + m.ours + " -->", "`" + m.upstream + "`", "`" + m.ours + "`",
		"`" + m.ours[strings.LastIndex(m.ours, ".")+1:] + "`"} {
		for _, file := range chapters {
			if strings.Contains(texts[file], words) {
				number, _, _ := strings.Cut(file, "-")
				return fmt.Sprintf("[%s](%s)", strings.TrimPrefix(number, "0"), file)
			}
		}
	}
	return ""
}

func row(m mirror, chapter string) string {
	return fmt.Sprintf("| `%s` | `%s` | [%s](../%s) | %s |\n", m.upstream, m.ours, m.file, m.file, chapter)
}

const namesTop = `# Upstream's names

Functions and types of Kubernetes, its sidecars and provisioners, and the ones of this library that mirror them: first upstream's name, as the comment "Upstream:"
of ours cites it, with the file and release. The last column has the chapter that quotes it whole, or else the first that names one of the two.

| upstream | ours | file | chapter |
| --- | --- | --- | --- |
`

// TestTheTableOfUpstreamsNamesIsTrue: each row is as the comments have it, and what the chapters quote whole is in it.
// "make update" makes all of it anew.
func TestTheTableOfUpstreamsNamesIsTrue(t *testing.T) {
	chapters, err := filepath.Glob("[0-9]*.md")
	require.NoError(t, err)
	texts := map[string]string{}
	for _, file := range chapters {
		texts[file] = read(t, file)
	}
	all := mirrors(t)
	if *update {
		page := namesTop
		for _, m := range all {
			page += row(m, chapterOf(m, chapters, texts))
		}
		require.NoError(t, os.WriteFile("names.md", []byte(page), 0o644))
	}
	page := read(t, "names.md")
	require.True(t, strings.HasPrefix(page, namesTop))
	rows := strings.SplitAfter(strings.TrimPrefix(page, namesTop), "\n")
	require.Greater(t, len(rows), 300)
	known := map[string]bool{}
	for _, m := range all {
		known[row(m, "")] = true
	}
	for _, r := range rows[:len(rows)-1] {
		at := strings.LastIndex(strings.TrimSuffix(r, " |\n"), "| ")
		require.True(t, known[r[:at]+"|  |\n"], "make update: no comment says %s", r)
	}
	for _, m := range all {
		for file, text := range texts {
			if strings.Contains(text, m.file+" func "+m.ours+" -->") {
				require.Contains(t, page, strings.TrimSuffix(row(m, ""), " |\n"), "make update: %s quotes %s", file, m.ours)
			}
		}
	}
}

func TestNamesAreTakenFromComments(t *testing.T) {
	for comment, want := range map[string][]string{
		"F does.\nUpstream: a.go f, v1.36.":                                    {"f"},
		"Upstream: a.go MountVolume, UnmountVolume\nand UnmountDevice, v1.37.": {"MountVolume", "UnmountVolume", "UnmountDevice"},
		"Upstream: pkg/a/b.go backoffStore.StoreVolume, v13. It sleeps.":       {"backoffStore.StoreVolume"}, "Upstream: a.go FindX, which walks": {"FindX"},
		"Upstream: the branch of it": nil, "nothing": nil,
	} {
		require.Equal(t, want, upstreamNames(comment), comment)
	}
}
