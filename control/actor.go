package control

// Actor is a controller with its name, for its driver.
type Actor struct {
	// Name is the actor's name, for example "persistent-volume-binder".
	Name    string
	Factory Factory
}
