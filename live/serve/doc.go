// Package serve offers a cluster to every Kubernetes client: the API of package api/rest on
// a port, with TLS, for kubectl and for programs in any language.
//
//	cluster, err := storagesim.New(storagesim.Config{Start: time.Now()})
//	server, err := serve.Start(cluster, serve.Config{Kubeconfig: "kubeconfig", Speed: 60})
//	...                   // export KUBECONFIG=kubeconfig; kubectl get pv
//	err = server.Close()  // and nothing is left
//
// # Time
//
// The cluster is driven by package live: as fast as the machine's time, faster, or only when
// told. A few paths beside the API are for that: POST /storagesim/step,
// /storagesim/settle and /storagesim/run-for?duration=10m; see [Client]. GET
// /storagesim/story is the story so far: kubectl get --raw /storagesim/story, in lines of 120
// columns or, with ?width=80, of 80. An answer tells at most 10,000 records; with ?from=N it begins at record N, with ?limit=N it tells
// fewer. GET /storagesim/explain/pvc/default/data says why an object is as it is, with ?output=json as a value.
//
// A command in a container (kubectl exec) that sleeps waits for virtual time. With speed 0 it waits until a client lets time pass.
//
// # Who gets in
//
// Only a client with the token, which is made for the run from 32 random bytes and written into the
// kubeconfig (mode 0600). Every other request is answered with 401 Unauthorized, also for /healthz
// and /version, which a real server gives to every client. With the token a client may do all that
// the API can do, and cannot reach beyond the simulated machines. The certificate is made
// for the run, and its key is only in memory. The server listens on an address of this
// machine alone unless Config.Remote says otherwise. There are no paths for profiling.
//
// A request must come within 30 seconds and be answered within a minute; only watches, logs
// that are followed and commands may take longer, an hour, or for as long as there is
// traffic. Headers may have 64 KiB, bodies 3 MiB.
//
// # What differs from a real API server
//
//   - Impersonation headers have no effect: every client is the administrator.
//   - Streams of a log that is followed are compared by their end: a program that prints
//     more than 64 KiB between two looks at it, ten a second, loses the beginning.
//   - A terminal (kubectl exec -t) is not a device: input is echoed, and the command gets it at
//     Ctrl-D; Ctrl-C ends the command.
package serve
