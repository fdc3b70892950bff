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
//     the defaults;
//   - path.go: the volume is <BasePath>/<name of the volume>, and neither that
//     nor anything else this package touches is / or directly under it;
//   - helperpod.go: createInitPod runs mkdir -m 0777 -p on the node, in a
//     privileged pod that has the parent directory mounted at /data/;
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
// or a failed call between the helper pod and the volume, is made good by the
// next one; if the claim is deleted before that, there is none, and nobody
// remembers the directory, nor the helper pod if it was still there.
//
// # Deviations from upstream
//
//   - A leftover helper pod is replaced, where upstream waits for it as if it
//     were its own; and failing to delete a helper pod is an error that has the
//     call repeated, where upstream logs it and leaves the pod.
//   - Settings that are unknown, doubled or misspelt are errors; upstream
//     ignores them. BasePath must not contain "..".
//   - Quotas and FilePermissions are refused when enabled, as are device
//     volumes (StorageType device); /dev is not mounted into helper pods.
//   - A selected node that does not exist leads to Reschedule. The library's
//     older versions, which upstream uses, did that themselves.
//   - Deleting a volume whose affinity is more than single values of labels is
//     refused; upstream takes the first value of each.
//
// Kept, although it looks unintended: with NodeAffinityLabels that several nodes
// share, the helper pod may run on another node than the selected one, and
// deleting the volume fails for want of the one right node. A volume whose node
// is gone for good is never deleted.
package openebs
