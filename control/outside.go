package control

import "context"

// Outside is an optional interface of an Env: it waits for the answer of code that has
// goroutines of its own, such as a gRPC server.
type Outside interface {
	// Await is a yield point, then it calls ask, and then it waits for the channel that ask
	// returns to close; nil is no channel to wait for. In a run that can be repeated no other
	// actor moves meanwhile and no virtual time passes. In a live run others go on, and time
	// does.
	//
	// It reports false if the channel has not closed after the real time that the driver
	// has for code that is not the controller's own or, in a live run, after the virtual time
	// that ctx leaves. What was asked may still be going on.
	//
	// ask runs in the caller's task and must not call anything that waits. If the caller's
	// process ends during Await, Await does not return: what ask has started is ended by
	// deferred calls.
	Await(ctx context.Context, ask func() (answered <-chan struct{})) bool
	// IsLive says whether the run is live, so that what is asked outside may be told until when
	// its answer is awaited.
	IsLive() bool
}
