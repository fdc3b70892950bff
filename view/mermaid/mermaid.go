// Package mermaid writes a view.Page as a sequence diagram in the language of Mermaid, which issue trackers draw. Write is the entry.
//
// The time stands before a step, where it is another one than before.
//
// A diagram has at most Limit bytes. What has no room is left out: first events, retries and commands, then the end; the diagram says so.
package mermaid

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/storagesim/storagesim/trace"
	"github.com/storagesim/storagesim/view"
)

// Limit is the number of bytes of a diagram. GitLab draws no diagram of more than 5,000 characters.
const Limit = 5000

// The longest texts of messages, in bytes: usually, and where there is little room.
const (
	longText  = 90
	shortText = 48
)

// Write writes the diagram. An error is that of w.
func Write(w io.Writer, p view.Page) error {
	_, err := io.WriteString(w, diagram(p))
	return err
}

// diagram returns the first diagram that has everything, or else as much as there is room for.
func diagram(p view.Page) string {
	var all, main []view.Step
	for _, s := range p.Steps {
		if s.Detail || s.Kind == "delivery" {
			continue
		}
		all = append(all, s)
		if s.Kind != "event" && s.Kind != "retry" && s.Kind != "command" {
			main = append(main, s)
		}
	}
	for _, d := range []drawing{{p, all, longText, 0}, {p, main, longText, len(all) - len(main)}} {
		if text := d.draw(len(d.steps)); len(text) <= Limit {
			return text
		}
	}
	d := drawing{p, main, shortText, len(all) - len(main)}
	for n := len(main); n > 0; n-- {
		if text := d.draw(n); len(text) <= Limit {
			return text
		}
	}
	return d.draw(0)
}

// drawing is a way to draw a page.
type drawing struct {
	page  view.Page
	steps []view.Step
	width int
	// without is the number of events, retries and commands that steps lacks.
	without int
}

// draw returns the diagram of the first n steps.
func (d drawing) draw(n int) string {
	var b strings.Builder
	b.WriteString("sequenceDiagram\n")
	lanes := d.lanes(n)
	for _, i := range lanes {
		fmt.Fprintf(&b, "  participant p%d as %s\n", i, d.label(d.page.Lanes[i]))
	}
	last := ""
	for _, s := range d.steps[:n] {
		at := trace.Offset(time.Duration(s.T) * time.Millisecond)
		if at == last {
			b.WriteString(d.line(s, ""))
		} else {
			b.WriteString(d.line(s, at+" "))
		}
		last = at
	}
	if said := d.leftOut(n); said != "" {
		fmt.Fprintf(&b, "  Note over p%d: %s\n", lanes[0], said)
	}
	return b.String()
}

// leftOut says what has no room.
func (d drawing) leftOut(n int) string {
	var parts []string
	if d.without > 0 {
		parts = append(parts, fmt.Sprintf("%d events, retries and commands", d.without))
	}
	if rest := len(d.steps) - n; rest > 0 {
		parts = append(parts, fmt.Sprintf("the last %d steps", rest))
	}
	if len(parts) == 0 {
		return ""
	}
	return "left out, for want of room: " + strings.Join(parts, " and ")
}

// lanes returns the indices of the lanes that the first n steps need, in order. There is at least one.
func (d drawing) lanes(n int) []int {
	var used []int
	for _, s := range d.steps[:n] {
		from, to := d.ends(s)
		used = append(used, from, to)
	}
	if len(used) == 0 {
		used = append(used, 0)
	}
	slices.Sort(used)
	return slices.Compact(used)
}

// ends returns the lanes of a step: that of the actor, and that of what it calls, which may be the same.
func (d drawing) ends(s view.Step) (from, to int) {
	switch {
	case s.Kind == "write":
		return s.Lane, slices.IndexFunc(d.page.Lanes, func(l view.Lane) bool { return l.Kind == view.APIServer })
	case s.Call != nil && s.Call.To != nil:
		return s.Lane, *s.Call.To
	}
	return s.Lane, s.Lane
}

// line returns the statement of a step. at comes before its text: the time, where it is another one than that of the step before.
func (d drawing) line(s view.Step, at string) string {
	from, to := d.ends(s)
	text := at + escape(s.Text, d.width)
	switch {
	case from == to:
		return fmt.Sprintf("  Note over p%d: %s\n", from, text)
	case s.Write != nil && s.Write.Refused != nil, s.Call != nil && s.Call.Code != "OK":
		return fmt.Sprintf("  p%d-xp%d: %s\n", from, to, text)
	}
	return fmt.Sprintf("  p%d->>p%d: %s\n", from, to, text)
}

// label returns the name of a lane with its node.
func (d drawing) label(l view.Lane) string {
	name := l.Name
	if l.Node != "" {
		name += " " + l.Node
	}
	return escape(name, d.width)
}

// escape returns text as one line that mermaid cannot read as a statement, a comment or HTML, cut at width bytes.
func escape(text string, width int) string {
	text = strings.Join(strings.Fields(strings.ToValidUTF8(text, "?")), " ")
	if len(text) > width {
		end := width - len("...")
		for !utf8.RuneStart(text[end]) {
			end--
		}
		text = text[:end] + "..."
	}
	if text == "" {
		return "-"
	}
	var b strings.Builder
	for _, r := range text {
		switch {
		case strings.ContainsRune("#;<>&\"%{}\\`$", r):
			fmt.Fprintf(&b, "#%d;", r)
		case r < ' ' || r == 0x7f:
			b.WriteByte('?')
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}
