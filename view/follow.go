package view

import (
	"encoding/json"
	"math"

	"github.com/storagesim/storagesim/trace"
)

// Follower makes the page of a log that grows, with as much work as there is new. It only adds to a page, until it begins anew:
// for an actor that needs a lane, or when the page is a quarter beyond its bounds. It may be used by one goroutine at a time.
type Follower struct {
	log     *trace.Log
	options Options
	turn    int // how often it has begun
	builder *builder
	next    int // the number of the next record, and of the next delivery
	heard   int
	added   int // bytes of the steps that were added since it began, as JSON
}

// Mark says how much of a follower's page a reader has. The zero value is nothing.
type Mark struct {
	// Turn is the number of the page, from 1. The others count the parts that the reader has.
	Turn, Steps, Objects, Base int
}

// Follow returns a follower of a log. It sets Options.First and Options.Deliveries; Options.Chapters are not shown.
func Follow(log *trace.Log, o Options) *Follower {
	o.Chapters = nil
	return &Follower{log: log, options: o.complete()}
}

// Since reads what is new in the log, and returns what the reader of a mark does not have, with the mark of who has it. If whole
// is set, that is a page of its own. Otherwise p has the steps, objects and bases to add to the reader's page, with its indexes.
func (f *Follower) Since(m Mark) (p Page, now Mark, whole bool) {
	if f.builder == nil || !f.extend() {
		f.begin()
	}
	p = f.builder.page
	now = Mark{f.turn, len(p.Steps), len(p.Objects), len(p.Base)}
	if m.Turn != f.turn || !within(m.Steps, now.Steps) || !within(m.Objects, now.Objects) || !within(m.Base, now.Base) {
		return p, now, true
	}
	p.Lanes, p.Missing = nil, nil
	p.Steps, p.Objects, p.Base = p.Steps[m.Steps:], p.Objects[m.Objects:], p.Base[m.Base:]
	return p, now, false
}

func within(n, length int) bool { return n >= 0 && n <= length }

func (f *Follower) begin() {
	o := f.options
	o.Deliveries, f.heard = f.log.DeliveriesSince(0) // before the records, so that none is of a later one
	first, entries := f.log.Page(0, math.MaxInt)
	o.First = first
	f.builder, f.next, f.added = o.build(entries), first+len(entries), 0
	f.turn++
}

// extend adds what is new, and reports whether that was possible.
func (f *Follower) extend() bool {
	deliveries, heard := f.log.DeliveriesSince(f.heard)
	first, entries := f.log.Page(f.next, math.MaxInt)
	if first > f.next { // the log has dropped records that were not read
		return false
	}
	b := f.builder
	for _, e := range entries {
		if !b.actors.know(e) {
			return false
		}
	}
	if !b.noRoom {
		b.waiting = deliveries
	}
	had := len(b.page.Steps)
	for i, e := range entries {
		b.add(f.next+i, e)
	}
	b.complete()
	f.next, f.heard = first+len(entries), heard
	for _, s := range b.page.Steps[had:] {
		if text, err := json.Marshal(s); err == nil {
			f.added += len(text)
		}
	}
	return len(b.page.Steps) <= f.options.Steps+f.options.Steps/4 && f.added <= f.options.Bytes/4
}
