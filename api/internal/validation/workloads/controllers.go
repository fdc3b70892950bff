package workloads

import (
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/storagesim/storagesim/api/internal/validation"
	"github.com/storagesim/storagesim/api/internal/validation/pods"
)

// PodTemplates returns the validation of podtemplates.
// Upstream: core/validation ValidatePodTemplate and ValidatePodTemplateUpdate, v1.37.2.
func PodTemplates() validation.Kind {
	check := func(p *validation.Problems, t *v1.PodTemplate) {
		pods.CheckTemplate(p, &t.Template, field.NewPath("template"))
	}
	return validation.Typed[*v1.PodTemplate]{Create: check, Update: func(p *validation.Problems, t, _ *v1.PodTemplate) { check(p, t) }}.Kind()
}

// ReplicationControllers returns the validation of replicationcontrollers.
func ReplicationControllers() validation.Kind {
	return validation.Typed[*v1.ReplicationController]{
		Create: checkReplicationController,
		Update: func(p *validation.Problems, rc, _ *v1.ReplicationController) { checkReplicationController(p, rc) },
		Status: func(p *validation.Problems, rc, _ *v1.ReplicationController) { checkReplicationStatus(p, &rc.Status) },
	}.Kind()
}

// checkReplicationController validates a ReplicationController. Its numbers come last, since v1.37 validates them by tags of their fields.
// Upstream: core/validation ValidateReplicationControllerSpec and ValidatePodTemplateSpecForRC, v1.37.2.
func checkReplicationController(p *validation.Problems, rc *v1.ReplicationController) {
	if labels.Set(rc.Spec.Selector).AsSelector().Empty() {
		p.Required(validation.SpecPath.Child("selector"), "")
	}
	if t := rc.Spec.Template; t == nil {
		p.Required(validation.SpecPath.Child("template"), "")
	} else {
		if selector := labels.Set(rc.Spec.Selector).AsSelector(); !selector.Empty() && !selector.Matches(labels.Set(t.Labels)) {
			p.Invalid(validation.SpecPath.Child("template", "metadata", "labels"), t.Labels, "`selector` does not match template `labels`")
		}
		pods.CheckTemplate(p, t, validation.SpecPath.Child("template"))
		checkRestartAlways(p, t, "ReplicationController")
	}
	checkCount(p, rc.Spec.Replicas, "replicas")
	p.NotNegative(int64(rc.Spec.MinReadySeconds), validation.SpecPath, "minReadySeconds")
}

// checkReplicationStatus validates a status update.
// Upstream: core/validation ValidateReplicationControllerStatus, v1.37.2.
func checkReplicationStatus(p *validation.Problems, status *v1.ReplicationControllerStatus) {
	for _, c := range []struct {
		name string
		n    int64
	}{
		{"replicas", int64(status.Replicas)}, {"fullyLabeledReplicas", int64(status.FullyLabeledReplicas)}, {"readyReplicas", int64(status.ReadyReplicas)},
		{"availableReplicas", int64(status.AvailableReplicas)}, {"observedGeneration", status.ObservedGeneration},
	} {
		p.NotNegative(c.n, validation.StatusPath, c.name)
	}
	checkMost(p, "fullyLabeledReplicas", status.FullyLabeledReplicas, status.Replicas, "status.replicas")
	checkMost(p, "readyReplicas", status.ReadyReplicas, status.Replicas, "status.replicas")
	checkMost(p, "availableReplicas", status.AvailableReplicas, status.Replicas, "status.replicas")
	checkMost(p, "availableReplicas", status.AvailableReplicas, status.ReadyReplicas, "readyReplicas")
}
