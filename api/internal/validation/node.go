package validation

import (
	"encoding/json"
	"regexp"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	netutils "k8s.io/utils/net"
)

// node validates a Node. Upstream: core/validation ValidateNode, v1.37.
func (p *problems) node(n *v1.Node) {
	p.nodeAnnotations(n.Annotations)
	p.taints(n.Spec.Taints, metadataPath.Child("taints"))
	p.nodeResources(n)
	if swap := n.Status.NodeInfo.Swap; swap != nil && swap.Capacity != nil && *swap.Capacity <= 0 { // the path is upstream's
		p.invalid(metadataPath.Child("nodeSwapStatus", "capacity"), *swap.Capacity, "must be greater than zero")
	}
	p.declaredFeatures(n.Status.DeclaredFeatures, statusPath.Child("declaredFeatures"))
	p.podCIDRs(n.Spec.PodCIDRs, specPath.Child("podCIDRs"))
}

// taints validates a node's taints, which upstream's messages put under
// "metadata". Upstream: core/validation validateNodeTaints, v1.37.
func (p *problems) taints(taints []v1.Taint, path *field.Path) {
	for i, taint := range taints {
		at := path.Index(i)
		p.qualifiedName(taint.Key, at.Child("key"))
		if !isLabelValue(taint.Value) {
			p.invalid(at.Child("value"), taint.Value, strings.Join(validation.IsValidLabelValue(taint.Value), ";"))
		}
		if taint.Effect == "" {
			p.required(at.Child("effect"), "")
		} else {
			p.taintEffect(taint.Effect, at.Child("effect"))
		}
		if slices.ContainsFunc(taints[:i], func(o v1.Taint) bool { return o.Key == taint.Key && o.Effect == taint.Effect }) {
			err := field.Duplicate(at, taint)
			err.Detail = "taints must be unique by key and effect pair"
			p.add(err)
		}
	}
}

// nodeAnnotations validates the annotations in which older releases kept taints.
// Upstream: core/validation ValidateNodeSpecificAnnotations, v1.37, without that of
// pods to avoid, which nothing reads any more.
func (p *problems) nodeAnnotations(annotations map[string]string) {
	const key = "scheduler.alpha.kubernetes.io/taints"
	text, at := annotations[key], metadataPath.Child("annotations")
	if text == "" {
		return
	}
	var taints []v1.Taint
	if err := json.Unmarshal([]byte(text), &taints); err != nil {
		p.invalid(at, key, err.Error())
		return
	}
	p.taints(taints, at.Child(key))
}

// nodeResources validates what a node has. Upstream: ValidateNodeResources, v1.37.
func (p *problems) nodeResources(n *v1.Node) {
	for _, name := range resourceNames(n.Status.Capacity) {
		p.quantity(name, n.Status.Capacity[name], statusPath.Child("capacity", string(name)))
	}
	for _, name := range resourceNames(n.Status.Allocatable) {
		p.quantity(name, n.Status.Allocatable[name], statusPath.Child("allocatable", string(name)))
	}
}

// podCIDRs validates the addresses for a node's pods: one range, or one of each
// family.
func (p *problems) podCIDRs(cidrs []string, at *field.Path) {
	for i, cidr := range cidrs {
		p.add(validation.IsValidCIDRForLegacyField(at.Index(i), cidr, true, nil)...)
	}
	if len(cidrs) < 2 {
		return
	}
	dual, err := netutils.IsDualStackCIDRStrings(cidrs)
	if err != nil {
		p.add(field.InternalError(at, err))
	}
	if !dual || len(cidrs) > 2 {
		p.invalid(at, cidrs, "may specify no more than one CIDR for each IP family")
	}
}

var featureName = regexp.MustCompile(`^[A-Z][a-zA-Z0-9]*(/[a-zA-Z][a-zA-Z0-9]*)*$`)

// declaredFeatures validates what a node says it can: a sorted list of names.
// Upstream: core/validation validateNodeDeclaredFeatures, v1.37.
func (p *problems) declaredFeatures(features []string, at *field.Path) {
	for i, name := range features {
		switch {
		case len(name) > validation.DNS1123SubdomainMaxLength:
			p.invalid(at.Index(i), name, "invalid feature name \""+name+"\": must be no more than 253 characters")
		case !featureName.MatchString(name):
			p.invalid(at.Index(i), name, "invalid feature name \""+name+"\": must start with an UpperCamelCase segment, with subsequent segments "+
				"separated by '/' (e.g., MyFeature or MyFeature/mySubFeature), and contain only alphanumeric characters and slashes")
		}
		if i == 0 {
			continue
		}
		if name == features[i-1] {
			p.duplicate(at.Index(i), name)
		} else if name < features[i-1] {
			p.invalid(at.Index(i), name, "list must be sorted alphabetically")
		}
	}
}

// nodeUpdate validates an update of a node or of its status.
// Upstream: core/validation ValidateNodeUpdate, v1.37.
func (p *problems) nodeUpdate(n, old *v1.Node) {
	p.nodeAnnotations(n.Annotations)
	p.nodeResources(n)
	p.declaredFeatures(n.Status.DeclaredFeatures, statusPath.Child("declaredFeatures"))
	for i, address := range n.Status.Addresses {
		if slices.Contains(n.Status.Addresses[:i], address) {
			p.duplicate(statusPath.Child("addresses").Index(i), address)
		}
	}
	if len(old.Spec.PodCIDRs) > 0 && !slices.Equal(n.Spec.PodCIDRs, old.Spec.PodCIDRs) {
		p.forbidden(specPath.Child("podCIDRs"), "node updates may not change podCIDR except from \"\" to valid")
	}
	switch {
	case old.Spec.ProviderID == "" || n.Spec.ProviderID == old.Spec.ProviderID:
	case n.Spec.ProviderID == "":
		p.invalid(specPath.Child("providerID"), nil, "field cannot be cleared once set")
	default:
		p.invalid(specPath.Child("providerID"), nil, "field cannot be modified once set")
	}
	p.taints(n.Spec.Taints, metadataPath.Child("taints"))
	if n.Spec.DoNotUseExternalID != old.Spec.DoNotUseExternalID {
		p.forbidden(specPath.Child("externalID"), "may not be updated")
	}
}
