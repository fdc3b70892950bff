package cluster

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	utilvalidation "k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	netutils "k8s.io/utils/net"

	"github.com/storagesim/storagesim/api/internal/validation"
)

// checkNode validates a Node. Upstream: core/validation ValidateNode, v1.37.
func checkNode(p *validation.Problems, n *v1.Node) {
	checkNodeAnnotations(p, n.Annotations)
	checkTaints(p, n.Spec.Taints, validation.MetadataPath.Child("taints"))
	checkNodeResources(p, n)
	if swap := n.Status.NodeInfo.Swap; swap != nil && swap.Capacity != nil && *swap.Capacity <= 0 { // the path is upstream's
		p.Invalid(validation.MetadataPath.Child("nodeSwapStatus", "capacity"), *swap.Capacity, "must be greater than zero")
	}
	checkDeclaredFeatures(p, n.Status.DeclaredFeatures, validation.StatusPath.Child("declaredFeatures"))
	checkPodCIDRs(p, n.Spec.PodCIDRs, validation.SpecPath.Child("podCIDRs"))
}

// checkTaints validates a node's taints, which upstream's messages put under
// "metadata". Upstream: core/validation validateNodeTaints, v1.37.
func checkTaints(p *validation.Problems, taints []v1.Taint, path *field.Path) {
	for i, taint := range taints {
		at := path.Index(i)
		p.QualifiedName(taint.Key, at.Child("key"))
		if !validation.IsLabelValue(taint.Value) {
			p.Invalid(at.Child("value"), taint.Value, strings.Join(utilvalidation.IsValidLabelValue(taint.Value), ";"))
		}
		if taint.Effect == "" {
			p.Required(at.Child("effect"), "")
		} else {
			validation.CheckTaintEffect(p, taint.Effect, at.Child("effect"))
		}
		if slices.ContainsFunc(taints[:i], func(o v1.Taint) bool { return o.Key == taint.Key && o.Effect == taint.Effect }) {
			err := field.Duplicate(at, validation.InternalForm{Value: taint})
			err.Detail = "taints must be unique by key and effect pair"
			p.Add(err)
		}
	}
}

// checkNodeAnnotations validates the annotations in which older releases kept taints.
// Upstream: core/validation ValidateNodeSpecificAnnotations, v1.37, without that of
// pods to avoid, which nothing reads any more.
func checkNodeAnnotations(p *validation.Problems, annotations map[string]string) {
	const key = "scheduler.alpha.kubernetes.io/taints"
	text, at := annotations[key], validation.MetadataPath.Child("annotations")
	if text == "" {
		return
	}
	var taints []v1.Taint
	if err := json.Unmarshal([]byte(text), &taints); err != nil {
		p.Invalid(at, key, err.Error())
		return
	}
	checkTaints(p, taints, at.Child(key))
}

// checkNodeResources validates what a node has. Upstream: ValidateNodeResources, v1.37.
func checkNodeResources(p *validation.Problems, n *v1.Node) {
	checkQuantities(p, n.Status.Capacity, validation.StatusPath.Child("capacity"))
	checkQuantities(p, n.Status.Allocatable, validation.StatusPath.Child("allocatable"))
}

func checkQuantities(p *validation.Problems, list v1.ResourceList, at *field.Path) {
	for _, name := range validation.ResourceNames(list) {
		validation.CheckQuantity(p, name, list[name], at.Child(string(name)))
	}
}

// checkPodCIDRs validates the addresses for a node's pods: one range, or one of each
// family. Upstream: core/validation ValidateNode, v1.37.2.
func checkPodCIDRs(p *validation.Problems, cidrs []string, at *field.Path) {
	for i, cidr := range cidrs {
		p.Add(utilvalidation.IsValidCIDRForLegacyField(at.Index(i), cidr, true, nil)...)
	}
	if len(cidrs) < 2 {
		return
	}
	dual, err := netutils.IsDualStackCIDRStrings(cidrs)
	if err != nil {
		p.Add(field.InternalError(at, fmt.Errorf("invalid PodCIDRs. failed to check with dual stack with error:%w", err)))
	}
	if !dual || len(cidrs) > 2 {
		p.Invalid(at, cidrs, "may specify no more than one CIDR for each IP family")
	}
}

var featureName = regexp.MustCompile(`^[A-Z][a-zA-Z0-9]*(/[a-zA-Z][a-zA-Z0-9]*)*$`)

// checkDeclaredFeatures validates what a node says it can: a sorted list of names.
// Upstream: core/validation validateNodeDeclaredFeatures, v1.37.2.
func checkDeclaredFeatures(p *validation.Problems, features []string, at *field.Path) {
	for i, name := range features {
		switch {
		case i == 0:
		case name == features[i-1]:
			p.Duplicate(at.Index(i), name)
		case name < features[i-1]:
			p.Invalid(at.Index(i), name, "list must be sorted alphabetically")
		}
		switch {
		case len(name) > utilvalidation.DNS1123SubdomainMaxLength:
			p.Invalid(at.Index(i), name, "invalid feature name \""+name+"\": must be no more than 253 characters")
		case !featureName.MatchString(name):
			p.Invalid(at.Index(i), name, "invalid feature name \""+name+"\": must start with an UpperCamelCase segment, with subsequent segments "+
				"separated by '/' (e.g., MyFeature or MyFeature/mySubFeature), and contain only alphanumeric characters and slashes")
		}
	}
}

// checkNodeUpdate validates an update of a node or of its status.
// Upstream: core/validation ValidateNodeUpdate, v1.37.
func checkNodeUpdate(p *validation.Problems, n, old *v1.Node) {
	checkNodeAnnotations(p, n.Annotations)
	checkNodeResources(p, n)
	checkDeclaredFeatures(p, n.Status.DeclaredFeatures, validation.StatusPath.Child("declaredFeatures"))
	for i, address := range n.Status.Addresses {
		if slices.Contains(n.Status.Addresses[:i], address) {
			p.Duplicate(validation.StatusPath.Child("addresses").Index(i), address)
		}
	}
	if len(old.Spec.PodCIDRs) > 0 && !slices.Equal(n.Spec.PodCIDRs, old.Spec.PodCIDRs) {
		p.Forbidden(validation.SpecPath.Child("podCIDRs"), "node updates may not change podCIDR except from \"\" to valid")
	}
	switch {
	case old.Spec.ProviderID == "" || n.Spec.ProviderID == old.Spec.ProviderID:
	case n.Spec.ProviderID == "":
		p.Invalid(validation.SpecPath.Child("providerID"), nil, "field cannot be cleared once set")
	default:
		p.Invalid(validation.SpecPath.Child("providerID"), nil, "field cannot be modified once set")
	}
	checkTaints(p, n.Spec.Taints, validation.MetadataPath.Child("taints"))
	if n.Spec.DoNotUseExternalID != old.Spec.DoNotUseExternalID {
		p.Forbidden(validation.SpecPath.Child("externalID"), "may not be updated")
	}
}
