package workload

import v1 "k8s.io/api/core/v1"

// Tolerates reports whether a toleration matches the taint: an empty effect matches every effect, an empty key every key, and an empty operator means Equal.
// Upstream: api core/v1 Toleration.ToleratesTaint, v0.37, without the operators that compare numbers: they are behind a feature gate.
func Tolerates(t v1.Toleration, taint *v1.Taint) bool {
	if t.Effect != "" && t.Effect != taint.Effect || t.Key != "" && t.Key != taint.Key {
		return false
	}
	switch t.Operator {
	case v1.TolerationOpExists:
		return true
	case v1.TolerationOpEqual, "":
		return t.Value == taint.Value
	}
	return false
}
