// Package daemonset is the controller of DaemonSets: it keeps one pod on each node that the template fits. Begin with sync in
// controller.go. nodes.go says which nodes should have a pod, manage.go creates and deletes pods, rolling.go replaces those of
// older templates, history.go keeps the templates as ControllerRevisions, of which kubectl rollout history and undo read, and
// status.go counts.
//
// The controller does not choose a pod's node by spec.nodeName: the pod has a required node affinity for the node's name, and the scheduler places it.
//
// Upstream: pkg/controller/daemon, v1.37.
//
// # Deviations from upstream
//
//   - Caches and queues begin with the first DaemonSet of the cluster, so that a cluster without any is as if there were no such controller.
//   - There is one worker instead of two, pods are created and deleted one after the other, and a change of a node is looked at at once and not by a queue.
//   - The pods that are being deleted are expected by their UIDs, not counted.
//   - After a conflict in writing the status the DaemonSet is queued again; upstream reads it and tries once more on the spot.
//   - The controller does not wait until its caches show its own last writes (gate StaleControllerConsistencyDaemonSet): a conflict, or a
//     name that exists, stops it instead.
//   - Settling waits for the next deletion of a failed pod only if that is due within a minute.
package daemonset
