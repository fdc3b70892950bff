package workloads

import (
	"fmt"

	batchv1 "k8s.io/api/batch/v1"
	v1 "k8s.io/api/core/v1"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	utilvalidation "k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/storagesim/storagesim/api/internal/validation"
	"github.com/storagesim/storagesim/api/internal/validation/pods"
	"github.com/storagesim/storagesim/internal/semantic"
)

// The labels of a Job's pods from before there were prefixed ones.
const (
	legacyJobNameLabel       = "job-name"
	legacyControllerUIDLabel = "controller-uid"
)

// maxIndexedParallelism is the largest parallelism of a Job with indexes.
// Upstream: batch/validation maxParallelismForIndexedJob, v1.37.
const maxIndexedParallelism = 100_000

// checkJob validates a Job.
// Upstream: batch/validation ValidateJobCreate, ValidateJobSpec, v1.37.
func checkJob(p *validation.Problems, j *batchv1.Job) {
	checkGeneratedSelector(p, j, true)
	checkJobSpec(p, j)
	checkNameOfPods(p, j)
}

// checkJobSpec validates what a Job must also fulfil after a change.
func checkJobSpec(p *validation.Problems, j *batchv1.Job) {
	checkJobFields(p, &j.Spec, validation.SpecPath)
	if j.Spec.Selector == nil {
		p.Required(validation.SpecPath.Child("selector"), "")
	} else {
		p.LabelSelector(j.Spec.Selector, validation.SpecPath.Child("selector"))
	}
	checkSelectsTemplate(p, j.Spec.Selector, &j.Spec.Template)
}

// checkJobFields validates what is in the spec of a Job, and of the Jobs of a CronJob, which have no selector yet.
// Upstream: batch/validation validateJobSpec, v1.37.2.
func checkJobFields(p *validation.Problems, spec *batchv1.JobSpec, at *field.Path) {
	checkCountAt(p, spec.Parallelism, at, "parallelism")
	checkCountAt(p, spec.Completions, at, "completions")
	if s := spec.ActiveDeadlineSeconds; s != nil {
		p.NotNegative(*s, at, "activeDeadlineSeconds")
	}
	checkCountAt(p, spec.BackoffLimit, at, "backoffLimit")
	checkCountAt(p, spec.TTLSecondsAfterFinished, at, "ttlSecondsAfterFinished")
	checkCountAt(p, spec.BackoffLimitPerIndex, at, "backoffLimitPerIndex")
	checkCountAt(p, spec.MaxFailedIndexes, at, "maxFailedIndexes")
	if spec.MaxFailedIndexes != nil && spec.BackoffLimitPerIndex == nil {
		p.Required(at.Child("backoffLimitPerIndex"), "when maxFailedIndexes is specified")
	}
	checkManager(p, spec, at)
	checkCompletionMode(p, spec, at)
	checkPodFailurePolicy(p, spec, at.Child("podFailurePolicy"))
	checkSuccessPolicy(p, spec, at.Child("successPolicy"))
	checkPodReplacementPolicy(p, spec, at.Child("podReplacementPolicy"))
	pods.CheckTemplate(p, &spec.Template, at.Child("template"))
	restart := at.Child("template", "spec", "restartPolicy")
	switch policy := spec.Template.Spec.RestartPolicy; policy {
	case v1.RestartPolicyNever:
	case v1.RestartPolicyOnFailure:
		if spec.PodFailurePolicy != nil {
			p.Invalid(restart, policy, `only "Never" is supported when podFailurePolicy is specified`)
		}
	case v1.RestartPolicyAlways, "":
		p.Required(restart, `valid values: "OnFailure", "Never"`)
	default:
		p.Add(field.NotSupported(restart, policy, []v1.RestartPolicy{v1.RestartPolicyOnFailure, v1.RestartPolicyNever}))
	}
}

// maxManagedBy is the length of the name of a Job's manager, in bytes. Upstream: batch/validation maxManagedByLength, v1.37.2.
const maxManagedBy = 63

// checkManager validates the name of the controller that a Job is left to. Upstream: batch/validation validateJobSpec, v1.37.2.
func checkManager(p *validation.Problems, spec *batchv1.JobSpec, path *field.Path) {
	if spec.ManagedBy == nil {
		return
	}
	at := path.Child("managedBy")
	p.Add(utilvalidation.IsDomainPrefixedPath(at, *spec.ManagedBy)...)
	if len(*spec.ManagedBy) > maxManagedBy {
		p.Add(field.TooLong(at, "", maxManagedBy))
	}
}

// checkCompletionMode validates the mode and the fields that only one of them has.
func checkCompletionMode(p *validation.Problems, spec *batchv1.JobSpec, at *field.Path) {
	mode := batchv1.NonIndexedCompletion
	if spec.CompletionMode != nil {
		mode = *spec.CompletionMode
	}
	switch mode {
	case batchv1.IndexedCompletion:
		if spec.Completions == nil {
			p.Required(at.Child("completions"), "when completion mode is Indexed")
		}
		if n := spec.Parallelism; n != nil && *n > maxIndexedParallelism {
			p.Invalid(at.Child("parallelism"), *n, fmt.Sprintf("must be less than or equal to %d when completion mode is Indexed", maxIndexedParallelism))
		}
		checkFailedIndexes(p, spec, at)
	case batchv1.NonIndexedCompletion:
		if n := spec.BackoffLimitPerIndex; n != nil {
			p.Invalid(at.Child("backoffLimitPerIndex"), *n, "requires indexed completion mode")
		}
		if n := spec.MaxFailedIndexes; n != nil {
			p.Invalid(at.Child("maxFailedIndexes"), *n, "requires indexed completion mode")
		}
	default:
		p.Add(field.NotSupported(at.Child("completionMode"), mode, []batchv1.CompletionMode{batchv1.NonIndexedCompletion, batchv1.IndexedCompletion}))
	}
}

// checkNameOfPods refuses the name of a Job with indexes whose last pod would have no host name.
// Upstream: batch/validation validateNameAllowsCompletions, v1.37.2.
func checkNameOfPods(p *validation.Problems, j *batchv1.Job) {
	n := j.Spec.Completions
	if n == nil || *n <= 0 || j.Spec.CompletionMode == nil || *j.Spec.CompletionMode != batchv1.IndexedCompletion {
		return
	}
	if last := fmt.Sprintf("%s-%d", j.Name, *n-1); len(utilvalidation.IsDNS1123Label(last)) > 0 {
		p.Invalid(validation.MetadataPath.Child("name"), j.Name, "will not able to create pod with invalid DNS label: "+last)
	}
}

// checkGeneratedSelector refuses labels and selectors that a client wrote where the server makes them. prefixed says whether the
// labels with a prefix must be there: old Jobs lack them.
// Upstream: batch/validation validateGeneratedSelector, v1.37.
func checkGeneratedSelector(p *validation.Problems, j *batchv1.Job, prefixed bool) {
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
		at, want := validation.SpecPath.Child("template", "metadata", "labels").Key(name), fmt.Sprintf("must be '%s'", expected[name])
		switch value, has := j.Spec.Template.Labels[name]; {
		case !has:
			p.Required(at, want)
		case value != expected[name]:
			p.Invalid(at, j.Spec.Template.Labels, want)
		}
	}
	selector, err := metav1.LabelSelectorAsSelector(j.Spec.Selector)
	if err == nil && !selector.Matches(expected) {
		p.Invalid(validation.SpecPath.Child("selector"), j.Spec.Selector, "`selector` not auto-generated")
	}
}

// checkJobUpdate validates a change of a Job.
// Upstream: batch/validation ValidateJobUpdate, ValidateJobSpecUpdate, v1.37.
func checkJobUpdate(p *validation.Problems, j, old *batchv1.Job) {
	checkJobSpec(p, j)
	now, was := &j.Spec, &old.Spec
	indexed := now.CompletionMode != nil && *now.CompletionMode == batchv1.IndexedCompletion
	switch at := validation.SpecPath.Child("completions"); {
	case !indexed:
		p.Immutable(now.Completions, was.Completions, at)
	case now.Completions != nil && !semantic.Equal(now.Completions, was.Completions) &&
		(now.Parallelism == nil || *now.Completions != *now.Parallelism):
		p.Invalid(at, *now.Completions, "can only be modified in tandem with spec.parallelism")
	}
	p.Immutable(now.Selector, was.Selector, validation.SpecPath.Child("selector"))
	checkJobTemplateUpdate(p, j, old)
	p.Immutable(now.CompletionMode, was.CompletionMode, validation.SpecPath.Child("completionMode"))
	p.Immutable(now.PodFailurePolicy, was.PodFailurePolicy, validation.SpecPath.Child("podFailurePolicy"))
	p.Immutable(now.BackoffLimitPerIndex, was.BackoffLimitPerIndex, validation.SpecPath.Child("backoffLimitPerIndex"))
	p.Immutable(now.ManagedBy, was.ManagedBy, validation.SpecPath.Child("managedBy"))
	p.Immutable(now.SuccessPolicy, was.SuccessPolicy, validation.SpecPath.Child("successPolicy"))
	checkNameOfPods(p, j)
}

// checkJobTemplateUpdate refuses a change of the template, but of a suspended Job without pods those of where its pods may run and what they ask for.
// Upstream: batch/validation validatePodTemplateUpdate, registry/batch/job shouldAllowMutablePodTemplate, v1.37.
func checkJobTemplateUpdate(p *validation.Problems, j, old *batchv1.Job) {
	now, was := &j.Spec.Template, &old.Spec.Template
	suspended := old.Spec.Suspend != nil && *old.Spec.Suspend
	if !suspended || old.Status.Active > 0 || old.Status.StartTime != nil && !isTrue(old.Status.Conditions, batchv1.JobSuspended) {
		checkImmutableForm(p, now, was, validation.SpecPath.Child("template"))
		return
	}
	was = was.DeepCopy()
	was.Labels, was.Annotations = now.Labels, now.Annotations
	was.Spec.NodeSelector, was.Spec.Tolerations, was.Spec.SchedulingGates = now.Spec.NodeSelector, now.Spec.Tolerations, now.Spec.SchedulingGates
	if was.Spec.Affinity == nil {
		was.Spec.Affinity = &v1.Affinity{}
	}
	was.Spec.Affinity.NodeAffinity = nil
	if now.Spec.Affinity != nil {
		was.Spec.Affinity.NodeAffinity = now.Spec.Affinity.NodeAffinity
	}
	if now.Spec.Affinity == nil && semantic.Equal(was.Spec.Affinity, &v1.Affinity{}) {
		was.Spec.Affinity = nil
	}
	takeResources(was.Spec.Containers, now.Spec.Containers)
	takeResources(was.Spec.InitContainers, now.Spec.InitContainers)
	checkImmutableForm(p, now.Spec, was.Spec, validation.SpecPath.Child("template.spec"))
}

// checkImmutableForm refuses a changed value, which the message shows as the server's own type.
func checkImmutableForm(p *validation.Problems, value, old any, path *field.Path) {
	if !semantic.Equal(old, value) {
		p.Invalid(path, validation.InternalForm{Value: value}, apivalidation.FieldImmutableErrorMsg)
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
