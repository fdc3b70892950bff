// Package mount mounts for a kubelet: Interface, the interface of
// k8s.io/mount-utils; TempDir, which needs no privilege; and Bind, which makes real
// bind mounts. One suite of tests runs on both. Failing makes any of them fail on
// purpose.
//
// All paths are paths on the node (package disk), never on the machine that
// runs the simulation, except RemoveAll, Detach and the functions beside them.
//
// # What is mounted is not removed
//
// A CSI driver in another process mounts its volumes in the nodes' directories. RemoveAll removes
// directories of this computer, never goes through a mount, and says which mount is in its way. All
// of the library removes directories with it, or with disk.Disk.RemoveAll, which does the same.
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
// A network file system (a mount with a type, such as "nfs") is a directory that
// lies outside of the node's. Config.Remote finds it, and the node sees it in place
// of the target through disk.Disk.Attach; a process outside sees an empty
// directory and the record. Here read-only is kept: a write fails with EROFS.
//
// What it cannot do, where a kernel's bind mount can:
//
//   - Read-only. The option "ro" is kept and listed, but a link has no options:
//     a write through the node's path succeeds. The kubelet keeps
//     containers from writing instead; see kubelet.WriteFile.
//   - Hide what is below. A target with something in it is refused, and so is a
//     second mount on a target.
//   - Be busy. Unmount succeeds even while the volume is in use, and removing the target
//     removes the link, not the data: rm -rf through a pod's directory is less
//     harmful than on a real node, never more.
//   - Anything but bind mounts and what Config.Remote knows: no devices, no
//     propagation, no remount. Those are refused by name.
//   - Absolute links in the source's path are refused, as everywhere on a node.
//   - Windows makes symbolic links only with developer mode or the privilege for
//     it.
//
// # Bind
//
// Bind is for Linux, in a process with a mount namespace of its own: as root
//
//	unshare --mount go test ./...
//
// and without privilege, where the machine allows user namespaces,
//
//	unshare --user --map-root-user --mount go test ./...
//
// Then the kernel keeps read-only, hides what is below, stacks mounts and says when
// one is busy. The node's path is resolved as every path on a node, and the mount
// is made between what was found, by descriptor, so that no link leads a mount out
// of the node. Where mounts would be seen by others, or that cannot be told, NewBind
// refuses.
//
// The mounts go with the namespace's last process. UnmountAll takes them away before that, so that the
// node's directory can be removed.
//
// A mount with a type is a bind mount of the directory that Config.Remote finds, which
// must be on this machine's disk, too.
//
// What it cannot do: devices, propagation, remount.
// Without privilege a kernel also refuses options that would change how the
// machine's own mount treats access times.
package mount
