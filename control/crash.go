package control

// Crash is what a driver panics with to unwind the code of an actor that it
// crashes. Code that recovers from panics on behalf of others (a controller
// that calls a third party's plugin) must panic again with a value that
// implements Crash.
type Crash interface {
	error
	// DriverCrash marks the type; it is never called.
	DriverCrash()
}
