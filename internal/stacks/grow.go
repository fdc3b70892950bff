package stacks

// Grow makes the stack of the calling goroutine large enough for most of what it is to do, while there is little on it: it would be copied
// several times otherwise, each time with more on it.
//
//go:noinline
func Grow() {
	var room [20 << 10]byte
	sink(&room)
}

//go:noinline
func sink(*[20 << 10]byte) {}
