package strategy

import v1 "k8s.io/api/core/v1"

// defaultTolerationSeconds is the time that a pod stays on a node that is gone.
const defaultTolerationSeconds = 300

// AddDefaultTolerations lets a pod outlive a short loss of its node, unless it
// says itself what to do then.
// Upstream: plugin/pkg/admission/defaulttolerationseconds, v1.37.
func AddDefaultTolerations(spec *v1.PodSpec) {
	for _, taint := range []string{v1.TaintNodeNotReady, v1.TaintNodeUnreachable} {
		if toleratesEviction(spec.Tolerations, taint) {
			continue
		}
		seconds := int64(defaultTolerationSeconds)
		spec.Tolerations = append(spec.Tolerations, v1.Toleration{
			Key: taint, Operator: v1.TolerationOpExists, Effect: v1.TaintEffectNoExecute, TolerationSeconds: &seconds,
		})
	}
}

func toleratesEviction(tolerations []v1.Toleration, taint string) bool {
	for i := range tolerations {
		t := &tolerations[i]
		if (t.Key == taint || t.Key == "") && (t.Effect == v1.TaintEffectNoExecute || t.Effect == "") {
			return true
		}
	}
	return false
}
