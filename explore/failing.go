package explore

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/storagesim/storagesim"
	"github.com/storagesim/storagesim/trace"
)

// failing follows the work of the author's actors that fails and is tried again. Their objects may all look well, as those of an operator that
// takes it for an error that its second attempt finds what its first has made. The snapshot controller is upstream's, though a scenario
// installs it: where it is stuck, its objects tell.
type failing struct {
	c    *storagesim.Cluster
	base base
	seen int // entries of the trace that were looked at
	work map[work]attempt
}

// work is a key of a queue of an actor.
type work struct{ actor, queue, key string }

// attempt is the last attempt at some work that has failed.
type attempt struct {
	about string
	next  time.Time // when it is tried again: if it fails again, another attempt stands here by then
	err   error
}

// followFailing follows a cluster whose scenario has not begun.
func followFailing(c *storagesim.Cluster) *failing {
	return &failing{c: c, base: base{ours: c.Engine().Actors()}}
}

// now returns the work that has failed and waits to be tried again, in the order of actors and keys.
func (f *failing) now() []work {
	log := f.c.Engine().Trace()
	if log.Len() > f.seen {
		entries := log.Since(f.seen)
		f.seen += len(entries)
		for _, entry := range entries {
			if r, ok := entry.Record.(trace.Retry); ok && f.base.isAuthors(entry.Actor) && entry.Actor != storagesim.SnapshotController {
				if f.work == nil { // most runs have none
					f.work = map[work]attempt{}
				}
				f.work[work{entry.Actor, r.Queue, r.Key}] = attempt{r.About, entry.Time.Add(r.Delay), r.Err}
			}
		}
	}
	var list []work
	for w, a := range f.work {
		if a.next.After(f.c.Now()) {
			list = append(list, w)
		}
	}
	slices.SortFunc(list, func(a, b work) int {
		return slices.Compare([]string{a.actor, a.queue, a.key}, []string{b.actor, b.queue, b.key})
	})
	return list
}

// count returns how much work of each actor fails now.
func (f *failing) count() map[string]int {
	n := map[string]int{}
	for _, w := range f.now() {
		n[w.actor]++
	}
	return n
}

// more returns an error if more work of an actor fails than in the plain run.
func (f *failing) more(plain map[string]int) error {
	list := f.now()
	if len(list) == 0 {
		return nil
	}
	n := f.count()
	i := slices.IndexFunc(list, func(w work) bool { return n[w.actor] > plain[w.actor] })
	if i < 0 {
		return nil
	}
	actor := list[i].actor
	lines := []string{fmt.Sprintf("%s: work that fails again and again: %d, in order %d", actor, n[actor], plain[actor])}
	for _, w := range list[i:] {
		if w.actor == actor {
			lines = append(lines, fmt.Sprintf("  %s: %v", f.work[w].about, f.work[w].err))
		}
	}
	first := f.work[list[i]]
	return causedError{beginning(first.err.Error()), about(actor+" "+first.about, "%s", strings.Join(lines, "\n"))}
}
