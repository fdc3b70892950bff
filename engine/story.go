package engine

import (
	"fmt"
	"strings"
	"time"
)

// Story tells the whole trace. See Tell.
func (t *Trace) Story(start time.Time) string { return Tell(t.entries, start, nil) }

// Tell tells entries as a transcript: who did what, when and why. Times count
// from start and are printed where they change; events that were said before are
// left out, and so are the entries that keep refuses; nil keeps all. Each entry is
// one line, whatever it quotes: the ends of quoted lines become "; ".
func Tell(entries []Entry, start time.Time, keep func(Entry) bool) string {
	var told []Entry
	width := 0
	for _, e := range entries {
		if event, ok := e.Record.(Event); ok && event.Repeated {
			continue
		}
		if keep != nil && !keep(e) {
			continue
		}
		told = append(told, e)
		width = max(width, len(e.Actor))
	}
	var b strings.Builder
	last := ""
	for _, e := range told {
		at := Offset(e.Time.Sub(start))
		shown := at
		if at == last {
			shown = ""
		}
		last = at
		fmt.Fprintf(&b, "%9s  %-*s  %s\n", shown, width, e.Actor, strings.ReplaceAll(e.Record.String(), "\n", "; "))
	}
	return b.String()
}

// Offset prints a time since the start as h:mm:ss, with milliseconds where
// there are any.
func Offset(d time.Duration) string {
	s := fmt.Sprintf("%d:%02d:%02d", int(d.Hours()), int(d.Minutes())%60, int(d.Seconds())%60)
	if ms := d.Milliseconds() % 1000; ms != 0 {
		s += fmt.Sprintf(".%03d", ms)
	}
	return s
}
