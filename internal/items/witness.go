package items

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"regexp"
	"slices"
	"strings"
)

// Whole reports whether the item is shown whole. The error says why its witness does not show it; a picture that is not
// there yet is none.
func (i Item) Whole(root fs.FS) (bool, error) {
	if !i.Counted() || i.Witness == "" {
		return false, nil
	}
	text, err := fs.ReadFile(root, i.Witness)
	if i.Kind == Picture && errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err == nil {
		err = i.testify(root, string(text))
	}
	if err != nil {
		return false, fmt.Errorf("%s, lines %d to %d (%s): %s: %w", i.Document, i.First, i.Last, i.Name, i.Witness, err)
	}
	return i.Part == "" && i.Told == "", nil
}

// testify opens the witness.
func (i Item) testify(root fs.FS, text string) error {
	lines := Lines(text)
	switch i.Kind {
	case YAML:
		if !played(root, i.Witness) {
			return errors.New("nothing plays this file")
		}
		return i.sameLines(lines)
	case Code:
		return i.quoted(text)
	case Picture:
		for _, name := range strings.Split(i.Line, ", ") {
			if !strings.Contains(text, name) {
				return fmt.Errorf("the picture has no %q", name)
			}
		}
		return nil
	}
	if !slices.Contains(lines, strings.TrimRight(i.Line, " ")) {
		return fmt.Errorf("there is no line %q", i.Line)
	}
	return nil
}

// sameLines looks for lines that are as in the document.
func (i Item) sameLines(lines []string) error {
	n := i.Last - i.First + 1
	for from := 0; from+n <= len(lines); from++ {
		if HashOf(lines[from:from+n]) == i.Hash {
			return nil
		}
	}
	return fmt.Errorf("no %d lines of it are as in the document", n)
}

// played reports whether a test plays the file: a story, or a manifest of an example or a story.
func played(root fs.FS, file string) bool {
	folder := path.Dir(file)
	if folder == "docs/stories" || folder == "story/testdata" {
		return true
	}
	_, err := fs.Stat(root, folder+"/output.txt")
	return err == nil && strings.HasPrefix(folder, "examples/")
}

// beside finds the tables of a chapter that go through lines of a document.
var beside = regexp.MustCompile(`<!-- beside (\S+) (\d+) (\d+) -->`)

// quoted looks for whole declarations in a chapter, of which a comment names the function of upstream unless the program is the document's
// own, and for the table beside the lines.
func (i Item) quoted(chapter string) error {
	upstream := false
	for _, name := range strings.Split(i.Line, ", ") {
		quote := regexp.MustCompile("(?s)<!-- from (\\S+) (?:func|type) " + regexp.QuoteMeta(name) + " -->\n```go\n(.*?)\n```").FindStringSubmatch(chapter)
		if quote == nil {
			return fmt.Errorf("%s is not quoted whole", name)
		}
		upstream = upstream || strings.Contains(quote[2], "Upstream: ") || strings.HasPrefix(quote[1], "examples/")
	}
	if !upstream {
		return fmt.Errorf("no comment Upstream: in the quotation of %s names its function of upstream", i.Line)
	}
	for _, m := range beside.FindAllStringSubmatch(chapter, -1) {
		var first, last int
		if _, err := fmt.Sscan(m[2], &first); err != nil {
			return err
		}
		if _, err := fmt.Sscan(m[3], &last); err != nil {
			return err
		}
		if m[1] == i.Document && first <= i.Last && i.First <= last {
			return nil
		}
	}
	return errors.New("no table with a comment <!-- beside DOCUMENT FIRST LAST --> covers these lines")
}
