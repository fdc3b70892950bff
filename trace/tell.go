package trace

import (
	"fmt"
	"strings"
	"time"

	"github.com/storagesim/storagesim/internal/prose"
)

// Telling says how to tell a transcript. The zero value tells everything but details,
// one line an entry, with times since the first.
type Telling struct {
	// Start is the moment that times count from; default the time of the first entry.
	Start time.Time
	// Details also tells assets and the calls of provisioners: see IsDetail.
	Details bool
	// Calls also tells the calls of provisioners, which are details, as those of CSI drivers: the story of a failure does.
	Calls bool
	// Fold says how much of what repeats in each run is left out; default nothing.
	Fold Folding
	// Keep chooses the entries to tell, after folding; nil keeps all.
	Keep func(Entry) bool
	// Width is the number of columns a line may have; a longer one continues on
	// the next line. 0 means any number. Below NarrowWidth the actor has a line of its own.
	Width int
	// Shorten, if set, shortens identifiers in what is told.
	Shorten func(string) string
}

// NarrowWidth is the width below which times and actors leave too little room beside them.
const NarrowWidth = 100

// Story tells the whole trace, and before it how many records were dropped, if any. See
// Tell.
func (t *Log) Story(start time.Time) string {
	return t.missing() + Tell(t.entries, Telling{Start: start})
}

// Tell tells entries as a transcript: who did what, when and why. Times are printed
// where they change. Repeated events are left out. Newlines in quoted texts become "; ".
func Tell(entries []Entry, how Telling) string {
	if how.Start.IsZero() && len(entries) > 0 {
		how.Start = entries[0].Time
	}
	if how.Shorten == nil {
		how.Shorten = func(text string) string { return text }
	}
	var told []Entry
	width, fraction := 0, 0
	for _, e := range fold(entries, how.Fold) {
		if event, ok := e.Record.(Event); ok && event.Repeated {
			continue
		}
		if IsDetail(e.Record.Topic()) && !how.Details && !(how.Calls && isCall(e)) || how.Keep != nil && !how.Keep(e) {
			continue
		}
		told = append(told, e)
		width = max(width, prose.Columns(e.Actor))
		fraction = max(fraction, len(fractionOf(e.Time.Sub(how.Start))))
	}
	var b strings.Builder
	b.Grow(usualLine * len(told))
	last, actor := "", ""
	for _, e := range told {
		since := e.Time.Sub(how.Start)
		at, shown := Offset(since), ""
		if at != last {
			shown = fmt.Sprintf("%*s", timeColumns+len(fractionOf(since)), at) // seconds stand below seconds
		}
		begin := fmt.Sprintf("%-*s  %s  ", timeColumns+fraction, shown, prose.Pad(e.Actor, width))
		if how.Width > 0 && how.Width < NarrowWidth {
			if at != last || e.Actor != actor {
				fmt.Fprintf(&b, "%-*s  %s\n", timeColumns+fraction, shown, e.Actor)
			}
			begin = strings.Repeat(" ", narrowIndent)
		}
		last, actor = at, e.Actor
		line := begin + how.Shorten(prose.Printable(strings.ReplaceAll(e.Record.String(), "\n", "; ")))
		b.WriteString(prose.WrapLine(line, how.Width, len(begin), prose.Columns(begin)+2) + "\n")
	}
	return b.String()
}

// usualLine is about the number of bytes of a line.
const usualLine = 128

// timeColumns is the number of columns of a time without its fraction.
const timeColumns = 9

// narrowIndent is the column at which sentences begin under the line of their actor.
const narrowIndent = 4

// IsDetail reports whether records of a topic are told only with Telling.Details: the rest of the
// story implies them.
func IsDetail(topic string) bool { return topic == "asset" || topic == "call" }

// isCall reports whether a provisioner is called by its library. Of a CSI sidecar the story has the driver's calls instead.
func isCall(e Entry) bool {
	_, ok := e.Record.(Call)
	return ok && !strings.HasPrefix(e.Actor, "csi-provisioner/")
}

// Offset returns a time since the start as h:mm:ss, with milliseconds unless they are 0.
func Offset(d time.Duration) string {
	return fmt.Sprintf("%d:%02d:%02d", int(d.Hours()), int(d.Minutes())%60, int(d.Seconds())%60) + fractionOf(d)
}

// fractionOf returns the milliseconds of a time as Offset has them.
func fractionOf(d time.Duration) string {
	if ms := d.Milliseconds() % 1000; ms != 0 {
		return fmt.Sprintf(".%03d", ms)
	}
	return ""
}
