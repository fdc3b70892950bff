package conformance

import (
	"regexp"
	"slices"
	"strings"
)

// said is an event: who said it, its type and reason, the object that it is about, and its message.
type said struct{ actor, kind, reason, object, message string }

func (s said) String() string {
	return withMessage(strings.Join([]string{s.actor, s.kind, s.reason, s.object}, " "), s.message)
}

// withMessage adds a message, if there is one.
func withMessage(text, message string) string {
	if message == "" {
		return text
	}
	return text + ": " + message
}

// textless returns the event without its message.
func (s said) textless() said {
	s.message = ""
	return s
}

// textless returns events without their messages.
func textless(events []said) []said {
	list := make([]said, len(events))
	for i, e := range events {
		list[i] = e.textless()
	}
	return list
}

// leaveOut removes from events those that are in doubt, whatever their messages.
func leaveOut(events, optional []said) []said {
	return slices.DeleteFunc(slices.Clone(events), func(s said) bool { return slices.Contains(optional, s.textless()) })
}

var (
	took   = regexp.MustCompile(`\b(\d+h)?(\d+m)?\d+(\.\d+)?(ms|µs|ns|s)\b`)
	quoted = regexp.MustCompile(`value: "\{(\\.|[^"\\])*("|$)`)
	names  = regexp.MustCompile(`((?:already used by pod\(s\)|waiting for pods) )([-.a-z0-9]+(?:, ?[-.a-z0-9]+)*)`)
	stored = regexp.MustCompile(`\(stored: \d+, assume: \d+\)`)
	spaces = regexp.MustCompile(`\s+`)
)

// comparedText returns of a message what recordings keep of it, its first line, without what differs from run to
// run or is chosen by the program's own types: how long something took is "<t>", as in recordings; resource versions are "<v>"; lists of pods, which
// upstream has from a map, are in order; an object that is printed as a whole is "{}".
func comparedText(message string) string {
	message, _, _ = strings.Cut(message, "\n")
	message = took.ReplaceAllString(message, "<t>")
	message = withoutVersions(message)
	message = withoutObjects(quoted.ReplaceAllString(message, "value: {}"))
	message = names.ReplaceAllStringFunc(message, func(found string) string {
		parts := names.FindStringSubmatch(found)
		pods := strings.Split(strings.ReplaceAll(parts[2], " ", ""), ",")
		slices.Sort(pods)
		return parts[1] + strings.Join(pods, ", ")
	})
	return strings.TrimSpace(spaces.ReplaceAllString(message, " "))
}

// withoutVersions puts "<v>" in place of the resource versions that the scheduler names when it has chosen an older claim or volume.
func withoutVersions(message string) string {
	return stored.ReplaceAllString(message, "(stored: <v>, assume: <v>)")
}

// withoutObjects puts "{}" in place of each object that is printed as a value.
func withoutObjects(message string) string {
	const begin = "value: {"
	before, rest, found := strings.Cut(message, begin)
	if !found {
		return message
	}
	depth := 1
	end := strings.IndexFunc(rest, func(c rune) bool {
		switch c {
		case '{':
			depth++
		case '}':
			depth--
		}
		return depth == 0
	})
	if end < 0 { // the recorder cut it
		return before + begin + "}"
	}
	return before + begin + "}" + withoutObjects(rest[end+1:])
}

// problems returns a refusal's message with the problems of the object in order: in which order its fields are
// looked at is not compared.
func problems(message string) string {
	head, list, several := strings.Cut(message, " is invalid: [")
	if !several {
		return message
	}
	list = strings.TrimSuffix(list, "]")
	var each []string
	for {
		ends := invalidField.FindAllStringSubmatchIndex(list, 1)
		if len(ends) == 0 {
			break
		}
		each, list = append(each, list[:ends[0][0]]), list[ends[0][0]+len(", "):]
	}
	each = append(each, list)
	slices.Sort(each)
	return head + " is invalid: [" + strings.Join(each, ", ") + "]"
}
