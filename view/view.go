package view

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"time"

	"github.com/storagesim/storagesim/internal/release"
	"github.com/storagesim/storagesim/trace"
)

// The default bounds of a page.
const (
	DefaultSteps = 20_000
	DefaultBytes = 16 << 20
)

// Options say what a page is called and how much it has. The zero value works.
type Options struct {
	// Title, Intro and Repeat are the page's; Release is that of Kubernetes, default the one that is modelled.
	Title, Intro, Repeat, Release string
	// Start is the moment of t = 0; default the time of the first entry that is shown.
	Start time.Time
	// First is the number of the first entry in its log: what the log has dropped.
	First int
	// Told is the number of the first record that becomes a step. Those before it only say what there was.
	Told int
	// Chapters divide the steps. Chapter.Step is the number of a record.
	Chapters []Chapter
	// Missing are sentences to add to those of the page.
	Missing []string
	// Deliveries tells when caches heard of changes. Those of a write that the page shows become steps, if there is room for all of them.
	Deliveries []trace.Delivery
	// Shorten, if set, shortens identifiers in sentences.
	Shorten func(string) string
	// Steps and Bytes bound the steps and their JSON; default DefaultSteps and DefaultBytes. The last ones are kept.
	Steps, Bytes int
}

// Make returns the page of the records of a log. It never fails, and does not change the records.
func Make(entries []trace.Entry, o Options) Page { return o.build(entries).page }

// build makes a page within the bounds, and returns its builder, which can add to it.
func (o Options) build(entries []trace.Entry) *builder {
	o = o.complete()
	told := min(max(o.Told-o.First, 0), len(entries))
	shown := max(told, len(entries)-o.Steps)
	b := o.from(entries, shown)
	if len(o.Deliveries) > 0 && (len(b.page.Steps) > o.Steps || b.page.beyond(o.Bytes) > 0) {
		o.Deliveries = nil
		b = o.from(entries, shown)
		b.noRoom = true
		o.Missing = append([]string{"When each cache heard of a change is left out: there would be too many steps."}, o.Missing...)
	}
	if cut := b.page.beyond(o.Bytes); cut > 0 {
		shown += cut
		noRoom := b.noRoom
		b = o.from(entries, shown)
		b.noRoom = noRoom
	}
	p := &b.page
	if left := shown - told; left > 0 {
		p.Missing = append(p.Missing, fmt.Sprintf("%d earlier records are left out: a page has at most %d steps and about %d MiB.", left, o.Steps, o.Bytes>>20))
	}
	if o.First > 0 {
		p.Missing = append(p.Missing, fmt.Sprintf("%d earlier records were dropped by the trace, which is bounded.", o.First))
	}
	p.Missing = append(p.Missing, o.Missing...)
	return b
}

// complete returns the options with their defaults.
func (o Options) complete() Options {
	o.Steps, o.Bytes = cmp.Or(o.Steps, DefaultSteps), cmp.Or(o.Bytes, DefaultBytes)
	if o.Shorten == nil {
		o.Shorten = func(text string) string { return text }
	}
	return o
}

// from builds the page whose steps are the entries from index shown on.
func (o Options) from(entries []trace.Entry, shown int) *builder {
	start := o.Start
	if start.IsZero() && shown < len(entries) {
		start = entries[shown].Time
	}
	b := &builder{
		page: Page{Schema: Schema, Title: o.Title, Intro: o.Intro, Release: cmp.Or(o.Release, release.Kubernetes),
			Start: start.UTC().Format(time.RFC3339Nano), Repeat: o.Repeat},
		start:   start,
		shorten: o.Shorten,
		actors:  lanesOf(entries[shown:]),
		objects: newObjects(),
		waiting: o.Deliveries,
		writes:  map[uint64]int{},
	}
	for _, e := range entries[:shown] {
		b.objects.read(e, false)
	}
	b.page.Lanes = b.actors.lanes
	b.page.Steps = make([]Step, 0, len(entries)-shown)
	places := make([]int, 0, len(entries)-shown+1) // the index of each record's step
	for i, e := range entries[shown:] {
		b.add(o.First+shown+i, e)
		places = append(places, len(b.page.Steps)-1)
	}
	b.complete()
	places = append(places, len(b.page.Steps))
	b.page.Chapters = o.chapters(o.First+shown, places)
	return b
}

// chapters returns the chapters of a page whose steps begin with the record of number first. Those that end before it
// are left out. places has the index of each record's step.
func (o Options) chapters(first int, places []int) (chapters []Chapter) {
	for i, c := range o.Chapters {
		if i+1 < len(o.Chapters) && max(o.Chapters[i+1].Step, o.Told) < first {
			continue
		}
		chapters = append(chapters, Chapter{Step: places[min(max(c.Step-first, 0), len(places)-1)], Title: printable(o.Shorten(c.Title)), Stop: c.Stop})
	}
	return chapters
}

// beyond returns the number of first steps without which the JSON of the others is within a bound.
func (p Page) beyond(bytes int) int {
	for i := len(p.Steps) - 1; i >= 0; i-- {
		text, err := json.Marshal(p.Steps[i])
		if bytes -= len(text) + 1; err != nil || bytes < 0 {
			return i + 1
		}
	}
	return 0
}

// OfLog returns the page of a log, see Make. It sets Options.First and Options.Deliveries.
func OfLog(log *trace.Log, o Options) Page {
	first, entries := log.Page(0, math.MaxInt)
	o.First, o.Deliveries = first, log.Deliveries()
	return Make(entries, o)
}
