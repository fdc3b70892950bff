package cluster

import (
	"strings"

	coordinationv1 "k8s.io/api/coordination/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/storagesim/storagesim/api/internal/validation"
)

// Kinds with a few rules each.

// Leases returns the validation of leases.
// Upstream: pkg/apis/coordination/validation ValidateLease and ValidateLeaseUpdate, v1.37.
func Leases() validation.Kind {
	return validation.Typed[*coordinationv1.Lease]{
		Again: true, Create: func(p *validation.Problems, lease *coordinationv1.Lease) { checkLease(p, &lease.Spec) },
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
	if spec.Strategy != nil {
		checkLeaseStrategy(p, *spec.Strategy, validation.SpecPath.Child("strategy"))
	}
	if spec.PreferredHolder != nil && *spec.PreferredHolder != "" && (spec.Strategy == nil || *spec.Strategy == "") {
		p.Forbidden(validation.SpecPath.Child("preferredHolder"), "may only be specified if `strategy` is defined")
	}
}

// checkLeaseStrategy. Upstream: pkg/apis/coordination/validation ValidateCoordinatedLeaseStrategy, v1.37, also for the path.
func checkLeaseStrategy(p *validation.Problems, strategy coordinationv1.CoordinatedLeaseStrategy, at *field.Path) {
	at = at.Child("strategy")
	switch {
	case strings.Contains(string(strategy), "/"):
		p.QualifiedName(string(strategy), at)
	case strategy != coordinationv1.OldestEmulationVersion:
		p.Add(field.NotSupported(at, strategy, []coordinationv1.CoordinatedLeaseStrategy{coordinationv1.OldestEmulationVersion}))
	}
}
