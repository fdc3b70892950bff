// Package views has the forms in which objects are read and written, and their rules: scale, eviction and binding of pods, parts
// of pods, tokens, reviews, and events with their two forms. All of it is functions from objects to objects; the server reads
// before and writes afterwards. Begin at [Subresource], which says what a subresource is; the registry lists them by kind.
// scale.go is the shortest example of a view, eviction.go of a decision that leads to two writes.
package views
