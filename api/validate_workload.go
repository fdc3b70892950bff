package api

import (
	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	v1 "k8s.io/api/core/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

const statefulSetImmutable = "updates to statefulset spec for fields other than 'replicas', 'ordinals', 'template', 'updateStrategy', " +
	"'revisionHistoryLimit', 'persistentVolumeClaimRetentionPolicy' and 'minReadySeconds' are forbidden"

// statefulSet validates what storage needs of a StatefulSet. Like upstream it
// leaves the pod's spec unchecked: its mounts may refer to claim templates.
// Upstream: apps/validation ValidateStatefulSetSpec, v1.36.
func (p *problems) statefulSet(s *appsv1.StatefulSet) {
	switch s.Spec.PodManagementPolicy {
	case appsv1.OrderedReadyPodManagement, appsv1.ParallelPodManagement:
	case "":
		p.required(specPath.Child("podManagementPolicy"), "")
	default:
		p.invalid(specPath.Child("podManagementPolicy"), s.Spec.PodManagementPolicy,
			"must be 'OrderedReady' or 'Parallel'")
	}
	p.replicas(s.Spec.Replicas)
	p.podSelector(s.Spec.Selector, &s.Spec.Template, "statefulset")
	p.restartAlways(&s.Spec.Template)
}

func (p *problems) statefulSetUpdate(s, old *appsv1.StatefulSet) {
	p.statefulSet(s)
	munged := old.Spec
	munged.Replicas = s.Spec.Replicas
	munged.Ordinals = s.Spec.Ordinals
	munged.Template = s.Spec.Template
	munged.UpdateStrategy = s.Spec.UpdateStrategy
	munged.RevisionHistoryLimit = s.Spec.RevisionHistoryLimit
	munged.PersistentVolumeClaimRetentionPolicy = s.Spec.PersistentVolumeClaimRetentionPolicy
	munged.MinReadySeconds = s.Spec.MinReadySeconds
	if !apiequality.Semantic.DeepEqual(&munged, &s.Spec) {
		p.forbidden(specPath, statefulSetImmutable)
	}
}

func (p *problems) deployment(d *appsv1.Deployment) {
	p.replicas(d.Spec.Replicas)
	p.podSelector(d.Spec.Selector, &d.Spec.Template, "deployment")
	p.template(&d.Spec.Template)
}

func (p *problems) daemonSet(d *appsv1.DaemonSet) {
	p.podSelector(d.Spec.Selector, &d.Spec.Template, "daemonset")
	p.template(&d.Spec.Template)
}

func (p *problems) replicaSet(r *appsv1.ReplicaSet) {
	p.replicas(r.Spec.Replicas)
	p.podSelector(r.Spec.Selector, &r.Spec.Template, "replicaset")
	p.template(&r.Spec.Template)
}

func (p *problems) job(j *batchv1.Job) {
	at := specPath.Child("template", "spec")
	p.podSpec(&j.Spec.Template.Spec, nil, at)
	switch j.Spec.Template.Spec.RestartPolicy {
	case v1.RestartPolicyOnFailure, v1.RestartPolicyNever:
	default:
		p.required(at.Child("restartPolicy"), `valid values: "OnFailure", "Never"`)
	}
}

func (p *problems) replicas(n *int32) {
	if n != nil && *n < 0 {
		p.invalid(specPath.Child("replicas"), *n, "must be greater than or equal to 0")
	}
}

// template validates a pod template whose pods always restart.
func (p *problems) template(t *v1.PodTemplateSpec) {
	p.podSpec(&t.Spec, nil, specPath.Child("template", "spec"))
	p.restartAlways(t)
}

func (p *problems) restartAlways(t *v1.PodTemplateSpec) {
	if policy := t.Spec.RestartPolicy; policy != v1.RestartPolicyAlways {
		p.add(field.NotSupported(specPath.Child("template", "spec", "restartPolicy"), policy,
			[]v1.RestartPolicy{v1.RestartPolicyAlways}))
	}
}

// podSelector requires a selector that picks the pods of the template.
func (p *problems) podSelector(s *metav1.LabelSelector, t *v1.PodTemplateSpec, kind string) {
	at := specPath.Child("selector")
	if s == nil {
		p.required(at, "")
		return
	}
	before := len(p.list)
	p.labelSelector(s, at)
	if len(p.list) > before {
		return
	}
	if len(s.MatchLabels)+len(s.MatchExpressions) == 0 {
		p.invalid(at, s, "empty selector is invalid for "+kind)
		return
	}
	if selector, err := metav1.LabelSelectorAsSelector(s); err == nil && !selector.Matches(labels.Set(t.Labels)) {
		p.invalid(specPath.Child("template", "metadata", "labels"), t.Labels, "`selector` does not match template `labels`")
	}
	p.labels(t.Labels, specPath.Child("template", "metadata", "labels"))
}
