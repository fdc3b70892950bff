// Package registry holds the kinds of a server as data: one entry a kind, with names, scope, defaults, validation, the fields to
// select by and the subresources. No entry has a function that writes anything. Begin at [Kind], the entry as it is written
// down in kinds_*.go; [Entry] is the same in one version, ready for use, and [Registry] finds entries for requests, manifests
// and the words of a command line. Names in discovery come from here as well (discovery.go). Kinds may come and go while a
// server runs: OnChange tells the server.
package registry
