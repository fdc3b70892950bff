package warnings

import (
	"fmt"
	"maps"
	"slices"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// oldNodeLabel returns what is to be said of a label of nodes that should not be used any more; empty if it may be.
// Upstream: pkg/api/node/util.go GetNodeLabelDeprecatedMessage, v1.37.
func oldNodeLabel(key string) string {
	switch key {
	case v1.LabelFailureDomainBetaZone:
		return `deprecated since v1.17; use "topology.kubernetes.io/zone" instead`
	case v1.LabelFailureDomainBetaRegion:
		return `deprecated since v1.17; use "topology.kubernetes.io/region" instead`
	case v1.LabelInstanceType:
		return `deprecated since v1.17; use "node.kubernetes.io/instance-type" instead`
	case "beta.kubernetes.io/arch":
		return `deprecated since v1.14; use "kubernetes.io/arch" instead`
	case "beta.kubernetes.io/os":
		return `deprecated since v1.14; use "kubernetes.io/os" instead`
	case "node-role.kubernetes.io/master":
		return `use "node-role.kubernetes.io/control-plane" instead`
	case "app.kubernetes.io/created-by":
		return `deprecated since v1.9`
	case "scheduler.alpha.kubernetes.io/preferAvoidPods":
		return `deprecated since v1.22; use Taints and Tolerations instead`
	}
	return ""
}

// nodeTerms warns of the terms of a required node selector.
func nodeTerms(selector *v1.NodeSelector, at *field.Path) (list []string) {
	if selector == nil {
		return nil
	}
	for i := range selector.NodeSelectorTerms {
		list = append(list, nodeTerm(&selector.NodeSelectorTerms[i], false, at.Child("nodeSelectorTerms").Index(i))...)
	}
	return list
}

// nodeTerm warns of old labels in a term, and of values that no label can have where validation lets them pass.
// Upstream: pkg/api/node/util.go GetWarningsForNodeSelectorTerm, v1.37.
func nodeTerm(term *v1.NodeSelectorTerm, values bool, at *field.Path) (list []string) {
	for i, e := range term.MatchExpressions {
		at := at.Child("matchExpressions").Index(i)
		if text := oldNodeLabel(e.Key); text != "" {
			list = append(list, fmt.Sprintf("%s: %s is %s", at.Child("key"), e.Key, text))
		}
		if !values {
			continue
		}
		for j, value := range e.Values {
			for _, text := range validation.IsValidLabelValue(value) {
				list = append(list, fmt.Sprintf("%s: %s is invalid, %s", at.Child("values").Index(j), value, text))
			}
		}
	}
	return list
}

// topology warns of old labels in a selector of nodes that has the form of a selector of labels.
// Upstream: pkg/api/node/util.go GetWarningsForNodeSelector, v1.37.
func topology(selector *metav1.LabelSelector, at *field.Path) (list []string) {
	if selector == nil {
		return nil
	}
	for i, e := range selector.MatchExpressions {
		if text := oldNodeLabel(e.Key); text != "" {
			list = append(list, fmt.Sprintf("%s: %s is %s", at.Child("matchExpressions").Index(i).Child("key"), e.Key, text))
		}
	}
	for _, key := range slices.Sorted(maps.Keys(selector.MatchLabels)) {
		if text := oldNodeLabel(key); text != "" {
			list = append(list, fmt.Sprintf("%s: %s", at.Child("matchLabels").Child(key), text))
		}
	}
	return list
}
