// Package patch computes what a patch makes of an object: JSON patches, merge patches, strategic merge patches and server-side
// apply, each a function from the old object and the patch to the new one. Nothing is stored here, and old is not changed.
// Begin at [Target.Patched], and for an apply at [Target.Applied]. A patch of a form that
// is no object of its own, such as a Scale, is [Target.FormWrite]. strategic.go gives the library for strategic merges only the fields that
// the patch names.
package patch
