package cluster

import (
	v1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	nodev1 "k8s.io/api/node/v1"
	"k8s.io/apimachinery/pkg/api/validate/content"
	utilvalidation "k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/storagesim/storagesim/api/internal/validation"
	"github.com/storagesim/storagesim/api/internal/validation/pods"
)

// RuntimeClasses returns the validation of runtimeclasses.
func RuntimeClasses() validation.Kind {
	return validation.Typed[*nodev1.RuntimeClass]{
		Again: true, AnyFinalizer: true, Update: checkRuntimeClass,
		Create: func(p *validation.Problems, class *nodev1.RuntimeClass) { checkRuntimeClass(p, class, nil) },
	}.Kind()
}

// Upstream: node/validation ValidateRuntimeClass and ValidateRuntimeClassUpdate, v1.37.2.
func checkRuntimeClass(p *validation.Problems, class, old *nodev1.RuntimeClass) {
	handler := field.NewPath("handler")
	if class.Handler != "" && old != nil {
		p.Messages(handler, class.Handler, utilvalidation.IsDNS1123Label(class.Handler)) // in other words than those of a new one
	}
	if class.Overhead != nil {
		validation.CheckResources(p, &v1.ResourceRequirements{Limits: class.Overhead.PodFixed}, validation.ContainerResource, nil, "overhead")
	}
	if s := class.Scheduling; s != nil {
		p.Labels(s.NodeSelector, field.NewPath("scheduling", "nodeSelector"))
		checkDistinctTolerations(p, s.Tolerations, field.NewPath("scheduling", "tolerations"))
	}
	if old != nil {
		p.Fixed(class.Handler, old.Handler, handler)
	}
	switch { // by tags of its type, and so last
	case class.Handler == "":
		p.Required(handler, "")
	case old == nil:
		p.Messages(handler, class.Handler, content.IsDNS1123Label(class.Handler))
	}
}

// checkDistinctTolerations validates tolerations; two that differ at most in their seconds are duplicates.
// Upstream: node/validation validateTolerations, v1.37.2.
func checkDistinctTolerations(p *validation.Problems, tolerations []v1.Toleration, at *field.Path) {
	pods.CheckTolerations(p, tolerations, at)
	seen := map[v1.Toleration]bool{}
	for i, t := range tolerations {
		key := t
		key.TolerationSeconds = nil
		if seen[key] {
			p.Duplicate(at.Index(i), t)
		}
		seen[key] = true
	}
}

// IngressClasses returns the validation of ingressclasses.
func IngressClasses() validation.Kind {
	return validation.Typed[*networkingv1.IngressClass]{
		Again: true, Create: checkIngressClass,
		Update: func(p *validation.Problems, class, old *networkingv1.IngressClass) {
			p.Immutable(class.Spec.Controller, old.Spec.Controller, validation.SpecPath.Child("controller"))
			checkIngressClass(p, class)
		},
	}.Kind()
}

// maxControllerName is the number of bytes that the name of an ingress controller may have.
const maxControllerName = 250

// Upstream: networking/validation ValidateIngressClass, v1.37.2.
func checkIngressClass(p *validation.Problems, class *networkingv1.IngressClass) {
	at := validation.SpecPath.Child("controller")
	if len(class.Spec.Controller) > maxControllerName {
		p.Add(field.TooLong(at, "", maxControllerName))
	}
	p.Add(utilvalidation.IsDomainPrefixedPath(at, class.Spec.Controller)...)
	if class.Spec.Parameters != nil {
		checkParameters(p, class.Spec.Parameters, validation.SpecPath.Child("parameters"))
	}
}

// checkParameters validates the reference of an IngressClass to its parameters.
// Upstream: networking/validation validateIngressClassParametersReference, v1.37.2.
func checkParameters(p *validation.Problems, r *networkingv1.IngressClassParametersReference, at *field.Path) {
	if r.APIGroup != nil {
		p.Subdomain(*r.APIGroup, at.Child("apiGroup"))
	}
	for _, part := range [...]struct{ name, value string }{{"kind", r.Kind}, {"name", r.Name}} {
		if part.value != "" {
			p.Messages(at.Child(part.name), part.value, content.IsPathSegmentName(part.value))
		}
	}
	checkParametersScope(p, r, at)
	p.Need(at, "kind", r.Kind) // declarative rules: these come last
	p.Need(at, "name", r.Name)
}

func checkParametersScope(p *validation.Problems, r *networkingv1.IngressClassParametersReference, at *field.Path) {
	const ofCluster, ofNamespace = networkingv1.IngressClassParametersReferenceScopeCluster, networkingv1.IngressClassParametersReferenceScopeNamespace
	switch namespace := at.Child("namespace"); {
	case r.Scope == nil:
		p.Required(at.Child("scope"), "")
	case *r.Scope != ofCluster && *r.Scope != ofNamespace:
		p.Add(field.NotSupported(at.Child("scope"), *r.Scope, []string{ofCluster, ofNamespace}))
	case *r.Scope == ofCluster && r.Namespace != nil:
		p.Forbidden(namespace, "`parameters.scope` is set to 'Cluster'")
	case *r.Scope == ofNamespace && r.Namespace == nil:
		p.Required(namespace, "`parameters.scope` is set to 'Namespace'")
	case *r.Scope == ofNamespace:
		p.DNSLabel(*r.Namespace, namespace)
	}
}
