// Package workload has what the controllers share whose objects make pods from a template: ReplicaSets, Deployments, DaemonSets and Jobs. Each
// function is upstream's of the same name.
//
// pods.go makes pods and says in what state they are, claim.go finds the objects that belong to a controller's object, expectations.go waits
// until a cache shows what was created and deleted, hash.go names templates.
//
// Upstream: pkg/controller/controller_utils.go, controller_ref_manager.go, v1.37.
package workload
