package manifest

import (
	"bytes"
	"encoding/binary"
	"sync"

	"k8s.io/client-go/kubernetes/scheme"
)

// read holds what sets of sources were read as. An exploration applies the same text to thousands of clusters, and reading it would
// take a sixth of the shortest runs.
var read memo

// mostRemembered is the number of bytes of text that a memo holds at most.
const mostRemembered = 1 << 20

// memo remembers the objects of sets of sources that have only kinds of Kubernetes itself, and nothing wrong: what depends on
// nothing but the text. Any number of goroutines may use it.
type memo struct {
	mu   sync.Mutex
	sets map[string][]Object
	size int
}

// key returns what tells sets apart: the namespace and the sources. What the objects become depends on the server's kinds, too: see get.
func (r Reader) key(sources []Source) string {
	var b []byte
	part := func(text string) {
		b = binary.AppendUvarint(b, uint64(len(text)))
		b = append(b, text...)
	}
	part(r.Namespace)
	for _, source := range sources {
		part(source.Name)
		part(string(source.Data))
	}
	return string(b)
}

// get returns copies of the objects of a set, if it was read before and the server still has their kinds.
func (m *memo) get(key string, kinds Kinds) ([]Object, bool) {
	m.mu.Lock()
	objects, ok := m.sets[key]
	m.mu.Unlock()
	if !ok {
		return nil, false
	}
	for _, obj := range objects {
		if r, ok := ResourceForKind(kinds, obj.Resource.GroupVersionKind); !ok || r != obj.Resource {
			return nil, false
		}
	}
	return copies(objects), true
}

// put remembers a set that was read without an error. A memo that is full begins anew.
func (m *memo) put(key string, objects []Object) {
	for _, obj := range objects {
		if !scheme.Scheme.Recognizes(obj.Resource.GroupVersionKind) {
			return // a definition says what it is, and there may be another one next time
		}
	}
	if len(key) > mostRemembered {
		return
	}
	objects = copies(objects)
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.size += len(key); m.sets == nil || m.size > mostRemembered {
		m.sets, m.size = map[string][]Object{}, len(key)
	}
	m.sets[key] = objects
}

// copies returns the same objects again, which may be changed.
func copies(objects []Object) []Object {
	list := make([]Object, len(objects))
	for i, obj := range objects {
		obj.Object, obj.JSON = obj.Object.DeepCopyObject(), bytes.Clone(obj.JSON)
		list[i] = obj
	}
	return list
}
