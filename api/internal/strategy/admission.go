package strategy

import (
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Seconds that a webhook may take, and the port of its service.
const (
	webhookSeconds = 10
	webhookPort    = 443
)

// ValidatingWebhooks returns the defaults of validatingwebhookconfigurations.
// Upstream: admissionregistration/v1 SetDefaults_ValidatingWebhook, v1.37.2.
func ValidatingWebhooks() Kind {
	return Of[*admissionregistrationv1.ValidatingWebhookConfiguration]{Default: func(c *admissionregistrationv1.ValidatingWebhookConfiguration) {
		for i := range c.Webhooks {
			h := &c.Webhooks[i]
			setDefaultPtr(&h.FailurePolicy, admissionregistrationv1.Fail)
			defaultMatch(&h.MatchPolicy, &h.NamespaceSelector, &h.ObjectSelector)
			defaultCalls(&h.TimeoutSeconds, h.Rules, h.ClientConfig.Service)
		}
	}}.Kind()
}

// MutatingWebhooks returns the defaults of mutatingwebhookconfigurations.
// Upstream: admissionregistration/v1 SetDefaults_MutatingWebhook, v1.37.2.
func MutatingWebhooks() Kind {
	return Of[*admissionregistrationv1.MutatingWebhookConfiguration]{Default: func(c *admissionregistrationv1.MutatingWebhookConfiguration) {
		for i := range c.Webhooks {
			h := &c.Webhooks[i]
			setDefaultPtr(&h.FailurePolicy, admissionregistrationv1.Fail)
			setDefaultPtr(&h.ReinvocationPolicy, admissionregistrationv1.NeverReinvocationPolicy)
			defaultMatch(&h.MatchPolicy, &h.NamespaceSelector, &h.ObjectSelector)
			defaultCalls(&h.TimeoutSeconds, h.Rules, h.ClientConfig.Service)
		}
	}}.Kind()
}

// AdmissionPolicies returns the defaults of validatingadmissionpolicies.
// Upstream: admissionregistration/v1 SetDefaults_ValidatingAdmissionPolicySpec, v1.37.2.
func AdmissionPolicies() Kind {
	return Of[*admissionregistrationv1.ValidatingAdmissionPolicy]{Default: func(policy *admissionregistrationv1.ValidatingAdmissionPolicy) {
		setDefaultPtr(&policy.Spec.FailurePolicy, admissionregistrationv1.Fail)
		defaultResources(policy.Spec.MatchConstraints)
	}}.Kind()
}

// AdmissionPolicyBindings returns the defaults of validatingadmissionpolicybindings.
func AdmissionPolicyBindings() Kind {
	return Of[*admissionregistrationv1.ValidatingAdmissionPolicyBinding]{Default: func(b *admissionregistrationv1.ValidatingAdmissionPolicyBinding) {
		defaultResources(b.Spec.MatchResources)
	}}.Kind()
}

// defaultResources sets the defaults of the resources that a policy matches.
// Upstream: admissionregistration/v1 SetDefaults_MatchResources, v1.37.2.
func defaultResources(m *admissionregistrationv1.MatchResources) {
	if m == nil {
		return
	}
	defaultMatch(&m.MatchPolicy, &m.NamespaceSelector, &m.ObjectSelector)
	for i := range m.ResourceRules {
		defaultScope(&m.ResourceRules[i].Rule)
	}
	for i := range m.ExcludeResourceRules {
		defaultScope(&m.ExcludeResourceRules[i].Rule)
	}
}

func defaultMatch(policy **admissionregistrationv1.MatchPolicyType, namespaces, objects **metav1.LabelSelector) {
	setDefaultPtr(policy, admissionregistrationv1.Equivalent)
	setDefaultPtr(namespaces, metav1.LabelSelector{})
	setDefaultPtr(objects, metav1.LabelSelector{})
}

// defaultCalls sets the defaults of a webhook: its timeout, the scope of its rules, and its service's port.
// Upstream: admissionregistration/v1 SetDefaults_Rule and SetDefaults_ServiceReference, v1.37.2.
func defaultCalls(seconds **int32, rules []admissionregistrationv1.RuleWithOperations, service *admissionregistrationv1.ServiceReference) {
	setDefaultPtr(seconds, int32(webhookSeconds))
	for i := range rules {
		defaultScope(&rules[i].Rule)
	}
	if service != nil {
		setDefaultPtr(&service.Port, int32(webhookPort))
	}
}

func defaultScope(rule *admissionregistrationv1.Rule) {
	setDefaultPtr(&rule.Scope, admissionregistrationv1.AllScopes)
}
