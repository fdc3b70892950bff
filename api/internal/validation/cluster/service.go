package cluster

import (
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	utilvalidation "k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	netutils "k8s.io/utils/net"

	"github.com/storagesim/storagesim/api/internal/validation"
)

// Services returns the validation of services. Addresses and ports of nodes are allocated before.
// Upstream: core/validation ValidateServiceCreate and ValidateServiceUpdate, v1.37.
func Services() validation.Kind {
	return validation.Typed[*v1.Service]{
		Names:  validation.DNSLabel,
		Create: func(p *validation.Problems, service *v1.Service) { checkService(p, service, nil) },
		Update: func(p *validation.Problems, service, old *v1.Service) {
			checkServiceUpdate(p, &service.Spec, &old.Spec)
			checkService(p, service, old)
		},
		Status: func(p *validation.Problems, service, old *v1.Service) {
			checkBalancerStatus(p, service, &old.Status.LoadBalancer)
		},
	}.Kind()
}

// ClusterIPs says what is wrong with the addresses of a service, before it is given others. old is the service that it replaces, nil if it is
// new.
func ClusterIPs(spec *v1.ServiceSpec, old *v1.Service) field.ErrorList {
	p := &validation.Problems{}
	var before v1.ServiceSpec
	if old != nil {
		before = old.Spec
	}
	checkClusterIPs(p, spec, &before)
	return p.List
}

// checkBalancerStatus validates the addresses of a Service's load balancer.
// Upstream: core/validation ValidateLoadBalancerStatus, v1.37.2.
func checkBalancerStatus(p *validation.Problems, service *v1.Service, old *v1.LoadBalancerStatus) {
	points, at := service.Status.LoadBalancer.Ingress, validation.StatusPath.Child("loadBalancer", "ingress")
	if service.Spec.Type != v1.ServiceTypeLoadBalancer && len(points) > 0 {
		p.Forbidden(at, "may only be used when `spec.type` is 'LoadBalancer'")
		return
	}
	var known []string
	for i := range old.Ingress {
		known = append(known, old.Ingress[i].IP)
	}
	modes := []v1.LoadBalancerIPMode{v1.LoadBalancerIPModeProxy, v1.LoadBalancerIPModeVIP}
	for i := range points {
		point, at := &points[i], at.Index(i)
		if point.IP != "" {
			p.Add(utilvalidation.IsValidIPForLegacyField(at.Child("ip"), point.IP, true, known)...)
		}
		switch mode := at.Child("ipMode"); {
		case point.IPMode == nil && point.IP != "":
			p.Required(mode, "must be specified when `ip` is set")
		case point.IPMode != nil && point.IP == "":
			p.Forbidden(mode, "may not be specified when `ip` is not set")
		case point.IPMode != nil:
			validation.IfSetOneOf(p, point.IPMode, modes, at, "ipMode")
		}
		checkBalancerHost(p, point.Hostname, at.Child("hostname"))
	}
}

// checkBalancerHost validates the name of a load balancer, which may have none.
func checkBalancerHost(p *validation.Problems, name string, at *field.Path) {
	if name == "" {
		return
	}
	p.Subdomain(name, at)
	if netutils.ParseIPSloppy(name) != nil {
		p.Invalid(at, name, "must be a DNS name, not an IP address")
	}
}

// isHeadless reports whether a service has no address by its own wish.
func isHeadless(spec *v1.ServiceSpec) bool {
	return len(spec.ClusterIPs) == 1 && spec.ClusterIPs[0] == v1.ClusterIPNone
}

// Upstream: core/validation validateService, v1.37.
func checkService(p *validation.Problems, service, old *v1.Service) {
	const hints, mode = "service.kubernetes.io/topology-aware-hints", v1.AnnotationTopologyMode
	spec := &service.Spec
	was, hinted := service.Annotations[hints]
	is, moded := service.Annotations[mode]
	if hinted && moded && was != is {
		p.Invalid(validation.MetadataPath.Child("annotations").Key(mode), is, "must match annotations["+hints+"] when both are specified")
	}
	if len(spec.Ports) == 0 && !isHeadless(spec) && spec.Type != v1.ServiceTypeExternalName {
		p.Required(validation.SpecPath.Child("ports"), "")
	}
	checkServiceType(p, spec)
	names := map[string]bool{}
	for i := range spec.Ports {
		checkServicePort(p, &spec.Ports[i], len(spec.Ports) > 1, names, validation.SpecPath.Child("ports").Index(i))
	}
	p.Labels(spec.Selector, validation.SpecPath.Child("selector"))
	checkAffinityOfSessions(p, spec)
	var before v1.ServiceSpec
	if old != nil {
		before = old.Spec
	}
	checkClusterIPs(p, spec, &before)
	for i, ip := range spec.ExternalIPs {
		at := validation.SpecPath.Child("externalIPs").Index(i)
		errs := utilvalidation.IsValidIPForLegacyField(at, ip, true, before.ExternalIPs)
		p.Add(errs...)
		if len(errs) == 0 {
			checkEndpointIP(p, ip, at)
		}
	}
	types := []v1.ServiceType{v1.ServiceTypeClusterIP, v1.ServiceTypeExternalName, v1.ServiceTypeLoadBalancer, v1.ServiceTypeNodePort}
	if !slices.Contains(types, spec.Type) {
		p.Add(field.NotSupported(validation.SpecPath.Child("type"), spec.Type, types))
	}
	checkNodePorts(p, spec)
	checkSourceRanges(p, service, &before)
	checkTrafficFields(p, spec)
}

// checkServiceType refuses what a type of service may not have.
func checkServiceType(p *validation.Problems, spec *v1.ServiceSpec) {
	switch spec.Type {
	case v1.ServiceTypeLoadBalancer, v1.ServiceTypeNodePort:
		if isHeadless(spec) {
			p.Invalid(validation.SpecPath.Child("clusterIPs").Index(0), v1.ClusterIPNone, "may not be set to 'None' for "+string(spec.Type)+" services")
		}
	case v1.ServiceTypeExternalName:
		const no = "may not be set for ExternalName services"
		if len(spec.ClusterIPs) > 0 {
			p.Forbidden(validation.SpecPath.Child("clusterIPs"), no)
		}
		if len(spec.IPFamilies) > 0 {
			p.Forbidden(validation.SpecPath.Child("ipFamilies"), no)
		}
		if spec.IPFamilyPolicy != nil {
			p.Forbidden(validation.SpecPath.Child("ipFamilyPolicy"), no)
		}
		if name := strings.TrimSuffix(spec.ExternalName, "."); name != "" {
			p.Subdomain(name, validation.SpecPath.Child("externalName"))
		} else {
			p.Required(validation.SpecPath.Child("externalName"), "")
		}
	}
}

// Upstream: core/validation validateServicePort, v1.37.
func checkServicePort(p *validation.Problems, port *v1.ServicePort, named bool, names map[string]bool, at *field.Path) {
	if port.Name != "" {
		p.DNSLabel(port.Name, at.Child("name"))
		if names[port.Name] {
			p.Duplicate(at.Child("name"), port.Name)
		}
		names[port.Name] = true
	} else if named {
		p.Required(at.Child("name"), "")
	}
	for _, text := range utilvalidation.IsValidPortNum(int(port.Port)) {
		p.Invalid(at.Child("port"), port.Port, text)
	}
	if port.Protocol == "" {
		p.Required(at.Child("protocol"), "")
	} else {
		checkProtocol(p, &port.Protocol, at.Child("protocol"))
	}
	target := at.Child("targetPort")
	switch port.TargetPort.Type {
	case intstr.Int:
		for _, text := range utilvalidation.IsValidPortNum(port.TargetPort.IntValue()) {
			p.Invalid(target, port.TargetPort.IntValue(), text)
		}
	case intstr.String:
		p.Messages(target, port.TargetPort.StrVal, utilvalidation.IsValidPortName(port.TargetPort.StrVal))
	}
	if port.AppProtocol != nil {
		p.QualifiedName(*port.AppProtocol, at.Child("appProtocol"))
	}
}

// checkAffinityOfSessions requires a timeout of sessions that stay with a client IP address, and none of others.
// Upstream: core/validation validateService and validateClientIPAffinityConfig, v1.37.
func checkAffinityOfSessions(p *validation.Problems, spec *v1.ServiceSpec) {
	at := validation.SpecPath.Child("sessionAffinityConfig")
	switch spec.SessionAffinity {
	case v1.ServiceAffinityNone:
		if spec.SessionAffinityConfig != nil {
			p.Forbidden(at, "must not be set when session affinity is None")
		}
	case v1.ServiceAffinityClientIP:
		config := spec.SessionAffinityConfig
		switch {
		case config == nil:
			p.Required(at, "when session affinity type is ClientIP")
		case config.ClientIP == nil:
			p.Required(at.Child("clientIP"), "when session affinity type is ClientIP")
		case config.ClientIP.TimeoutSeconds == nil:
			p.Required(at.Child("clientIP", "timeoutSeconds"), "when session affinity type is ClientIP")
		default:
			const most = 24 * 60 * 60
			if n := *config.ClientIP.TimeoutSeconds; n <= 0 || n > most {
				p.Invalid(at.Child("clientIP", "timeoutSeconds"), n, "must be greater than 0 and less than 86400")
			}
		}
	default:
		p.Add(field.NotSupported(validation.SpecPath.Child("sessionAffinity"), spec.SessionAffinity,
			[]v1.ServiceAffinity{v1.ServiceAffinityClientIP, v1.ServiceAffinityNone}))
	}
}

// checkClusterIPs validates a Service's addresses and IP families against each other and its type.
// Upstream: core/validation ValidateServiceClusterIPsRelatedFields, v1.37.
func checkClusterIPs(p *validation.Problems, spec, old *v1.ServiceSpec) {
	if spec.Type == v1.ServiceTypeExternalName {
		return
	}
	at := validation.SpecPath.Child("clusterIPs")
	switch {
	case spec.ClusterIP != "" && len(spec.ClusterIPs) == 0:
		p.Required(at, "")
	case spec.ClusterIP != "" && spec.ClusterIPs[0] != spec.ClusterIP:
		p.Invalid(at, spec.ClusterIPs, "first value must match `clusterIP`")
	case spec.ClusterIP == "" && len(spec.ClusterIPs) > 0:
		p.Invalid(at, spec.ClusterIPs, "must be empty when `clusterIP` is not specified")
	}
	families := []v1.IPFamily{v1.IPv4Protocol, v1.IPv6Protocol}
	for i, family := range spec.IPFamilies {
		if !slices.Contains(families, family) {
			p.Add(field.NotSupported(validation.SpecPath.Child("ipFamilies").Index(i), family, families))
		}
		if slices.Contains(spec.IPFamilies[:i], family) {
			p.Duplicate(validation.SpecPath.Child("ipFamilies").Index(i), family)
		}
	}
	policies := []v1.IPFamilyPolicy{v1.IPFamilyPolicyPreferDualStack, v1.IPFamilyPolicyRequireDualStack, v1.IPFamilyPolicySingleStack}
	if policy := spec.IPFamilyPolicy; policy != nil && !slices.Contains(policies, *policy) {
		p.Add(field.NotSupported(validation.SpecPath.Child("ipFamilyPolicy"), *policy, policies))
	}
	bad := false
	for i, ip := range spec.ClusterIPs {
		if i == 0 && ip == v1.ClusterIPNone {
			if len(spec.ClusterIPs) > 1 {
				bad = true
				p.Invalid(at, spec.ClusterIPs, "'None' must be the first and only value")
			}
			continue
		}
		errs := utilvalidation.IsValidIPForLegacyField(at.Index(i), ip, true, old.ClusterIPs)
		bad = bad || len(errs) > 0
		p.Add(errs...)
	}
	if len(spec.ClusterIPs) > 2 {
		p.Invalid(at, spec.ClusterIPs, "may only hold up to 2 values")
	}
	if bad {
		return
	}
	if len(spec.ClusterIPs) > 1 {
		if dual, err := netutils.IsDualStackIPStrings(spec.ClusterIPs); err == nil && !dual {
			p.Invalid(at, spec.ClusterIPs, "may specify no more than one IP for each IP family")
		}
	}
	if isHeadless(spec) {
		return
	}
	for i, ip := range spec.ClusterIPs[:min(len(spec.ClusterIPs), len(spec.IPFamilies))] {
		if six := netutils.IsIPv6String(ip); six != (spec.IPFamilies[i] == v1.IPv6Protocol) {
			p.Invalid(at.Index(i), ip, "expected an "+string(spec.IPFamilies[i])+" value as indicated by `ipFamilies["+string(rune('0'+i))+"]`")
		}
	}
}

// checkNodePorts refuses ports of nodes that are not allowed, and ports that are there twice.
func checkNodePorts(p *validation.Problems, spec *v1.ServiceSpec) {
	ports := validation.SpecPath.Child("ports")
	type key struct {
		protocol v1.Protocol
		port     int32
	}
	onNodes, seen := map[key]bool{}, map[key]bool{}
	for i, port := range spec.Ports {
		if spec.Type == v1.ServiceTypeClusterIP && port.NodePort != 0 {
			p.Forbidden(ports.Index(i).Child("nodePort"), "may not be used when `type` is 'ClusterIP'")
		}
	}
	for i, port := range spec.Ports {
		k := key{port.Protocol, port.NodePort}
		if port.NodePort != 0 && onNodes[k] {
			p.Duplicate(ports.Index(i).Child("nodePort"), port.NodePort)
		}
		onNodes[k] = true
	}
	for i, port := range spec.Ports {
		k := key{port.Protocol, port.Port}
		if seen[k] {
			p.Duplicate(ports.Index(i), internalPort{Protocol: port.Protocol, Port: port.Port})
		}
		seen[k] = true
	}
}

// internalPort has the form in which messages show a port.
type internalPort struct {
	Name        string
	Protocol    v1.Protocol
	AppProtocol *string
	Port        int32
	TargetPort  intstr.IntOrString
	NodePort    int32
}

// checkSourceRanges validates the ranges of clients of a load balancer, which a field or an annotation has.
// Upstream: core/validation validateService, v1.37, also for the name of the field.
func checkSourceRanges(p *validation.Problems, service *v1.Service, old *v1.ServiceSpec) {
	const annotation = "service.beta.kubernetes.io/load-balancer-source-ranges"
	spec, at := &service.Spec, validation.SpecPath.Child("LoadBalancerSourceRanges")
	ranges, known := spec.LoadBalancerSourceRanges, old.LoadBalancerSourceRanges
	if text, ok := service.Annotations[annotation]; ok && len(ranges) == 0 {
		at = validation.MetadataPath.Child("annotations").Key(annotation)
		ranges, known = nil, nil
		if strings.TrimSpace(text) != "" {
			ranges = strings.Split(text, ",")
		}
		if spec.Type != v1.ServiceTypeLoadBalancer {
			p.Forbidden(at, "may only be used when `type` is 'LoadBalancer'")
		}
		for _, cidr := range ranges {
			p.Add(utilvalidation.IsValidCIDRForLegacyField(at, strings.TrimSpace(cidr), true, known)...)
		}
		return
	}
	if len(ranges) > 0 && spec.Type != v1.ServiceTypeLoadBalancer {
		p.Forbidden(at, "may only be used when `type` is 'LoadBalancer'")
	}
	for i, cidr := range ranges {
		p.Add(utilvalidation.IsValidCIDRForLegacyField(at.Index(i), strings.TrimSpace(cidr), true, known)...)
	}
}

// checkTrafficFields validates what only some types of services may say.
// Upstream: core/validation validateServiceExternalTrafficPolicy, validateServiceInternalTrafficFieldsValue and
// validateServiceTrafficDistribution, v1.37.
func checkTrafficFields(p *validation.Problems, spec *v1.ServiceSpec) {
	balancer := spec.Type == v1.ServiceTypeLoadBalancer
	if !balancer && spec.AllocateLoadBalancerNodePorts != nil {
		p.Forbidden(validation.SpecPath.Child("allocateLoadBalancerNodePorts"), "may only be used when `type` is 'LoadBalancer'")
	}
	checkBalancerClass(p, spec)
	outside := balancer || spec.Type == v1.ServiceTypeNodePort || spec.Type == v1.ServiceTypeClusterIP && len(spec.ExternalIPs) > 0
	external := []v1.ServiceExternalTrafficPolicy{v1.ServiceExternalTrafficPolicyCluster, v1.ServiceExternalTrafficPolicyLocal}
	switch at := validation.SpecPath.Child("externalTrafficPolicy"); {
	case !outside && spec.ExternalTrafficPolicy != "":
		p.Invalid(at, spec.ExternalTrafficPolicy, "may only be set for externally-accessible services")
	case outside && spec.ExternalTrafficPolicy == "":
		p.Required(at, "")
	case outside && !slices.Contains(external, spec.ExternalTrafficPolicy):
		p.Add(field.NotSupported(at, spec.ExternalTrafficPolicy, external))
	}
	checked := needsHealthCheck(spec)
	switch at := validation.SpecPath.Child("healthCheckNodePort"); {
	case !checked && spec.HealthCheckNodePort != 0:
		p.Invalid(at, spec.HealthCheckNodePort, "may only be set when `type` is 'LoadBalancer' and `externalTrafficPolicy` is 'Local'")
	case checked:
		for _, text := range utilvalidation.IsValidPortNum(int(spec.HealthCheckNodePort)) {
			p.Invalid(at, spec.HealthCheckNodePort, text)
		}
	}
	internal := []v1.ServiceInternalTrafficPolicy{v1.ServiceInternalTrafficPolicyCluster, v1.ServiceInternalTrafficPolicyLocal}
	if policy := spec.InternalTrafficPolicy; policy != nil && !slices.Contains(internal, *policy) {
		p.Add(field.NotSupported(validation.SpecPath.Child("internalTrafficPolicy"), *policy, internal))
	}
	distributions := []string{v1.ServiceTrafficDistributionPreferClose, v1.ServiceTrafficDistributionPreferSameZone, v1.ServiceTrafficDistributionPreferSameNode}
	if d := spec.TrafficDistribution; d != nil && !slices.Contains(distributions, *d) {
		p.Add(field.NotSupported(validation.SpecPath.Child("trafficDistribution"), *d, distributions))
	}
}

// checkBalancerClass validates the class of a load balancer, which other types of services lack.
// Upstream: core/validation validateLoadBalancerClassField, v1.37.2.
func checkBalancerClass(p *validation.Problems, spec *v1.ServiceSpec) {
	switch at := validation.SpecPath.Child("loadBalancerClass"); {
	case spec.LoadBalancerClass == nil:
	case spec.Type == v1.ServiceTypeLoadBalancer:
		p.QualifiedName(*spec.LoadBalancerClass, at)
	default:
		p.Forbidden(at, "may only be used when `type` is 'LoadBalancer'")
	}
}

// checkServiceUpdate refuses other addresses and families than those a service has, except for one more or one less.
// Upstream: core/validation validateUpgradeDowngradeClusterIPs, validateUpgradeDowngradeIPFamilies,
// validateLoadBalancerClassField and validateServiceExternalTrafficFieldsUpdate, v1.37.2.
func checkServiceUpdate(p *validation.Problems, spec, old *v1.ServiceSpec) {
	if spec.Type != v1.ServiceTypeExternalName && old.Type != v1.ServiceTypeExternalName {
		if !isHeadless(spec) || !isHeadless(old) {
			checkDualStack(p, spec, stringsOf(spec.ClusterIPs), stringsOf(old.ClusterIPs), "clusterIPs", "clusterIP")
		}
		if !isHeadless(spec) && !isHeadless(old) {
			checkDualStack(p, spec, stringsOf(spec.IPFamilies), stringsOf(old.IPFamilies), "ipFamilies", "ipFamily")
		}
	}
	both := spec.Type == v1.ServiceTypeLoadBalancer && old.Type == v1.ServiceTypeLoadBalancer
	if both && !validation.SamePtr(spec.LoadBalancerClass, old.LoadBalancerClass) {
		p.Invalid(validation.SpecPath.Child("loadBalancerClass"), spec.LoadBalancerClass, "may not change once set")
	}
	checkBalancerClass(p, spec) // before all that concerns new services, too
	if needsHealthCheck(spec) && needsHealthCheck(old) && spec.HealthCheckNodePort != old.HealthCheckNodePort {
		p.Forbidden(validation.SpecPath.Child("healthCheckNodePort"), "field is immutable")
	}
}

// needsHealthCheck reports whether a load balancer asks the nodes whether they have a pod of the service.
func needsHealthCheck(spec *v1.ServiceSpec) bool {
	return spec.Type == v1.ServiceTypeLoadBalancer && spec.ExternalTrafficPolicy == v1.ServiceExternalTrafficPolicyLocal
}

func stringsOf[T ~string](list []T) (texts []string) {
	for _, one := range list {
		texts = append(texts, string(one))
	}
	return texts
}

// checkDualStack refuses a change of a list of one or two values that is not a second one more or less.
func checkDualStack(p *validation.Problems, spec *v1.ServiceSpec, is, was []string, list, one string) {
	at := validation.SpecPath.Child(list)
	const changed = "may not change once set"
	switch {
	case len(is) == len(was):
		for i := range was {
			if is[i] != was[i] {
				p.Invalid(at.Index(i), is, changed)
			}
		}
	case len(is) == 0:
		p.Invalid(at.Index(0), is, "primary "+one+" can not be unset")
	case len(was) > 0 && is[0] != was[0]:
		p.Invalid(at.Index(0), is, changed)
	}
	if len(was) > len(is) && len(is) == 1 && (spec.IPFamilyPolicy == nil || *spec.IPFamilyPolicy != v1.IPFamilyPolicySingleStack) {
		p.Invalid(validation.SpecPath.Child("ipFamilyPolicy"), spec.IPFamilyPolicy, "must be set to 'SingleStack' when releasing the secondary "+one)
	}
}
