// Package museum shows bugs of docs/bugs.md as scenarios of one form. Each exhibit has a switch
// that takes the fix out: a client or an Env round a controller (wrap.go), a function in a
// controller's Config, or an answer of the exhibit's own backend. The explorer finds the bug with the fix off, and nothing with it on.
package museum
