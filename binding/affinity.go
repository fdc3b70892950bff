package binding

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	v1 "k8s.io/api/core/v1"
)

// CheckNodeAffinity returns an error if a node with these labels cannot reach the volume:
// a *NodeAffinityError.
// Upstream: component-helpers storage/volume/helpers.go, v1.37.
func CheckNodeAffinity(volume *v1.PersistentVolume, nodeLabels map[string]string) error {
	if volume.Spec.NodeAffinity == nil || volume.Spec.NodeAffinity.Required == nil {
		return nil
	}
	required := volume.Spec.NodeAffinity.Required
	if matchTerms(required, nodeLabels, "") {
		return nil
	}
	return &NodeAffinityError{Volume: volume.Name, Reason: mismatch(required, nodeLabels, "")}
}

// NodeAffinityError reports that a node cannot reach a volume.
type NodeAffinityError struct {
	// Volume is the volume's name.
	Volume string
	// Reason names the first requirement of each term that the node fails.
	Reason string
}

// Error returns upstream's text, which does not contain the reason.
func (e *NodeAffinityError) Error() string { return "no matching NodeSelectorTerms" }

// ExplainNodeAffinity returns in words why a node with these labels cannot reach the
// volume: the error of CheckNodeAffinity and its reason. It returns "" if the node can.
func ExplainNodeAffinity(volume *v1.PersistentVolume, nodeLabels map[string]string) string {
	var mismatch *NodeAffinityError
	if err := CheckNodeAffinity(volume, nodeLabels); errors.As(err, &mismatch) {
		return mismatch.Error() + ": " + mismatch.Reason
	}
	return ""
}

// Reachable reports whether the node can reach the volume: CheckNodeAffinity without an
// error. Without a node it is true.
func Reachable(volume *v1.PersistentVolume, node *v1.Node) bool {
	return node == nil || volume.Spec.NodeAffinity == nil || volume.Spec.NodeAffinity.Required == nil ||
		matchTerms(volume.Spec.NodeAffinity.Required, node.Labels, "")
}

// MatchNodeSelector reports whether the node's labels and its name (the field
// metadata.name) match any term of the selector. A term without requirements, and a
// selector without terms, match nothing; a nil selector matches everything. An
// invalid requirement is an error only if no term matched.
// Upstream: component-helpers scheduling/corev1/nodeaffinity, LazyErrorNodeSelector.Match, v1.37.
func MatchNodeSelector(selector *v1.NodeSelector, node *v1.Node) (bool, error) {
	if selector == nil {
		return true, nil
	}
	if node == nil {
		return false, nil
	}
	if matchTerms(selector, node.Labels, node.Name) {
		return true, nil
	}
	var errs []error
	for i := range selector.NodeSelectorTerms {
		term := &selector.NodeSelectorTerms[i]
		for j := range term.MatchExpressions {
			if reason := invalidLabelRequirement(&term.MatchExpressions[j]); reason != "" {
				errs = append(errs, fmt.Errorf("nodeSelectorTerms[%d].matchExpressions[%d]: %s", i, j, reason))
			}
		}
		for j := range term.MatchFields {
			if reason := invalidFieldRequirement(&term.MatchFields[j]); reason != "" {
				errs = append(errs, fmt.Errorf("nodeSelectorTerms[%d].matchFields[%d]: %s", i, j, reason))
			}
		}
	}
	return false, errors.Join(errs...)
}

// matchTerms reports whether any term matches. It allocates nothing. An empty name means
// that the node's name is not known; then matchFields do not count.
func matchTerms(selector *v1.NodeSelector, labels map[string]string, name string) bool {
	for i := range selector.NodeSelectorTerms {
		term := &selector.NodeSelectorTerms[i]
		if empty(term) {
			continue
		}
		if culprit := failing(term, labels, name); culprit == nil {
			return true
		}
	}
	return false
}

func empty(term *v1.NodeSelectorTerm) bool {
	return len(term.MatchExpressions) == 0 && len(term.MatchFields) == 0
}

// failing returns the first requirement of the term that is invalid or does not match,
// nil if the term matches.
func failing(term *v1.NodeSelectorTerm, labels map[string]string, name string) *v1.NodeSelectorRequirement {
	for i := range term.MatchExpressions {
		r := &term.MatchExpressions[i]
		value, exists := labels[r.Key]
		if !matchLabel(r, value, exists) || invalidLabelRequirement(r) != "" {
			return r
		}
	}
	for i := range term.MatchFields {
		r := &term.MatchFields[i]
		if invalidFieldRequirement(r) != "" {
			return r
		}
		value := ""
		if r.Key == "metadata.name" {
			value = name
		}
		if name != "" && (value == r.Values[0]) != (r.Operator == v1.NodeSelectorOpIn) {
			return r
		}
	}
	return nil
}

// matchLabel reports whether a label matches a valid requirement.
func matchLabel(r *v1.NodeSelectorRequirement, value string, exists bool) bool {
	switch r.Operator {
	case v1.NodeSelectorOpIn:
		return exists && slices.Contains(r.Values, value)
	case v1.NodeSelectorOpNotIn:
		return !exists || !slices.Contains(r.Values, value)
	case v1.NodeSelectorOpExists:
		return exists
	case v1.NodeSelectorOpDoesNotExist:
		return !exists
	case v1.NodeSelectorOpGt, v1.NodeSelectorOpLt:
		has, err := strconv.ParseInt(value, 10, 64)
		if err != nil || len(r.Values) != 1 {
			return false
		}
		bound, _ := strconv.ParseInt(r.Values[0], 10, 64) // a requirement with another value is invalid
		return has != bound && (has > bound) == (r.Operator == v1.NodeSelectorOpGt)
	}
	return false
}

// ExplainNodeSelector returns in words why the node does not match the selector: the
// first requirement of each term that fails.
func ExplainNodeSelector(selector *v1.NodeSelector, node *v1.Node) string {
	if selector == nil || node == nil {
		return "there is nothing to compare"
	}
	return mismatch(selector, node.Labels, node.Name)
}

// mismatch returns in words why no term matches.
func mismatch(selector *v1.NodeSelector, labels map[string]string, name string) string {
	var reasons []string
	for i := range selector.NodeSelectorTerms {
		term := &selector.NodeSelectorTerms[i]
		if empty(term) {
			reasons = append(reasons, "a term without requirements matches no node")
		}
		r := failing(term, labels, name)
		if r == nil {
			continue
		}
		value, exists := labels[r.Key]
		switch {
		case slices.ContainsFunc(term.MatchFields, func(f v1.NodeSelectorRequirement) bool { return f.Key == r.Key }):
			reasons = append(reasons, fmt.Sprintf("%s, the node is %s", describe(r), name))
		case invalidLabelRequirement(r) != "":
			reasons = append(reasons, fmt.Sprintf("%s matches nothing: %s", describe(r), invalidLabelRequirement(r)))
		case exists:
			reasons = append(reasons, fmt.Sprintf("%s, the node has %q", describe(r), value))
		default:
			reasons = append(reasons, fmt.Sprintf("%s, the node has no such label", describe(r)))
		}
	}
	if len(reasons) == 0 {
		return "there are none"
	}
	return strings.Join(reasons, "; or ")
}

func describe(r *v1.NodeSelectorRequirement) string {
	switch r.Operator {
	case v1.NodeSelectorOpExists, v1.NodeSelectorOpDoesNotExist:
		return fmt.Sprintf("%s %s", r.Key, r.Operator)
	}
	return fmt.Sprintf("%s %s [%s]", r.Key, r.Operator, strings.Join(r.Values, " "))
}
