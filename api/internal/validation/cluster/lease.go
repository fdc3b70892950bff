package cluster

import (
	coordinationv1 "k8s.io/api/coordination/v1"

	"github.com/storagesim/storagesim/api/internal/validation"
)

// Kinds with a few rules each.

// Leases returns the validation of leases.
// Upstream: pkg/apis/coordination/validation ValidateLease and ValidateLeaseUpdate, v1.37.
func Leases() validation.Kind {
	return validation.Typed[*coordinationv1.Lease]{
		AnyFinalizer: true, Create: func(p *validation.Problems, lease *coordinationv1.Lease) { checkLease(p, &lease.Spec) },
		Update: func(p *validation.Problems, lease, _ *coordinationv1.Lease) { checkLease(p, &lease.Spec) },
	}.Kind()
}

func checkLease(p *validation.Problems, spec *coordinationv1.LeaseSpec) {
	if n := spec.LeaseDurationSeconds; n != nil && *n <= 0 {
		p.Invalid(validation.SpecPath.Child("leaseDurationSeconds"), *n, "must be greater than 0")
	}
	if n := spec.LeaseTransitions; n != nil && *n < 0 {
		p.Invalid(validation.SpecPath.Child("leaseTransitions"), *n, "must be greater than or equal to 0")
	}
}
