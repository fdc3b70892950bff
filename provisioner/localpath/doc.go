// Package localpath is Rancher's local-path provisioner, "rancher.io/local-path",
// which k3s, kind and minikube bring along: a volume is a directory on the node
// that the scheduler selected, made and removed by helper pods that run scripts.
//
// It follows rancher/local-path-provisioner v0.0.37.
//
// # A volume's way
//
//   - reload.go: the ConfigMap local-path-config is read when the first claim
//     comes, and then every 30 seconds; while it is invalid, the old configuration
//     stays;
//   - config.go: config.json in it says which directories of which node volumes
//     are made in (nodePathMap), or the one that all nodes share
//     (sharedFileSystemPath), for all classes or for each (storageClassConfigs);
//   - parameters.go, pattern.go: what the class says: nodePath, nodeAffinityKey, and
//     pathPattern, a Go template for the directory's name, which is
//     <volume>_<namespace>_<claim> otherwise;
//   - helperpod.go: the template helperPod.yaml becomes a pod on that very node,
//     past the scheduler, with the parent directory at its own path and the
//     ConfigMap's scripts at /script, that runs
//     /bin/sh /script/setup -p PATH -s SIZE -m MODE -a create
//     with VOL_DIR, VOL_SIZE_BYTES and VOL_MODE in its environment;
//   - volume.go: the PersistentVolume, hostPath or local, with the node's affinity;
//   - provision.go, delete.go: Provision and Delete, which put these together.
//
// The default scripts are "set -eu" and mkdir -m 0777 -p or rm -rf. The simulated
// kubelet carries them out, and any script as simple (see package kubelet). Any
// other it refuses, by the line and the word; that becomes an event on the claim.
//
// # Next to OpenEBS
//
// Same idea, other answers (see package openebs). A claim without a node is an
// error here and given back to the scheduler there. Taints do not matter here,
// since nobody schedules the pod. A volume whose node is gone is deleted here, and
// kept for ever there.
//
// # Deviations from upstream
//
//   - A leftover helper pod is replaced, a failed one is not waited for, and failing
//     to delete one is an error; see package helperpod.
//   - Without a valid configuration upstream does not start; here every claim fails
//     with the reason until there is one.
//   - Unknown fields of config.json, unknown and malformed parameters, data sources,
//     and selectors also on a shared file system, are errors; upstream ignores them.
//     An unknown volume type is found before the directory is made, not after.
//   - config.json's paths must not contain "..", nor may a class's directories be
//     given inside and outside of storageClassConfigs at once.
//   - A pathPattern that refers to a label or annotation that is not there is an
//     error; upstream's path has "<no value>" in it.
//   - A volume must not be directly under "/", also where allowUnsafePathPattern
//     lets it be anywhere else on the node.
//   - The choice among several paths of a node is control.Env.Choose: the first one
//     in order of name, unless the run explores.
//   - A selected node that does not exist leads to Reschedule, as in the library's
//     older version that upstream uses.
//   - Nodes have no file system in common here unless somebody makes one. On a
//     cluster of several nodes a volume of sharedFileSystemPath is one directory on
//     each.
//   - Helper pods' logs are not kept. Size limits and capacity budgets, which came
//     after v0.0.37, are not here.
//
// Kept, although it looks unintended: Delete takes the value of the volume's
// affinity for a node's name, so that data is left where they differ
// (Config.DeleteOnSelectedNode mends that); deleting a volume made by a pathPattern
// leaves its parents; and two claims can be given one directory by
// allowUnsafePathPattern, so that deleting one deletes the data of both.
package localpath
