package clustertest

import (
	"runtime"
	"testing"
)

// BenchSize returns n, or with -short a hundredth of it: the benchmark still runs, but its
// figure means nothing.
func BenchSize(n int) int {
	if testing.Short() {
		return max(1, n/100)
	}
	return n
}

// HeldBytes returns the bytes of memory that are still in use.
func HeldBytes() float64 {
	runtime.GC()
	var mem runtime.MemStats
	runtime.ReadMemStats(&mem)
	return float64(mem.HeapAlloc)
}

// Must ends the benchmark if there is an error.
func Must(b *testing.B, err error) {
	b.Helper()
	if err != nil {
		b.Fatal(err)
	}
}
