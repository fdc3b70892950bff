// Package mount is what a kubelet mounts with: Interface, which is that of
// k8s.io/mount-utils, and TempDir, which needs no privilege.
//
// All paths are those of the node (package nodefs), never of the machine that
// runs the simulation.
//
// # TempDir
//
// A bind mount of a source on a target puts a relative symbolic link in place of
// the target, which must be an empty directory (or, for a source that is a file,
// an empty file). What is written through the target is in the source, for the
// simulation and for anyone who looks at the node's directory with ls. Unmount
// puts the empty directory back. Every mount also has a record in the node's
// /run/mounts, written before the link is made and removed after it is gone, so
// that the mount table survives the process: a mount is a record whose link is
// there.
//
// What it cannot do, where a kernel's bind mount can:
//
//   - Read-only. The option "ro" is kept and listed, but a link has no options:
//     whoever writes through the node's path gets through. The kubelet keeps
//     containers from writing instead; see kubelet.WriteFile.
//   - Hide what is below. A target with something in it is refused, and so is a
//     second mount on a target.
//   - Be busy. Unmount succeeds whoever uses the volume, and removing the target
//     removes the link, not the data: rm -rf through a pod's directory is less
//     harmful than on a real node, never more.
//   - Anything but bind mounts: no file system types, no devices, no propagation,
//     no remount. Those are refused by name.
//   - Absolute links in the source's path are refused, as everywhere on a node.
//   - Windows makes symbolic links only with developer mode or the privilege for
//     it.
package mount
