package cluster

import (
	"net/url"
	"slices"
	"strconv"
	"strings"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	"k8s.io/apimachinery/pkg/api/validate/content"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	metavalidation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utilvalidation "k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/storagesim/storagesim/api/internal/validation"
)

// Expressions in CEL are not compiled here.

// ValidatingWebhooks returns the validation of validatingwebhookconfigurations.
func ValidatingWebhooks() validation.Kind {
	check := func(p *validation.Problems, c *admissionregistrationv1.ValidatingWebhookConfiguration) {
		names := map[string]bool{}
		for i := range c.Webhooks {
			h := &c.Webhooks[i]
			checkWebhook(p, &webhook{
				h.Name, &h.ClientConfig, h.Rules, h.FailurePolicy, h.MatchPolicy, h.SideEffects, h.TimeoutSeconds, h.NamespaceSelector, h.ObjectSelector, nil,
				h.MatchConditions, h.AdmissionReviewVersions,
			}, names, field.NewPath("webhooks").Index(i))
		}
	}
	return validation.Typed[*admissionregistrationv1.ValidatingWebhookConfiguration]{
		Again: true, AnyFinalizer: true, Create: check,
		Update: func(p *validation.Problems, c, _ *admissionregistrationv1.ValidatingWebhookConfiguration) {
			check(p, c)
		},
	}.Kind()
}

// MutatingWebhooks returns the validation of mutatingwebhookconfigurations.
func MutatingWebhooks() validation.Kind {
	check := func(p *validation.Problems, c *admissionregistrationv1.MutatingWebhookConfiguration) {
		names := map[string]bool{}
		for i := range c.Webhooks {
			h := &c.Webhooks[i]
			checkWebhook(p, &webhook{
				h.Name, &h.ClientConfig, h.Rules, h.FailurePolicy, h.MatchPolicy, h.SideEffects, h.TimeoutSeconds, h.NamespaceSelector, h.ObjectSelector,
				h.ReinvocationPolicy, h.MatchConditions, h.AdmissionReviewVersions,
			}, names, field.NewPath("webhooks").Index(i))
		}
	}
	return validation.Typed[*admissionregistrationv1.MutatingWebhookConfiguration]{
		Again: true, AnyFinalizer: true, Create: check,
		Update: func(p *validation.Problems, c, _ *admissionregistrationv1.MutatingWebhookConfiguration) { check(p, c) },
	}.Kind()
}

// webhook is a webhook of either kind.
type webhook struct {
	name           string
	client         *admissionregistrationv1.WebhookClientConfig
	rules          []admissionregistrationv1.RuleWithOperations
	failure        *admissionregistrationv1.FailurePolicyType
	match          *admissionregistrationv1.MatchPolicyType
	sideEffects    *admissionregistrationv1.SideEffectClass
	timeoutSeconds *int32

	namespaces, objects *metav1.LabelSelector

	reinvocation *admissionregistrationv1.ReinvocationPolicyType // of a mutating one
	conditions   []admissionregistrationv1.MatchCondition
	versions     []string
}

var (
	failurePolicies = []admissionregistrationv1.FailurePolicyType{admissionregistrationv1.Fail, admissionregistrationv1.Ignore}
	matchPolicies   = []admissionregistrationv1.MatchPolicyType{admissionregistrationv1.Equivalent, admissionregistrationv1.Exact}
	harmless        = []admissionregistrationv1.SideEffectClass{
		admissionregistrationv1.SideEffectClassNone, admissionregistrationv1.SideEffectClassNoneOnDryRun,
	}
	reinvocationPolicies = []admissionregistrationv1.ReinvocationPolicyType{
		admissionregistrationv1.IfNeededReinvocationPolicy, admissionregistrationv1.NeverReinvocationPolicy,
	}
	operations = []admissionregistrationv1.OperationType{
		admissionregistrationv1.OperationAll, admissionregistrationv1.Connect, admissionregistrationv1.Create, admissionregistrationv1.Delete,
		admissionregistrationv1.Update,
	}
	ruleScopes = []admissionregistrationv1.ScopeType{
		admissionregistrationv1.AllScopes, admissionregistrationv1.ClusterScope, admissionregistrationv1.NamespacedScope,
	}
)

// maxTimeout is the number of seconds that a webhook may take.
const maxTimeout = 30

// Upstream: admissionregistration/validation validateValidatingWebhook, validateMutatingWebhook and their configurations, v1.37.2.
func checkWebhook(p *validation.Problems, h *webhook, names map[string]bool, at *field.Path) {
	p.Add(utilvalidation.IsFullyQualifiedName(at.Child("name"), h.name)...)
	for i := range h.rules {
		checkRuleWithOperations(p, &h.rules[i], at.Child("rules").Index(i))
	}
	validation.IfSetOneOf(p, h.failure, failurePolicies, at, "failurePolicy")
	validation.IfSetOneOf(p, h.match, matchPolicies, at, "matchPolicy")
	if h.sideEffects == nil {
		p.Required(at.Child("sideEffects"), "must specify one of None, NoneOnDryRun")
	}
	validation.IfSetOneOf(p, h.sideEffects, harmless, at, "sideEffects")
	if s := h.timeoutSeconds; s != nil && (*s > maxTimeout || *s < 1) {
		p.Invalid(at.Child("timeoutSeconds"), *s, "the timeout value must be between 1 and 30 seconds")
	}
	p.LabelSelector(h.namespaces, at.Child("namespaceSelector"))
	p.LabelSelector(h.objects, at.Child("objectSelector"))
	validation.IfSetOneOf(p, h.reinvocation, reinvocationPolicies, at, "reinvocationPolicy")
	switch client := at.Child("clientConfig"); {
	case (h.client.URL == nil) == (h.client.Service == nil):
		p.Required(client, "exactly one of url or service is required")
	case h.client.URL != nil:
		checkWebhookURL(p, *h.client.URL, client.Child("url"))
	default:
		checkWebhookService(p, h.client.Service, client.Child("service"))
	}
	checkMatchConditions(p, h.conditions, at.Child("matchConditions"))
	checkReviewVersions(p, h.versions, at.Child("admissionReviewVersions"))
	if names[h.name] && h.name != "" {
		p.Duplicate(at.Child("name"), h.name)
	}
	names[h.name] = true
}

// Upstream: apiserver util/webhook ValidateWebhookURL, v1.37.2.
func checkWebhookURL(p *validation.Problems, text string, at *field.Path) {
	const form = "; desired format: https://host[/path]"
	u, err := url.Parse(text)
	if err != nil {
		p.Required(at, "url must be a valid URL: "+err.Error()+form)
		return
	}
	user := ""
	if u.User != nil {
		user = u.User.String()
	}
	for _, rule := range [...]struct {
		wrong       bool
		value, text string
	}{
		{u.Scheme != "https", u.Scheme, "'https' is the only allowed URL scheme" + form},
		{u.Host == "", u.Host, "host must be specified" + form},
		{u.User != nil, user, "user information is not permitted in the URL"},
		{u.Fragment != "", u.Fragment, "fragments are not permitted in the URL"},
		{u.RawQuery != "", u.RawQuery, "query parameters are not permitted in the URL"},
	} {
		if rule.wrong {
			p.Invalid(at, rule.value, rule.text)
		}
	}
}

// Upstream: apiserver util/webhook ValidateWebhookService, v1.37.2, which is called with the name in place of the
// namespace.
func checkWebhookService(p *validation.Problems, s *admissionregistrationv1.ServiceReference, at *field.Path) {
	p.Need(at, "name", s.Namespace)
	p.Need(at, "namespace", s.Name)
	port := int32(0)
	if s.Port != nil {
		port = *s.Port
	}
	if msgs := utilvalidation.IsValidPortNum(int(port)); len(msgs) > 0 {
		p.Invalid(at.Child("port"), port, "port is not valid: "+strings.Join(msgs, ", "))
	}
	if s.Path == nil || *s.Path == "/" || *s.Path == "" {
		return
	}
	checkWebhookPath(p, *s.Path, at.Child("path"))
}

func checkWebhookPath(p *validation.Problems, path string, at *field.Path) {
	if path == "//" {
		p.Invalid(at, path, "segment[0] may not be empty")
		return
	}
	if !strings.HasPrefix(path, "/") {
		p.Invalid(at, path, "must start with a '/'")
	}
	for i, step := range strings.Split(strings.TrimSuffix(path[1:], "/"), "/") {
		segment := "segment[" + strconv.Itoa(i) + "]"
		if step == "" {
			p.Invalid(at, path, segment+" may not be empty")
			continue
		}
		for _, msg := range utilvalidation.IsDNS1123Subdomain(step) {
			p.Invalid(at, path, segment+": "+msg)
		}
	}
}

// Upstream: admissionregistration/validation validateAdmissionReviewVersions, v1.37.2.
func checkReviewVersions(p *validation.Problems, versions []string, at *field.Path) {
	if len(versions) == 0 {
		p.Required(at, "must specify one of v1, v1beta1")
		return
	}
	for i, version := range versions {
		if slices.Contains(versions[:i], version) {
			p.Invalid(at.Index(i), version, "duplicate version")
			continue
		}
		p.Messages(at.Index(i), version, utilvalidation.IsDNS1035Label(version))
	}
	if !slices.Contains(versions, "v1") && !slices.Contains(versions, "v1beta1") {
		p.Invalid(at, versions, "must include at least one of v1, v1beta1")
	}
}

// maxConditions is the number of conditions that a webhook or a policy may have.
const maxConditions = 64

// checkMatchConditions validates the conditions under which a webhook or policy is asked.
// Upstream: admissionregistration/validation validateMatchConditions, v1.37.2.
func checkMatchConditions(p *validation.Problems, conditions []admissionregistrationv1.MatchCondition, at *field.Path) {
	if len(conditions) > maxConditions {
		p.Add(field.TooMany(at, len(conditions), maxConditions))
	}
	names := map[string]bool{}
	for i, c := range conditions {
		p.Need(at.Index(i), "expression", strings.TrimSpace(c.Expression))
		name := at.Index(i).Child("name")
		if c.Name == "" {
			p.Required(name, "")
			continue
		}
		p.QualifiedName(c.Name, name)
		if names[c.Name] {
			p.Duplicate(name, c.Name)
		}
		names[c.Name] = true
	}
}

// Upstream: admissionregistration/validation validateRuleWithOperations and validateRule, v1.37.2.
func checkRuleWithOperations(p *validation.Problems, r *admissionregistrationv1.RuleWithOperations, at *field.Path) {
	checkWildcard(p, r.Operations, at.Child("operations"), "operations")
	for i, operation := range r.Operations {
		if !slices.Contains(operations, operation) {
			p.Add(field.NotSupported(at.Child("operations").Index(i), operation, operations))
		}
	}
	checkWildcard(p, r.APIGroups, at.Child("apiGroups"), "API groups")
	checkWildcard(p, r.APIVersions, at.Child("apiVersions"), "API versions")
	for i, version := range r.APIVersions {
		if version == "" {
			p.Required(at.Child("apiVersions").Index(i), "")
		}
	}
	checkRuleResources(p, r.Resources, at.Child("resources"))
	validation.IfSetOneOf(p, r.Scope, ruleScopes, at, "scope")
}

// checkWildcard requires a list to have something, and * to stand alone.
func checkWildcard[T ~string](p *validation.Problems, list []T, at *field.Path, what string) {
	if len(list) == 0 {
		p.Required(at, "")
	}
	if len(list) > 1 && slices.Contains(list, "*") {
		p.Invalid(at, list, "if '*' is present, must not specify other "+what)
	}
}

// Upstream: admissionregistration/validation validateResources, v1.37.2.
func checkRuleResources(p *validation.Problems, resources []string, at *field.Path) {
	if len(resources) == 0 {
		p.Required(at, "")
	}
	allOf, everySub, bare := map[string]bool{}, map[string]bool{}, false
	for i, resource := range resources {
		if resource == "" {
			p.Required(at.Index(i), "")
			continue
		}
		of, sub, parts := strings.Cut(resource, "/")
		if !parts {
			bare = resource != "*"
			continue
		}
		if allOf[of] {
			p.Invalid(at.Index(i), resource, "if '"+of+"/*' is present, must not specify "+resource)
		}
		if everySub[sub] {
			p.Invalid(at.Index(i), resource, "if '*/"+sub+"' is present, must not specify "+resource)
		}
		allOf[of] = allOf[of] || sub == "*"
		everySub[sub] = everySub[sub] || of == "*"
	}
	if len(resources) > 1 && slices.Contains(resources, "*/*") {
		p.Invalid(at, resources, "if '*/*' is present, must not specify other resources")
	}
	if bare && slices.Contains(resources, "*") {
		p.Invalid(at, resources, "if '*' is present, must not specify other resources without subresources")
	}
}

// AdmissionPolicies returns the validation of validatingadmissionpolicies.
func AdmissionPolicies() validation.Kind {
	return validation.Typed[*admissionregistrationv1.ValidatingAdmissionPolicy]{
		Again: true, AnyFinalizer: true,
		Create: func(p *validation.Problems, policy *admissionregistrationv1.ValidatingAdmissionPolicy) {
			checkPolicy(p, &policy.Spec)
		},
		Update: func(p *validation.Problems, policy, _ *admissionregistrationv1.ValidatingAdmissionPolicy) {
			checkPolicy(p, &policy.Spec)
		},
		Status: func(p *validation.Problems, policy, _ *admissionregistrationv1.ValidatingAdmissionPolicy) {
			p.Add(metavalidation.ValidateConditions(policy.Status.Conditions, validation.StatusPath.Child("conditions"))...)
		},
	}.Kind()
}

// Upstream: admissionregistration/validation validateValidatingAdmissionPolicySpec, v1.37.2.
func checkPolicy(p *validation.Problems, spec *admissionregistrationv1.ValidatingAdmissionPolicySpec) {
	at := validation.SpecPath
	validation.IfSetOneOf(p, spec.FailurePolicy, failurePolicies, at, "failurePolicy")
	if spec.ParamKind != nil {
		checkParamKind(p, spec.ParamKind, at.Child("paramKind"))
	}
	if constraints := at.Child("matchConstraints"); spec.MatchConstraints == nil {
		p.Required(constraints, "")
	} else {
		checkMatchResources(p, spec.MatchConstraints, constraints)
		if len(spec.MatchConstraints.ResourceRules) == 0 {
			p.Required(constraints.Child("resourceRules"), "")
		}
	}
	checkMatchConditions(p, spec.MatchConditions, at.Child("matchConditions"))
	if len(spec.Validations) == 0 && len(spec.AuditAnnotations) == 0 {
		const none = "validations or auditAnnotations must contain at least one item"
		p.Required(at.Child("validations"), none)
		p.Required(at.Child("auditAnnotations"), none)
	}
}

// Upstream: admissionregistration/validation validateParamKind, v1.37.2.
func checkParamKind(p *validation.Problems, kind *admissionregistrationv1.ParamKind, at *field.Path) {
	version := at.Child("apiVersion")
	gv, err := schema.ParseGroupVersion(kind.APIVersion)
	switch {
	case kind.APIVersion == "":
		p.Required(version, "")
	case err != nil:
		p.Invalid(version, kind.APIVersion, err.Error())
	default:
		if msgs := utilvalidation.IsDNS1123Subdomain(gv.Group); gv.Group != "" && len(msgs) > 0 {
			p.Invalid(version, gv.Group, strings.Join(msgs, ","))
		}
		if msgs := utilvalidation.IsDNS1035Label(gv.Version); gv.Version == "" {
			p.Invalid(version, kind.APIVersion, "version must be specified")
		} else if len(msgs) > 0 {
			p.Invalid(version, gv.Version, strings.Join(msgs, ","))
		}
	}
	if msgs := utilvalidation.IsDNS1035Label(strings.ToLower(kind.Kind)); kind.Kind == "" {
		p.Required(at.Child("kind"), "")
	} else if len(msgs) > 0 {
		p.Invalid(at.Child("kind"), kind.Kind, "may have mixed case, but should otherwise match: "+strings.Join(msgs, ","))
	}
}

// AdmissionPolicyBindings returns the validation of validatingadmissionpolicybindings.
func AdmissionPolicyBindings() validation.Kind {
	return validation.Typed[*admissionregistrationv1.ValidatingAdmissionPolicyBinding]{
		Again: true, AnyFinalizer: true,
		Create: func(p *validation.Problems, b *admissionregistrationv1.ValidatingAdmissionPolicyBinding) {
			checkPolicyBinding(p, &b.Spec)
		},
		Update: func(p *validation.Problems, b, _ *admissionregistrationv1.ValidatingAdmissionPolicyBinding) {
			checkPolicyBinding(p, &b.Spec)
		},
	}.Kind()
}

// Upstream: admissionregistration/validation validateValidatingAdmissionPolicyBindingSpec, v1.37.2.
func checkPolicyBinding(p *validation.Problems, spec *admissionregistrationv1.ValidatingAdmissionPolicyBindingSpec) {
	at := validation.SpecPath
	if spec.PolicyName != "" {
		p.Subdomain(spec.PolicyName, at.Child("policyName"))
	}
	if spec.ParamRef != nil {
		checkParamRef(p, spec.ParamRef, at.Child("paramRef"))
	}
	if spec.MatchResources != nil {
		checkMatchResources(p, spec.MatchResources, at.Child("matchResources"))
	}
	checkActions(p, spec.ValidationActions, at.Child("validationActions"))
	p.Need(at, "policyName", spec.PolicyName) // declarative rules: these come last
	if len(spec.ValidationActions) == 0 {
		p.Required(at.Child("validationActions"), "")
	}
}

// checkActions requires known actions, each once, and not both Deny and Warn.
// Upstream: admissionregistration/validation validateValidationActions, v1.37.2.
func checkActions(p *validation.Problems, actions []admissionregistrationv1.ValidationAction, at *field.Path) {
	const audit, deny, warn = admissionregistrationv1.Audit, admissionregistrationv1.Deny, admissionregistrationv1.Warn
	all := []admissionregistrationv1.ValidationAction{audit, deny, warn}
	for i, action := range actions {
		if !slices.Contains(all, action) {
			p.Add(field.NotSupported(at.Index(i), action, all))
		}
		if slices.Contains(actions[:i], action) {
			p.Duplicate(at.Index(i), action)
		}
	}
	if slices.Contains(actions, deny) && slices.Contains(actions, warn) {
		p.Invalid(at, actions, "must not contain both Deny and Warn (repeating the same validation failure information in the API response and "+
			"headers serves no purpose)")
	}
}

// checkParamRef requires one of the parameters' name and selector.
// Upstream: admissionregistration/validation validateParamRef, v1.37.2.
func checkParamRef(p *validation.Problems, r *admissionregistrationv1.ParamRef, at *field.Path) {
	const both = "name and selector are mutually exclusive"
	if r.Name != "" {
		p.Messages(at.Child("name"), r.Name, content.IsPathSegmentName(r.Name))
		if r.Selector != nil {
			p.Forbidden(at.Child("name"), both)
		}
	}
	if r.Selector != nil {
		p.LabelSelector(r.Selector, at.Child("selector"))
		if r.Name != "" {
			p.Forbidden(at.Child("selector"), both)
		}
	}
	if r.Name == "" && r.Selector == nil {
		p.Required(at, "one of name or selector must be specified")
	}
	missing := []admissionregistrationv1.ParameterNotFoundActionType{admissionregistrationv1.DenyAction, admissionregistrationv1.AllowAction}
	if r.ParameterNotFoundAction == nil || *r.ParameterNotFoundAction == "" {
		p.Required(at.Child("parameterNotFoundAction"), "")
	} else {
		validation.IfSetOneOf(p, r.ParameterNotFoundAction, missing, at, "parameterNotFoundAction")
	}
}

// Upstream: admissionregistration/validation validateMatchResources, v1.37.2.
func checkMatchResources(p *validation.Problems, m *admissionregistrationv1.MatchResources, at *field.Path) {
	validation.IfSetOneOf(p, m.MatchPolicy, matchPolicies, at, "matchPolicy")
	p.LabelSelector(m.NamespaceSelector, at.Child("namespaceSelector"))
	p.LabelSelector(m.ObjectSelector, at.Child("objectSelector"))
	for i := range m.ResourceRules {
		checkNamedRule(p, &m.ResourceRules[i], at.Child("resourceRules").Index(i))
	}
	for i := range m.ExcludeResourceRules {
		checkNamedRule(p, &m.ExcludeResourceRules[i], at.Child("excludeResourceRules").Index(i))
	}
}

// Upstream: admissionregistration/validation validateNamedRuleWithOperations, v1.37.2.
func checkNamedRule(p *validation.Problems, r *admissionregistrationv1.NamedRuleWithOperations, at *field.Path) {
	names := at.Child("resourceNames")
	for i, name := range r.ResourceNames {
		p.Messages(names.Index(i), name, content.IsPathSegmentName(name))
		if slices.Contains(r.ResourceNames[:i], name) {
			p.Duplicate(names.Index(i), name)
		}
	}
	checkRuleWithOperations(p, &r.RuleWithOperations, at)
}
