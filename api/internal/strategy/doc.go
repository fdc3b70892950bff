// Package strategy brings objects into the form in which they are stored: the defaults
// of their kind, the one form of fields that say the same thing twice, and what a kind
// does to an object that is created or updated. In kube-apiserver these are the
// defaulting functions, the conversions and the strategies' PrepareForCreate and
// PrepareForUpdate; release 1.36 is followed.
//
// It is pure: objects go in and are changed in place, and nothing is read from a store.
// What needs other objects is admission, in package api.
package strategy
