package cluster

import (
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/api/validate/content"
	utilvalidation "k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	netutils "k8s.io/utils/net"

	"github.com/storagesim/storagesim/api/internal/validation"
)

// IPAddresses returns the validation of ipaddresses.
func IPAddresses() validation.Kind {
	return validation.Typed[*networkingv1.IPAddress]{
		Names: validation.IPAddress, Again: true,
		Create: func(p *validation.Problems, address *networkingv1.IPAddress) {
			checkParent(p, address.Spec.ParentRef, validation.SpecPath.Child("parentRef"))
		},
		Update: func(p *validation.Problems, address, old *networkingv1.IPAddress) {
			checkParent(p, address.Spec.ParentRef, validation.SpecPath.Child("parentRef"))
			p.Fixed(address.Spec.ParentRef, old.Spec.ParentRef, validation.SpecPath.Child("parentRef"))
		},
	}.Kind()
}

// checkParent validates the reference of an IPAddress to the object that has the address.
// Upstream: networking/validation validateIPAddressParentReference, v1.37.2.
func checkParent(p *validation.Problems, r *networkingv1.ParentReference, at *field.Path) {
	if r == nil {
		p.Required(at, "")
		return
	}
	if r.Group != "" {
		p.Subdomain(r.Group, at.Child("group"))
	}
	for _, part := range [...]struct{ name, value string }{{"resource", r.Resource}, {"name", r.Name}, {"namespace", r.Namespace}} {
		if part.value != "" {
			p.Messages(at.Child(part.name), part.value, content.IsPathSegmentName(part.value))
		}
	}
	p.Need(at, "resource", r.Resource) // declarative rules: these come last
	p.Need(at, "name", r.Name)
}

// ServiceCIDRs returns the validation of servicecidrs.
func ServiceCIDRs() validation.Kind {
	return validation.Typed[*networkingv1.ServiceCIDR]{
		Create: func(p *validation.Problems, c *networkingv1.ServiceCIDR) { checkServiceCIDRs(p, c.Spec.CIDRs) },
		Update: checkServiceCIDRsUpdate,
	}.Kind()
}

// checkServiceCIDRs validates the ranges of a ServiceCIDR: one, or one of each IP family.
// Upstream: networking/validation validateServiceCIDRSpec, v1.37.2.
func checkServiceCIDRs(p *validation.Problems, ranges []string) {
	at := validation.SpecPath.Child("cidrs")
	switch {
	case len(ranges) == 0:
		p.Required(at, "at least one CIDR required")
		return
	case len(ranges) > 2:
		p.Invalid(at, ranges, "may only hold up to 2 values")
		return
	}
	for i, cidr := range ranges {
		p.Add(utilvalidation.IsValidCIDR(at.Index(i), cidr)...)
	}
	if len(ranges) == 2 {
		family := netutils.IPFamilyOfCIDRString(ranges[0])
		if family == netutils.IPFamilyOfCIDRString(ranges[1]) && family != netutils.IPFamilyUnknown {
			p.Invalid(at, ranges, "may specify no more than one IP for each IP family, i.e 192.168.0.0/24 and 2001:db8::/64")
		}
	}
}

// checkServiceCIDRsUpdate lets a ServiceCIDR get a second range, and no other change.
// Upstream: networking/validation ValidateServiceCIDRUpdate, v1.37.2.
func checkServiceCIDRsUpdate(p *validation.Problems, c, old *networkingv1.ServiceCIDR) {
	at, is, was := validation.SpecPath.Child("cidrs"), c.Spec.CIDRs, old.Spec.CIDRs
	second := len(was) == 1 && len(is) == 2
	if len(is) != len(was) && !second {
		p.Immutable(is, was, at)
		return
	}
	for i := range was {
		p.Immutable(is[i], was[i], at.Index(i))
	}
	if second {
		checkServiceCIDRs(p, is)
	}
}
