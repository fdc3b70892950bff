// Package nodestatus registers a node with the API server and keeps the objects that tell about
// it. Begin with Node.Register.
//
//	node.go           Node, which keeps all of it
//	register.go       the Node object, from a template
//	status.go         the Node's status: conditions, addresses, volumesInUse
//	patch.go          patches of a Node
//	lease.go          the node's lease
//	csinode.go        the CSINode object, and the drivers in it and in the Node
//	registration.go   drivers that register, and that are removed
//
// The status is written only when something in it is new, and then at its next turn, every 10 s
// from the kubelet's start; without news, every 5 minutes.
//
// Upstream: pkg/kubelet/kubelet_node_status.go, nodestatus, nodelease, and
// pkg/volume/csi/nodeinfomanager, v1.37.
package nodestatus
