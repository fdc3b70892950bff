// Package engine is the deterministic driver of controllers: it runs actors
// against an api.Server, one thing at a time, on a virtual clock.
//
// # Steps
//
// Every worker of every actor is a coroutine. Each API call, sleep, poll and
// empty queue is a yield point: the coroutine stops there, and the engine
// chooses the next step among
//
//   - running a coroutine that can go on,
//   - delivering the next watch event to one cache of one actor,
//   - and, when neither is left, moving the clock to the earliest timer.
//
// Time is virtual: it moves only when no actor can run.
//
// # Policies
//
// Which step is next is a Policy: InOrder (the running coroutine goes on, then
// caches catch up oldest first, then the task that was ready first: readable
// stories), Seeded (any enabled step, by a seeded generator: interleavings,
// stale caches), or Replay of a recorded list of choices. Everything else is a
// function of those choices: the same choices give the same trace, byte for
// byte.
//
// # Settling
//
// Settle runs to a fixed point: nothing can run and no foreground timer is
// left. Background timers would fire for ever or only give up:
// periodic work (Env.Every), sleeps in control.InBackground, polls for which
// nothing has changed since they last looked, and retries whose backoff has grown
// beyond Config.Patience, or has long been the longest it can be. They fire while other work is awaited and during RunFor,
// but Settle does not wait for them.
//
// # Faults
//
// A crash, a refused request, a lost answer, a process that stands still or a stale cache is a step like any
// other and never special code in a controller: see Fault, Crash, Pause, Hold. A
// crashed actor forgets everything and is built again by its control.Factory,
// its caches by a fresh list.
//
// A call that makes no end of work (two controllers undoing each other, or each
// making an object for every object of the other) runs
// into a limit on steps, and the error names the actors and the objects they kept working on. For Settle
// the limit is on the whole call; RunFor and RunUntil, which end at a time and see
// periodic work, have it for each minute of virtual time, and beside programs for each moment.
//
// A panic in an actor's code, be it a task, a handler or the factory, fails the run
// with an error that names it. A test that fails inside an actor's code
// (testing.T.FailNow) ends as it would anywhere else.
//
// # Deviations from a real cluster
//
//   - A crash unwinds the coroutine with a panic (control.Crash), so deferred
//     functions run; calls they make on the API or the Env do nothing.
//   - Events are recorded at once, not by a background broadcaster.
//   - Between two yield points an actor's code is atomic, and two workers of
//     one actor never run at the same time.
package engine
