package items

import (
	"fmt"
	"io/fs"
	"strings"
)

// Find returns the files of a folder that are documents of the list, by the name of the document: those in which most of
// its hashes are found.
func (l List) Find(folder fs.FS) (map[string][]string, error) {
	found, best := map[string][]string{}, map[string]int{}
	err := fs.WalkDir(folder, ".", func(file string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		text, err := fs.ReadFile(folder, file)
		if err != nil {
			return err
		}
		lines := Lines(string(text))
		for _, d := range l.Documents {
			if n := l.matches(d.Name, lines); n > best[d.Name] {
				found[d.Name], best[d.Name] = lines, n
			}
		}
		return nil
	})
	return found, err
}

// matches counts the items of a document whose lines are as the list has them.
func (l List) matches(document string, lines []string) (n int) {
	for _, item := range l.Items {
		if item.Document == document && item.differs(lines) == "" {
			n++
		}
	}
	return n
}

// differs says how the lines of a document differ from what the list has, "" if they do not.
func (i Item) differs(lines []string) string {
	if i.Last > len(lines) {
		return fmt.Sprintf("%s has %d lines; lines %d to %d (%s) are missing", i.Document, len(lines), i.First, i.Last, i.Name)
	}
	if hash := HashOf(lines[i.First-1 : i.Last]); hash != i.Hash {
		return fmt.Sprintf("%s: lines %d to %d (%s) are others: their hash is %s, in %s it is %s", i.Document, i.First, i.Last, i.Name, hash, File, i.Hash)
	}
	return ""
}

// Check compares a document with the list. It says which items are others than in the list, line by line, and which lines
// belong to no item: each heading, block, command, picture and paragraph must.
func (l List) Check(document string, lines []string) (wrong []string) {
	covered := make([]bool, len(lines))
	for _, item := range l.Items {
		if item.Document != document {
			continue
		}
		if d := item.differs(lines); d != "" {
			wrong = append(wrong, d)
		}
		for n := item.First; n <= min(item.Last, len(lines)); n++ {
			covered[n-1] = true
		}
	}
	for n, line := range lines {
		if !covered[n] && !isMark(line) {
			wrong = append(wrong, fmt.Sprintf("%s: line %d belongs to no item: %s", document, n+1, beginning(line)))
		}
	}
	return wrong
}

// isMark reports whether a line is empty, begins or ends a block, or ends front matter.
func isMark(line string) bool {
	text := strings.TrimSpace(line)
	return text == "" || text == "---" || text == "|" || strings.HasPrefix(text, "```")
}

func beginning(line string) string {
	if runes := []rune(strings.TrimSpace(line)); len(runes) > 20 {
		return string(runes[:20]) + "..."
	}
	return strings.TrimSpace(line)
}
