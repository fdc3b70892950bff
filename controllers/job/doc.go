// Package job is the controller of Jobs: it runs pods until so many have succeeded, or too many have failed. Begin with sync in
// controller.go, which counts the pods, asks finish.go whether the Job is at its end, lets manage.go create or delete pods, and
// writes the status. track.go counts each pod that has ended exactly once, although the controller may crash anywhere; backoff.go
// says how long to wait after failures; policy.go reads podFailurePolicy; indexes.go has what is special to completionMode
// Indexed; orphans.go frees pods of Jobs that are gone. ttl.go is a controller of its own, which deletes finished Jobs.
//
// # How pods are counted
//
// Each pod has the finalizer batch.kubernetes.io/job-tracking, so that it stays until it is counted. A pod that has ended is
// first noted by its UID in status.uncountedTerminatedPods; then its finalizer is removed; and then the UID moves into the number
// of succeeded or failed pods, in the next write. After a crash between two of these steps the next sync goes on from what the
// status and the finalizers say.
//
// A Job that is at its end gets the condition SuccessCriteriaMet or FailureTarget at once, and Complete or Failed when all its pods have ended and are counted.
//
// Upstream: pkg/controller/job and pkg/controller/ttlafterfinished, v1.37.
//
// # Deviations from upstream
//
//   - Caches and queues begin with the first Job of the cluster, so that a cluster without any is as if there were no such controller.
//   - There is one worker instead of five, and pods are created, deleted and patched one after the other.
//   - The controller does not wait until its caches show its own last writes (gate StaleControllerConsistencyJob): a conflict stops it instead.
//   - Settling waits for a retry after failures that is due within a minute, and neither for later ones nor for a deadline or the end of a Job's life.
package job
