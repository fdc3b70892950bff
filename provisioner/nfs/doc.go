// Package nfs has two provisioners of NFS volumes.
//
// The first (static.go), "provisioner.test.com/nfs", is the smallest there is: a
// volume is the server and the path that its class names. It makes nothing, so all
// claims of a class share one directory, and its Delete has nothing to delete.
//
// The second (subdir.go, pattern.go, delete.go),
// "k8s-sigs.io/nfs-subdir-external-provisioner", makes a directory for each claim
// on one server's export, <namespace>-<claim>-<volume> with mode 0777 or what the
// parameter pathPattern says, and when the volume is deleted removes it, leaves it
// or, unless told otherwise, renames it to archived-<directory>.
//
//	onDelete         archiveOnDelete   the directory
//	delete           any               is removed
//	retain           any               is left where it is
//	not set          false             is removed
//	not set          true, not set     is renamed
//
// It follows kubernetes-sigs/nfs-subdir-external-provisioner v4.0.18. Upstream has
// the export mounted at /persistentvolumes in its own pod. Here Config.Mount opens
// it for each call: a server that cannot be reached is an error, and the call is
// tried again.
//
// # Deviations from upstream
//
//   - Unknown and malformed parameters, and data sources, are errors in both;
//     upstream takes an unknown onDelete for none, and finds a malformed
//     archiveOnDelete when the volume is deleted.
//   - A pathPattern that leads out of the export, or to the export itself, is
//     refused. Upstream makes such a directory, and later removes it.
//   - A volume's path that is not in the export is not deleted but an error.
//
// Kept, although it looks unintended: what pathPattern does not know is empty; a
// pattern without a volume's or claim's name gives two claims one directory; the
// archive's name has only the last element of the directory's, so that two of them
// can collide, and then deleting the volume fails; deleting needs the class, which
// may be gone.
package nfs
