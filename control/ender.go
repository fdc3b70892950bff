package control

// Ender is an optional interface of an Env: it ends the process of the actor by itself.
type Ender interface {
	// End ends the process, as os.Exit does, and does not return. The process is started again like a
	// container that ends by itself: at once, and then after 10s, 20s, and so on up to 5 minutes.
	End(e Ending)
}

// Mortal is an optional interface of an Env: it tells that the actor's process has ended.
type Mortal interface {
	// OnEnd has f called when the process ends: it crashes, is stopped, or the driver is closed. What the actor has started beside its
	// tasks, such as a goroutine of a library, ends there. What was given last is called first. f must neither wait nor use the Env.
	OnEnd(f func())
}

// Ending says why a process ends by itself.
type Ending struct {
	// Why is the reason, as the process would log it.
	Why string
	// Panics is set if a panic ends it, such as that of a nil pointer; otherwise it calls os.Exit.
	Panics bool
	// Background is set if the process ends each time it starts: a cluster at rest then does not wait for its restart.
	Background bool
}

// End ends the process of the caller, if the Env can. Otherwise it returns, and the caller goes on with
// an error.
func End(env Env, e Ending) {
	if ender, ok := env.(Ender); ok {
		ender.End(e)
	}
}
