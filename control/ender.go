package control

// Ender is an optional interface of an Env: it ends the process of the actor by itself.
type Ender interface {
	// End ends the process, as os.Exit does, and does not return. The process is started again like a
	// container that ends by itself: at once, and then after 10s, 20s, and so on up to 5 minutes.
	End(e Ending)
}

// Ending says why a process ends by itself.
type Ending struct {
	// Why is its last word.
	Why string
	// Panics says that a nil pointer or the like ends it, not the program itself.
	Panics bool
	// Background says that a cluster is at rest although the process is to start again: it ends
	// each time.
	Background bool
}

// End ends the process of the caller, if the Env can. Otherwise it returns, and the caller goes on with
// an error.
func End(env Env, e Ending) {
	if ender, ok := env.(Ender); ok {
		ender.End(e)
	}
}
