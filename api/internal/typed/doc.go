// Package typed has the typed clients of kubernetes.Interface: what a client does is
// written once for all kinds (typed.go), and groups.go lists the kinds.
//
// It knows neither the API server nor the fake clientset, only a Requester. There are
// clients for some 160 kinds, and the compiler makes some thirty functions for each of them,
// which takes seconds: they need not be compiled again whenever the server changes. So clients
// are pointers, and groups embed nothing: each embedded method is one more function a kind.
package typed
