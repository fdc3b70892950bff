package engine

import (
	"runtime"
	"sync/atomic"
	"time"

	"github.com/storagesim/storagesim/internal/stacks"
	"github.com/storagesim/storagesim/trace"
)

// foreign is a call of code that may never return.
type foreign struct {
	blocked func(took time.Duration)
	running stacks.Mark
	doing   string
	about   trace.Ref
	lost    atomic.Bool // given up: if it returns after all, no task waits for it
}

// Foreign implements control.Foreign. The call begins at a yield point, so that
// the engine watches each of its steps.
func (v *env) Foreign(doing string, about trace.Ref, f func(), blocked func(took time.Duration)) {
	t := v.task("Foreign")
	outer := t.foreign
	call := &foreign{blocked: blocked, running: stacks.NewMark(), doing: doing, about: about}
	t.foreign = call
	defer func() {
		thrown := recover()
		if call.lost.Load() {
			runtime.Goexit() // into nothing: the engine has gone on long ago
		}
		t.foreign = outer
		switch thrown.(type) {
		case nil:
		case crashed:
			panic(thrown)
		default:
			t.panicked(doing, about, thrown, panickedAt())
		}
	}()
	t.pause()
	defer freeThread()
	stacks.Marked(call.running, f)
}

// maxThreadLocks is the number of calls of runtime.LockOSThread that freeThread takes back.
const maxThreadLocks = 100

// freeThread takes back what foreign code has done with runtime.LockOSThread: with a goroutine that is locked to a
// thread, the runtime ends the whole program at the next switch of coroutines. The lock holds until the code returns
// or calls its Env. Without a lock, to unlock does nothing.
func freeThread() {
	for range maxThreadLocks {
		runtime.UnlockOSThread()
	}
}

// haltGrace is the real time that a step in foreign code has to end after an interrupt, before it is left behind.
const haltGrace = time.Second

// resume runs the coroutine to its next yield point, and reports whether it got there or ended in
// time. Only a step in foreign code is watched, since that takes a goroutine.
func (t *task) resume() (answered bool) {
	limit := t.actor.engine.cfg.Blocked
	if t.foreign == nil || limit < 0 {
		_, answered = t.next()
		return answered
	}
	call, returned := t.foreign, make(chan bool, 1)
	go func() {
		defer close(returned) // also when the code ends its goroutine, as a failing test does
		_, answered := t.next()
		returned <- answered
	}()
	timer, halted := time.NewTimer(limit), t.actor.engine.halt
	defer timer.Stop()
	for {
		select {
		case answered, ok := <-returned:
			if !ok {
				runtime.Goexit()
			}
			return answered
		case <-halted: // code that does not block still comes to its yield point
			halted = nil
			limit = min(limit, haltGrace)
			timer.Reset(limit)
			continue
		case <-timer.C:
		}
		call.lost.Store(true)
		if halted != nil {
			t.actor.engine.record(t.actor.name, trace.Blocks{Doing: call.doing, About: call.about, Took: limit, Stack: call.running.Stack()})
			call.blocked(limit)
		}
		return false
	}
}
