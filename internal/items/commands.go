package items

import (
	"fmt"
	"io/fs"
	"regexp"
	"strings"
)

// masks hide the differences that are allowed between the output of a command in a document and in a transcript: times, identifiers,
// generated names, and what newer releases print in addition.
var masks = []struct {
	is *regexp.Regexp
	as string
}{
	{regexp.MustCompile(`[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}`), "UID"},
	{regexp.MustCompile(`pvc-[0-9a-f]{8}\b`), "pvc-UID"}, // as stories shorten it
	{regexp.MustCompile(`"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ"`), "TIME"},
	{regexp.MustCompile(`\w{3} \w{3} +\d+ \d\d:\d\d:\d\d [A-Z]{3} \d{4}`), "DATE"},
	{regexp.MustCompile(`\b\d+[smhd](\d+[smhd])?\b`), "AGE"},
	{regexp.MustCompile(`resourceVersion: "\d+"`), "resourceVersion: N"},
	{regexp.MustCompile(`provisioner-[0-9a-f]{8,10}-\w{5}\b`), "provisioner-NAME"},
	{regexp.MustCompile(` VOLUMEATTRIBUTESCLASS| <unset>`), ""},
}

// gone are the beginnings of lines that documents show and a newer release does not print.
var gone = []string{"selfLink: ", "......"}

// masked returns a line with one space between its words and without what may differ.
func masked(line string) string {
	line = strings.Join(strings.Fields(line), " ")
	for _, m := range masks {
		line = m.is.ReplaceAllString(line, m.as)
	}
	return line
}

// prompt begins a line that a user has typed.
var prompt = regexp.MustCompile(`^\s*(?:\$|❯) `)

// CheckCommands compares what a document shows of its commands with the transcripts that witness them. Commands that are shown in
// part, or that the document shows wrong ("errs" in the name), are left out.
func (l List) CheckCommands(root fs.FS, document string, lines []string) (wrong []string, err error) {
	for _, item := range l.Items {
		if item.Document != document || item.Kind != Command || item.Part != "" || item.Told != "" || strings.Contains(item.Name, "errs") {
			continue
		}
		text, err := fs.ReadFile(root, item.Witness)
		if err != nil {
			return nil, err
		}
		known := map[string]bool{}
		for _, line := range Lines(string(text)) {
			known[masked(line)] = true
		}
		for n := item.First; n <= min(item.Last, len(lines)); n++ {
			if line := lines[n-1]; !shows(known, line) {
				wrong = append(wrong, fmt.Sprintf("%s: line %d (%s) is not in %s: %s", document, n, item.Name, item.Witness, masked(line)))
			}
		}
	}
	return wrong, nil
}

// shows reports whether the masked lines of a transcript have a line of a command's block: what was typed, in a story without
// "kubectl", or what was printed.
func shows(known map[string]bool, line string) bool {
	if typed := prompt.ReplaceAllString(line, ""); typed != line {
		command := masked(typed)
		return known["$ "+command] || known[strings.TrimPrefix(command, "kubectl ")] || known["node2$ "+command]
	}
	return !isOutput(line) || known[masked(line)]
}

// isOutput reports whether a line of a command's block is a part of its output.
func isOutput(line string) bool {
	text := strings.TrimSpace(line)
	for _, old := range gone {
		if strings.HasPrefix(text, old) {
			return false
		}
	}
	for _, r := range text {
		if r > 0x2fff { // a sentence between two blocks
			return false
		}
	}
	return !isMark(line) && !prompt.MatchString(line)
}
