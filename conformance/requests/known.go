package requests

import (
	_ "embed"
	"regexp"
	"strings"
)

// knownText is the list of the requests that are known to differ. A reason stands at the beginning of a line; the
// requests that differ for it follow, each on a line that begins with a space: its name, or its section and name with ": " between
// them. A * stands for any text.
//
//go:embed testdata/known.txt
var knownText string

// Reason says why requests are known to differ.
type Reason struct {
	// Names stands for these requests, Text is the reason.
	Names, Text string

	form *regexp.Regexp // of Names with a *
}

// Known returns the reasons why requests of the recordings of v1.37.2 differ.
func Known() []Reason { return parseKnown(knownText) }

func parseKnown(text string) (reasons []Reason) {
	reason := ""
	for line := range strings.Lines(text) {
		name := strings.TrimSpace(line)
		switch {
		case name == "" || strings.HasPrefix(line, "#"):
		case strings.HasPrefix(line, " "):
			r := Reason{Names: name, Text: reason}
			if strings.Contains(name, "*") {
				r.form = regexp.MustCompile("^" + strings.ReplaceAll(regexp.QuoteMeta(name), `\*`, ".*") + "$")
			}
			reasons = append(reasons, r)
		default:
			reason = name
		}
	}
	return reasons
}

// Concerns reports whether the reason is one for this request.
func (r *Reason) Concerns(request *Request) bool {
	full := request.Section + ": " + request.Name
	if r.form != nil {
		return r.form.MatchString(full)
	}
	return r.Names == request.Name || r.Names == full
}
