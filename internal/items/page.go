package items

import (
	"fmt"
	"io/fs"
	"path"
	"strings"
)

// Sum counts items.
type Sum struct{ Counted, Whole, Part, Told, Missing int }

// Add counts an item.
func (s *Sum) add(i Item, whole bool) {
	s.Counted++
	switch {
	case i.Told != "":
		s.Told++
	case whole:
		s.Whole++
	case i.Part != "":
		s.Part++
	default:
		s.Missing++
	}
}

func (s Sum) String() string {
	text := fmt.Sprintf("%d of %d items whole, %d in part, %d told", s.Whole, s.Counted, s.Part, s.Told)
	if s.Missing > 0 {
		text += fmt.Sprintf(", %d without their picture", s.Missing)
	}
	return text
}

// Sum counts the items of a document, or of all of them for "".
func (l List) Sum(root fs.FS, document string) (sum Sum, err error) {
	for _, item := range l.Items {
		if !item.Counted() || document != "" && item.Document != document {
			continue
		}
		whole, err := item.Whole(root)
		if err != nil {
			return Sum{}, err
		}
		sum.add(item, whole)
	}
	return sum, nil
}

const top = `# The source documents, section by section

Five texts are the reason for these chapters. This page says for each part of them which chapter explains it, and what shows it: a story, the output of an
example, a manifest that is applied, a function that is quoted beside the document's. Where a document is wrong, the [errata](errata.md) say so.

It is made of [items.txt](items.txt), which has the lines of each item, and a test opens each witness. To compare it with the documents, if you have them:
` + "`go run ./internal/items/check -documents FOLDER`" + `.

`

// Page returns docs/sources.md. Chapters has the files of the chapters, relative to docs, by number.
func (l List) Page(root fs.FS, chapters map[int]string) (string, error) {
	var b strings.Builder
	b.WriteString(top)
	all, err := l.Sum(root, "")
	if err != nil {
		return "", err
	}
	fmt.Fprintf(&b, "All five: %s.\n", all)
	for _, d := range l.Documents {
		sum, err := l.Sum(root, d.Name)
		if err != nil {
			return "", err
		}
		fmt.Fprintf(&b, "\n## %s\n\n%s.\n\n| section | lines | | chapter | shown by |\n| --- | --- | --- | --- | --- |\n", d.Title, sum)
		if err := l.rows(&b, root, d.Name, chapters); err != nil {
			return "", err
		}
	}
	return b.String(), nil
}

func (l List) rows(b *strings.Builder, root fs.FS, document string, chapters map[int]string) error {
	section := ""
	for _, item := range l.Items {
		if item.Document != document || !item.Counted() {
			continue
		}
		file, ok := chapters[item.Chapter]
		if !ok {
			return fmt.Errorf("%s, line %d: there is no chapter %d", document, item.First, item.Chapter)
		}
		whole, err := item.Whole(root)
		if err != nil {
			return err
		}
		name := item.Section
		if name == section {
			name = ""
		}
		section = item.Section
		fmt.Fprintf(b, "| %s | %s | %s | [%d](%s) | %s |\n", name, span(item), item.Name, item.Chapter, file, item.shownBy(whole))
	}
	return nil
}

func span(i Item) string {
	if i.First == i.Last {
		return fmt.Sprint(i.First)
	}
	return fmt.Sprintf("%d-%d", i.First, i.Last)
}

func (i Item) shownBy(whole bool) string {
	switch {
	case i.Told != "":
		return "told only: " + i.Told
	case !whole && i.Part == "":
		return "no picture yet"
	case i.Kind == Code:
		return "`" + strings.ReplaceAll(i.Line, ", ", "`, `") + "`"
	}
	shown := fmt.Sprintf("[%s](../%s)", strings.TrimSuffix(strings.TrimPrefix(i.Witness, "docs/"), "/output.txt"), i.Witness)
	if path.Dir(i.Witness) == "docs/stories" || path.Dir(i.Witness) == "docs/images" {
		shown = fmt.Sprintf("[%s](%s)", path.Base(i.Witness), strings.TrimPrefix(i.Witness, "docs/"))
	}
	if i.Part != "" {
		shown += "; in part: " + i.Part
	}
	return shown
}
