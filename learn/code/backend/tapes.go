package backend

import (
	"fmt"
	"maps"
	"slices"
	"sync"

	"github.com/storagesim/storagesim/csi"
)

// Tapes is a library of tapes, of which a node loads one at a time.
type Tapes struct {
	mu      sync.Mutex
	volumes map[string]bool
	loaded  map[csi.Place]bool
}

// Add adds a tape, or finds the one of that name.
func (t *Tapes) Add(volume string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.volumes == nil {
		t.volumes, t.loaded = map[string]bool{}, map[csi.Place]bool{}
	}
	t.volumes[volume] = true
}

// Remove removes a tape, if it is there.
func (t *Tapes) Remove(volume string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.volumes, volume)
}

// Load loads a tape on a node, where it is seen at a path. To load it once more is no error.
func (t *Tapes) Load(volume, node, path string) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.volumes[volume] {
		return fmt.Errorf("there is no tape %s", volume)
	}
	t.loaded[csi.Place{Volume: volume, Node: node, Path: path}] = true
	return nil
}

// Loaded reports whether a tape is loaded on a node.
func (t *Tapes) Loaded(volume, node string) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	_, ok := t.find(volume, node)
	return ok
}

// Unload unloads a tape. That it is not loaded there is an error.
func (t *Tapes) Unload(volume, node string) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	place, ok := t.find(volume, node)
	if !ok {
		return fmt.Errorf("the tape %s is not loaded on %s", volume, node)
	}
	delete(t.loaded, place)
	return nil
}

func (t *Tapes) find(volume, node string) (csi.Place, bool) {
	for place := range t.loaded {
		if place.Volume == volume && place.Node == node {
			return place, true
		}
	}
	return csi.Place{}, false
}

// Holdings lists the tapes, and those that are loaded.
func (t *Tapes) Holdings() csi.Holdings {
	t.mu.Lock()
	defer t.mu.Unlock()
	return csi.Holdings{Volumes: slices.Sorted(maps.Keys(t.volumes)), Staged: slices.SortedFunc(maps.Keys(t.loaded), csi.Place.Compare)}
}
