package validation

import (
	"cmp"
	"slices"
	"strings"

	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	metavalidation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	utilvalidation "k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/storagesim/storagesim/internal/semantic"
)

// checkNewMeta validates the metadata of a new object. Good metadata is recognised
// without regular expressions; only bad metadata is given to apimachinery's
// rules, for the words.
func checkNewMeta(p *Problems, m *metav1.ObjectMeta, namespaced bool, rule nameRule) {
	if goodNewMeta(m, namespaced, rule) {
		return
	}
	p.Add(inOrder(apivalidation.ValidateObjectMeta(m, namespaced, rule.full, MetadataPath))...)
	checkFinalizerNames(p, m.Finalizers)
}

// NewMeta validates the metadata of a new object in its namespace where upstream does so after other fields. Its kind has MetaLast.
func (p *Problems) NewMeta(m *metav1.ObjectMeta, names Names) { checkNewMeta(p, m, true, names.rule()) }

// FinalizerNames does that with the names of finalizers. Its kind has AnyFinalizer.
func (p *Problems) FinalizerNames(m *metav1.ObjectMeta) { checkFinalizerNames(p, m.Finalizers) }

func goodNewMeta(m *metav1.ObjectMeta, namespaced bool, rule nameRule) bool {
	if !rule.quick(m.Name) || namespaced != (m.Namespace != "") || namespaced && !IsLabel(m.Namespace) {
		return false
	}
	if m.GenerateName != "" && !rule.quick(strings.TrimSuffix(m.GenerateName, "-")) {
		return false
	}
	return m.Generation >= 0 && len(m.ManagedFields) == 0 && goodLabels(m.Labels) &&
		goodAnnotations(m.Annotations) && goodOwners(m.OwnerReferences) && goodFinalizers(m.Finalizers)
}

// checkMetaUpdate validates the metadata of an update against the stored one. Upstream applies the rules for new objects, those for
// updates, and the latter once more. That shows only in kinds with Twice, whose problems are told as often as they are found.
func checkMetaUpdate(p *Problems, m, old *metav1.ObjectMeta) {
	if goodMetaUpdate(m, old) && (!p.twice || m.GenerateName == "") {
		return
	}
	p.Add(inOrder(apivalidation.ValidateObjectMeta(m, m.Namespace != "", pathSegmentOrPrefix, MetadataPath))...)
	if p.twice {
		p.Add(inOrder(apivalidation.ValidateObjectMetaUpdate(m, old, MetadataPath))...)
	}
	p.Add(inOrder(apivalidation.ValidateObjectMetaUpdate(m, old, MetadataPath))...)
	checkFinalizerNames(p, m.Finalizers)
}

func goodMetaUpdate(m, old *metav1.ObjectMeta) bool {
	if m.Name != old.Name || m.Namespace != old.Namespace || m.UID != old.UID ||
		m.ResourceVersion == "" || m.Generation < old.Generation || len(m.ManagedFields) != 0 {
		return false
	}
	if !m.CreationTimestamp.Equal(&old.CreationTimestamp) || !m.DeletionTimestamp.Equal(old.DeletionTimestamp) ||
		!SamePtr(m.DeletionGracePeriodSeconds, old.DeletionGracePeriodSeconds) {
		return false
	}
	if old.DeletionTimestamp != nil && !subset(m.Finalizers, old.Finalizers) {
		return false
	}
	return goodLabels(m.Labels) && goodAnnotations(m.Annotations) && goodOwners(m.OwnerReferences) &&
		goodFinalizers(m.Finalizers)
}

func goodLabels(labels map[string]string) bool {
	for k, v := range labels {
		if !IsQualifiedName(k) || !IsLabelValue(v) {
			return false
		}
	}
	return true
}

func goodAnnotations(annotations map[string]string) bool {
	size := 0
	for k, v := range annotations {
		if !IsQualifiedName(k) {
			return false
		}
		size += len(k) + len(v)
	}
	return size <= apivalidation.TotalAnnotationSizeLimitB
}

// goodOwners leaves anything unusual to the full rules.
func goodOwners(refs []metav1.OwnerReference) bool {
	controllers := 0
	for i := range refs {
		r := &refs[i]
		if r.APIVersion == "" || strings.Count(r.APIVersion, "/") > 1 || strings.HasSuffix(r.APIVersion, "/") ||
			r.Kind == "" || r.Kind == "Event" || r.Name == "" || r.UID == "" {
			return false
		}
		if r.Controller != nil && *r.Controller {
			controllers++
		}
	}
	return controllers <= 1
}

func goodFinalizers(finalizers []string) bool {
	for _, f := range finalizers {
		if !strings.Contains(f, "/") || !IsQualifiedName(f) {
			return false
		}
	}
	return true
}

// checkFinalizerNames refuses finalizers that are neither qualified nor one of the
// three that stand without a prefix.
func checkFinalizerNames(p *Problems, finalizers []string) {
	if p.anyFinalizer {
		return
	}
	for i, f := range finalizers {
		switch f {
		case metav1.FinalizerOrphanDependents, metav1.FinalizerDeleteDependents, "kubernetes":
		default:
			if !strings.Contains(f, "/") {
				p.Invalid(MetadataPath.Child("finalizers").Index(i), f,
					"name is neither a standard finalizer name nor is it fully qualified")
			}
		}
	}
}

// inOrder sorts runs of problems of one field by their text: apimachinery walks
// labels and annotations in the order of a Go map, and the same request must get
// the same answer.
func inOrder(errs field.ErrorList) field.ErrorList {
	for start := 0; start < len(errs); {
		end := start + 1
		for end < len(errs) && errs[end].Field == errs[start].Field {
			end++
		}
		slices.SortStableFunc(errs[start:end], func(a, b *field.Error) int {
			return cmp.Compare(a.Error(), b.Error())
		})
		start = end
	}
	return errs
}

// Immutable refuses a changed value, with the usual words.
func (p *Problems) Immutable(value, old any, path *field.Path) {
	if !semantic.Equal(old, value) {
		p.Invalid(path, value, apivalidation.FieldImmutableErrorMsg)
	}
}

// Fixed refuses a changed value as the declarative rules do, which do not show it.
// Upstream: apimachinery api/validate Immutable, v0.37.
func (p *Problems) Fixed(value, old any, path *field.Path) {
	if !semantic.Equal(old, value) {
		p.Invalid(path, nil, apivalidation.FieldImmutableErrorMsg)
	}
}

// Labels validates a map of labels that is not the object's own.
func (p *Problems) Labels(labels map[string]string, path *field.Path) {
	if !goodLabels(labels) {
		p.Add(inOrder(metavalidation.ValidateLabels(labels, path))...)
	}
}

// Annotations validates a map of annotations that is not the object's own.
func (p *Problems) Annotations(annotations map[string]string, path *field.Path) {
	if !goodAnnotations(annotations) {
		p.Add(inOrder(apivalidation.ValidateAnnotations(annotations, path))...)
	}
}

// LabelSelector validates a selector of labels; nil is a good one.
func (p *Problems) LabelSelector(s *metav1.LabelSelector, path *field.Path) {
	if s != nil {
		p.Add(inOrder(metavalidation.ValidateLabelSelector(s, metavalidation.LabelSelectorValidationOptions{}, path))...)
	}
}

// QualifiedName refuses what is no name with an optional domain before it, as label keys are.
func (p *Problems) QualifiedName(value string, path *field.Path) {
	if !IsQualifiedName(value) {
		p.Messages(path, value, utilvalidation.IsQualifiedName(value))
	}
}

// Subdomain refuses what is no DNS subdomain.
func (p *Problems) Subdomain(value string, path *field.Path) {
	if !IsSubdomain(value) {
		p.Messages(path, value, utilvalidation.IsDNS1123Subdomain(value))
	}
}

// DNSLabel refuses what is no DNS label.
func (p *Problems) DNSLabel(value string, path *field.Path) {
	if !IsLabel(value) {
		p.Messages(path, value, utilvalidation.IsDNS1123Label(value))
	}
}

// SamePtr reports whether both are nil or point to equal values.
func SamePtr[T comparable](a, b *T) bool {
	return a == b || a != nil && b != nil && *a == *b
}

// subset reports whether every element of a is in b.
func subset(a, b []string) bool {
	for _, s := range a {
		if !slices.Contains(b, s) {
			return false
		}
	}
	return true
}
