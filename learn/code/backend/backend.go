// Package backend is the storage of the exercises in Go: a cloud with disks, in memory. It is no part of what a learner writes,
// and it outlives the programs that use it.
package backend

import (
	"fmt"
	"maps"
	"slices"
	"sync"
)

// Cloud makes disks.
type Cloud struct {
	mu     sync.Mutex
	made   int
	labels map[string]string // by ID
}

// Create makes a disk with a label and returns its ID. It makes a new one each time that it is called.
func (c *Cloud) Create(label string) (id string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.labels == nil {
		c.labels = map[string]string{}
	}
	c.made++
	id = fmt.Sprintf("disk-%d", c.made)
	c.labels[id] = label
	return id
}

// Find returns the ID of the first disk with a label.
func (c *Cloud) Find(label string) (id string, ok bool) {
	for _, id := range c.Disks() {
		if c.Label(id) == label {
			return id, true
		}
	}
	return "", false
}

// Delete removes a disk. A disk that is not there is an error.
func (c *Cloud) Delete(id string) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, ok := c.labels[id]; !ok {
		return fmt.Errorf("the cloud has no disk %s", id)
	}
	delete(c.labels, id)
	return nil
}

// Disks returns the IDs of all disks, sorted.
func (c *Cloud) Disks() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Sorted(maps.Keys(c.labels))
}

// Label returns the label of a disk; empty if it is not there.
func (c *Cloud) Label(id string) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.labels[id]
}
