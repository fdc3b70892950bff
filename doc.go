// Package storagesim models Kubernetes v1.37.2: it runs the storage control plane in one
// process. There are an API server's semantics, the PV controller, the scheduler's volume binder,
// external provisioners and a kubelet per node, deterministically and on a
// virtual clock. There is nothing to install, no cluster and no root.
//
//	func TestMyProvisioner(t *testing.T) {
//		c := storagesimtest.New(t, storagesim.Config{Nodes: storagesim.Nodes("node-1", "node-2")})
//		c.AddProvisioner("example.com/nfs", &myProvisioner{}) // a provisioner.Provisioner
//		c.Apply(manifests)                                    // YAML, as kubectl apply
//		c.Settle()
//		require.Equal(t, v1.ClaimBound, c.Claim("default/data").Status.Phase)
//		c.Delete("pod/default/web", "pvc/default/data")
//		c.Settle()
//		c.RequireNoLeaks() // backend, API objects, mounts and directories agree
//	}
//
// # What runs
//
// A Cluster wires an api.Server to actors driven by an engine.Engine: the PV
// controller ("persistent-volume-binder"), the protection controllers, the
// scheduler ("kube-scheduler"), a kubelet for each node of Config.Nodes
// ("kubelet/node-1"), and the provisioners you add. You are one more actor,
// "user": Client is an ordinary client-go clientset over the same server.
//
// Nothing moves by itself. Settle runs to a fixed point, RunFor lets virtual
// time pass, RunUntil waits for something, Engine().Step takes one step. The same
// Config.Seed gives the same run, to the byte.
//
// # Faults
//
// Crash ends an actor's process, and Hold keeps a cache stale. Inject takes each kind of fault:
// an engine.Fault makes calls to the API fail, lag, lose their answer or crash the caller, a
// machine.Fault makes mounts and files of a node or of an NFS server fail, a call.Fault calls to a
// CSI driver, and an engine.PointFault an author's own code where package mayfail marks it.
//
// Machine("node/node-1") has a machine's files, and Machine("pod/web") a pod's, its commands and
// its logs. Trace tells of what has happened, and Lab is for tools.
//
// This package wires and asserts; it holds no behaviour of Kubernetes.
package storagesim
