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
//   - template.go: helperPod.yaml in it is the template of helper pods;
//   - parameters.go, pattern.go: what the class says: nodePath, nodeAffinityKey,
//     pathPattern, a Go template for the directory's name, which is
//     <volume>_<namespace>_<claim> otherwise, and userPattern, groupPattern and
//     permPattern, which the setup script gets;
//   - helperpod.go: the template becomes a pod on that very node, past the scheduler,
//     with the ConfigMap's scripts at /script and the parent directory at its own
//     path, that runs
//     /bin/sh /script/setup -p PATH -s SIZE -m MODE -a create
//     with VOL_DIR, VOL_SIZE_BYTES, VOL_MODE, VOL_USER, VOL_GROUP and VOL_PERM in its
//     environment;
//   - volume.go: the PersistentVolume, hostPath or local, with the node's affinity;
//   - provision.go, delete.go: Provision and Delete, which put these together.
//
// The default scripts are "set -eu" and mkdir -m 0777 -p or rm -rf. The simulated
// kubelet carries them out, and others, as they are written (see package
// machine/shell). If a script fails, the claim's event says, as upstream,
// no more than "create process timeout after 120 seconds"; the helper pod's status,
// Explain and the story say why.
//
// # Next to OpenEBS
//
// Same idea, other answers (see package openebs). A claim without a node is an
// error here and given back to the scheduler there. Taints do not matter here,
// since the pod is not scheduled. A volume whose node is gone is deleted here, and
// kept for ever there.
//
// # Deviations from upstream
//
//   - The library round it is v13 (see package provisioner). v0.0.37 is built with
//     v11.0.1, whose ProvisioningFailed begins with "failed to provision volume with
//     StorageClass ..."; later ones have the error alone.
//   - The ConfigMap is read from the API, not from a file that the kubelet mounts, so
//     that a change is seen up to a minute earlier.
//   - Without a valid configuration or template upstream does not start; here every
//     claim fails with the reason until there are both.
//   - What upstream does not look at has no effect here either, and the trace says so:
//     unknown parameters, unknown fields of config.json, data sources.
//   - An empty path in config.json is an error; upstream panics.
//   - A pattern that gives more than 4096 bytes is an error.
//   - The choice among several paths of a node is control.Env.Choose: the first one
//     in order of name, unless the run explores.
//   - A selected node that does not exist leads to Reschedule after the event
//     Provisioning; v11 of the library looks for it before.
//   - Nodes have no file system in common here unless a user makes one. On a
//     cluster of several nodes a volume of sharedFileSystemPath is one directory on
//     each.
//   - Helper pods' logs are not kept. Size limits and capacity budgets, which came
//     after v0.0.37, are not here.
//
// Kept, although it looks unintended: a helper pod of that name that is there
// already is taken for the right one; one that has failed is waited for until the
// time is up; one that cannot be deleted stays; an unknown volume type is found when
// the directory has been made, which stays if the claim is deleted; a path pattern's
// label that is not there is "<no value>"; nodePath must be written as in config.json
// without a slash at its end; Delete takes the value of the volume's
// affinity for a node's name, so that data is left where they differ
// (Config.DeleteOnSelectedNode mends that); deleting a volume made by a pathPattern
// leaves its parents; and two claims can be given one directory by
// allowUnsafePathPattern, so that deleting one deletes the data of both.
package localpath
