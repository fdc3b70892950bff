package engine

import (
	"iter"

	"github.com/storagesim/storagesim/internal/stacks"
)

// coroutine carries out what one task does, and then what another does: periodic work is a
// task each time, and most tasks are short. A new coroutine is a new stack, which costs more
// than what most of them do.
type coroutine struct {
	next  func() (struct{}, bool)
	stop  func()
	yield func(struct{}) bool
	does  *task // nil once it is done
}

// coroutine returns one that has nothing to do.
func (e *Engine) coroutine() *coroutine {
	if last := len(e.idle) - 1; last >= 0 {
		c := e.idle[last]
		e.idle = e.idle[:last]
		return c
	}
	c := &coroutine{}
	c.next, c.stop = iter.Pull(func(yield func(struct{}) bool) {
		stacks.Grow()
		c.yield = yield
		for {
			c.does.begin()
			c.does = nil
			if !yield(struct{}{}) {
				return
			}
		}
	})
	return c
}
