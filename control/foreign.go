package control

import (
	"time"

	"github.com/storagesim/storagesim/trace"
)

// Foreign is an optional interface of an Env: it calls code that is not the
// controller's own and may never return.
type Foreign interface {
	// Foreign calls f, which may use the Env like any code of the actor. doing and
	// about say what for, for example "Provision" and the claim; about may be empty.
	//
	// If f keeps the machine waiting (a lock, a channel, an endless loop: anything but
	// the Env and the client), the driver gives up on it after some time: it calls
	// blocked, which must not wait, with that time, and goes on with all
	// other actors. The task that called Foreign never continues.
	//
	// If f panics, the actor's process ends, as a real one would, and is started again,
	// each time later than before.
	Foreign(doing string, about trace.Ref, f func(), blocked func(took time.Duration))
}
