// Package fake has a fake clientset, as client-go's, over an API server of package
// api.
//
//	server := api.NewServer(api.Config{})
//	client := fake.New(server, "user") // a kubernetes.Interface
//
// A [Clientset] has the name of who calls. PrependReactor, Actions and Tracker work as
// those of client-go's fakes, but what answers is the server. The latest 1000 calls are
// kept, or none with [NewWithoutActions], which is faster.
//
// Its typed clients are written once for all kinds (package api/internal/typed) and listed
// in a file which a test makes of client-go's kubernetes.Interface. client-go's own fakes would do
// the same, but they drop the context of a call, panic where a selector cannot be parsed,
// copy every object twice, and hold a lock while they wait for an answer.
//
// [NewClientset] makes a clientset over a server of its own that holds some objects, and
// [NewClientsetUnchecked] one whose objects need not be such as a cluster would have.
//
// # What differs from client-go's fakes
//
//   - Reactors that are added after the server's (AddReactor) are asked only where the
//     server has no answer: for discovery, logs and proxies.
//   - The calls of a list have no kind in their action.
//   - The name of a subresource's object is sent with UpdateScale and the like.
//   - Events are searched with a field selector, as real clients do.
package fake
