package engine

import (
	"container/list"
	"slices"
	"time"

	"golang.org/x/time/rate"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

// How much a recorder of core/v1 events lets through. Upstream: client-go tools/record events_cache.go maxLruCacheEntries,
// defaultAggregateMaxEvents, defaultAggregateIntervalInSeconds, defaultSpamBurst, defaultSpamQPS, v1.37.2.
const (
	maxCorrelated = 4096 // objects, each with the events of one type; upstream counts the entries of three caches
	maxSimilar    = 10
	similarWithin = 10 * time.Minute
	spamBurst     = 25
	spamQPS       = 1. / 300.
	maxCounted    = 64 // events of a subject
)

// correlator decides what becomes of each event of a recorder: one that says the same as an earlier one raises that one's count; the
// tenth message in ten minutes with one reason, and what follows it, become a single event; and about one object a recorder sends 25 events of a type,
// then one in five minutes. What it keeps back is counted all the same, so that the next one that is sent has the right count.
// It lives as long as the process: a controller that starts anew knows nothing of what it has said.
//
// Upstream: client-go tools/record EventCorrelator, v1.37.2.
type correlator struct {
	known  map[subject]*list.Element
	recent list.List // of *history, what was spoken of last in front
}

// subject names events that share a limit: those of one type about one object.
// Upstream: client-go tools/record getSpamKey, v1.37.2.
type subject struct {
	kind, namespace, name string
	uid                   types.UID
	apiVersion, eventtype string
}

// history holds what a recorder remembers of a subject.
type history struct {
	subject subject
	limit   *rate.Limiter
	similar []similar
	seen    []*observed
}

// similar holds the different messages of one reason, the oldest first, and when the last one came.
type similar struct {
	reason   string
	messages []string
	last     time.Time
}

// observed is an event that is counted, as it was last sent or would have been. Those that are combined because they are similar have a message that
// changes.
type observed struct {
	fieldPath, reason, message string
	combined                   bool
	event                      *v1.Event
	sent                       bool // the server has the event as it is
}

// correlate returns the event that counts what is said now, and whether it is kept back. It is new if it has no event yet.
// Upstream: client-go tools/record EventCorrelate, v1.37.2.
func (c *correlator) correlate(now time.Time, ref *v1.ObjectReference, eventtype, reason, message string) (*observed, bool) {
	h := c.history(subject{ref.Kind, ref.Namespace, ref.Name, ref.UID, ref.APIVersion, eventtype})
	return h.observe(ref.FieldPath, reason, message, h.combines(now, reason, message)), !h.limit.AllowN(now, 1)
}

// history returns what is known of a subject, which may be nothing, and forgets the one that has not been spoken of for longest.
func (c *correlator) history(s subject) *history {
	if known := c.known[s]; known != nil {
		c.recent.MoveToFront(known)
		return known.Value.(*history)
	}
	h := &history{subject: s, limit: rate.NewLimiter(rate.Limit(float32(spamQPS)), spamBurst)}
	if c.known == nil {
		c.known = map[subject]*list.Element{}
	}
	c.known[s] = c.recent.PushFront(h)
	if c.recent.Len() > maxCorrelated {
		delete(c.known, c.recent.Remove(c.recent.Back()).(*history).subject)
	}
	return h
}

// combines reports whether a message is one too many for its reason. Of ten that are known then, the oldest is forgotten; upstream forgets any.
// Upstream: client-go tools/record EventAggregate, v1.37.2.
func (h *history) combines(now time.Time, reason, message string) bool {
	at := slices.IndexFunc(h.similar, func(s similar) bool { return s.reason == reason })
	if at < 0 {
		at, h.similar = len(h.similar), append(h.similar, similar{reason: reason})
	}
	s := &h.similar[at]
	if now.Sub(s.last) > similarWithin {
		s.messages = s.messages[:0]
	}
	if s.last = now; !slices.Contains(s.messages, message) {
		s.messages = append(s.messages, message)
	}
	if len(s.messages) < maxSimilar {
		return false
	}
	s.messages = slices.Delete(s.messages, 0, 1)
	return true
}

// observe returns the event that counts a message. Upstream: client-go tools/record eventObserve, v1.37.2.
func (h *history) observe(fieldPath, reason, message string, combined bool) *observed {
	if combined {
		fieldPath, message = "", "(combined from similar events): "+message
	}
	for _, o := range h.seen {
		if o.reason == reason && o.combined == combined && (combined || o.message == message && o.fieldPath == fieldPath) {
			o.message = message
			return o
		}
	}
	if len(h.seen) == maxCounted {
		h.seen = slices.Delete(h.seen, 0, 1)
	}
	o := &observed{fieldPath: fieldPath, reason: reason, message: message, combined: combined}
	h.seen = append(h.seen, o)
	return o
}
