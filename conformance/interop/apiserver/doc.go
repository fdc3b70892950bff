// Package apiserver lets upstream's kube-apiserver judge ours: it starts kube-apiserver and etcd, sends both servers the same requests
// and compares the answers. It is a module of its own, since the two programs take many minutes to build: `bash .ci/nightly apiserver`
// does it. docs/apiserver.md says what was compared.
//
//	programs.go   builds and starts upstream's programs
//	schema.go     what the server says of the fields of its kinds
//	generate.go   requests: valid objects (testdata/objects.yaml), with each field changed
//	sequences.go  random sequences of requests about one object, which several managers create, patch, apply and delete
//	collections.go  random requests about collections: lists, watches, forms of answers, deletions
//	subresources.go  random requests about parts of objects, discovery, methods and paths that few clients use, and tables
//	record.go     sends them to the real server and keeps what it answers, in the form of package requests
package apiserver
