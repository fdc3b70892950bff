// Package validation says what is wrong with objects, as kube-apiserver v1.36 does:
// the same fields, the same words, in the same order.
//
// It is pure. Objects go in, defaults applied, and a field.ErrorList comes out, which
// is empty if the object may be stored. Nothing is read from a store, so that rules
// about other objects (a name that is taken, a class that must exist) are not here but
// in package api.
//
// Each kind of the storage plane and of the workloads has its rules in a file of its
// own; of all other kinds the metadata are checked. Package api's documentation lists
// what is not validated.
package validation
