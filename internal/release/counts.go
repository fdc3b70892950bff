package release

import (
	"fmt"
	"io/fs"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// Count is a number of things in the repository that documents may state.
type Count struct {
	// Name is that in a marker: "<!-- n NAME -->23<!-- /n -->".
	Name string
	// Files are patterns; each file that one of them matches is one thing.
	Files []string
	// With narrows them to files in which this matches, or counts matches, if Each is set.
	With *regexp.Regexp
	Each bool
	// Words are the names by which documents call the things, in the plural, and in Chinese.
	Words []string
}

// Counts returns the numbers. Others are not stated, since nothing would keep them.
func Counts() []Count {
	return []Count{
		{Name: "chapters", Files: []string{"docs/[0-9]*.md"}, Words: []string{"chapters"}},
		{Name: "chapters-zh", Files: []string{"docs/zh/[0-9]*.md"}},
		{Name: "exercises", Files: []string{"learn/exercises/*/exercise.yaml"}, Words: []string{"exercises", "道练习", "道题"}},
		{Name: "exercises-zh", Files: []string{"learn/exercises/*/text.zh.md"}},
		{Name: "exercises-go", Files: []string{"learn/exercises/*/exercise.yaml"}, With: regexp.MustCompile(`(?m)^go:`)},
		{Name: "examples", Files: []string{"examples/*/output.txt"}, Words: []string{"examples", "个例子"}},
		{Name: "errata", Files: []string{"docs/errata.md"}, With: regexp.MustCompile(`(?m)^### E\d+$`), Each: true, Words: []string{"errata", "条勘误"}},
		{Name: "exhibits", Files: []string{"explore/museum/*.go"}, With: regexp.MustCompile(`(?m)^func \w+\(\) Exhibit \{$`), Each: true,
			Words: []string{"exhibits"}},
		{Name: "recordings", Files: []string{"conformance/testdata/*.json", "conformance/testdata/*/*.json"}, Words: []string{"recordings", "份录像"}},
		{Name: "situations", Files: []string{"cmd/storagesim/situations/*.txt"}, Words: []string{"situations"}},
		{Name: "rules", Files: []string{"docs/semantics.md"}, With: regexp.MustCompile(`(?m)^\d+\. `), Each: true},
	}
}

// count counts the things in a repository.
func (c Count) count(root fs.FS) (n int, err error) {
	for _, pattern := range c.Files {
		files, err := fs.Glob(root, pattern)
		if err != nil {
			return 0, err
		}
		if c.With == nil {
			n += len(files)
			continue
		}
		for _, file := range files {
			text, err := fs.ReadFile(root, file)
			if err != nil {
				return 0, err
			}
			switch found := len(c.With.FindAll(text, -1)); {
			case c.Each:
				n += found
			case found > 0:
				n++
			}
		}
	}
	if n == 0 {
		return 0, fmt.Errorf("count %q: there are none", c.Name)
	}
	return n, nil
}

// counted finds a number between markers.
var counted = regexp.MustCompile(`<!-- n (\S+) -->(.*?)<!-- /n -->`)

// Counted returns the text with the numbers between its markers as they are now.
func Counted(text string, root fs.FS) (string, error) {
	var bad error
	return counted.ReplaceAllStringFunc(text, func(m string) string {
		name := counted.FindStringSubmatch(m)[1]
		counts := Counts()
		i := slices.IndexFunc(counts, func(c Count) bool { return c.Name == name })
		if i < 0 {
			bad = fmt.Errorf("%q is not a count of the table", name)
			return m
		}
		n, err := counts[i].count(root)
		if err != nil {
			bad = err
		}
		return "<!-- n " + name + " -->" + strconv.Itoa(n) + "<!-- /n -->"
	}), bad
}

// number matches a number, in digits or words, at the end of a text.
var number = regexp.MustCompile(
	`(?i)(?:^|[^\w-])((?:\d+|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|\w+teen|` +
		`(?:twenty|thirty|forty|fifty|sixty|seventy|eighty|ninety)(?:-\w+)?|a hundred|` +
		`[二三四五六七八九十百]+)[ -]?)$`)

// before is the part of a text before a name in which a number of things is looked for.
const before = 32

// Uncounted returns the numbers of things of the table that a text states outside of markers, each with its words.
func Uncounted(text string) (stray []string) {
	text = quotations.ReplaceAllString(counted.ReplaceAllString(text, ""), "]")
	for _, c := range Counts() {
		for _, words := range c.Words {
			for at := 0; ; at += len(words) {
				next := strings.Index(text[at:], words)
				if next < 0 {
					break
				}
				at += next
				if m := number.FindStringSubmatch(text[max(0, at-before):at]); m != nil {
					stray = append(stray, m[1]+words)
				}
			}
		}
	}
	return stray
}

// state matches what a text says of a gate, after its name.
var state = regexp.MustCompile("^`?,? (?:is )?(on|off|alpha)\\b")

// Misstated returns the gates of the table that a text states otherwise than they are: "on", or "off" and "alpha", right after the name.
func Misstated(text string) (wrong []string) {
	text = strings.Join(strings.Fields(strings.ReplaceAll(text, "\n//", "\n")), " ")
	for _, g := range slices.Concat(Gates(), Named()) {
		for i, after := range strings.Split(text, g.Name) {
			if m := state.FindStringSubmatch(after); i > 0 && m != nil && (m[1] == "on") != g.On {
				wrong = append(wrong, g.Name+m[0])
			}
		}
	}
	return wrong
}

// gateName matches the name of a gate where a text says that it is one.
var gateName = regexp.MustCompile("\\bgates? `?([A-Z]\\w+[a-z]\\w*)`?")

// Unlisted returns the gates that a text names and no table has.
func Unlisted(text string) (names []string) {
	text = strings.Join(strings.Fields(strings.ReplaceAll(text, "\n//", "\n")), " ")
	for _, m := range gateName.FindAllStringSubmatch(text, -1) {
		if !slices.ContainsFunc(slices.Concat(Gates(), Named()), func(g Gate) bool { return g.Name == m[1] }) {
			names = append(names, m[1])
		}
	}
	return names
}
