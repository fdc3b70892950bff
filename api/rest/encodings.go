package rest

import (
	"sync"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
)

// encodings are the last objects that were sent, as they were sent. A stored object never
// changes, so that one which many watchers or many requests ask for is encoded once.
// Upstream: apiserver storage/cacher cachingObject, v1.37, which is for watches alone.
type encodings struct {
	mu   sync.Mutex
	of   map[encoding][]byte
	ring [keptEncodings]encoding // in order of coming
	next int
}

// keptEncodings is the number of encodings that are kept. An encoding of more than largestKept bytes is
// never kept.
const (
	keptEncodings = 512
	largestKept   = 16 << 10
)

// encoding is an object in one form, whole or as an event of a watch.
type encoding struct {
	obj       runtime.Object
	event     watch.EventType // "" for the object itself
	mediaType string
	pretty    bool
}

// get returns an encoding, made by encode if it is not kept.
func (e *encodings) get(key encoding, encode func() ([]byte, error)) ([]byte, error) {
	e.mu.Lock()
	text, ok := e.of[key]
	e.mu.Unlock()
	if ok {
		return text, nil
	}
	text, err := encode()
	if err == nil && len(text) <= largestKept {
		e.keep(key, text)
	}
	return text, err
}

func (e *encodings) keep(key encoding, text []byte) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if _, ok := e.of[key]; ok {
		return // another request was faster
	}
	if e.of == nil {
		e.of = map[encoding][]byte{}
	}
	delete(e.of, e.ring[e.next])
	e.of[key], e.ring[e.next] = text, key
	e.next = (e.next + 1) % keptEncodings
}
