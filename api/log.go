package api

import (
	"sort"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
)

// Change is one change of an object as a follower sees it. The objects are
// shared: nobody may change them.
type Change struct {
	Type watch.EventType
	// Object is the new state, or the last one of an object that is gone or has
	// left the selector.
	Object runtime.Object
	// Old is the state before, nil for an object that is new or has entered the
	// selector.
	Old runtime.Object
	// RV is the version of the change.
	RV uint64
}

// changeLog keeps the latest changes of one resource. Changes are numbered from
// 0; old ones are forgotten once there are more than limit.
type changeLog struct {
	limit     int
	ring      []Change
	next      uint64 // number of the next change
	compacted uint64 // RV of the latest change forgotten
}

func (l *changeLog) first() uint64 { return l.next - uint64(len(l.ring)) }

func (l *changeLog) at(n uint64) *Change { return &l.ring[n%uint64(l.limit)] }

func (l *changeLog) append(c Change) {
	if len(l.ring) < l.limit {
		l.ring = append(l.ring, c)
	} else {
		slot := l.at(l.next)
		l.compacted = slot.RV
		*slot = c
	}
	l.next++
}

// after is the number of the first change later than version rv, and whether
// the log still has all of them.
func (l *changeLog) after(rv uint64) (uint64, bool) {
	n := sort.Search(len(l.ring), func(i int) bool { return l.at(l.first()+uint64(i)).RV > rv })
	return l.first() + uint64(n), rv >= l.compacted
}

// bookmarkEvery is how often followers that asked for bookmarks are offered one.
const bookmarkEvery = time.Minute

// publish appends a change to the log and wakes the followers it may concern.
func (s *Server) publish(st *store, c Change) {
	n := st.log.next
	st.log.append(c)
	if len(st.followers) > 0 {
		buckets, count := bucketsOf(c)
		for _, b := range buckets[:count] {
			for _, cursor := range st.followers[b] {
				cursor.wake(n)
			}
		}
	}
	if len(st.bookmarkers) == 0 {
		return
	}
	if now := s.cfg.Now(); now.Sub(st.lastBookmark) >= bookmarkEvery {
		st.lastBookmark = now
		for _, cursor := range st.bookmarkers {
			cursor.bookmark = true
			cursor.notify()
		}
	}
}
