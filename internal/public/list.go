package public

import (
	"bufio"
	"fmt"
	"slices"
	"strings"
)

// List is the file of the rows, relative to the root of the repository.
const List = "docs/public-manifests.txt"

// Row is a run of some manifests.
type Row struct {
	Name string
	Line int // of the list
	// Repo and Commit say where the files are. A file's own commit follows its path after @.
	Repo, Commit string
	Files        []string
	// With are objects that the page beside the manifests has its reader make: "secret NAMESPACE/NAME KEY=VALUE..." or
	// "namespace NAME".
	With  []string
	Flags []string
	// Of is the row whose files have the planted fault Edit; "" for manifests as they are.
	Of   string
	Edit Edit
	// Ends are the expectations: the words of a line each.
	Ends  []End
	Notes []string
	// Shapes are the shapes of the row, one or more, each with a small manifest of our own in testdata/shapes.
	Shapes []string
}

// Edit replaces a text of a file.
type Edit struct{ File, Old, New string }

// End is one expectation, such as "pvc data Bound pv-*".
type End struct {
	Kind, Text string
	Line       int
}

// Parse reads the list. An error names the line.
func Parse(text string) ([]*Row, error) {
	var (
		rows         []*Row
		repo, commit string
		row          *Row
		number       int
	)
	for scanner := bufio.NewScanner(strings.NewReader(text)); scanner.Scan(); {
		number++
		line := strings.TrimSpace(scanner.Text())
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		word, rest, _ := strings.Cut(line, " ")
		var err error
		switch {
		case word == "repo":
			row = nil
			_, err = fmt.Sscan(rest, &repo, &commit)
		case word == "row":
			row = &Row{Line: number, Repo: repo, Commit: commit}
			if err = row.begin(rest, rows); err == nil {
				rows = append(rows, row)
			}
		case row == nil:
			err = fmt.Errorf("%q outside of a row", word)
		default:
			err = row.add(word, rest, number)
		}
		if err != nil {
			return nil, fmt.Errorf("%s:%d: %w", List, number, err)
		}
	}
	return rows, nil
}

// begin reads the rest of a line "row NAME" or "row NAME = ROW".
func (r *Row) begin(text string, rows []*Row) error {
	name, of, planted := strings.Cut(text, " = ")
	r.Name = name
	if name == "" || slices.ContainsFunc(rows, func(other *Row) bool { return other.Name == name }) {
		return fmt.Errorf("row %q: a row needs a name of its own", name)
	}
	if !planted {
		return nil
	}
	i := slices.IndexFunc(rows, func(other *Row) bool { return other.Name == of })
	if i < 0 {
		return fmt.Errorf("row %s: no row %q stands above", name, of)
	}
	from := rows[i]
	r.Of, r.Repo, r.Commit, r.Files, r.With, r.Flags = of, from.Repo, from.Commit, from.Files, from.With, from.Flags
	return nil
}

func (r *Row) add(word, rest string, line int) error {
	switch word {
	case "of":
		for f := range strings.FieldsSeq(rest) {
			r.Files = append(r.Files, braces(f)...)
		}
	case "with":
		r.With = append(r.With, rest)
	case "flags":
		r.Flags = strings.Fields(rest)
	case "edit":
		return r.edit(rest)
	case "shape":
		r.Shapes = append(r.Shapes, strings.Fields(rest)...)
	case "note":
		r.Notes = append(r.Notes, rest)
	default:
		if kinds[word] == nil {
			return fmt.Errorf("row %s: unknown word %q", r.Name, word)
		}
		r.Ends = append(r.Ends, End{word, rest, line})
	}
	return nil
}

// edit reads "FILE: OLD => NEW"; \n is the end of a line.
func (r *Row) edit(text string) error {
	file, change, ok := strings.Cut(text, ": ")
	before, after, both := strings.Cut(change, " => ")
	if !ok || !both || !slices.Contains(r.Files, file) {
		return fmt.Errorf("row %s: edit %q: want FILE: OLD => NEW with one of the row's files", r.Name, text)
	}
	lines := strings.NewReplacer(`\n`, "\n")
	r.Edit = Edit{file, lines.Replace(before), lines.Replace(after)}
	return nil
}

// braces expands the first {a,b} of a word as a shell does.
func braces(word string) (all []string) {
	begin, rest, ok := strings.Cut(word, "{")
	if !ok {
		return []string{word}
	}
	inside, end, _ := strings.Cut(rest, "}")
	for choice := range strings.SplitSeq(inside, ",") {
		all = append(all, begin+choice+end)
	}
	return all
}
