// Package csi runs CSI drivers in a cluster: their authors' own gRPC servers, unmodified, with the sidecars that
// they are deployed with. Begin with Driver in csi.go and NodeActors in actors.go.
//
//	err := cluster.InstallCSIDriver(csi.Driver{
//		Name:       "csi.example.com",
//		Controller: myController,
//		Node:       func(h csi.Host) (spec.NodeServer, error) { return newNode(h.Node), nil },
//	})
//
// spec is github.com/container-storage-interface/spec/lib/go/csi. A program that does not import
// this package does not link gRPC.
//
// # What runs
//
// The actors of a driver, as its Deployment and its DaemonSet would have them:
//
//	csi-driver/NAME              the identity and controller servers, on the machine host/NAME
//	csi-provisioner/NAME         package csi/provisioner, if there is a controller
//	csi-attacher/NAME            package csi/attacher, if the driver's volumes are attached
//	csi-resizer/NAME             package csi/resizer, at work if the driver can make volumes larger
//	csi-snapshotter/NAME         package csi/snapshotter, with the first manifest of a snapshot; at work if the
//	                             driver can take snapshots
//	csi-driver/NAME/node-1       the identity and node servers, for each node
//	csi-registrar/NAME/node-1    package csi/internal/registrar, for each node
//	csi-provisioner/NAME/node-1  package csi/provisioner, for each node, with Driver.NodeController
//	csi-livenessprobe/NAME       package csi/livenessprobe, if Driver.Liveness is set
//
// The servers listen on the socket /csi/csi.sock of the host, and on /var/lib/kubelet/plugins/NAME/csi.sock of each
// node. Package csi/call carries out the calls.
//
// # Crashes
//
// A driver's process can be crashed like any actor. Its sockets refuse connections until it is back. Controller
// keeps its memory, since the value stays the same; NewController and Node create a new server, which only knows
// what is on its machine's disk. To keep a node's memory, let Node return the same value again. A handler that
// panics ends its process.
//
// # A driver in another process
//
// A driver in any language listens on a socket of this computer, and the cluster calls it there:
//
//	d, err := csi.AtEndpoint(ctx, "unix:///run/csi.sock") // asks it for its name and what it can do
//	err = cluster.InstallCSIDriver(d)
//
// The command does that with --csi-endpoint. One process serves one node, as its NodeGetInfo
// answers one ID; for several nodes set Driver.NodeEndpoint.
//
// Such calls take real time. With package live (or storagesim serve) the other actors go on meanwhile; in other runs
// nothing else happens, and no virtual time passes. A run repeats from its seed only if the driver gives the same
// answers.
//
// The node's files must be on this computer's disk (Config.Disks: DirectoryDisks). The staging and target paths in
// requests are real paths, below the node's directory (/tmp/storagesim-1/node-1/var/lib/kubelet/...). The pod sees
// the files that the driver creates at the target path. There is no sandbox: the driver's process can do whatever its
// user may.
//
// What a driver mounts in a node's directory is not the simulation's. Nothing removes what lies behind a mount: if it is
// still mounted at Close, the directory stays, and the error names each mount and the command that ends it
// (mount.MountedError). With Config.RealMounts the simulation mounts, too, and Close unmounts all; the driver must
// then run in the same mount namespace, for example as a child.
//
// A driver in this process that works on the files of this computer has the same paths with Driver.RealPaths.
//
// A Go driver runs this way, too, if it does not compile with the version of the CSI specification that this module
// uses, for example because it has alpha fields that a later version removed.
//
// A crash of its actor csi-driver/NAME breaks connections; it does not end the other process.
//
// # A pod that comes together with its driver
//
// A driver registers with a kubelet within the first two seconds. A pod that is scheduled before that gets a Warning
// FailedAttachVolume, "CSINode node-1 does not contain driver NAME", and its volume is attached a second later.
// Upstream does the same: the attacher does not find the driver in the CSINode (external-attacher v4.13,
// csi_handler.go getNodeID) and writes that to the VolumeAttachment, from which attach/detach makes the event
// (csi_attacher.go verifyAttachmentStatus, operation_generator.go GenerateAttachVolumeFunc, v1.37). RunFor(2 *
// time.Second) between InstallCSIDriver and Apply avoids it.
//
// # Deviations
//
//   - The driver and its sidecars have no pods. Nothing restarts with backoff except as the packages of the sidecars
//     say.
//   - Each driver has one attacher and one provisioner, without leader election.
package csi
