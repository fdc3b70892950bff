package cluster

import (
	"fmt"
	"slices"

	v1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	utilvalidation "k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	netutils "k8s.io/utils/net"

	"github.com/storagesim/storagesim/api/internal/validation"
	"github.com/storagesim/storagesim/internal/semantic"
)

// EndpointSlices returns the validation of endpointslices.
// Upstream: pkg/apis/discovery/validation ValidateEndpointSlice and ValidateEndpointSliceUpdate, v1.37.
func EndpointSlices() validation.Kind {
	return validation.Typed[*discoveryv1.EndpointSlice]{
		Again:  true,
		Create: func(p *validation.Problems, slice *discoveryv1.EndpointSlice) { checkEndpointSlice(p, slice, nil) },
		Update: func(p *validation.Problems, slice, old *discoveryv1.EndpointSlice) {
			checkEndpointSlice(p, slice, old)
			p.Fixed(slice.AddressType, old.AddressType, field.NewPath("addressType"))
		},
	}.Kind()
}

// The most that an EndpointSlice may have.
const (
	mostEndpoints = 1000
	mostAddresses = 100
	mostPorts     = 20000
	mostTopology  = 16
	mostHints     = 8
)

func checkEndpointSlice(p *validation.Problems, slice, old *discoveryv1.EndpointSlice) {
	types := []discoveryv1.AddressType{discoveryv1.AddressTypeFQDN, discoveryv1.AddressTypeIPv4, discoveryv1.AddressTypeIPv6}
	switch at := field.NewPath("addressType"); {
	case slice.AddressType == "":
		p.Required(at, "")
	case !slices.Contains(types, slice.AddressType):
		p.Add(field.NotSupported(at, slice.AddressType, types))
	}
	checkSlicePorts(p, slice.Ports, field.NewPath("ports"))
	before := len(p.List)
	checkSliceEndpoints(p, slice.Endpoints, slice.AddressType, field.NewPath("endpoints"))
	if len(p.List) > before && old != nil && semantic.Equal(old.Endpoints, slice.Endpoints) {
		p.List = p.List[:before] // an older release took them
	}
}

func checkSlicePorts(p *validation.Problems, ports []discoveryv1.EndpointPort, path *field.Path) {
	if len(ports) > mostPorts {
		p.Add(field.TooMany(path, len(ports), mostPorts))
		return
	}
	seen := map[string]bool{}
	for i, port := range ports {
		at, name := path.Index(i), ""
		if port.Name != nil {
			name = *port.Name
		}
		if name != "" {
			p.DNSLabel(name, at.Child("name"))
		}
		if seen[name] {
			p.Duplicate(at.Child("name"), name)
		}
		seen[name] = true
		checkProtocol(p, port.Protocol, at.Child("protocol"))
		if port.AppProtocol != nil {
			p.QualifiedName(*port.AppProtocol, at.Child("appProtocol"))
		}
	}
}

func checkProtocol(p *validation.Problems, protocol *v1.Protocol, at *field.Path) {
	known := []v1.Protocol{v1.ProtocolSCTP, v1.ProtocolTCP, v1.ProtocolUDP}
	switch {
	case protocol == nil:
		p.Required(at, "")
	case !slices.Contains(known, *protocol):
		p.Add(field.NotSupported(at, *protocol, known))
	}
}

func checkSliceEndpoints(p *validation.Problems, endpoints []discoveryv1.Endpoint, kind discoveryv1.AddressType, path *field.Path) {
	if len(endpoints) > mostEndpoints {
		p.Add(field.TooMany(path, len(endpoints), mostEndpoints))
		return
	}
	for i := range endpoints {
		e, at := &endpoints[i], path.Index(i)
		switch {
		case len(e.Addresses) == 0:
			p.Required(at.Child("addresses"), "")
		case len(e.Addresses) > mostAddresses:
			p.Add(field.TooMany(at.Child("addresses"), len(e.Addresses), mostAddresses))
		}
		for j, address := range e.Addresses {
			checkSliceAddress(p, address, kind, at.Child("addresses"), j)
		}
		if e.NodeName != nil {
			p.Messages(at.Child("nodeName"), *e.NodeName, apivalidation.NameIsDNSSubdomain(*e.NodeName, false))
		}
		if n := len(e.DeprecatedTopology); n > mostTopology {
			p.Add(field.TooMany(at.Child("deprecatedTopology"), n, mostTopology))
		}
		p.Labels(e.DeprecatedTopology, at.Child("deprecatedTopology"))
		if e.Hostname != nil {
			p.DNSLabel(*e.Hostname, at.Child("hostname"))
		}
		if e.Hints != nil {
			checkHints(p, e.Hints, at.Child("hints"))
		}
	}
}

func checkSliceAddress(p *validation.Problems, address string, kind discoveryv1.AddressType, list *field.Path, i int) {
	at := list.Index(i)
	var errs field.ErrorList
	switch kind {
	case discoveryv1.AddressTypeIPv4:
		errs = utilvalidation.IsValidIPForLegacyField(at, address, true, nil)
		if len(errs) == 0 && !netutils.IsIPv4String(address) {
			p.Invalid(list, address, "must be an IPv4 address")
		}
	case discoveryv1.AddressTypeIPv6:
		errs = utilvalidation.IsValidIP(at, address)
		if len(errs) == 0 && !netutils.IsIPv6String(address) {
			p.Invalid(list, address, "must be an IPv6 address")
		}
	case discoveryv1.AddressTypeFQDN:
		p.Add(utilvalidation.IsFullyQualifiedDomainName(at, address)...)
		return
	default:
		return
	}
	p.Add(errs...)
	if len(errs) == 0 {
		checkEndpointIP(p, address, at)
	}
}

// checkEndpointIP refuses an address that is for special use.
// Upstream: core/validation ValidateEndpointIP, v1.37.
func checkEndpointIP(p *validation.Problems, address string, at *field.Path) {
	ip := netutils.ParseIPSloppy(address)
	if ip == nil {
		p.Invalid(at, address, "must be a valid IP address")
		return
	}
	if ip.IsUnspecified() {
		p.Invalid(at, address, fmt.Sprintf("may not be unspecified (%v)", address))
	}
	if ip.IsLoopback() {
		p.Invalid(at, address, "may not be in the loopback range (127.0.0.0/8, ::1/128)")
	}
	if ip.IsLinkLocalUnicast() {
		p.Invalid(at, address, "may not be in the link-local range (169.254.0.0/16, fe80::/10)")
	}
	if ip.IsLinkLocalMulticast() {
		p.Invalid(at, address, "may not be in the link-local multicast range (224.0.0.0/24, ff02::/10)")
	}
}

func checkHints(p *validation.Problems, hints *discoveryv1.EndpointHints, at *field.Path) {
	zones := at.Child("forZones")
	if n := len(hints.ForZones); n > mostHints {
		p.Add(field.TooMany(zones, n, mostHints))
		return
	}
	seen := map[string]bool{}
	for i, zone := range hints.ForZones {
		if seen[zone.Name] {
			p.Duplicate(zones.Index(i).Child("name"), zone.Name)
		}
		seen[zone.Name] = true
		if !validation.IsLabelValue(zone.Name) {
			p.Messages(zones.Index(i).Child("name"), zone.Name, utilvalidation.IsValidLabelValue(zone.Name))
		}
	}
	nodes := at.Child("forNodes")
	if n := len(hints.ForNodes); n > mostHints {
		p.Add(field.TooMany(nodes, n, mostHints))
		return
	}
	clear(seen)
	for i, node := range hints.ForNodes {
		if seen[node.Name] {
			p.Duplicate(nodes.Index(i).Child("name"), node.Name)
		}
		seen[node.Name] = true
		p.Messages(nodes.Index(i).Child("name"), node.Name, apivalidation.NameIsDNSSubdomain(node.Name, false))
	}
}
