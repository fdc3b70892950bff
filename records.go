package storagesim

import (
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"

	"github.com/storagesim/storagesim/engine"
	"github.com/storagesim/storagesim/internal/prose"
	"github.com/storagesim/storagesim/trace"
)

// Trace tells of all that has happened in a cluster since it started: records, and the texts that are made of them.
type Trace struct{ c *Cluster }

// Trace returns the records of the run and its texts. It goes on with the run.
func (c *Cluster) Trace() Trace { return Trace{c} }

// Records returns the records that the story is told from, oldest first. They are shared: do not
// change them. trace.JSON writes them as JSON.
func (t Trace) Records() []trace.Entry { return t.c.engine.Trace().Since(t.c.began) }

// Transcript returns the story with short identifiers (ShortIDs), and with lines wrapped at width
// characters; 0 wraps nothing.
func (t Trace) Transcript(width int) string {
	return t.Tell(trace.Telling{Width: width, Shorten: t.ShortIDs})
}

// ShortIDs shortens the UIDs in a text to their first eight digits, or to more where
// two of this cluster's would look alike: "pvc-56a9ebfe" for
// "pvc-56a9ebfe-9c0b-4d98-8d97-ddaeff0e466a".
func (t Trace) ShortIDs(text string) string { return t.c.ids.Shorten(text) }

// FullIDs replaces shortened identifiers by the full ones again, so that a name copied from a
// transcript names its object.
func (t Trace) FullIDs(text string) string {
	if !prose.HasID(text) {
		return text
	}
	for _, obj := range t.c.server().Objects(true) { // also those that were not printed yet
		if m, err := meta.Accessor(obj); err == nil {
			t.c.ids.Shorten(m.GetName() + " " + string(m.GetUID()))
		}
	}
	return t.c.ids.Expand(text)
}

// Tell returns the story told as how says, for example with details. If how has no Start, times
// count from the start of the cluster.
func (t Trace) Tell(how trace.Telling) string {
	if how.Start.IsZero() {
		how.Start = t.c.started()
	}
	log := t.c.engine.Trace()
	story := trace.Tell(log.Since(t.c.began), how)
	if lost := log.Dropped() - t.c.began; lost > 0 {
		story = fmt.Sprintf("(the first %d records are not kept)\n", lost) + story
	}
	return story
}

// TellRecords tells some of the Records as Tell does.
func (t Trace) TellRecords(records []trace.Entry, how trace.Telling) string {
	if how.Start.IsZero() {
		how.Start = t.c.started()
	}
	return trace.Tell(records, how)
}

// Page returns the part of the story that at most limit records tell, from number from on; the
// first record has number 0. next is the number of the record after them. Lines are wrapped at width columns; 0 wraps
// nothing. It may be called while the cluster takes steps.
func (t Trace) Page(from, limit, width int) (text string, next int) {
	first, entries := t.c.engine.Trace().Page(t.c.began+max(0, from), limit)
	first -= t.c.began
	if lost := first - max(0, from); lost > 0 && len(entries) > 0 {
		text = fmt.Sprintf("(%d records before number %d are not kept)\n", lost, first)
	}
	return text + trace.Tell(entries, trace.Telling{Start: t.c.started(), Width: width}), first + len(entries)
}

// Gaps returns what objects of this run asked for that a cluster does and the simulation does not,
// in the order in which it came up: each entry of the register once, about the first object that
// asked. README has the register under "Not there".
func (t Trace) Gaps() []trace.Gap {
	t.c.gapsMu.Lock()
	defer t.c.gapsMu.Unlock()
	return slices.Clone(t.c.gaps)
}

// Deviations returns the situations of this run in which the simulation does otherwise than the modelled release of
// Kubernetes, each once, in the order in which they arose. docs/41-what-v1.37-loses.md has the register.
func (t Trace) Deviations() []trace.Deviates { return t.c.engine.Trace().Deviations() }

func (c *Cluster) started() time.Time {
	if c.cfg.Start.IsZero() {
		return engine.Start()
	}
	return c.cfg.Start
}

// Story returns the transcript so far: who did what, when and why, one line a record. It leaves
// out how the cluster started. A very long story has lost its beginning, and says so.
func (c *Cluster) Story() string { return c.Trace().Tell(trace.Telling{}) }
