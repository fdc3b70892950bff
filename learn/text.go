package learn

import (
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"
)

// Text holds the words of an exercise, in one language.
type Text struct {
	Title string
	// Situation tells what has happened, in Markdown.
	Situation string
	// Goal has a line for each expectation of check.story, in their order.
	Goal []string
	// Hints are told one at a time.
	Hints []string
	// TakeAway is told with the answer.
	TakeAway string
}

// Default is the language of the texts that each exercise has.
const Default = "en"

// readTexts reads text.md and each text.LANGUAGE.md.
func (e *Exercise) readTexts(root fs.FS) error {
	files, err := fs.Glob(root, path.Join(e.Name, "text*.md"))
	if err != nil {
		return err
	}
	for _, file := range files {
		data, err := fs.ReadFile(root, file)
		if err != nil {
			return missing(file, err)
		}
		language := strings.TrimPrefix(strings.TrimSuffix(strings.TrimPrefix(path.Base(file), "text"), ".md"), ".")
		if language == "" {
			language = Default
		}
		text, err := parseText(file, string(normal(data)), WordsOf(language))
		if err != nil {
			return err
		}
		if len(text.Goal) != len(e.expects) {
			return fmt.Errorf("%s: %s has %d lines, and %s has %d expectations; each line is checked by one", file, WordsOf(language).Goal,
				len(text.Goal), checkStory, len(e.expects))
		}
		e.texts[language] = text
		e.language = append(e.language, language)
	}
	if _, ok := e.texts[Default]; !ok {
		return fmt.Errorf("%s: the file is missing", path.Join(e.Name, "text.md"))
	}
	slices.Sort(e.language)
	return nil
}

// parseText reads a text. Its first line is the title, and each heading of its language begins a part.
func parseText(file, text string, w Words) (Text, error) {
	lines := strings.Split(text, "\n")
	title, ok := strings.CutPrefix(lines[0], "# ")
	if !ok {
		return Text{}, fmt.Errorf(`%s:1: expected "# " and the title`, file)
	}
	t := Text{Title: title}
	part := &t.Situation
	for i, line := range lines[1:] {
		switch {
		case line == w.Goal:
			part = nil
		case line == w.Hint:
			t.Hints = append(t.Hints, "")
			part = &t.Hints[len(t.Hints)-1]
		case line == w.TakeAway:
			part = &t.TakeAway
		case strings.HasPrefix(line, "## "):
			return t, fmt.Errorf("%s:%d: unknown heading %q; expected %s, %s or %s", file, i+2, line, w.Goal, w.Hint, w.TakeAway)
		case part != nil:
			*part += line + "\n"
		case strings.HasPrefix(line, "- "):
			t.Goal = append(t.Goal, line[2:])
		case strings.TrimSpace(line) != "":
			return t, fmt.Errorf("%s:%d: %q is not a line of the goal; expected one that begins with \"- \"", file, i+2, line)
		}
	}
	t.Situation, t.TakeAway = strings.TrimSpace(t.Situation), strings.TrimSpace(t.TakeAway)
	for i := range t.Hints {
		t.Hints[i] = strings.TrimSpace(t.Hints[i])
	}
	for what, lacks := range map[string]bool{"a situation below the title": t.Situation == "", w.Goal: len(t.Goal) == 0, w.Hint: len(t.Hints) == 0,
		w.TakeAway: t.TakeAway == ""} {
		if lacks {
			return t, fmt.Errorf("%s: expected %s", file, what)
		}
	}
	return t, nil
}

// Text returns what the exercise says in a language such as "zh", or in Default if it is not translated.
func (e *Exercise) Text(language string) Text {
	if t, ok := e.texts[language]; ok {
		return t
	}
	return e.texts[Default]
}

// Languages returns the languages that the exercise has, sorted.
func (e *Exercise) Languages() []string { return slices.Clone(e.language) }

// Task returns what the learner is told at the beginning, in Markdown.
func (e *Exercise) Task(language string) string {
	t := e.Text(language)
	var b strings.Builder
	fmt.Fprintf(&b, "# %s\n\n%s\n\n%s\n\n", t.Title, t.Situation, e.Words(language).Goal)
	for _, g := range t.Goal {
		fmt.Fprintf(&b, "- %s\n", g)
	}
	return b.String()
}
