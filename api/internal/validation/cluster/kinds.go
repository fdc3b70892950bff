package cluster

import (
	v1 "k8s.io/api/core/v1"
	utilvalidation "k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/storagesim/storagesim/api/internal/validation"
	"github.com/storagesim/storagesim/internal/semantic"
)

// Events returns the validation of events of the core group.
func Events() validation.Kind {
	return validation.Typed[*v1.Event]{
		Names: validation.PathSegment, AnyFinalizer: true, MetaLast: true, Create: checkEvent,
		Update: func(p *validation.Problems, e, _ *v1.Event) { checkEvent(p, e) },
	}.Kind()
}

// Nodes returns the validation of nodes.
func Nodes() validation.Kind {
	return validation.Typed[*v1.Node]{
		Again: true, Create: checkNode, Status: checkNodeUpdate,
		Update: func(p *validation.Problems, node, old *v1.Node) {
			checkNode(p, node)
			checkNodeUpdate(p, node, old)
		},
	}.Kind()
}

// Namespaces returns the validation of namespaces.
func Namespaces() validation.Kind {
	return validation.Typed[*v1.Namespace]{
		Names: validation.DNSLabel, Again: true,
		Create: func(p *validation.Problems, ns *v1.Namespace) { checkNamespaceFinalizers(p, ns.Spec.Finalizers) },
		Status: checkNamespaceStatus,
	}.Kind()
}

// ConfigMaps returns the validation of configmaps.
func ConfigMaps() validation.Kind {
	return validation.Typed[*v1.ConfigMap]{Again: true, Create: checkConfigMap, Update: checkConfigMapUpdate}.Kind()
}

// ServiceAccounts returns the validation of serviceaccounts.
// Upstream: core/validation ValidateServiceAccountUpdate, v1.37.2.
func ServiceAccounts() validation.Kind {
	return validation.Typed[*v1.ServiceAccount]{Again: true}.Kind()
}

// Endpoints returns the validation of endpoints.
func Endpoints() validation.Kind {
	return validation.Typed[*v1.Endpoints]{ //nolint:staticcheck // deprecated, and served
		Again: true, Create: func(p *validation.Problems, e *v1.Endpoints) { checkSubsets(p, e.Subsets) }, //nolint:staticcheck // as above
		Update: func(p *validation.Problems, e, old *v1.Endpoints) { //nolint:staticcheck // as above
			if !semantic.Equal(e.Subsets, old.Subsets) {
				checkSubsets(p, e.Subsets)
			}
		},
	}.Kind()
}

// checkSubsets validates the addresses and ports of endpoints.
// Upstream: core/validation validateEndpointSubsets, v1.37.2.
func checkSubsets(p *validation.Problems, subsets []v1.EndpointSubset) { //nolint:staticcheck // deprecated, and served
	for i := range subsets {
		s, at := &subsets[i], field.NewPath("subsets").Index(i)
		if len(s.Addresses) == 0 && len(s.NotReadyAddresses) == 0 {
			p.Required(at, "must specify `addresses` or `notReadyAddresses`")
		}
		for j := range s.Addresses {
			checkSubsetAddress(p, &s.Addresses[j], at.Child("addresses").Index(j))
		}
		for j := range s.NotReadyAddresses {
			checkSubsetAddress(p, &s.NotReadyAddresses[j], at.Child("notReadyAddresses").Index(j))
		}
		for j := range s.Ports {
			checkSubsetPort(p, &s.Ports[j], len(s.Ports) > 1, at.Child("ports").Index(j))
		}
	}
}

// checkSubsetAddress validates an address of an Endpoints object.
// Upstream: core/validation validateEndpointAddress, v1.37.2.
func checkSubsetAddress(p *validation.Problems, address *v1.EndpointAddress, at *field.Path) {
	p.Add(utilvalidation.IsValidIPForLegacyField(at.Child("ip"), address.IP, true, nil)...)
	if address.Hostname != "" {
		p.DNSLabel(address.Hostname, at.Child("hostname"))
	}
	if address.NodeName != nil {
		p.Subdomain(*address.NodeName, at.Child("nodeName"))
	}
	checkEndpointIP(p, address.IP, at.Child("ip"))
}

// checkSubsetPort validates a port of an Endpoints object. named requires a name: there are several.
// Upstream: core/validation validateEndpointPort, v1.37.2.
func checkSubsetPort(p *validation.Problems, port *v1.EndpointPort, named bool, at *field.Path) {
	switch {
	case port.Name != "":
		p.DNSLabel(port.Name, at.Child("name"))
	case named:
		p.Required(at.Child("name"), "")
	}
	for _, text := range utilvalidation.IsValidPortNum(int(port.Port)) {
		p.Invalid(at.Child("port"), port.Port, text)
	}
	checkProtocol(p, &port.Protocol, at.Child("protocol"))
	if port.AppProtocol != nil {
		p.QualifiedName(*port.AppProtocol, at.Child("appProtocol"))
	}
}

// Secrets returns the validation of secrets.
func Secrets() validation.Kind {
	return validation.Typed[*v1.Secret]{Create: checkSecret, Update: checkSecretUpdate}.Kind()
}
