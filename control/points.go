package control

import "time"

// Points is an optional interface of an Env: faults strike the points of an author's code that runs in the actor's
// process (package mayfail). It is for whatever calls such code in another goroutine than the actor's, as the gRPC server
// of a CSI driver does; in the actor's own tasks the context does it all.
type Points interface {
	// ReachPoint tells that code reaches a point. It returns the fault that strikes, nil if none does. Any goroutine
	// may call it.
	ReachPoint(name string) *PointFault
}

// PointFault says what happens at a point. If neither Crash, Err nor Delay is set, nothing does.
type PointFault struct {
	// After has it happen after the function of the point was called. Otherwise it is not called, unless Delay is set.
	After bool
	// Crash ends the process, which is back after Restart.
	Crash   bool
	Restart time.Duration
	// Err is the error that the code gets.
	Err error
	// Delay is the virtual time that passes.
	Delay time.Duration
}

// At does what a fault says with the function of a point: suffer carries a fault out, and returns the error that the code
// gets.
func (f *PointFault) At(do func() error, suffer func(*PointFault) error) error {
	if f == nil {
		return do()
	}
	if !f.After {
		if err := suffer(f); err != nil {
			return err
		}
		return do()
	}
	answer := do()
	if err := suffer(f); err != nil {
		return err
	}
	return answer
}
