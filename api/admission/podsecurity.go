package admission

import (
	"cmp"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"sync"

	batchv1 "k8s.io/api/batch/v1"
	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
	security "k8s.io/pod-security-admission/api"
	"k8s.io/pod-security-admission/policy"

	"github.com/storagesim/storagesim/api/internal/call"
	"github.com/storagesim/storagesim/api/internal/refusal"
	"github.com/storagesim/storagesim/api/internal/strategy"
	"github.com/storagesim/storagesim/api/registry"
)

// podChecks returns the checks of the Pod Security Standards, of all versions. They are the same for all servers.
var podChecks = sync.OnceValues(func() (policy.Evaluator, error) { return policy.NewEvaluator(policy.DefaultChecks(), nil) })

// unrestricted holds where a namespace says nothing.
var unrestricted = security.LevelVersion{Level: security.LevelPrivileged, Version: security.LatestVersion()}

// policyOf returns what the labels of a namespace ask of its pods, and what is wrong with them.
func policyOf(labels map[string]string) (security.Policy, field.ErrorList) {
	return security.PolicyToEvaluate(labels, security.Policy{Enforce: unrestricted, Audit: unrestricted, Warn: unrestricted})
}

// PodSecurity refuses a pod that its namespace, by its labels, does not allow, and a namespace with labels that are wrong. It returns the warnings for those
// of which the namespace warns, which are templates of pods, too, and for the pods of a namespace that allows them no more. old is nil for a new
// object; sub is the subresource that is written, or "". The audit log, which there is not, is all that it leaves out.
//
// Upstream: pod-security-admission admission.go Validate, v0.37.2.
func PodSecurity(r Reader, obj, old call.Object, sub string) (warnings []string, _ error) {
	if namespace, ok := obj.(*v1.Namespace); ok {
		before, _ := old.(*v1.Namespace)
		return namespaceSecurity(r, namespace, before, sub)
	}
	pod, isPod := obj.(*v1.Pod)
	metadata, spec := podOf(obj)
	if spec == nil || !isPod && sub != "" {
		return nil, nil
	}
	namespace := get[*v1.Namespace](r, registry.Namespaces, obj.GetNamespace())
	if namespace == nil {
		return nil, nil
	}
	wanted, _ := policyOf(namespace.Labels) // what is wrong with the labels asks for most
	if wanted.Enforce.Level == security.LevelPrivileged && wanted.Warn.Level == security.LevelPrivileged {
		return nil, nil
	}
	if before, _ := old.(*v1.Pod); isPod && before != nil && !isSignificantPodUpdate(pod, before) {
		return nil, nil
	}
	checks, err := podChecks()
	if err != nil {
		return nil, err
	}
	detail := func(level security.LevelVersion) string {
		if result := policy.AggregateCheckResults(checks.EvaluatePod(level, metadata, spec)); !result.Allowed {
			return result.ForbiddenDetail()
		}
		return ""
	}
	if isPod {
		if why := detail(wanted.Enforce); why != "" {
			return nil, refusal.Forbidden(v1.Resource("pods"), pod.Name, fmt.Sprintf("violates PodSecurity %q: %s", wanted.Enforce, why))
		}
	}
	if why := detail(wanted.Warn); why != "" {
		warnings = append(warnings, fmt.Sprintf("would violate PodSecurity %q: %s", wanted.Warn, why))
	}
	return warnings, nil
}

// podOf returns metadata and spec of a pod, or of the pods that an object makes; nil if it makes none.
//
// Upstream: pod-security-admission admission.go DefaultPodSpecExtractor, v0.37.2.
func podOf(obj call.Object) (*metav1.ObjectMeta, *v1.PodSpec) {
	template := strategy.PodTemplate(obj)
	switch o := obj.(type) {
	case *v1.Pod:
		return &o.ObjectMeta, &o.Spec
	case *v1.PodTemplate:
		template = &o.Template
	case *v1.ReplicationController:
		template = o.Spec.Template
	case *batchv1.CronJob:
		template = &o.Spec.JobTemplate.Spec.Template
	}
	if template == nil {
		return nil, nil
	}
	return &template.ObjectMeta, &template.Spec
}

// isSignificantPodUpdate reports whether a pod has changed in what may change of it and matters: its images, and its ephemeral containers.
//
// Upstream: pod-security-admission admission.go isSignificantPodUpdate, v0.37.2.
func isSignificantPodUpdate(pod, old *v1.Pod) bool {
	images := func(list []v1.Container) (images []string) {
		for _, c := range list {
			images = append(images, c.Image)
		}
		return images
	}
	if !slices.Equal(images(pod.Spec.Containers), images(old.Spec.Containers)) || !slices.Equal(images(pod.Spec.InitContainers), images(old.Spec.InitContainers)) {
		return true
	}
	return slices.ContainsFunc(pod.Spec.EphemeralContainers, func(c v1.EphemeralContainer) bool {
		return !slices.ContainsFunc(old.Spec.EphemeralContainers, func(o v1.EphemeralContainer) bool { return o.Name == c.Name && o.Image == c.Image })
	})
}

// namespaceSecurity refuses labels of a namespace that are wrong, unless they were so before, and warns of its pods that a stricter level would not allow.
//
// Upstream: pod-security-admission admission.go ValidateNamespace, v0.37.2.
func namespaceSecurity(r Reader, namespace, old *v1.Namespace, sub string) ([]string, error) {
	if sub != "" {
		return nil, nil
	}
	wanted, errs := policyOf(namespace.Labels)
	invalid := func() error {
		return apierrors.NewInvalid(v1.SchemeGroupVersion.WithKind("Namespace").GroupKind(), namespace.Name, errs)
	}
	if old == nil {
		if len(errs) > 0 {
			return nil, invalid()
		}
		return nil, nil
	}
	before, wrong := policyOf(old.Labels)
	if len(errs) > 0 && (len(wrong) == 0 || !reflect.DeepEqual(errs, wrong)) {
		return nil, invalid()
	}
	relaxed := wanted.Enforce.Version == before.Enforce.Version && security.CompareLevels(wanted.Enforce.Level, before.Enforce.Level) < 1
	if wanted.Enforce.Level == security.LevelPrivileged || relaxed {
		return nil, nil
	}
	return podsInNamespace(list[*v1.Pod](r, v1.SchemeGroupVersion.WithResource("pods"), namespace.Name), namespace.Name, wanted.Enforce)
}

// mostChecked is the number of a namespace's pods that are looked at.
//
// Upstream: pod-security-admission admission.go defaultNamespaceMaxPodsToCheck, v0.37.2.
const mostChecked = 3000

// podsInNamespace returns the warnings for pods that a namespace would not allow any more: one for all with the same reason. Of one controller's pods the
// first comes before the others.
//
// Upstream: pod-security-admission admission.go EvaluatePodsInNamespace, v0.37.2.
func podsInNamespace(pods []*v1.Pod, namespace string, level security.LevelVersion) (warnings []string, _ error) {
	checks, err := podChecks()
	if err != nil {
		return nil, err
	}
	pods, all := firstOfEach(pods), len(pods)
	pods = pods[:min(len(pods), mostChecked)]
	reasons := map[string][]string{} // with the names of the pods
	for _, pod := range pods {
		if result := policy.AggregateCheckResults(checks.EvaluatePod(level, &pod.ObjectMeta, &pod.Spec)); !result.Allowed {
			reasons[result.ForbiddenReason()] = append(reasons[result.ForbiddenReason()], pod.Name)
		}
	}
	if len(pods) < all {
		warnings = append(warnings, fmt.Sprintf("new PodSecurity enforce level only checked against the first %d of %d existing pods", len(pods), all))
	}
	if len(reasons) > 0 {
		warnings = append(warnings, fmt.Sprintf("existing pods in namespace %q violate the new PodSecurity enforce level %q", namespace, level))
	}
	var told []string
	for reason, names := range maps.All(reasons) {
		first := slices.Min(names)
		switch others := len(names) - 1; others {
		case 0:
		case 1:
			first += " (and 1 other pod)"
		default:
			first += fmt.Sprintf(" (and %d other pods)", others)
		}
		told = append(told, first+": "+reason)
	}
	slices.Sort(told)
	return append(warnings, told...), nil
}

// firstOfEach returns pods so that of each controller's pods all but the first stand at the end.
//
// Upstream: pod-security-admission admission.go prioritizePods, v0.37.2.
func firstOfEach(pods []*v1.Pod) []*v1.Pod {
	pods = slices.Clone(pods)
	seen, again := map[any]bool{}, map[*v1.Pod]int{}
	for _, pod := range pods {
		if owner := metav1.GetControllerOf(pod); owner != nil {
			if seen[owner.UID] {
				again[pod] = 1
			}
			seen[owner.UID] = true
		}
	}
	slices.SortStableFunc(pods, func(a, b *v1.Pod) int { return cmp.Compare(again[a], again[b]) })
	return pods
}
