package control

// Shuffle brings the list, in place, into any order that Env.Choose picks: what
// upstream gets by walking a Go map. In order it stays as it is.
func Shuffle[T any](env Env, list []T) {
	for i := range len(list) - 1 {
		other := i + env.Choose(len(list)-i)
		list[i], list[other] = list[other], list[i]
	}
}
