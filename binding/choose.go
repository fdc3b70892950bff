package binding

// Choose picks one of n alternatives where upstream leaves the choice to the order of a Go
// map: 0 <= result < n. Nil always picks the first. Pass Env.Choose of package control, so
// that the engine's policy decides.
type Choose func(n int) int

// among returns the chosen alternative. It calls choose only if there are several.
func (choose Choose) among(n int) int {
	if choose == nil || n < 2 {
		return 0
	}
	return choose(n)
}
