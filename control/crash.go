package control

// Crash is the value of the panic with which a driver unwinds the code of an actor that it
// crashes. Code that recovers from panics of other code (a controller
// that calls a third party's plugin) must panic again with a value that
// implements Crash.
type Crash interface {
	error
	// DriverCrash marks the type; it is never called.
	DriverCrash()
}
