package cluster

import (
	"strings"

	v1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/api/validate/content"
	utilvalidation "k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	netutils "k8s.io/utils/net"

	"github.com/storagesim/storagesim/api/internal/validation"
)

// Ingresses returns the validation of ingresses.
// Upstream: networking/validation ValidateIngressCreate and ValidateIngressUpdate, v1.37.2.
func Ingresses() validation.Kind {
	return validation.Typed[*networkingv1.Ingress]{
		Again: true,
		Create: func(p *validation.Problems, i *networkingv1.Ingress) {
			checkIngress(p, &i.Spec)
			const annotation = "kubernetes.io/ingress.class"
			if name, ok := i.Annotations[annotation]; ok && i.Spec.IngressClassName != nil && name != *i.Spec.IngressClassName {
				p.Invalid(field.NewPath("annotations").Child(annotation), name, "must match `ingressClassName` when both are specified")
			}
		},
		Update: func(p *validation.Problems, i, _ *networkingv1.Ingress) { checkIngress(p, &i.Spec) },
		Status: checkIngressStatus,
	}.Kind()
}

// Upstream: networking/validation ValidateIngressLoadBalancerStatus, v1.37.2.
func checkIngressStatus(p *validation.Problems, i, old *networkingv1.Ingress) {
	var known []string
	for _, point := range old.Status.LoadBalancer.Ingress {
		known = append(known, point.IP)
	}
	for n, point := range i.Status.LoadBalancer.Ingress {
		at := validation.StatusPath.Child("loadBalancer", "ingress").Index(n)
		if point.IP != "" {
			p.Add(utilvalidation.IsValidIPForLegacyField(at.Child("ip"), point.IP, true, known)...)
		}
		checkBalancerHost(p, point.Hostname, at.Child("hostname"))
	}
}

// Upstream: networking/validation ValidateIngressSpec, v1.37.2.
func checkIngress(p *validation.Problems, spec *networkingv1.IngressSpec) {
	at := validation.SpecPath
	if len(spec.Rules) == 0 && spec.DefaultBackend == nil {
		p.Invalid(at, spec.Rules, "either `defaultBackend` or `rules` must be specified")
	}
	if spec.DefaultBackend != nil {
		checkBackend(p, spec.DefaultBackend, at.Child("defaultBackend"))
	}
	for i := range spec.Rules {
		checkIngressRule(p, &spec.Rules[i], at.Child("rules").Index(i))
	}
	for i := range spec.TLS {
		tls := at.Child("tls").Index(i)
		for j, host := range spec.TLS[i].Hosts {
			checkHost(p, host, tls.Child("hosts").Index(j))
		}
		if name := spec.TLS[i].SecretName; name != "" {
			p.Subdomain(name, tls.Child("secretName"))
		}
	}
	if spec.IngressClassName != nil {
		p.Subdomain(*spec.IngressClassName, at.Child("ingressClassName"))
	}
}

// checkHost validates the name of a host, or a wildcard for the hosts of a domain.
func checkHost(p *validation.Problems, host string, at *field.Path) {
	if strings.Contains(host, "*") {
		p.Messages(at, host, utilvalidation.IsWildcardDNS1123Subdomain(host))
		return
	}
	p.Subdomain(host, at)
}

// Upstream: networking/validation validateIngressRules, v1.37.2.
func checkIngressRule(p *validation.Problems, rule *networkingv1.IngressRule, at *field.Path) {
	if host := at.Child("host"); rule.Host != "" {
		if netutils.ParseIPSloppy(rule.Host) != nil {
			p.Invalid(host, rule.Host, "must be a DNS name, not an IP address")
		}
		checkHost(p, rule.Host, host)
	}
	if rule.HTTP == nil {
		return
	}
	paths := at.Child("http", "paths")
	if len(rule.HTTP.Paths) == 0 {
		p.Required(paths, "")
	}
	for i := range rule.HTTP.Paths {
		checkIngressPath(p, &rule.HTTP.Paths[i], paths.Index(i))
	}
}

// Upstream: networking/validation validateHTTPIngressPath, v1.37.2.
func checkIngressPath(p *validation.Problems, path *networkingv1.HTTPIngressPath, at *field.Path) {
	if path.PathType == nil {
		p.Required(at.Child("pathType"), "pathType must be specified")
		return
	}
	switch *path.PathType {
	case networkingv1.PathTypeExact, networkingv1.PathTypePrefix:
		checkURLPath(p, path.Path, at.Child("path"))
	case networkingv1.PathTypeImplementationSpecific:
		if path.Path != "" && !strings.HasPrefix(path.Path, "/") {
			p.Invalid(at.Child("path"), path.Path, "must be an absolute path")
		}
	default:
		p.Add(field.NotSupported(at.Child("pathType"), *path.PathType, []networkingv1.PathType{
			networkingv1.PathTypeExact, networkingv1.PathTypeImplementationSpecific, networkingv1.PathTypePrefix,
		}))
	}
	checkBackend(p, &path.Backend, at.Child("backend"))
}

func checkURLPath(p *validation.Problems, path string, at *field.Path) {
	if !strings.HasPrefix(path, "/") {
		p.Invalid(at, path, "must be an absolute path")
	}
	for _, part := range [...]string{"//", "/./", "/../", "%2f", "%2F"} {
		if strings.Contains(path, part) {
			p.Invalid(at, path, "must not contain '"+part+"'")
		}
	}
	for _, end := range [...]string{"/..", "/."} {
		if strings.HasSuffix(path, end) {
			p.Invalid(at, path, "cannot end with '"+end+"'")
		}
	}
}

// checkBackend requires one of a service and a resource of a backend.
// Upstream: networking/validation validateIngressBackend, v1.37.2.
func checkBackend(p *validation.Problems, b *networkingv1.IngressBackend, at *field.Path) {
	switch {
	case b.Resource != nil && b.Service != nil:
		p.Invalid(at, "", "cannot set both resource and service backends")
	case b.Resource != nil:
		checkBackendResource(p, b.Resource, at.Child("resource"))
	case b.Service != nil:
		checkBackendService(p, b.Service, at)
	default:
		p.Invalid(at, "", "resource or service backend is required")
	}
}

// Upstream: networking/validation validateIngressTypedLocalObjectReference, v1.37.2.
func checkBackendResource(p *validation.Problems, r *v1.TypedLocalObjectReference, at *field.Path) {
	if r.APIGroup != nil {
		p.Subdomain(*r.APIGroup, at.Child("apiGroup"))
	}
	for _, part := range [...]struct{ name, value string }{{"kind", r.Kind}, {"name", r.Name}} {
		p.Need(at, part.name, part.value)
		if part.value != "" {
			p.Messages(at.Child(part.name), part.value, content.IsPathSegmentName(part.value))
		}
	}
}

func checkBackendService(p *validation.Problems, s *networkingv1.IngressServiceBackend, at *field.Path) {
	service := at.Child("service")
	p.Need(service, "name", s.Name)
	if s.Name != "" {
		p.DNSLabel(s.Name, service.Child("name"))
	}
	switch named, numbered := s.Port.Name != "", s.Port.Number != 0; {
	case named && numbered:
		p.Invalid(at, "", "cannot set both port name & port number")
	case named:
		p.Messages(service.Child("port", "name"), s.Port.Name, utilvalidation.IsValidPortName(s.Port.Name))
	case numbered:
		checkPortNumber(p, s.Port.Number, service.Child("port", "number"))
	default:
		p.Required(at, "port name or number is required")
	}
}
