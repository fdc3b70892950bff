// Package soak plays what ARCHITECTURE.md calls Bounds: hostile pods and clients go ten times beyond each of them, all at once,
// beside a good client. Its tests have a process of their own, since they count goroutines and memory.
package soak
