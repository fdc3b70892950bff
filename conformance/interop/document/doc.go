// Command document is the Go program of the document "kubernetes 存储流程", as it stands there: main.go is compared with
// the document's lines by their hash in docs/items.txt. It is built with the library's own v10.0.1 and the client-go
// that this version names, and reads ~/.kube/config; nothing of it knows of a simulation. Its test runs it against
// `storagesim serve`, which writes that file.
//
// A module of its own, since the library is older than what the main module needs.
package main
