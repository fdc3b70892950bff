// Package call makes gRPC calls steps of the simulation: a call is a yield point, then a
// real gRPC call to a real grpc.Server, during which no other actor moves.
//
// # Servers
//
// Sockets are the sockets of all machines of a cluster. A server listens on one by
// Listen: it is made with the services that Socket.Register adds, and reached
// through an in-memory listener, so that interceptors, metadata and codes are the real
// ones. A socket can also stand for one outside of this process (Socket.Address): then the
// server is given the paths where the machine's files really are (Socket.Root).
//
// Listening makes a file on the machine's disk, as bind does, and Listener.Close removes it;
// Listener.Kill leaves it, as a process does that is killed. Sockets.Watch tells of both.
//
// # Callers
//
// A kubelet or a sidecar is given the Sockets, or a connection, when it is made:
//
//	conn := call.Dial(sockets, env, "node/node-1", "/var/lib/kubelet/plugins/csi.example.com/csi.sock")
//	client := csi.NewNodeClient(conn)
//	ctx = control.WithTimeout(ctx, env, 2*time.Minute)
//	_, err := client.NodeStageVolume(ctx, req) // status.Code(err) as with any gRPC client
//
// Dial never fails and needs no Close: as with grpc.NewClient, a call says whether there is
// a server. Make the connection anew in each life of the process, from its Env. Calls must be
// made in the tasks of the actor whose Env it is.
//
// # Live runs
//
// When package live drives the engine, a call parks its task: virtual time goes on, and so do
// others, the caller's other tasks included. A deadline ends the call when virtual time has come to
// it. The servers' handlers then run beside the engine and beside each other, as on a cluster.
//
// # What a call answers
//
//   - The server's answer, unchanged.
//   - Unavailable, if there is no such socket, if no server listens, or if the server's process ends
//     or its handler panics during the call.
//   - DeadlineExceeded once the caller's deadline (control.WithTimeout, in virtual time) has
//     passed. A server that does not answer within Config.Blocked of real time is given
//     up: the caller waits for its deadline in virtual time. A caller without a deadline waits
//     for ever.
//
// The server does not know the caller's deadline, which is in virtual time: its context has
// none. It is cancelled when the call is given up.
//
// Each call leaves a trace.RPC. Fault is trouble on purpose; Sockets.Inject.
//
// Of all packages only this one and package csi with what is below it link gRPC. What a kubelet
// and a cluster need is in package csi/socket.
package call
