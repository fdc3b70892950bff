package requests

import (
	_ "embed"
	"strings"
)

// known is the list of the requests that are known to differ. A reason stands at the beginning of a line; the
// names of the requests that differ for it follow, each on a line that begins with a space.
//
//go:embed testdata/known.txt
var known string

// Known returns the requests that are known to differ, by name or by section and name, with the reason. It is about the
// recording of 697 requests to v1.37.2.
func Known() map[string]string { return parseKnown(known) }

func parseKnown(text string) map[string]string {
	reasons := map[string]string{}
	reason := ""
	for line := range strings.Lines(text) {
		name := strings.TrimSpace(line)
		switch {
		case name == "" || strings.HasPrefix(line, "#"):
		case strings.HasPrefix(line, " "):
			reasons[name] = reason
		default:
			reason = name
		}
	}
	return reasons
}
