// Package warnings says what a client should know of an object that it writes and that is accepted all the same:
// fields that have no effect any more, and values that are likely mistakes. A real server puts them into Warning headers.
//
//	kinds.go     the kinds, a function each
//	pods.go      pods and templates of pods
//	paths.go     volumes with two files of the same path
//	selectors.go labels of nodes that have other names now
package warnings
