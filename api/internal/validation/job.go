package validation

import (
	"fmt"

	batchv1 "k8s.io/api/batch/v1"
	v1 "k8s.io/api/core/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// The labels of a Job's pods from before there were prefixed ones.
const (
	legacyJobNameLabel       = "job-name"
	legacyControllerUIDLabel = "controller-uid"
)

// maxIndexedParallelism is the largest parallelism of a Job with indexes.
// Upstream: batch/validation maxParallelismForIndexedJob, v1.37.
const maxIndexedParallelism = 100_000

// job validates a Job.
// Upstream: batch/validation ValidateJobCreate, ValidateJobSpec, v1.37.
func (p *problems) job(j *batchv1.Job) {
	p.generatedSelector(j, true)
	p.jobSpec(j)
}

// jobSpec validates what a Job must also fulfil after a change.
func (p *problems) jobSpec(j *batchv1.Job) {
	p.count(j.Spec.Parallelism, "parallelism")
	p.count(j.Spec.Completions, "completions")
	if s := j.Spec.ActiveDeadlineSeconds; s != nil {
		p.notNegative(*s, specPath, "activeDeadlineSeconds")
	}
	p.count(j.Spec.BackoffLimit, "backoffLimit")
	p.count(j.Spec.TTLSecondsAfterFinished, "ttlSecondsAfterFinished")
	p.count(j.Spec.BackoffLimitPerIndex, "backoffLimitPerIndex")
	p.completionMode(j)
	at := specPath.Child("template")
	p.template(&j.Spec.Template, at)
	switch policy := j.Spec.Template.Spec.RestartPolicy; policy {
	case v1.RestartPolicyOnFailure, v1.RestartPolicyNever:
	case v1.RestartPolicyAlways, "":
		p.required(at.Child("spec", "restartPolicy"), `valid values: "OnFailure", "Never"`)
	default:
		p.add(field.NotSupported(at.Child("spec", "restartPolicy"), policy, []v1.RestartPolicy{v1.RestartPolicyOnFailure, v1.RestartPolicyNever}))
	}
	if j.Spec.Selector == nil {
		p.required(specPath.Child("selector"), "")
	} else {
		p.labelSelector(j.Spec.Selector, specPath.Child("selector"))
	}
	p.selects(j.Spec.Selector, &j.Spec.Template)
}

// completionMode validates the mode and the fields that only one of them has.
func (p *problems) completionMode(j *batchv1.Job) {
	mode := batchv1.NonIndexedCompletion
	if j.Spec.CompletionMode != nil {
		mode = *j.Spec.CompletionMode
	}
	switch mode {
	case batchv1.IndexedCompletion:
		if j.Spec.Completions == nil {
			p.required(specPath.Child("completions"), "when completion mode is Indexed")
			return
		}
		if n := j.Spec.Parallelism; n != nil && *n > maxIndexedParallelism {
			p.invalid(specPath.Child("parallelism"), *n, fmt.Sprintf("must be less than or equal to %d when completion mode is Indexed", maxIndexedParallelism))
		}
		if last := fmt.Sprintf("%s-%d", j.Name, *j.Spec.Completions-1); *j.Spec.Completions > 0 && len(validation.IsDNS1123Label(last)) > 0 {
			p.invalid(field.NewPath("metadata", "name"), j.Name, "will not able to create pod with invalid DNS label: "+last)
		}
	case batchv1.NonIndexedCompletion:
		if n := j.Spec.BackoffLimitPerIndex; n != nil {
			p.invalid(specPath.Child("backoffLimitPerIndex"), *n, "requires indexed completion mode")
		}
		if n := j.Spec.MaxFailedIndexes; n != nil {
			p.invalid(specPath.Child("maxFailedIndexes"), *n, "requires indexed completion mode")
		}
	default:
		p.add(field.NotSupported(specPath.Child("completionMode"), mode, []batchv1.CompletionMode{batchv1.NonIndexedCompletion, batchv1.IndexedCompletion}))
	}
}

// generatedSelector refuses labels and selectors that a client wrote where the server makes them. prefixed says whether the labels with a prefix must be there: old Jobs lack them.
// Upstream: batch/validation validateGeneratedSelector, v1.37.
func (p *problems) generatedSelector(j *batchv1.Job, prefixed bool) {
	if j.Spec.ManualSelector != nil && *j.Spec.ManualSelector || j.Spec.Selector == nil {
		return
	}
	expected := labels.Set{legacyControllerUIDLabel: string(j.UID), legacyJobNameLabel: j.Name}
	names := []string{legacyControllerUIDLabel, legacyJobNameLabel}
	if prefixed {
		expected[batchv1.ControllerUidLabel], expected[batchv1.JobNameLabel] = string(j.UID), j.Name
		names = append(names, batchv1.ControllerUidLabel, batchv1.JobNameLabel)
	}
	for _, name := range names {
		at, want := specPath.Child("template", "metadata", "labels").Key(name), fmt.Sprintf("must be '%s'", expected[name])
		switch value, has := j.Spec.Template.Labels[name]; {
		case !has:
			p.required(at, want)
		case value != expected[name]:
			p.invalid(at, j.Spec.Template.Labels, want)
		}
	}
	selector, err := metav1.LabelSelectorAsSelector(j.Spec.Selector)
	if err == nil && !selector.Matches(expected) {
		p.invalid(specPath.Child("selector"), j.Spec.Selector, "`selector` not auto-generated")
	}
}

// jobUpdate validates a change of a Job.
// Upstream: batch/validation ValidateJobUpdate, ValidateJobSpecUpdate, v1.37.
func (p *problems) jobUpdate(j, old *batchv1.Job) {
	p.jobSpec(j)
	now, was := &j.Spec, &old.Spec
	indexed := now.CompletionMode != nil && *now.CompletionMode == batchv1.IndexedCompletion
	switch at := specPath.Child("completions"); {
	case !indexed:
		p.immutable(now.Completions, was.Completions, at)
	case now.Completions != nil && !apiequality.Semantic.DeepEqual(now.Completions, was.Completions) && (now.Parallelism == nil || *now.Completions != *now.Parallelism):
		p.invalid(at, *now.Completions, "can only be modified in tandem with spec.parallelism")
	}
	p.immutable(now.Selector, was.Selector, specPath.Child("selector"))
	p.jobTemplateUpdate(j, old)
	p.immutable(now.CompletionMode, was.CompletionMode, specPath.Child("completionMode"))
	p.immutable(now.PodFailurePolicy, was.PodFailurePolicy, specPath.Child("podFailurePolicy"))
	p.immutable(now.BackoffLimitPerIndex, was.BackoffLimitPerIndex, specPath.Child("backoffLimitPerIndex"))
	p.immutable(now.ManagedBy, was.ManagedBy, specPath.Child("managedBy"))
	p.immutable(now.SuccessPolicy, was.SuccessPolicy, specPath.Child("successPolicy"))
}

// jobTemplateUpdate refuses a change of the template, but of a suspended Job without pods those of where its pods may run and what they ask for.
// Upstream: batch/validation validatePodTemplateUpdate, registry/batch/job shouldAllowMutablePodTemplate, v1.37.
func (p *problems) jobTemplateUpdate(j, old *batchv1.Job) {
	now, was := &j.Spec.Template, &old.Spec.Template
	suspended := old.Spec.Suspend != nil && *old.Spec.Suspend
	if !suspended || old.Status.Active > 0 || old.Status.StartTime != nil && !isTrue(old.Status.Conditions, batchv1.JobSuspended) {
		p.immutableForm(now, was, specPath.Child("template"))
		return
	}
	was = was.DeepCopy()
	was.Labels, was.Annotations = now.Labels, now.Annotations
	was.Spec.NodeSelector, was.Spec.Tolerations, was.Spec.SchedulingGates = now.Spec.NodeSelector, now.Spec.Tolerations, now.Spec.SchedulingGates
	nodeAffinity := func(a *v1.Affinity) *v1.NodeAffinity {
		if a == nil {
			return nil
		}
		return a.NodeAffinity
	}
	if was.Spec.Affinity == nil {
		was.Spec.Affinity = &v1.Affinity{}
	}
	was.Spec.Affinity.NodeAffinity = nodeAffinity(now.Spec.Affinity)
	if now.Spec.Affinity == nil && apiequality.Semantic.DeepEqual(was.Spec.Affinity, &v1.Affinity{}) {
		was.Spec.Affinity = nil
	}
	takeResources(was.Spec.Containers, now.Spec.Containers)
	takeResources(was.Spec.InitContainers, now.Spec.InitContainers)
	p.immutableForm(now.Spec, was.Spec, specPath.Child("template.spec"))
}

// immutableForm refuses a changed value, which the message shows as the server's own type.
func (p *problems) immutableForm(value, old any, path *field.Path) {
	if !apiequality.Semantic.DeepEqual(old, value) {
		p.invalid(path, internalForm{value}, apivalidation.FieldImmutableErrorMsg)
	}
}

// takeResources gives containers the resources of those of the same names, if there are as many.
func takeResources(was, now []v1.Container) {
	for i := range was {
		if len(was) == len(now) && was[i].Name == now[i].Name {
			was[i].Resources = now[i].Resources
		}
	}
}

func isTrue(conditions []batchv1.JobCondition, kind batchv1.JobConditionType) bool {
	for i := range conditions {
		if conditions[i].Type == kind {
			return conditions[i].Status == v1.ConditionTrue
		}
	}
	return false
}
