// Package validation says what is wrong with objects, as kube-apiserver v1.36 does:
// the same fields, the same words, in the same order.
//
// It is pure. Objects go in, defaults applied, and a field.ErrorList comes out, which
// is empty if the object may be stored. Nothing is read from a store, so that rules
// about other objects (a name that is taken, a class that must exist) are not here but
// in package api.
//
// A rule is a function that takes a *Problems first and adds to it what it finds. Problems has methods for the refusals
// that all rules share, and no rules. This package has those for all objects: metadata, names, quantities, selectors.
// The kinds are in the rooms below, each of which imports only those before it: storage, pods, workloads; cluster has the
// other kinds, and of kinds without rules only the metadata are checked. Package api's documentation lists what is not
// validated.
package validation
