// Command pictures draws the pictures of the documents, docs/images/*.svg. Each is made from the records of a run of runs/, which have the names,
// the edges and the times. The code here decides what is left out and where things stand.
//
//	go generate ./examples/internal/pictures
//
// A test compares the pictures with the files.
package main

//go:generate go run . ../../../docs/images
