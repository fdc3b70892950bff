package cluster

import (
	v1 "k8s.io/api/core/v1"

	"github.com/storagesim/storagesim/api/internal/validation"
)

// Events returns the validation of events of the core group.
func Events() validation.Kind { return validation.Typed[*v1.Event]{Create: checkEvent}.Kind() }

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

// Secrets returns the validation of secrets.
func Secrets() validation.Kind {
	return validation.Typed[*v1.Secret]{Again: true, Create: checkSecret, Update: checkSecretUpdate}.Kind()
}

// Roles returns those of rbac.authorization.k8s.io, and their bindings. Only their metadata are
// validated.
func Roles() validation.Kind { return validation.Kind{Names: validation.PathSegment} }
