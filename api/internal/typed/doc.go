// Package typed has the typed clients of kubernetes.Interface: what a client does is
// written once for all kinds (typed.go), and groups.go lists the kinds.
//
// It knows neither the API server nor the fake clientset, only a Requester. There are
// clients for some 160 kinds, and the compiler takes half a minute for them: they need not
// be compiled again whenever the server changes.
package typed
