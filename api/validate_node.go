package api

import (
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// node validates a Node. Taints are under "metadata" in upstream's messages.
// Upstream: core/validation ValidateNode, v1.36.
func (p *problems) node(n *v1.Node) {
	type pair struct {
		key    string
		effect v1.TaintEffect
	}
	seen := map[pair]bool{}
	for i, taint := range n.Spec.Taints {
		at := metadataPath.Child("taints").Index(i)
		p.qualifiedName(taint.Key, at.Child("key"))
		if !isLabelValue(taint.Value) {
			p.messages(at.Child("value"), taint.Value, validation.IsValidLabelValue(taint.Value))
		}
		if taint.Effect == "" {
			p.required(at.Child("effect"), "")
		} else {
			p.taintEffect(taint.Effect, at.Child("effect"))
		}
		if key := (pair{taint.Key, taint.Effect}); seen[key] {
			err := field.Duplicate(at, taint)
			err.Detail = "taints must be unique by key and effect pair"
			p.add(err)
		} else {
			seen[key] = true
		}
	}
	for _, name := range resourceNames(n.Status.Capacity) {
		p.nonNegative(n.Status.Capacity[name], statusPath.Child("capacity").Key(string(name)))
	}
}

func (p *problems) nodeUpdate(n, old *v1.Node) {
	p.node(n)
	if old.Spec.ProviderID != "" && n.Spec.ProviderID != old.Spec.ProviderID {
		p.forbidden(specPath.Child("providerID"), "node updates may not change providerID except from \"\" to valid")
	}
	if len(old.Spec.PodCIDRs) > 0 && (len(n.Spec.PodCIDRs) != len(old.Spec.PodCIDRs) || n.Spec.PodCIDR != old.Spec.PodCIDR) {
		p.forbidden(specPath.Child("podCIDRs"), "node updates may not change podCIDR except from \"\" to valid")
	}
}

// event validates an event: it stands in the namespace of what it is about.
// Upstream: core/validation legacyValidateEvent, v1.36.
func (p *problems) event(e *v1.Event) {
	ns := e.InvolvedObject.Namespace
	if ns == e.Namespace || ns == "" && e.Namespace == v1.NamespaceDefault {
		return
	}
	p.invalid(field.NewPath("involvedObject", "namespace"), ns, "does not match event.namespace")
}
