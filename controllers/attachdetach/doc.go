// Package attachdetach is the attach/detach controller: it has the volumes of
// scheduled pods attached to their nodes, and detached when no pod there uses them any
// more. It never attaches anything itself. It makes a VolumeAttachment, which a CSI
// driver's external-attacher acts on, and waits for its status.
//
// Upstream: pkg/controller/volume/attachdetach, v1.36.
//
// # Two worlds
//
// The desired state says which pod, on which node, needs which volume. It follows pods,
// claims and nodes. The actual state says which volume is attached where: confirmed, or
// uncertain after an error or a restart. The reconciler compares the two, detaches
// first, and starts operations; an operation is a task of its own that waits for the
// attacher. One volume has one operation at a time, unless its access modes allow
// several nodes. After an error an operation waits 500 ms, then twice as long each
// time, up to 2 min 2 s.
//
// A volume is detached only when its node's kubelet has said, in status.volumesInUse,
// that it is unmounted. It is first taken from status.volumesAttached, so that the
// kubelet does not mount it again. There are two ways round: six minutes after its
// pods are gone a volume is detached from a node that is not ready, and at once from
// one with the taint node.kubernetes.io/out-of-service.
//
// After a restart nothing is known but what the API says: status.volumesAttached of the
// nodes, and VolumeAttachments, whose volumes are uncertain until attached again.
//
// # Deviations from upstream
//
//   - Upstream compares both worlds ten times a second. Here that is done 100 ms after
//     something has changed, or a wait has ended, for the volumes of which that is true.
//     While there are no CSI volumes there is no periodic work either.
//   - Only CSI volumes are attached. Upstream's other attachable plugins, iSCSI and
//     Fibre Channel, have nothing to do but to say so. Volumes of old in-tree kinds are
//     not translated to CSI. What else a node's status lists as attached when the
//     controller starts is not detached.
//   - status.volumesAttached is written in full when it has changed. Upstream writes what
//     differs from the node as its informer has it, which may be old.
//   - Upstream adds up to a tenth, at random, to the intervals at which a VolumeAttachment
//     is looked at.
package attachdetach
