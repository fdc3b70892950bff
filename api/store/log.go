package store

import (
	"sort"
	"time"

	"k8s.io/apimachinery/pkg/runtime"

	"github.com/storagesim/storagesim/control"
)

// changeLog keeps the latest changes of one resource. Changes are numbered from
// 0; old ones are forgotten once there are more than limit, or once their objects
// take more than logBytes.
type changeLog struct {
	limit     int
	ring      []logged
	oldest    uint64 // number of the oldest change that is kept
	next      uint64 // number of the next change
	bytes     int    // that the objects take which were measured, about
	compacted uint64 // RV of the latest change forgotten
}

// logged is a change in the log.
type logged struct {
	control.Change
	size int // of the object, 0 before it is measured
}

// unmeasured is the number of latest changes whose objects are not measured yet: most logs never get longer.
const unmeasured = 32

// logBytes bounds what the changes of one resource take in memory. Only large objects
// that change often get there.
const logBytes = 128 << 20

func (l *changeLog) first() uint64 { return l.oldest }

func (l *changeLog) at(n uint64) *logged { return &l.ring[n%uint64(l.limit)] }

func (l *changeLog) append(c control.Change) {
	if l.next-l.oldest == uint64(l.limit) {
		l.forget()
	}
	if len(l.ring) < l.limit {
		l.ring = append(l.ring, logged{Change: c})
	} else {
		*l.at(l.next) = logged{Change: c}
	}
	l.next++
	if l.next-l.oldest < unmeasured {
		return
	}
	last := l.at(l.next - unmeasured)
	last.size = bytesOf(last.Object)
	l.bytes += last.size
	for l.bytes > logBytes && l.oldest < l.next-1 {
		l.forget()
	}
}

func (l *changeLog) forget() {
	c := l.at(l.oldest)
	l.oldest++
	l.bytes -= c.size
	l.compacted, c.Object, c.Old = c.RV, nil, nil
}

// bytesOf estimates how much memory an object takes.
func bytesOf(obj runtime.Object) int {
	if sized, ok := obj.(interface{ Size() int }); ok {
		return sized.Size()
	}
	return 0
}

// after returns the number of the first change later than version rv, and whether the log
// still has all changes since then.
func (l *changeLog) after(rv uint64) (uint64, bool) {
	n := sort.Search(int(l.next-l.first()), func(i int) bool { return l.at(l.first()+uint64(i)).RV > rv })
	return l.first() + uint64(n), rv >= l.compacted
}

// bookmarkEvery is the interval at which followers that asked for bookmarks are offered one.
const bookmarkEvery = time.Minute

// publish appends a change to the log and wakes the followers it may concern.
func (t *Table) publish(c control.Change) {
	n := t.log.next
	t.log.append(c)
	if !t.followers.none() {
		buckets, count := t.bucketsOf(c)
		for _, b := range buckets[:count] {
			for _, cursor := range t.followers.in(b) {
				cursor.wake(n)
			}
		}
	}
	if len(t.bookmarkers) == 0 {
		return
	}
	if now := t.store.cfg.Now(); now.Sub(t.lastBookmark) >= bookmarkEvery {
		t.lastBookmark = now
		for _, cursor := range t.bookmarkers {
			cursor.bookmark = true
			cursor.notify()
		}
	}
}
