package local

import "sync"

// keyLocks are mutexes by name. A kubelet driven one step at a time never waits
// for one; with real workers, two pods that mount one volume must not both
// believe that they are the first.
type keyLocks struct {
	mu   sync.Mutex
	byID map[string]*sync.Mutex
}

// lock locks the key and returns what unlocks it.
func (l *keyLocks) lock(key string) (unlock func()) {
	l.mu.Lock()
	if l.byID == nil {
		l.byID = map[string]*sync.Mutex{}
	}
	m := l.byID[key]
	if m == nil {
		m = &sync.Mutex{}
		l.byID[key] = m
	}
	l.mu.Unlock()
	m.Lock()
	return m.Unlock
}
