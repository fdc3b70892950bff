// Command rules prints a table of the rules: what each says, the functions or files that carry it, and the tests that show it. The rules are
// the must lines of docs/semantics.md, those of its section on v1.37, and the bounds of ARCHITECTURE.md. It is started in the root of the repository.
//
//	go run ./internal/rules
package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"regexp"
	"slices"
	"strings"
)

func main() {
	rules, err := read(os.DirFS("."))
	if err != nil {
		fmt.Fprintln(os.Stderr, "rules:", err)
		os.Exit(1)
	}
	fmt.Println("| rule | what it says | where | test |\n| --- | --- | --- | --- |")
	for _, r := range rules {
		fmt.Printf("| %s | %s | %s | %s |\n", r.name, r.text, strings.Join(r.where(), ", "), strings.Join(r.shown(), ", "))
	}
}

// rule is one rule with what carries it and what shows it.
type rule struct {
	name, text string
	code       []place // functions in files; none if the rule book names tests alone
	tests      []place
	recordings []string
}

// place is something in a file: a function, or a test. Its name may be empty: the whole file.
type place struct{ file, name string }

// where returns what carries a rule: functions, or else the packages whose tests show it.
func (r rule) where() []string {
	var list []string
	for _, p := range r.code {
		list = append(list, strings.TrimSpace(p.file+" "+p.name))
	}
	if len(list) == 0 {
		for _, t := range r.tests {
			list = append(list, path.Dir(t.file))
		}
		slices.Sort(list)
		list = slices.Compact(list)
	}
	return list
}

// shown returns the tests of a rule, and the recordings in which it was seen.
func (r rule) shown() []string {
	var list []string
	for _, t := range r.tests {
		if t.name == "" {
			t.name = t.file
		}
		list = append(list, t.name)
	}
	return append(list, r.recordings...)
}

// How the rule book writes a rule, and what it links.
var (
	begins    = regexp.MustCompile(`^(?:- \*\*(\d+ must \d+)\.\*\*|(\d+)\.) (.*)`)
	link      = regexp.MustCompile(`\[([^]]+)\]\(\.\./([^)]+)\)`)
	shownBy   = regexp.MustCompile(`(?i)[.;,]? (?:In \[|Shown (?:by|yet)|Seen in).*`)
	quoted    = regexp.MustCompile("`([^`]+)`")
	anyTest   = regexp.MustCompile(`\b(?:Test|Fuzz)[A-Z]\w*`)
	testFiles = regexp.MustCompile("^the tests of `([^`]+)`$")
)

// read returns all rules of a repository.
func read(root fs.FS) ([]rule, error) {
	book, err := fs.ReadFile(root, "docs/semantics.md")
	if err != nil {
		return nil, err
	}
	architecture, err := fs.ReadFile(root, "ARCHITECTURE.md")
	if err != nil {
		return nil, err
	}
	tests, err := testsOf(root)
	if err != nil {
		return nil, err
	}
	limits, err := bounds(string(architecture), tests)
	return append(rulesOf(string(book)), limits...), err
}

// rulesOf returns the must lines of the rule book, and the rules of its section 11.
func rulesOf(book string) []rule {
	var list []rule
	section, open := "", false
	for line := range strings.Lines(book + "\n") {
		line = strings.TrimRight(line, "\n")
		m := begins.FindStringSubmatch(line)
		switch {
		case strings.HasPrefix(line, "## "):
			section, open = strings.TrimSuffix(strings.Fields(line)[1], "."), false
		case m != nil && (m[1] != "" || section == "11"):
			name := m[1]
			if name == "" {
				name = section + " (" + m[2] + ")"
			}
			list, open = append(list, rule{name: name, text: m[3]}), true
		case line == "" || m != nil || strings.HasPrefix(line, "#"):
			open = false
		case open:
			list[len(list)-1].text += " " + strings.TrimSpace(line)
		}
	}
	for i := range list {
		list[i].links()
	}
	return list
}

// links takes what a rule's text links out of it.
func (r *rule) links() {
	for _, m := range link.FindAllStringSubmatch(r.text, -1) {
		switch text, file := m[1], m[2]; {
		case strings.HasSuffix(file, "_test.go"):
			r.tests = append(r.tests, place{file, text})
		case strings.HasSuffix(file, ".go"):
			for _, name := range quoted.FindAllStringSubmatch(text, -1) {
				r.code = append(r.code, place{file, name[1]})
			}
		case strings.HasSuffix(file, ".json"):
			r.recordings = append(r.recordings, text)
		}
	}
	r.text = shownBy.ReplaceAllString(r.text, ".")
}

// bounds returns the rows of the table "Bounds". tests holds the file of each test.
func bounds(architecture string, tests map[string]string) ([]rule, error) {
	_, table, ok := strings.Cut(architecture, "\n## Bounds\n")
	if !ok {
		return nil, errors.New("ARCHITECTURE.md has no section Bounds")
	}
	table, _, _ = strings.Cut(table, "\n## ")
	var list []rule
	for line := range strings.Lines(table) {
		cells := strings.Split(strings.Trim(strings.TrimSpace(line), "|"), " | ")
		if len(cells) != 5 || strings.HasPrefix(line, "| what") || strings.HasPrefix(line, "| ---") {
			continue
		}
		for i := range cells {
			cells[i] = strings.TrimSpace(cells[i])
		}
		r := rule{name: "bound", text: fmt.Sprintf("%s: %s; beyond it: %s", cells[0], cells[1], cells[2])}
		for _, m := range quoted.FindAllStringSubmatch(cells[3], -1) {
			r.code = append(r.code, place{file: m[1]})
		}
		for _, name := range anyTest.FindAllString(cells[4], -1) {
			r.tests = append(r.tests, place{tests[name], name})
		}
		if m := testFiles.FindStringSubmatch(cells[4]); m != nil {
			r.tests = append(r.tests, place{file: m[1]})
		}
		list = append(list, r)
	}
	return list, nil
}

// testsOf returns the file of each test in a repository.
func testsOf(root fs.FS) (map[string]string, error) {
	found := map[string]string{}
	declared := regexp.MustCompile(`(?m)^func ((?:Test|Fuzz)\w+)\(`)
	return found, fs.WalkDir(root, ".", func(file string, entry fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(file, "_test.go") {
			return err
		}
		text, err := fs.ReadFile(root, file)
		for _, m := range declared.FindAllSubmatch(text, -1) {
			found[string(m[1])] = file
		}
		return err
	})
}
