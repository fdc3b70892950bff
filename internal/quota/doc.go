// Package quota computes what objects take of a ResourceQuota. The API server charges quotas for what is written, and the
// controller resourcequota counts what there is: both must count in the same way.
//
// Begin with Charge in charge.go, which decides whether the quotas of a namespace allow a write. [Of] returns the evaluator of
// one resource: which entries of spec.hard count its objects, what an object takes of them, and which scopes it is in.
//
// Upstream: apiserver pkg/quota/v1 and pkg/admission/plugin/resourcequota, and pkg/quota/v1/evaluator/core, v1.37.
//
// # Deviations from upstream
//
//   - ResourceClaims are counted (count/resourceclaims.resource.k8s.io); the devices that they ask for are not.
//   - Where upstream walks a Go map (quotas of a namespace, missing resources), the order here is that of the names.
package quota
