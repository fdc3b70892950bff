package binding

import (
	"strconv"
	"strings"

	v1 "k8s.io/api/core/v1"
)

// A requirement that is not well formed matches nothing, not even with NotIn, so the rule
// has to check its form. The API server refuses such requirements; these checks are for
// objects that came another way. They allocate nothing, since they run for every volume.

// invalidLabelRequirement returns what is wrong with the requirement, "" if it is valid.
// Upstream: apimachinery labels.NewRequirement, v1.37.
func invalidLabelRequirement(r *v1.NodeSelectorRequirement) string {
	if !isLabelKey(r.Key) {
		return "key is not a label key"
	}
	switch r.Operator {
	case v1.NodeSelectorOpIn, v1.NodeSelectorOpNotIn:
		if len(r.Values) == 0 {
			return "values must not be empty for In and NotIn"
		}
	case v1.NodeSelectorOpExists, v1.NodeSelectorOpDoesNotExist:
		if len(r.Values) != 0 {
			return "values must be empty for Exists and DoesNotExist"
		}
	case v1.NodeSelectorOpGt, v1.NodeSelectorOpLt:
		if len(r.Values) != 1 {
			return "values must be one integer for Gt and Lt"
		}
		if _, err := strconv.ParseInt(r.Values[0], 10, 64); err != nil {
			return "values must be one integer for Gt and Lt"
		}
	default:
		return "operator must be In, NotIn, Exists, DoesNotExist, Gt or Lt"
	}
	for _, value := range r.Values {
		if value != "" && !isLabelName(value) {
			return "a value is not a label value"
		}
	}
	return ""
}

// invalidFieldRequirement returns what is wrong with the requirement, "" if it is valid.
// Upstream: component-helpers nodeaffinity nodeSelectorRequirementsAsFieldSelector, v1.37.
func invalidFieldRequirement(r *v1.NodeSelectorRequirement) string {
	switch {
	case r.Operator != v1.NodeSelectorOpIn && r.Operator != v1.NodeSelectorOpNotIn:
		return "operator must be In or NotIn"
	case len(r.Values) != 1:
		return "values must be one name"
	}
	return ""
}

// isLabelKey reports whether s is a name, with or without a DNS subdomain and a slash
// before it.
func isLabelKey(s string) bool {
	prefix, name, found := strings.Cut(s, "/")
	if !found {
		return isLabelName(s)
	}
	return isSubdomain(prefix) && isLabelName(name)
}

// isLabelName reports whether s has 1 to 63 letters, digits, '-', '_' and '.', with a
// letter or digit at both ends.
func isLabelName(s string) bool {
	if s == "" || len(s) > 63 || !isAlphanumeric(s[0]) || !isAlphanumeric(s[len(s)-1]) {
		return false
	}
	for i := range len(s) {
		if c := s[i]; !isAlphanumeric(c) && c != '-' && c != '_' && c != '.' {
			return false
		}
	}
	return true
}

// isSubdomain reports whether s has up to 253 lower-case letters, digits, '-' and '.',
// with a letter or digit at both ends and on both sides of each dot.
func isSubdomain(s string) bool {
	if s == "" || len(s) > 253 {
		return false
	}
	for i := range len(s) {
		c := s[i]
		edge := i == 0 || i == len(s)-1 || s[i-1] == '.' || s[i+1] == '.'
		switch {
		case c >= 'a' && c <= 'z', c >= '0' && c <= '9':
		case (c == '-' || c == '.') && !edge:
		default:
			return false
		}
	}
	return true
}

func isAlphanumeric(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9'
}
