// Package perfetto writes a view.Page in the trace-event format of Chrome, which https://ui.perfetto.dev and chrome://tracing open: a process for
// each actor, and in it a thread for its steps and one for each call in flight. Write is the entry. Times are virtual.
package perfetto

import (
	"bufio"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/storagesim/storagesim/view"
)

// event is one event of the format. Its times are microseconds.
type event struct {
	Phase string         `json:"ph"`
	PID   int            `json:"pid"`
	TID   int            `json:"tid"`
	Name  string         `json:"name"`
	Class string         `json:"cat,omitempty"`
	Time  int64          `json:"ts"`
	For   *int64         `json:"dur,omitempty"`
	Scope string         `json:"s,omitempty"`
	Args  map[string]any `json:"args,omitempty"`
}

// The phases of events.
const (
	metadata = "M"
	complete = "X"
	instant  = "i"
)

// steps is the number of the thread that has an actor's steps; its calls are in those after it.
const steps = 0

// longName is the number of bytes of an event's name. The whole sentence is in its arguments.
const longName = 100

// Write writes the trace, details included. An error is that of w.
func Write(w io.Writer, p view.Page) error {
	out := bufio.NewWriter(w)
	fmt.Fprint(out, `{"displayTimeUnit":"ms","otherData":`)
	if err := write(out, map[string]any{"title": p.Title, "release": p.Release, "start": p.Start, "repeat": p.Repeat, "missing": p.Missing}); err != nil {
		return err
	}
	fmt.Fprint(out, `,"traceEvents":[`)
	for i, e := range eventsOf(p) {
		if i > 0 {
			fmt.Fprint(out, ",")
		}
		fmt.Fprintln(out)
		if err := write(out, e); err != nil {
			return err
		}
	}
	fmt.Fprint(out, "\n]}\n")
	return out.Flush() // which returns the error of any write before it
}

func write(out io.Writer, value any) error {
	text, err := json.Marshal(value)
	if err == nil {
		_, err = out.Write(text)
	}
	return err
}

// eventsOf returns the events of a page: the names of actors first, then steps and calls in the order of their beginnings.
func eventsOf(p view.Page) []event {
	var names, events []event
	for i, lane := range p.Lanes {
		names = append(names, event{Phase: metadata, PID: i + 1, Name: "process_name", Args: map[string]any{"name": lane.ID}},
			event{Phase: metadata, PID: i + 1, Name: "process_sort_index", Args: map[string]any{"sort_index": i}},
			event{Phase: metadata, PID: i + 1, TID: steps, Name: "thread_name", Args: map[string]any{"name": "steps"}})
	}
	for i, s := range p.Steps {
		e := event{Phase: instant, PID: s.Lane + 1, TID: steps, Name: short(s.Text), Class: s.Kind, Time: micro(s.T), Scope: "t",
			Args: map[string]any{"text": s.Text, "record": s.N}}
		switch {
		case s.Call != nil: // it is recorded at its end
			e.Phase, e.Scope, e.Name = complete, "", short(s.Call.Method)
			e.Time, e.For = micro(s.T-s.Call.TookMs), new(micro(s.Call.TookMs))
			e.Args["code"] = s.Call.Code
		case s.Kind == "down":
			e.Phase, e.Scope, e.Name = complete, "", "does not run"
			e.For = new(micro(upAgain(p, i) - s.T))
		case s.Delivery != nil:
			e.Name = fmt.Sprintf("sees version %d of its %s", s.Delivery.RV, s.Delivery.Resource)
		}
		events = append(events, e)
	}
	slices.SortStableFunc(events, func(a, b event) int { return cmp.Compare(a.Time, b.Time) })
	return append(append(names, threads(events)...), events...)
}

// threads puts each call into the first thread of its actor in which no other call is in flight, and returns the names of these threads.
func threads(events []event) (names []event) {
	busy := map[int][]int64{} // by process: until when each thread has a call
	for i := range events {
		e := &events[i]
		if e.Class != "call" {
			continue
		}
		free := slices.IndexFunc(busy[e.PID], func(until int64) bool { return until <= e.Time })
		if free < 0 {
			free = len(busy[e.PID])
			busy[e.PID] = append(busy[e.PID], 0)
			names = append(names, event{Phase: metadata, PID: e.PID, TID: steps + 1 + free, Name: "thread_name",
				Args: map[string]any{"name": fmt.Sprintf("calls %d", free+1)}})
		}
		e.TID, busy[e.PID][free] = steps+1+free, e.Time+*e.For
	}
	return names
}

// upAgain returns the time at which the process that ends with a step starts again; that of the last step if it does not.
func upAgain(p view.Page, down int) int64 {
	for _, s := range p.Steps[down+1:] {
		if s.Lane == p.Steps[down].Lane && s.Kind == "up" {
			return s.T
		}
	}
	return p.Steps[len(p.Steps)-1].T
}

func micro(ms int64) int64 { return ms * int64(time.Millisecond/time.Microsecond) }

// short cuts a text to the length of a name, between two characters.
func short(text string) string {
	if len(text) <= longName {
		return text
	}
	end := longName
	for end > 0 && text[end]&0xc0 == 0x80 {
		end--
	}
	return text[:end] + "..."
}
