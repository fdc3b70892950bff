package cluster

import (
	"slices"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/validate/content"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/storagesim/storagesim/api/internal/validation"
)

// Roles returns the validation of roles.
func Roles() validation.Kind {
	return validation.Typed[*rbacv1.Role]{
		Names: validation.PathSegment, Again: true, Create: checkRole,
		Update: func(p *validation.Problems, role, _ *rbacv1.Role) { checkRole(p, role) },
	}.Kind()
}

// ClusterRoles returns the validation of clusterroles.
func ClusterRoles() validation.Kind {
	return validation.Typed[*rbacv1.ClusterRole]{
		Names: validation.PathSegment, Again: true, Create: checkClusterRole,
		Update: func(p *validation.Problems, role, _ *rbacv1.ClusterRole) { checkClusterRole(p, role) },
	}.Kind()
}

// RoleBindings returns the validation of rolebindings.
func RoleBindings() validation.Kind {
	of := func(b *rbacv1.RoleBinding) *binding {
		return &binding{&b.RoleRef, b.Subjects, []string{"Role", "ClusterRole"}}
	}
	return validation.Typed[*rbacv1.RoleBinding]{
		Names: validation.PathSegment, Again: true,
		Create: func(p *validation.Problems, b *rbacv1.RoleBinding) { checkBinding(p, of(b), nil) },
		Update: func(p *validation.Problems, b, old *rbacv1.RoleBinding) { checkBinding(p, of(b), &old.RoleRef) },
	}.Kind()
}

// ClusterRoleBindings returns the validation of clusterrolebindings.
func ClusterRoleBindings() validation.Kind {
	of := func(b *rbacv1.ClusterRoleBinding) *binding {
		return &binding{&b.RoleRef, b.Subjects, []string{"ClusterRole"}}
	}
	return validation.Typed[*rbacv1.ClusterRoleBinding]{
		Names: validation.PathSegment, Again: true,
		Create: func(p *validation.Problems, b *rbacv1.ClusterRoleBinding) { checkBinding(p, of(b), nil) },
		Update: func(p *validation.Problems, b, old *rbacv1.ClusterRoleBinding) { checkBinding(p, of(b), &old.RoleRef) },
	}.Kind()
}

// Upstream: rbac/validation ValidateRole, v1.37.2.
func checkRole(p *validation.Problems, role *rbacv1.Role) {
	for i := range role.Rules {
		checkRule(p, &role.Rules[i], true, field.NewPath("rules").Index(i))
	}
	checkVerbs(p, role.Rules)
}

// Upstream: rbac/validation ValidateClusterRole, v1.37.2.
func checkClusterRole(p *validation.Problems, role *rbacv1.ClusterRole) {
	for i := range role.Rules {
		checkRule(p, &role.Rules[i], false, field.NewPath("rules").Index(i))
	}
	if a := role.AggregationRule; a != nil {
		selectors := field.NewPath("aggregationRule", "clusterRoleSelectors")
		if len(a.ClusterRoleSelectors) == 0 {
			p.Required(selectors, "at least one clusterRoleSelector required if aggregationRule is non-nil")
		}
		for i := range a.ClusterRoleSelectors {
			at := selectors.Index(i)
			p.LabelSelector(&a.ClusterRoleSelectors[i], at)
			if selector, err := metav1.LabelSelectorAsSelector(&a.ClusterRoleSelectors[i]); err != nil {
				p.Invalid(at, selector, "invalid label selector.")
			}
		}
	}
	checkVerbs(p, role.Rules)
}

// checkRule validates a rule without its verbs, which checkVerbs requires.
// Upstream: rbac/validation ValidatePolicyRule, v1.37.2.
func checkRule(p *validation.Problems, rule *rbacv1.PolicyRule, namespaced bool, at *field.Path) {
	if urls := at.Child("nonResourceURLs"); len(rule.NonResourceURLs) > 0 {
		if namespaced {
			p.Invalid(urls, rule.NonResourceURLs, "namespaced rules cannot apply to non-resource URLs")
		}
		if len(rule.APIGroups) > 0 || len(rule.Resources) > 0 || len(rule.ResourceNames) > 0 {
			p.Invalid(urls, rule.NonResourceURLs, "rules cannot apply to both regular resources and non-resource URLs")
		}
		return
	}
	if len(rule.APIGroups) == 0 {
		p.Required(at.Child("apiGroups"), "resource rules must supply at least one api group")
	}
	if len(rule.Resources) == 0 {
		p.Required(at.Child("resources"), "resource rules must supply at least one resource")
	}
}

// checkVerbs requires verbs of rules. It is a declarative rule, and these come last.
// Upstream: rbac/v1 Validate_PolicyRule, v1.37.2.
func checkVerbs(p *validation.Problems, rules []rbacv1.PolicyRule) {
	for i := range rules {
		if len(rules[i].Verbs) == 0 {
			p.Required(field.NewPath("rules").Index(i).Child("verbs"), "")
		}
	}
}

// binding is a binding of either kind. Those of a namespace bind roles of both kinds.
type binding struct {
	role     *rbacv1.RoleRef
	subjects []rbacv1.Subject
	kinds    []string
}

// checkBinding validates a binding; old is the role that it had, which may not change, nil if it is new.
// Upstream: rbac/validation ValidateRoleBinding, ValidateClusterRoleBinding and their updates, v1.37.2.
func checkBinding(p *validation.Problems, b *binding, old *rbacv1.RoleRef) {
	ref, subjects := field.NewPath("roleRef"), field.NewPath("subjects")
	if b.role.APIGroup != rbacv1.GroupName {
		p.Add(field.NotSupported(ref.Child("apiGroup"), b.role.APIGroup, []string{rbacv1.GroupName}))
	}
	if !slices.Contains(b.kinds, b.role.Kind) {
		p.Add(field.NotSupported(ref.Child("kind"), b.role.Kind, b.kinds))
	}
	switch {
	case b.role.Name != "":
		p.Messages(ref.Child("name"), b.role.Name, content.IsPathSegmentName(b.role.Name))
	case old != nil: // the tags of a role that was changed are not looked at, since it may not be
		p.Required(ref.Child("name"), "")
	}
	for i := range b.subjects {
		checkSubject(p, &b.subjects[i], len(b.kinds) > 1, subjects.Index(i))
	}
	if old != nil {
		p.Immutable(*b.role, *old, ref)
	}
	// What tags of the types say comes last, in the order of their fields.
	for i := range b.subjects {
		p.Need(subjects.Index(i), "name", b.subjects[i].Name)
	}
	if old == nil {
		p.Need(ref, "name", b.role.Name)
	}
}

// checkSubject validates a subject; that it has a name is required by checkBinding.
// Upstream: rbac/validation ValidateRoleBindingSubject, v1.37.2.
func checkSubject(p *validation.Problems, s *rbacv1.Subject, namespaced bool, at *field.Path) {
	group := rbacv1.GroupName
	switch s.Kind {
	case rbacv1.ServiceAccountKind:
		if group = ""; s.Name != "" {
			p.Messages(at.Child("name"), s.Name, apivalidation.ValidateServiceAccountName(s.Name, false))
		}
	case rbacv1.UserKind, rbacv1.GroupKind:
	default:
		p.Add(field.NotSupported(at.Child("kind"), s.Kind, []string{rbacv1.ServiceAccountKind, rbacv1.UserKind, rbacv1.GroupKind}))
		return
	}
	if s.APIGroup != group {
		p.Add(field.NotSupported(at.Child("apiGroup"), s.APIGroup, []string{group}))
	}
	if s.Kind == rbacv1.ServiceAccountKind && !namespaced && s.Namespace == "" {
		p.Required(at.Child("namespace"), "")
	}
}
