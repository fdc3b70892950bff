// Package requests plays recordings of requests that a real API server answered, one by one,
// against the simulation's API server, and compares the answers.
//
//	recording.go  what a recording holds
//	play.go       plays it; what the real server chose (UIDs, versions, tokens) is replaced by our choice
//	compare.go    what of two answers is compared, and what is left out
//	known.go      the requests that are known to differ, each with the reason: testdata/known.txt
//	run.go        plays a directory and prints what came out
//
// A recording is a file NAME.json, or NAME.json.gz: a list of requests in the order in which an
// empty kube-apiserver got them, each with its answer:
//
//	name, sec                  what the request asks, and the section it belongs to
//	method, path, req          the request; bodies of the first recordings were cut after 3000 characters
//	reqct, accept              its Content-Type and Accept, null if it had none
//	status, ct, warn, retry    the answer's code, Content-Type, Warning headers and Retry-After
//	end                        of a watch: "closed" by the server, "enough" or "timeout" for the client
//	body                       JSON as it was, a watch's events as a list, else text
//
// The server recorded had no controllers, no admission by service account and no taints of new
// nodes, and neither has ours here.
package requests
