// Package items reads docs/items.txt, the list of the items of the source documents, and finds out which of them
// are shown: it opens the witness of each. docs/sources.md is made of the list. The documents themselves are no part
// of the project; the command check compares the list with them, where they are at hand.
package items

import (
	"bufio"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// File is the list, relative to the root of the repository.
const File = "docs/items.txt"

// Kind says how an item is shown.
type Kind string

// The kinds; docs/items.txt explains them.
const (
	YAML    Kind = "yaml"
	Command Kind = "command"
	Code    Kind = "code"
	Claim   Kind = "claim"
	Text    Kind = "text"
	Picture Kind = "picture"
	Same    Kind = "same"
	None    Kind = "none"
)

// Item is some lines of a document.
type Item struct {
	Document, Section string
	First, Last       int
	Kind              Kind
	Hash              string // SHA-256 of the lines
	Chapter           int    // 0 for items that are not counted
	Name              string
	// Witness is a file, relative to the root. Line is the line in it, or the names, separated by ", ".
	Witness, Line string
	// Part and Told say why not all of the item, or nothing of it, is shown.
	Part, Told string
}

// Counted reports whether the item is one that a chapter should show.
func (i Item) Counted() bool { return i.Kind != Same && i.Kind != None }

// Document is a source document.
type Document struct{ Name, Title string }

// List is the file.
type List struct {
	Documents []Document
	Items     []Item
}

// Parse reads the list. An error names the line.
func Parse(text string) (List, error) {
	var list List
	section := ""
	scanner := bufio.NewScanner(strings.NewReader(text))
	for n := 1; scanner.Scan(); n++ {
		line := scanner.Text()
		word, rest, _ := strings.Cut(line, " ")
		switch {
		case line == "" || strings.HasPrefix(line, "#"):
		case word == "document":
			name, title, _ := strings.Cut(rest, " ")
			list.Documents = append(list.Documents, Document{name, title})
		case word == "section":
			section = rest
		case len(list.Documents) == 0:
			return List{}, fmt.Errorf("%s:%d: an item before the first document", File, n)
		default:
			item, err := parseItem(line)
			if err != nil {
				return List{}, fmt.Errorf("%s:%d: %w", File, n, err)
			}
			item.Document, item.Section = list.Documents[len(list.Documents)-1].Name, section
			list.Items = append(list.Items, item)
		}
	}
	return list, scanner.Err()
}

func parseItem(line string) (item Item, err error) {
	fields := strings.Split(line, " | ")
	words := strings.Fields(fields[0])
	if len(words) != 5 || len(fields) < 2 {
		return Item{}, fmt.Errorf("expected FIRST LAST KIND SHA256 CHAPTER | name, got %q", line)
	}
	first, err1 := strconv.Atoi(words[0])
	last, err2 := strconv.Atoi(words[1])
	if err1 != nil || err2 != nil || first < 1 || last < first {
		return Item{}, fmt.Errorf("lines %s to %s are no range", words[0], words[1])
	}
	item = Item{First: first, Last: last, Kind: Kind(words[2]), Hash: words[3], Name: fields[1]}
	if !slices.Contains([]Kind{YAML, Command, Code, Claim, Text, Picture, Same, None}, item.Kind) {
		return Item{}, fmt.Errorf("there is no kind %q", item.Kind)
	}
	if item.Counted() {
		if item.Chapter, err = strconv.Atoi(words[4]); err != nil {
			return Item{}, fmt.Errorf("chapter %q is not a number", words[4])
		}
	}
	return item, item.parseWitness(fields[2:])
}

func (i *Item) parseWitness(fields []string) error {
	for _, field := range fields {
		why, isPart := strings.CutPrefix(field, "part: ")
		told, isTold := strings.CutPrefix(field, "told: ")
		switch {
		case isPart:
			i.Part = why
		case isTold:
			i.Told = told
		case i.Witness == "":
			i.Witness = field
		case i.Line == "":
			i.Line = field
		default:
			return fmt.Errorf("%q is one field too many", field)
		}
	}
	switch {
	case !i.Counted() || i.Told != "":
		return nil
	case i.Witness == "":
		return fmt.Errorf("%q has no witness", i.Name)
	case i.Line == "" && i.Kind != YAML:
		return fmt.Errorf("the witness of %q has no line", i.Name)
	}
	return nil
}

// Lines returns the lines of a text without the white space at their ends.
func Lines(text string) []string {
	lines := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
	for i, line := range lines {
		lines[i] = strings.TrimRight(line, " \t\r")
	}
	return lines
}

// HashOf returns the SHA-256 of lines in hexadecimal.
func HashOf(lines []string) string {
	sum := sha256.Sum256([]byte(strings.Join(lines, "\n")))
	return hex.EncodeToString(sum[:])
}
