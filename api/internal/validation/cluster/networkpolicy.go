package cluster

import (
	v1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	utilvalidation "k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	netutils "k8s.io/utils/net"

	"github.com/storagesim/storagesim/api/internal/validation"
)

// NetworkPolicies returns the validation of networkpolicies.
func NetworkPolicies() validation.Kind {
	return validation.Typed[*networkingv1.NetworkPolicy]{
		Create: func(p *validation.Problems, policy *networkingv1.NetworkPolicy) {
			checkNetworkPolicy(p, &policy.Spec, nil)
		},
		Update: func(p *validation.Problems, policy, old *networkingv1.NetworkPolicy) {
			checkNetworkPolicy(p, &policy.Spec, rangesOf(&old.Spec))
		},
	}.Kind()
}

// rangesOf returns the ranges of addresses in a policy: these may stay, whatever form they have.
func rangesOf(spec *networkingv1.NetworkPolicySpec) (ranges []string) {
	add := func(peers []networkingv1.NetworkPolicyPeer) {
		for i := range peers {
			if block := peers[i].IPBlock; block != nil {
				ranges = append(append(ranges, block.CIDR), block.Except...)
			}
		}
	}
	for i := range spec.Ingress {
		add(spec.Ingress[i].From)
	}
	for i := range spec.Egress {
		add(spec.Egress[i].To)
	}
	return ranges
}

// checkNetworkPolicy validates a policy. known are ranges that are not looked at.
// Upstream: networking/validation ValidateNetworkPolicySpec, v1.37.2.
func checkNetworkPolicy(p *validation.Problems, spec *networkingv1.NetworkPolicySpec, known []string) {
	p.LabelSelector(&spec.PodSelector, validation.SpecPath.Child("podSelector"))
	var late validation.Problems // of declarative rules, which come last
	check := func(ports []networkingv1.NetworkPolicyPort, peers []networkingv1.NetworkPolicyPeer, at *field.Path, name string) {
		for i := range ports {
			checkPolicyPort(p, &ports[i], at.Child("ports").Index(i))
		}
		for i := range peers {
			checkPeer(p, &late, &peers[i], known, at.Child(name).Index(i))
		}
	}
	for i := range spec.Ingress {
		check(spec.Ingress[i].Ports, spec.Ingress[i].From, validation.SpecPath.Child("ingress").Index(i), "from")
	}
	for i := range spec.Egress {
		check(spec.Egress[i].Ports, spec.Egress[i].To, validation.SpecPath.Child("egress").Index(i), "to")
	}
	checkPolicyTypes(p, spec.PolicyTypes, validation.SpecPath.Child("policyTypes"))
	p.Add(late.List...)
}

func checkPolicyTypes(p *validation.Problems, types []networkingv1.PolicyType, at *field.Path) {
	all := []networkingv1.PolicyType{networkingv1.PolicyTypeIngress, networkingv1.PolicyTypeEgress}
	if len(types) > len(all) {
		p.Invalid(at, types, "may not specify more than two policyTypes")
		return
	}
	for i, one := range types {
		if one != all[0] && one != all[1] {
			p.Add(field.NotSupported(at.Index(i), one, all))
		}
	}
}

// Upstream: networking/validation ValidateNetworkPolicyPort, v1.37.2.
func checkPolicyPort(p *validation.Problems, port *networkingv1.NetworkPolicyPort, at *field.Path) {
	validation.IfSetOneOf(p, port.Protocol, []v1.Protocol{v1.ProtocolTCP, v1.ProtocolUDP, v1.ProtocolSCTP}, at, "protocol")
	end := at.Child("endPort")
	switch {
	case port.Port == nil:
		if port.EndPort != nil {
			p.Invalid(end, *port.EndPort, "may not be specified when `port` is not specified")
		}
	case port.Port.Type == intstr.String:
		if port.EndPort != nil {
			p.Invalid(end, *port.EndPort, "may not be specified when `port` is non-numeric")
		}
		p.Messages(at.Child("port"), port.Port.StrVal, utilvalidation.IsValidPortName(port.Port.StrVal))
	default:
		checkPortNumber(p, port.Port.IntVal, at.Child("port"))
		if port.EndPort == nil {
			return
		}
		if *port.EndPort < port.Port.IntVal {
			p.Invalid(end, *port.EndPort, "must be greater than or equal to `port`")
		}
		checkPortNumber(p, *port.EndPort, end)
	}
}

func checkPortNumber(p *validation.Problems, port int32, at *field.Path) {
	for _, text := range utilvalidation.IsValidPortNum(int(port)) {
		p.Invalid(at, port, text)
	}
}

// checkPeer validates a source or target of traffic: a block of addresses, or selectors of pods and namespaces.
// Upstream: networking/validation ValidateNetworkPolicyPeer, v1.37.2.
func checkPeer(p, late *validation.Problems, peer *networkingv1.NetworkPolicyPeer, known []string, at *field.Path) {
	p.LabelSelector(peer.PodSelector, at.Child("podSelector"))
	p.LabelSelector(peer.NamespaceSelector, at.Child("namespaceSelector"))
	selects := peer.PodSelector != nil || peer.NamespaceSelector != nil
	if peer.IPBlock != nil {
		checkIPBlock(p, late, peer.IPBlock, known, at.Child("ipBlock"))
	}
	switch {
	case peer.IPBlock == nil && !selects:
		p.Required(at, "must specify a peer")
	case peer.IPBlock != nil && selects:
		p.Forbidden(at, "may not specify both ipBlock and another peer")
	}
}

// Upstream: networking/validation ValidateIPBlock, v1.37.2.
func checkIPBlock(p, late *validation.Problems, block *networkingv1.IPBlock, known []string, at *field.Path) {
	if block.CIDR == "" {
		late.Required(at.Child("cidr"), "")
		return
	}
	p.Add(utilvalidation.IsValidCIDRForLegacyField(at.Child("cidr"), block.CIDR, true, known)...)
	_, whole, err := netutils.ParseCIDRSloppy(block.CIDR)
	if err != nil {
		return
	}
	for i, text := range block.Except {
		path := at.Child("except").Index(i)
		p.Add(utilvalidation.IsValidCIDRForLegacyField(path, text, true, known)...)
		_, except, err := netutils.ParseCIDRSloppy(text)
		if err != nil {
			continue
		}
		of, _ := whole.Mask.Size()
		size, _ := except.Mask.Size()
		if !whole.Contains(except.IP) || of >= size {
			p.Invalid(path, text, "must be a strict subset of `cidr`")
		}
	}
}
