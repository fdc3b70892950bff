// Package attachdetach is the attach/detach controller. It sees to it that the volumes of scheduled pods are
// attached to their nodes, and detached when no pod there uses them any more. It never attaches anything itself: it
// creates a VolumeAttachment, which a CSI driver's external-attacher acts on, and waits for its status.
//
// Begin with reconcile in reconciler.go, which compares the two worlds below; desired.go and actual.go hold them.
//
// Upstream: pkg/controller/volume/attachdetach, v1.37.
//
// # Two worlds
//
// The desired state says which pod, on which node, needs which volume. It follows pods,
// claims and nodes. The actual state says which volume is attached where: confirmed, or
// uncertain after an error or a restart. The reconciler compares the two, detaches
// first, and starts operations. An operation is a task of its own that waits for the attacher. A volume has one
// operation at a time, unless its access modes allow several nodes. After an error an operation waits 500 ms, then
// twice as long each time, up to 2 min 2 s.
//
// A volume is detached only when its node's kubelet has said, in status.volumesInUse,
// that it is unmounted. It is first taken from status.volumesAttached, so that the
// kubelet does not mount it again. There are two exceptions: six minutes after its pods are gone a volume is
// detached from a node that is not ready, and at once from one with the taint node.kubernetes.io/out-of-service.
//
// After a restart the controller only knows what the API holds: status.volumesAttached of the nodes, and
// VolumeAttachments, whose volumes are uncertain until attached again.
//
// # Deviations from upstream
//
//   - Upstream compares both worlds ten times a second. Here that is done 100 ms after a volume has changed or a
//     wait has ended, for these volumes only. Without CSI volumes there is no periodic work either.
//   - Only CSI volumes are attached. For iSCSI and Fibre Channel, upstream's other attachable plugins, attaching
//     only records it. Volumes of old in-tree kinds are not translated to CSI. Other volumes that a node's status
//     lists as attached when the controller starts are not detached.
//   - status.volumesAttached is written in full when it has changed. Upstream writes the difference to the node in
//     its informer, which may be old.
//   - Upstream adds up to a tenth, at random, to the intervals at which it reads a VolumeAttachment.
package attachdetach
