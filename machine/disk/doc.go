// Package disk is the file system of one simulated node: a directory of the
// machine that runs the simulation, which the node takes for its "/" (Open), or
// memory (InMemory). Each operation has the same outcome on both; a test runs random
// programs of file operations on the two and compares. Only a disk in memory can have a
// size, and limits of projects as XFS and ext4 have them (Limits).
//
// The simulation creates directories and runs rm -rf because YAML says so. So
// this package is a security boundary: no manifest, command of a container
// or symbolic link can name a file outside so that it works: nothing outside of the node's directory is
// read, written, listed, linked, chowned or removed. Everything else that
// touches a node's files goes through a Disk; no other package of the kubelet
// imports "os" for its file functions.
//
// Who works with a Disk may do everything, unless it is a User (As): then the files' modes and owners
// decide, as on Linux.
//
// # Paths
//
// Paths are paths on the node: absolute, with slashes, "/var/openebs/local/x".
// A relative path, an empty one, one with a ".." element or a NUL byte, and one
// longer than Linux allows or with more than 255 elements are refused before
// anything is touched. "//" and "/./" mean what they mean to a kernel.
//
// # What holds the boundary
//
//   - No path leads out, even if a directory is swapped for a link meanwhile:
//     where the kernel can, it resolves the whole path at once and keeps it inside
//     (Linux's openat2 with RESOLVE_BENEATH), and what is done happens in the
//     directory that it found. Whatever it refuses, and everything elsewhere, goes to
//     os.Root, which resolves element by element with openat.
//   - Symbolic links made here are relative (Symlink). Absolute ones that came
//     from elsewhere are refused, since they name a place on the real machine:
//     ErrOutside.
//   - RemoveAll does not follow links, and refuses "/".
//   - Only regular files are read and written: no device, no pipe that blocks.
//   - A file with more than one hard link is neither read, written, chmodded nor
//     chowned (ErrLinked): its other name may lie outside, and os.Root cannot
//     know. Nothing here makes hard links. Windows does not tell the number of
//     links cheaply, so there this rule does not apply.
//
// Inside of the node's directory links are followed. Where they must not be, because
// one could stand in place of a directory that the node's owner takes for his own,
// Plain keeps everything from going through them.
//
// What it does not defend against: another user of the machine who mounts a
// file system inside the node's directory or changes it while it is in use with
// rights that this process lacks.
package disk
