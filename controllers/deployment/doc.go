// Package deployment is the controller of Deployments: it makes a ReplicaSet for each template of pods that a Deployment has had,
// and moves the replicas from the old ones to the newest. Begin with sync in controller.go, which chooses what to do: rolling.go
// replaces pods little by little, recreate.go ends all before it makes new ones, scale.go follows spec.replicas, also of a paused
// Deployment. newset.go finds or makes the newest ReplicaSet, cleanup.go deletes old ones, status.go and progress.go tell how far
// it is.
//
// kubectl rollout history and undo read the ReplicaSets' annotation deployment.kubernetes.io/revision, which annotations.go writes.
//
// Upstream: pkg/controller/deployment, v1.37.
//
// # Deviations from upstream
//
//   - Caches and queues begin with the first Deployment of the cluster, so that a cluster without any is as if there were no such controller.
//   - The annotation deprecated.deployment.rollback.to, which only clients of extensions/v1beta1 wrote, is not acted on.
//   - There is one worker instead of five.
package deployment
