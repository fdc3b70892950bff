// Package openebs is the OpenEBS Local PV hostpath provisioner,
// "openebs.io/local": a volume is a directory on the node that the scheduler
// selected, made and removed by helper pods, and a local PersistentVolume with
// the node's affinity.
//
// It follows openebs/dynamic-localpv-provisioner 4.x as developed after 4.0: a
// helper pod that is there already is no error, one that Failed ends the wait at
// once (4.0 did neither), and a claim's cas.openebs.io/config is read too.
//
// # A volume's way
//
//   - config.go: getVolumeConfig merges the class's cas.openebs.io/config over
//     the defaults, and both over the claim's;
//   - path.go: the volume is <BasePath>/<name of the volume>, and neither that
//     nor anything else this package touches is / or directly under it;
//   - helperpod.go: createInitPod runs mkdir -m 0777 -p on the node, in a
//     privileged pod that has the parent directory mounted at /data/;
//   - quota.go: the limits of a volume, if the class wants some, which
//     createQuotaPod sets in a second pod;
//   - volume.go: the PersistentVolume that stands for it;
//   - provision.go, delete.go: Provision and Delete, which put these together.
//     Delete finds the one node that the volume's affinity selects and runs
//     rm -rf there.
//
// Helper pods are ordinary pods: the scheduler places them by their node
// affinity, the kubelet runs them. Each is looked at every second for up to 120
// seconds and deleted in any case.
//
// # Crashes
//
// Everything here may be done twice. After a crash the claim comes again, under
// the same volume name; the helper pod that the crash left behind is not
// trusted (it may belong to another node, or its work may have been undone
// since) but deleted and made anew, and mkdir -p and rm -rf do not mind
// repetition.
//
// What upstream loses, this loses too. An attempt that was cut short, by a crash
// or a failed call between the helper pod and the volume, is completed by the
// next one; if the claim is deleted before that, there is no next one, and the
// directory stays, and so does the helper pod if there was one.
//
// # Deviations from upstream
//
//   - A leftover helper pod is replaced, where upstream waits for it as if it
//     were its own; and failing to delete a helper pod is an error that has the
//     call repeated, where upstream logs it and leaves the pod.
//   - The library round it is v13 (see package provisioner). Upstream's is v9, whose
//     ProvisioningFailed begins with "failed to provision volume with StorageClass
//     ..."; later ones have the error alone.
//   - What upstream refuses is refused in its words. Settings that are unknown,
//     doubled, misspelt, out of use (NodeAffinityLabel) or that have a value where a
//     list belongs are errors, too; upstream ignores them.
//   - Quotas: the helper pod is made, scheduled and run like the others, but the
//     simulated kubelet only records the limits it sets (shell.Quotas) and does not
//     enforce them; that would need privilege and a file system of its own. The
//     pod's script is the part of upstream's for XFS or for ext4, whichever the
//     class names; upstream's asks the file system which it is, and for a free
//     project number, where here that number is a hash of the volume's name. Both
//     quotas at once are refused, and bad limits before any pod is made.
//   - Device volumes (StorageType device) are refused; /dev is not mounted into
//     helper pods. FSType is read and means nothing to a hostpath volume.
//   - The trace says of a class's parameters that they have no effect.
//   - A selected node that does not exist leads to Reschedule after the event
//     Provisioning; v9 of the library looks for it before.
//   - Deleting a volume whose affinity is more than single values of labels is
//     refused; upstream takes the first value of each.
//
// Kept, although it looks unintended: UID and GID of FilePermissions are read and
// not used (the trace says so); removing a volume does not lift its quota; with
// NodeAffinityLabels that several nodes
// share, the helper pod may run on another node than the selected one, and
// deleting the volume fails for want of the one right node. A volume whose node
// is gone for good is never deleted.
package openebs
