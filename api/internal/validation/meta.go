package validation

import (
	"cmp"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	metavalidation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// newMeta validates the metadata of a new object. Good metadata is recognised
// without regular expressions; only bad metadata is given to apimachinery's
// rules, for the words.
func (p *problems) newMeta(m *metav1.ObjectMeta, namespaced bool, rule nameRule) {
	if goodNewMeta(m, namespaced, rule) {
		return
	}
	p.add(inOrder(apivalidation.ValidateObjectMeta(m, namespaced, rule.full, metadataPath))...)
	p.finalizerNames(m.Finalizers)
}

func goodNewMeta(m *metav1.ObjectMeta, namespaced bool, rule nameRule) bool {
	if !rule.quick(m.Name) || namespaced != (m.Namespace != "") || namespaced && !isLabel(m.Namespace) {
		return false
	}
	if m.GenerateName != "" && !rule.quick(strings.TrimSuffix(m.GenerateName, "-")) {
		return false
	}
	return m.Generation >= 0 && len(m.ManagedFields) == 0 && goodLabels(m.Labels) &&
		goodAnnotations(m.Annotations) && goodOwners(m.OwnerReferences) && goodFinalizers(m.Finalizers)
}

// metaUpdate validates the metadata of an update against the stored one.
func (p *problems) metaUpdate(m, old *metav1.ObjectMeta) {
	if goodMetaUpdate(m, old) {
		return
	}
	p.add(inOrder(apivalidation.ValidateObjectMetaUpdate(m, old, metadataPath))...)
	p.add(apivalidation.ValidateFinalizers(m.Finalizers, metadataPath.Child("finalizers"))...)
	p.finalizerNames(m.Finalizers)
}

func goodMetaUpdate(m, old *metav1.ObjectMeta) bool {
	if m.Name != old.Name || m.Namespace != old.Namespace || m.UID != old.UID ||
		m.ResourceVersion == "" || m.Generation < old.Generation || len(m.ManagedFields) != 0 {
		return false
	}
	if !m.CreationTimestamp.Equal(&old.CreationTimestamp) || !m.DeletionTimestamp.Equal(old.DeletionTimestamp) ||
		!samePtr(m.DeletionGracePeriodSeconds, old.DeletionGracePeriodSeconds) {
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
		if !isQualifiedName(k) || !isLabelValue(v) {
			return false
		}
	}
	return true
}

func goodAnnotations(annotations map[string]string) bool {
	size := 0
	for k, v := range annotations {
		if !isQualifiedName(k) {
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
		if !strings.Contains(f, "/") || !isQualifiedName(f) {
			return false
		}
	}
	return true
}

// finalizerNames refuses finalizers that are neither qualified nor one of the
// three that stand without a prefix.
func (p *problems) finalizerNames(finalizers []string) {
	if p.anyFinalizer {
		return
	}
	for i, f := range finalizers {
		switch f {
		case metav1.FinalizerOrphanDependents, metav1.FinalizerDeleteDependents, "kubernetes":
		default:
			if !strings.Contains(f, "/") {
				p.invalid(metadataPath.Child("finalizers").Index(i), f,
					"name is neither a standard finalizer name nor is it fully qualified")
			}
		}
	}
}

// namespaceFinalizers validates who has to empty a namespace before it goes.
// Upstream: core/validation ValidateNamespace, v1.37.
func (p *problems) namespaceFinalizers(finalizers []v1.FinalizerName) {
	for _, f := range finalizers {
		p.namespaceFinalizer(f, specPath.Child("finalizers"))
	}
}

// FinalizersOfNamespace says what is wrong with the spec.finalizers that a namespace is given through its subresource finalize.
// Upstream: core/validation ValidateNamespaceFinalizeUpdate, v1.37.2.
func FinalizersOfNamespace(finalizers []v1.FinalizerName) field.ErrorList {
	var p problems
	for i, f := range finalizers {
		p.namespaceFinalizer(f, specPath.Child("finalizers").Index(i))
	}
	return p.list
}

func (p *problems) namespaceFinalizer(f v1.FinalizerName, at *field.Path) {
	p.add(apivalidation.ValidateFinalizerName(string(f), at)...)
	if !strings.Contains(string(f), "/") && f != v1.FinalizerKubernetes &&
		f != metav1.FinalizerOrphanDependents && f != metav1.FinalizerDeleteDependents {
		p.invalid(at, string(f), "name is neither a standard finalizer name nor is it fully qualified")
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

// immutable refuses a changed value, with the usual words.
func (p *problems) immutable(value, old any, path *field.Path) {
	if !apiequality.Semantic.DeepEqual(old, value) {
		p.invalid(path, value, apivalidation.FieldImmutableErrorMsg)
	}
}

// fixed refuses a changed value as the declarative rules do, which do not show it.
// Upstream: apimachinery api/validate Immutable, v0.37.
func (p *problems) fixed(value, old any, path *field.Path) {
	if !apiequality.Semantic.DeepEqual(old, value) {
		p.invalid(path, nil, apivalidation.FieldImmutableErrorMsg)
	}
}

// labels validates a map of labels that is not the object's own.
func (p *problems) labels(labels map[string]string, path *field.Path) {
	if !goodLabels(labels) {
		p.add(inOrder(metavalidation.ValidateLabels(labels, path))...)
	}
}

// annotations validates a map of annotations that is not the object's own.
func (p *problems) annotations(annotations map[string]string, path *field.Path) {
	if !goodAnnotations(annotations) {
		p.add(inOrder(apivalidation.ValidateAnnotations(annotations, path))...)
	}
}

func (p *problems) labelSelector(s *metav1.LabelSelector, path *field.Path) {
	if s != nil {
		p.add(inOrder(metavalidation.ValidateLabelSelector(s, metavalidation.LabelSelectorValidationOptions{}, path))...)
	}
}

func (p *problems) qualifiedName(value string, path *field.Path) {
	if !isQualifiedName(value) {
		p.messages(path, value, validation.IsQualifiedName(value))
	}
}

func (p *problems) subdomain(value string, path *field.Path) {
	if !isSubdomain(value) {
		p.messages(path, value, validation.IsDNS1123Subdomain(value))
	}
}

func (p *problems) dnsLabel(value string, path *field.Path) {
	if !isLabel(value) {
		p.messages(path, value, validation.IsDNS1123Label(value))
	}
}

// samePtr reports whether both are nil or point to equal values.
func samePtr[T comparable](a, b *T) bool {
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
