// Package call makes gRPC calls steps of the simulation: a call is a yield point, then the server's handler runs, during which no other
// actor moves. Begin with invocation.run in conn.go.
//
// # Servers
//
// Sockets holds the sockets of all machines of a cluster. Listen starts a server on one, with the services that
// Socket.Register adds. A server in this process (server.go) is called as gRPC's own would call it, with gRPC's codec, so that
// interceptors, metadata, codes and limits are the real ones, but without a connection, which would take most of the time of a call. A
// socket can also be that of a server in another process (Socket.Address): then the calls are gRPC's, and the server gets the paths at
// which the machine's files really are (Socket.Root).
//
// Listening creates a file on the machine's disk, as bind does. Listener.Close removes it; Listener.Kill leaves it,
// like a process that is killed. Sockets.Watch reports both.
//
// # Callers
//
// A kubelet or a sidecar gets the Sockets, or a connection, when it is created:
//
//	conn := call.Dial(sockets, env, "node/node-1", "/var/lib/kubelet/plugins/csi.example.com/csi.sock")
//	client := csi.NewNodeClient(conn)
//	ctx = control.WithTimeout(ctx, env, 2*time.Minute)
//	_, err := client.NodeStageVolume(ctx, req) // status.Code(err) as with any gRPC client
//
// Dial never fails and needs no Close: as with grpc.NewClient, a call fails if there is no server. Open a new
// connection in each life of the process, with its Env. Make calls in the tasks of the actor whose Env it is.
//
// # Live runs
//
// When package live drives the engine, a call parks its task: virtual time and other tasks go on, also those of the
// caller. A deadline ends the call when virtual time reaches it. The servers' handlers then run beside the engine
// and beside each other, as on a cluster.
//
// # Answers
//
//   - The server's answer, unchanged.
//   - Unavailable, if there is no such socket, if no server listens, or if the server's process ends
//     or its handler panics during the call.
//   - DeadlineExceeded once the caller's deadline (control.WithTimeout, in virtual time) has passed. If a server
//     does not answer within Config.Blocked of real time, its answer is dropped, and the caller waits for its
//     deadline in virtual time. A caller without a deadline waits for ever.
//
// The server does not get the caller's deadline, which is in virtual time: its context has none. The context is
// cancelled when the answer is dropped.
//
// Each call leaves a trace.RPC. Sockets.Inject adds a Fault, a deliberate failure.
//
// Only this package, package csi and the packages below it link gRPC. Package csi/socket has what a kubelet and a
// cluster need.
package call
